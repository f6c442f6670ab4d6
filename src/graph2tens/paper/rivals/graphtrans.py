"""GraphTrans of `Wu et al. (2021) <https://arxiv.org/abs/2201.08821>`_: graph convolutions, then a Transformer over the nodes; table 1.

Text and published configurations disagree. The printed numbers are linked to the configurations, which are the default here.

Tokens stay packed, one row per node and graph, for everything but attention itself, and graphs of similar size attend together: padded to
the longest graph of a batch, two thirds of all rows would be padding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, relu, scaled_dot_product_attention
from torch_geometric.utils import degree, scatter

from ...training.config import Training
from .norm import BatchNorm
from .rival import Rival

DROPOUT = 0.1


class OgbGCN(nn.Module):
    r"""OGB's graph convolution with edge features of 0: :math:`\sum_j \mathrm{relu}(z_j) / \sqrt{d_i d_j} + \mathrm{relu}(z_i + r) / d_i`,
    z = Wx + b, d = degree + 1. The ReLU inside the sum is what PyG's ``GCNConv`` does not have."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear, self.root = nn.Linear(width, width), nn.Parameter(torch.randn(width))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        z, (source, target) = self.linear(x), edge_index
        d = degree(source, x.size(0), dtype=x.dtype) + 1
        weight = (d[source] * d[target]).rsqrt()
        gathered = scatter(relu(z)[source] * weight[:, None], target, dim_size=x.size(0))
        summed: Tensor = gathered + relu(z + self.root) / d[:, None]
        return summed


class OgbGIN(nn.Module):
    r"""OGB's GIN layer with edge features of 0: :math:`\mathrm{MLP}((1 + \epsilon) x_i + \sum_j \mathrm{relu}(x_j))`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), BatchNorm(2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.eps = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index
        logits: Tensor = self.mlp((1 + self.eps) * x + scatter(relu(x)[source], target, dim_size=x.size(0)))
        return logits


class Group(NamedTuple):
    """Graphs of similar size whose tokens are padded to the longest of them."""

    tokens: slice
    graph: Tensor
    position: Tensor
    taken: Tensor  # (graphs, length): positions that are not padding


class Packing:
    """An order of a batch's tokens: graph by graph, smallest first, cut into groups for attention.

    Attributes:
        order: old places of the tokens.
        first: new place of each graph's first token.
    """

    def __init__(self, batch: Tensor, batch_size: int, groups: int = 8) -> None:
        counts = torch.bincount(batch, minlength=batch_size)
        by_size = torch.argsort(counts, stable=True)
        rank = torch.empty_like(by_size).scatter_(0, by_size, torch.arange(batch_size, device=batch.device))
        self.order = torch.argsort(rank[batch], stable=True)
        counts = counts[by_size]
        start = counts.cumsum(0) - counts
        self.first = start[rank]
        owner = rank[batch][self.order]
        position = torch.arange(owner.numel(), device=batch.device) - start[owner]
        self.groups = []
        for graphs in torch.arange(batch_size, device=batch.device).chunk(groups):
            tokens = slice(int(start[graphs[0]]), int(start[graphs[-1]] + counts[graphs[-1]]))
            length = int(counts[graphs[-1]])
            taken = torch.arange(length, device=batch.device) < counts[graphs][:, None]
            self.groups.append(Group(tokens, owner[tokens] - graphs[0], position[tokens], taken))


class PackedLayer(nn.TransformerEncoderLayer):
    """PyTorch's encoder layer (same parameters, norm after each block) on packed tokens."""

    def forward(self, tokens: Tensor, packing: Packing) -> Tensor:  # type: ignore[override]
        tokens = self.norm1(tokens + self.dropout1(self._attend(tokens, packing)))
        after: Tensor = self.norm2(tokens + self._ff_block(tokens))
        return after

    def _attend(self, tokens: Tensor, packing: Packing) -> Tensor:
        attention = self.self_attn
        projected = nn.functional.linear(tokens, attention.in_proj_weight, attention.in_proj_bias)
        read = torch.cat([self._attend_in(group, projected[group.tokens]) for group in packing.groups])
        mixed: Tensor = attention.out_proj(read)
        return mixed

    def _attend_in(self, group: Group, projected: Tensor) -> Tensor:
        heads, dropped = self.self_attn.num_heads, self.self_attn.dropout if self.training else 0.0
        padded = projected.new_zeros(*group.taken.shape, projected.size(1)).index_put((group.graph, group.position), projected)
        q, k, v = padded.view(*group.taken.shape, 3, heads, -1).permute(2, 0, 3, 1, 4)
        read = scaled_dot_product_attention(q, k, v, attn_mask=group.taken[:, None, None], dropout_p=dropped)
        packed: Tensor = read.transpose(1, 2).flatten(2)[group.graph, group.position]
        return packed


class GraphTrans(nn.Module):
    """Graph convolutions with batch normalisation, one learned token per graph that attends to all nodes, no positions.

    Args:
        conv: ``GCN`` or ``GIN``, in OGB's form.
        layers: graph convolutions.
        width: of them.
        blocks: Transformer layers.
        feedforward: width inside a Transformer layer.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        conv: str = "GCN",
        layers: int = 5,
        width: int = 128,
        blocks: int = 3,
        feedforward: int = 256,
    ) -> None:
        super().__init__()
        d_model, heads = 128, 4
        self.in_channels = in_channels
        self.first = nn.Linear(in_channels, width)
        self.convs = nn.ModuleList([OgbGCN(width) if conv == "GCN" else OgbGIN(width) for _ in range(layers)])
        self.norms = nn.ModuleList([BatchNorm(width) for _ in range(layers)])
        self.to_tokens = nn.Linear(width, d_model)
        self.token = nn.Parameter(torch.randn(d_model))
        self.norm_in, self.norm_out = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.blocks = nn.ModuleList([PackedLayer(d_model, heads, feedforward, DROPOUT) for _ in range(blocks)])
        self.head = nn.Linear(d_model, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        x = self.first(x)
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = norm(conv(x, edge_index))
            x = dropout(x if layer == len(self.convs) - 1 else relu(x), DROPOUT, self.training)
        # The graphs' own tokens come first; attention without positions does not care.
        tokens = self.norm_in(torch.cat([self.token.expand(batch_size, -1), self.to_tokens(x)]))
        owner = torch.cat([torch.arange(batch_size, device=batch.device), batch])
        packing = Packing(owner, batch_size)
        tokens = tokens[packing.order]
        for block in self.blocks:
            tokens = block(tokens, packing)
        logits: Tensor = self.head(self.norm_out(tokens[packing.first]))
        return logits


_TRAINING = Training(
    epochs=100, batch_size=128, learning_rate=1e-4, l2=0.0, optimiser="adamw", weight_decay=1e-4, keep_best=True, watch="score"
)


def _rival(printed: str, **options: Any) -> Rival:
    return Rival(GraphTrans, _TRAINING, "graph", "Wu et al. (2021), their configuration files", options, {"nci": printed})


RIVALS = {
    "GraphTrans-small": _rival("GraphTrans (small)", conv="GCN", blocks=3),
    "GraphTrans-large": _rival("GraphTrans (large)", conv="GIN", blocks=4),
}
