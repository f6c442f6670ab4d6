"""GIN as `Errica et al. (2020) <https://arxiv.org/abs/1912.09893>`_ run it, and its last layer made fully adjacent: rows of table 1."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch_geometric.nn import GINConv, global_add_pool

from ...training.config import Training
from .norm import BatchNorm
from .rival import Rival


class GIN(nn.Module):
    """An MLP on the attributes, `layers` GIN layers, and a linear readout of the sum over nodes at every level; the readouts are added.

    The source's dropout at the first level stays on in evaluation, since it lacks the training flag. Here it does not.

    Args:
        fully_adjacent: in the last layer every node reads from all nodes of its graph, itself included
            (`Alon & Yahav, 2021 <https://arxiv.org/abs/2006.05205>`_). No parameter is added.
    """

    def __init__(
        self, in_channels: int, out_channels: int, width: int = 64, layers: int = 4, dropout: float = 0.5, fully_adjacent: bool = False
    ) -> None:
        super().__init__()
        self.in_channels, self.dropout, self.fully_adjacent = in_channels, dropout, fully_adjacent
        self.first = _mlp(in_channels, width)
        self.convs: Any = nn.ModuleList([GINConv(_mlp(width, width), train_eps=True) for _ in range(layers)])
        self.heads = nn.ModuleList([nn.Linear(width, out_channels) for _ in range(layers + 1)])

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        x = self.first(x)
        # at the first level the linear map comes before the sum, so its bias counts the nodes
        readouts = [global_add_pool(self.heads[0](x), batch, batch_size)]
        for level, conv in enumerate(self.convs, start=1):
            if self.fully_adjacent and level == len(self.convs):
                x = conv.nn((1 + conv.eps) * x + global_add_pool(x, batch, batch_size)[batch])
            else:
                x = conv(x, edge_index)
            readouts.append(self.heads[level](global_add_pool(x, batch, batch_size)))
        return torch.stack([dropout(readout, self.dropout, self.training) for readout in readouts]).sum(0)


def _mlp(in_channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(in_channels, width), BatchNorm(width), nn.ReLU(), nn.Linear(width, width), BatchNorm(width), nn.ReLU())


# Their grid has 128 settings, chosen anew on every fold. Frozen here: width, layers, batch, sum, trained eps.
_TRAINING = Training(epochs=1000, batch_size=128, learning_rate=0.01, schedule="step", l2=0.0, patience=500, watch="score")

RIVALS = {
    "GIN": Rival(GIN, _TRAINING, "graph", "Errica et al. (2020), one setting of their grid", printed={"nci": "GIN"}),
    "GIN+FA": Rival(
        GIN, _TRAINING, "graph", "Alon & Yahav (2021), settings of GIN", options={"fully_adjacent": True}, printed={"nci": "GIN + FA"}
    ),
}
