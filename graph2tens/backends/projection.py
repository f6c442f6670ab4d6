r"""Projections :math:`\langle u, x_i\rangle` of all nodes at once, for attributes stored densely or sparsely.

The words of a citation graph fill 1 % of x. A sparse product reads only those: on CiteSeer (3327 x 3703, 128 vectors, one core) it takes
1.6 ms where the dense one takes 37, and the same again in the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

# Transposes of sparse attributes, made with the first backward pass and forgotten with the attributes.
_TRANSPOSED: Any = WeakTensorKeyDictionary()


def project(x: Tensor, vectors: Tensor) -> Tensor:
    """``x @ vectors``, (n, d) times (d, R). A sparse x (CSR) gets no gradient."""
    if x.layout == torch.strided:
        return x @ vectors
    projected: Tensor = _SparseProjection.apply(vectors, x)
    return projected


class _SparseProjection(torch.autograd.Function):
    """PyTorch's own backward pass would transpose x anew in every step."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, x: Tensor) -> Tensor:
        ctx.x = x
        return x @ vectors

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        if ctx.x not in _TRANSPOSED:
            _TRANSPOSED[ctx.x] = ctx.x.t().to_sparse_csr()
        return _TRANSPOSED[ctx.x] @ gradient, None
