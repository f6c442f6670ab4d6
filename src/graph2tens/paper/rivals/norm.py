"""Batch normalisation that also takes a batch of one row."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import batch_norm


class BatchNorm(nn.BatchNorm1d):
    """PyTorch's, but a single row is normalised by the running statistics, where PyTorch raises.

    The last batch of an epoch may be one graph, and a graph may be pooled to one node: it has no deviation to be divided by.
    """

    def forward(self, x: Tensor) -> Tensor:
        if self.training and x.size(0) == 1:
            return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, training=False, eps=self.eps)
        return super().forward(x)
