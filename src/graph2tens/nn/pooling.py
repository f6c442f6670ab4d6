"""Gated pooling, the readout of the paper's model."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn.aggr import Aggregation


class GatedPooling(Aggregation):  # type: ignore[misc]
    r"""Gated attention of `Li et al. <https://arxiv.org/abs/1511.05493>`_ in the form of the authors' code:
    :math:`\sum_i \sigma(W h_i + b) \odot (V h_i + c)` over the nodes of each graph.

    PyG's `AttentionalAggregation` normalises the gates by a softmax over the nodes and so forgets how many nodes there are; a sum of
    gates does not. An empty graph gives 0.

    Args:
        in_channels: width of the nodes.
        out_channels: width of the graphs.

    Shapes:
        - **input:** x :math:`(|V|, F)`, index :math:`(|V|)`
        - **output:** :math:`(B, F')`
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        # gate and value in one product of matrices
        self.lin = torch.nn.Linear(in_channels, 2 * out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        torch.nn.init.zeros_(self.lin.bias)
        for half in self.lin.weight.data.chunk(2):  # Glorot for each of the two, not for their union
            torch.nn.init.xavier_uniform_(half)

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        gate, value = self.lin(x).chunk(2, dim=-1)
        pooled: Tensor = self.reduce(gate.sigmoid() * value, index, ptr, dim_size, dim, reduce="sum")
        return pooled

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"
