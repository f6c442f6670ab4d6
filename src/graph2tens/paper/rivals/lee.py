"""Set2Set, SortPool and SAGPool in the frame of `Lee et al. (2019) <https://arxiv.org/abs/1904.08082>`_: rows of table 1.

Three graph convolutions, one way or another to pool nodes, mean and maximum over what is left, a small classifier; no norms.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, relu
from torch_geometric.nn import GCNConv, SAGPooling, global_max_pool, global_mean_pool
from torch_geometric.nn.aggr import Set2Set as Set2SetReadout

from ...training.config import Training
from .rival import Rival

LAYERS = 3


def mean_and_maximum(x: Tensor, batch: Tensor, batch_size: int) -> Tensor:
    """The frame's readout, (graphs, 2 h)."""
    return torch.cat([global_mean_pool(x, batch, batch_size), global_max_pool(x, batch, batch_size)], dim=1)


class Classifier(nn.Module):
    """Linear, ReLU, dropout, linear, ReLU, linear."""

    def __init__(self, in_channels: int, width: int, out_channels: int) -> None:
        super().__init__()
        self.lins = nn.ModuleList([nn.Linear(in_channels, width), nn.Linear(width, width // 2), nn.Linear(width // 2, out_channels)])

    def forward(self, x: Tensor) -> Tensor:
        x = dropout(relu(self.lins[0](x)), 0.5, self.training)
        logits: Tensor = self.lins[2](relu(self.lins[1](x)))
        return logits


class Frame(nn.Module):
    """Convolutions whose outputs are concatenated, then pooled once. What comes after is :meth:`readout`."""

    def __init__(self, in_channels: int, out_channels: int, width: int, read_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.convs = nn.ModuleList([GCNConv(width if layer else in_channels, width) for layer in range(LAYERS)])
        self.classifier = Classifier(read_channels, width, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        layers = []
        for conv in self.convs:
            x = relu(conv(x, edge_index))
            layers.append(x)
        logits: Tensor = self.classifier(self.readout(torch.cat(layers, dim=1), edge_index, batch, batch_size))
        return logits

    def readout(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        raise NotImplementedError


class Set2Set(Frame):
    """Vinyals et al.'s readout: an LSTM that asks the set of nodes ten times."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 128, steps: int = 10) -> None:
        super().__init__(in_channels, out_channels, width, 2 * LAYERS * width)
        self.pool = Set2SetReadout(LAYERS * width, processing_steps=steps)

    def readout(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        read: Tensor = self.pool(x, batch, dim_size=batch_size)
        return read


class SortPool(Frame):
    """Zhang et al.'s pooling: the `keep` nodes that are largest in the last channel.

    Two heads: ``frame`` takes mean and maximum over them, for which their order is irrelevant; ``dgcnn`` runs a 1-D convolution along
    them, as the original does. Which of the two made the printed numbers is not public.
    """

    def __init__(self, in_channels: int, out_channels: int, width: int = 128, keep: int = 23, head: str = "frame") -> None:
        filters, taps = 32, 5
        self_readout = head == "frame"
        super().__init__(in_channels, out_channels, width, 2 * LAYERS * width if self_readout else filters * (keep - taps + 1))
        self.keep = keep
        self.conv = None if self_readout else nn.Conv1d(LAYERS * width, filters, taps)

    def readout(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        # Stable, unlike PyG's: the last channel of many nodes is exactly 0, and batch mates must not decide which of them stay.
        order = torch.argsort(x[:, -1].detach(), descending=True, stable=True)
        order = order[torch.argsort(batch[order], stable=True)]
        counts = torch.bincount(batch, minlength=batch_size)
        position = torch.arange(batch.numel(), device=batch.device) - (counts.cumsum(0) - counts)[batch]
        kept, position = order[position < self.keep], position[position < self.keep]
        if self.conv is None:
            return mean_and_maximum(x[kept], batch[kept], batch_size)
        rows = x.new_zeros(batch_size, self.keep, x.size(1)).index_put((batch[kept], position), x[kept])
        return relu(self.conv(rows.transpose(1, 2))).flatten(1)


class SAGPoolGlobal(Frame):
    """SAGPool-g: a graph convolution scores the nodes, the best `keep` of each graph stay, times the tanh of their score."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 128, keep: int = 23) -> None:
        super().__init__(in_channels, out_channels, width, 2 * LAYERS * width)
        self.pool = SAGPooling(LAYERS * width, ratio=keep, GNN=GCNConv)

    def readout(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        x, _, _, batch, *_ = self.pool(x, edge_index, batch=batch)
        return mean_and_maximum(x, batch, batch_size)


class SAGPoolHierarchical(nn.Module):
    """SAGPool-h: after every convolution half of the nodes stay; the readouts of the three levels are added."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 128, ratio: float = 0.5) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.convs = nn.ModuleList([GCNConv(width if layer else in_channels, width) for layer in range(LAYERS)])
        self.pools = nn.ModuleList([SAGPooling(width, ratio=ratio, GNN=GCNConv) for _ in range(LAYERS)])
        self.classifier = Classifier(2 * width, width, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        readouts = []
        for conv, pool in zip(self.convs, self.pools, strict=True):
            x, edge_index, _, batch, *_ = pool(relu(conv(x, edge_index)), edge_index, batch=batch)
            readouts.append(mean_and_maximum(x, batch, batch_size))
        logits: Tensor = self.classifier(torch.stack(readouts).sum(0))
        return logits


# Defaults of the public code; its authors searched rate, width, decay and ratio for each data set and did not publish the winners.
_TRAINING = Training(epochs=100_000, batch_size=128, learning_rate=5e-4, schedule="constant", l2=0.0, weight_decay=1e-4, patience=50)


def _rival(network: Any, printed: str | None, **options: Any) -> Rival:
    names = {} if printed is None else {"nci": printed}
    return Rival(network, _TRAINING, "graph", "Lee et al. (2019), defaults of their code", options, names)


RIVALS = {
    "Set2Set": _rival(Set2Set, "Set2Set"),
    "SortPool": _rival(SortPool, "SortPool"),
    "SortPool-DGCNN": _rival(SortPool, None, head="dgcnn"),
    "SAGPool-h": _rival(SAGPoolHierarchical, "SAGPool-h"),
    "SAGPool-g": _rival(SAGPoolGlobal, "SAGPool-g"),
}
