"""HGNet of `Rampášek & Wolf (2021) <https://arxiv.org/abs/2107.07432>`_ and what its authors ran beside it: GCN with a virtual node for
table 1, plain GCN and GAT for table 5, all with the settings of their code."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import elu
from torch_geometric.nn import EdgePooling, GATConv, GCNConv, RGCNConv, global_add_pool, global_mean_pool
from torch_geometric.nn.pool.edge_pool import UnpoolInfo
from torch_geometric.utils import add_remaining_self_loops, coalesce, scatter

from ...nn.dropout import dropout
from ...training.config import Training
from .louvain import LouvainPooling
from .norm import BatchNorm
from .rival import Rival
from .shchur import glorot
from .sparse import WordReader, Words


class GreedyEdgePooling(EdgePooling):  # type: ignore[misc]
    """PyG's edge contraction, with its loop over edges in plain Python numbers (PyG reads every one out of a tensor) and a stable order."""

    def _merge_edges(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_score: Tensor) -> tuple[Tensor, Tensor, Tensor, UnpoolInfo]:
        order = torch.argsort(edge_score, descending=True, stable=True)
        cluster = [-1] * x.size(0)
        chosen: list[int] = []
        for place, (source, target) in enumerate(edge_index[:, order].t().tolist()):
            if cluster[source] < 0 and cluster[target] < 0:
                cluster[source] = cluster[target] = len(chosen)
                chosen.append(place)
        merged = len(chosen)
        new = torch.tensor(cluster, device=x.device)
        alone = new < 0
        count = merged + int(alone.sum())
        new[alone] = torch.arange(merged, count, device=x.device)
        score = torch.cat([edge_score[order[chosen]], edge_score.new_ones(count - merged)])
        pooled = scatter(x, new, dim_size=count, reduce="sum") * score[:, None]
        edges = coalesce(new[edge_index], num_nodes=count)
        graphs = batch.new_empty(count).scatter_(0, new, batch)
        return pooled, edges, graphs, UnpoolInfo(edge_index=edge_index, cluster=new, batch=batch, new_edge_score=score)


class Hierarchy(nn.Module):
    """HGNet's body: graph convolutions while nodes are merged level by level, then back down, where each level's nodes and their parents
    form one graph with two kinds of edges.

    Args:
        pooling: ``edges`` (contraction by learned scores, merged features are summed) or ``louvain`` (communities, averaged).
        depth: levels above the graph.
        norm: batch normalisation after every layer.
        resolution: of Louvain.
    """

    def __init__(
        self, in_channels: int, width: int, out_channels: int, pooling: str, depth: int, norm: bool, dropout: float, resolution: float
    ) -> None:
        super().__init__()
        self.depth, self.dropout = depth, dropout
        self.words = glorot(in_channels, width)  # of the first convolution, which may read sparse words
        self.up = nn.ModuleList([GCNConv(width, width) for _ in range(depth + 1)])
        self.up[0].lin = nn.Identity()
        self.pools = nn.ModuleList([GreedyEdgePooling(width) for _ in range(depth)]) if pooling == "edges" else None
        self.louvain = None if pooling == "edges" else LouvainPooling(depth, resolution)
        widths = [out_channels, *[width] * (depth - 1)]  # of level 0, 1, ...
        self.down = nn.ModuleList([RGCNConv(width, channels, num_relations=2, aggr="add") for channels in widths])
        self.up_norms = nn.ModuleList([BatchNorm(width) if norm else nn.Identity() for _ in range(depth + 1)])
        self.down_norms = nn.ModuleList([BatchNorm(channels) if norm else nn.Identity() for channels in widths])

    def forward(self, words: Words, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = self._finish(self.up_norms[0](self.up[0](words.times(self.words), edge_index)))
        levels, edges = [x], [edge_index]
        parents: list[Tensor] = []
        if self.pools is not None:
            for level, pool in enumerate(self.pools, start=1):
                x, edge_index, batch, info = pool(x, edge_index, batch)
                x = self._finish(self.up_norms[level](self.up[level](x, edge_index)))
                levels, edges, parents = [*levels, x], [*edges, edge_index], [*parents, info.cluster]
        elif self.louvain is not None:
            # As in the source, a level pools the means below it, not what the convolution there made of them.
            means = x
            for level, (cluster, between, weight) in enumerate(self.louvain(edge_index, batch), start=1):
                means = scatter(means, cluster, dim_size=int(cluster.max()) + 1, reduce="mean")
                x = self._finish(self.up_norms[level](self.up[level](means, between, weight)))
                levels, edges, parents = [*levels, x], [*edges, between], [*parents, cluster]
        for level in reversed(range(self.depth)):
            joined, kinds = _with_parents(edges[level], parents[level])
            x = self.down[level](torch.cat([levels[level], x]), joined, kinds)[: parents[level].numel()]
            x = self.down_norms[level](x)
            x = self._finish(x) if level else x
        return x

    def _finish(self, x: Tensor) -> Tensor:
        return dropout(elu(x), self.dropout, self.training)


def _with_parents(edge_index: Tensor, parent: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes of a level and, after them, those above: edges of the level and loops are of kind 0, child to parent and back of kind 1."""
    child = torch.arange(parent.numel(), device=parent.device)
    up = torch.stack([child, parent + parent.numel()])
    joined = torch.cat([edge_index, up, up.flip(0)], dim=1)
    kinds = torch.cat([edge_index.new_zeros(edge_index.size(1)), edge_index.new_ones(2 * child.numel())])
    return add_remaining_self_loops(joined, kinds, fill_value=0, num_nodes=child.numel() + int(parent.max()) + 1)


class GraphHead(nn.Module):
    """Mean over nodes, linear, ELU, linear."""

    def __init__(self, width: int, out_channels: int, hidden: int = 128) -> None:
        super().__init__()
        self.lins = nn.ModuleList([nn.Linear(width, hidden), nn.Linear(hidden, out_channels)])

    def forward(self, x: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        logits: Tensor = self.lins[1](elu(self.lins[0](global_mean_pool(x, batch, batch_size))))
        return logits


class GraphHGNet(nn.Module):
    """HGNet for graphs: two levels, batch normalisation, no dropout."""

    def __init__(self, in_channels: int, out_channels: int, pooling: str = "edges", width: int = 32, depth: int = 2) -> None:
        super().__init__()
        self.in_channels = in_channels
        # The source finds communities of a whole batch of 20 graphs at once, which is a resolution of about 1/20 for each of them.
        self.body = Hierarchy(in_channels, width, width, pooling, depth, norm=True, dropout=0.0, resolution=1 / 20)
        self.head = GraphHead(width, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        logits: Tensor = self.head(self.body(Words(x), edge_index, batch), batch, batch_size)
        return logits


class NodeHGNet(WordReader):
    """HGNet for nodes: no norms, dropout 0.6 after hidden layers."""

    def __init__(self, in_channels: int, out_channels: int, pooling: str = "edges", width: int = 32, depth: int = 1) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.body = Hierarchy(in_channels, width, out_channels, pooling, depth, norm=False, dropout=0.6, resolution=1.0)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        logits: Tensor = self.body(Words.read(x, "rows"), edge_index, edge_index.new_zeros(x.size(0)))
        return logits


class VirtualNodeGCN(nn.Module):
    """Two graph convolutions; between them one vector per graph hears the sum of all nodes and is added to each of them."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 32) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.convs = nn.ModuleList([GCNConv(in_channels, width), GCNConv(width, width)])
        self.start = nn.Parameter(torch.zeros(width))
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width), nn.ReLU())
        self.head = GraphHead(width, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        x = elu(self.convs[0](x, edge_index))
        x = x + self.mlp(global_add_pool(x, batch, batch_size) + self.start)[batch]
        logits: Tensor = self.head(self.convs[1](x, edge_index), batch, batch_size)
        return logits


class PlainStack(WordReader):
    """GCN or GAT of `depth` layers as HGNet's authors ran them on sanitised splits: ELU and dropout 0.6 between layers, none before."""

    def __init__(self, in_channels: int, out_channels: int, conv: str = "GCN", depth: int = 1) -> None:
        super().__init__()
        self.in_channels = in_channels
        if conv == "GCN":
            widths = [in_channels, *[32] * (depth - 1), out_channels]
            layers = [GCNConv(a, b) for a, b in itertools.pairwise(widths)]
        else:
            layers = [
                GATConv(
                    64 if layer else in_channels, out_channels if layer == depth - 1 else 8, 1 if layer == depth - 1 else 8, dropout=0.6
                )
                for layer in range(depth)
            ]
        self.words = nn.Parameter(layers[0].lin.weight.data.t().contiguous())
        layers[0].lin = nn.Identity()  # its weight is multiplied with the words, which may be sparse
        self.convs = nn.ModuleList(layers)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = Words.read(x, "rows").times(self.words)
        for layer, conv in enumerate(self.convs):
            x = conv(x, edge_index)
            x = dropout(elu(x), 0.6, self.training) if layer < len(self.convs) - 1 else x
        return x


_GRAPHS = Training(
    epochs=200, batch_size=20, learning_rate=0.005, schedule="constant", l2=0.0, weight_decay=1e-4, keep_best=True, watch="score"
)
NODES = replace(_GRAPHS, batch_size=None)
_SOURCE = "Rampášek & Wolf (2021), settings of their code"


def _graph_rival(network: Any, printed: str, **options: Any) -> Rival:
    return Rival(network, _GRAPHS, "graph", _SOURCE, options, {"nci": printed})


def _node_rival(network: Any, printed: str, **options: Any) -> Rival:
    return Rival(network, NODES, "node", _SOURCE, options, {"khop": printed})


RIVALS = {
    "GCN+VN": _graph_rival(VirtualNodeGCN, "GCN + VN"),
    "HGNet-EdgePool": _graph_rival(GraphHGNet, "HGNet-EdgePool", pooling="edges"),
    "HGNet-Louvain": _graph_rival(GraphHGNet, "HGNet-Louvain", pooling="louvain"),
    "GCN-HGNet": _node_rival(PlainStack, "GCN", conv="GCN", depth=1),
    "GAT-HGNet": _node_rival(PlainStack, "GAT", conv="GAT", depth=2),
    "HGNet-EP": _node_rival(NodeHGNet, "HGNet-EP", pooling="edges", depth=1),
    "HGNet-L": _node_rival(NodeHGNet, "HGNet-L", pooling="louvain", depth=1),
}
