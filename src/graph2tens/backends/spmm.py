r"""Sparse times dense, differentiable in both to any order: :math:`y_i = \sum_j P_{ij} z_j` for one P, or one P for each head.

The derivative with respect to z is the product with the transposed P, and with respect to P the products of rows along the edges
(:class:`_EdgeDot`), whose own derivatives are sparse products again. So two functions that hold no array of edges x columns suffice for
all orders. PyTorch's sparse product alone would give no gradient for P. Compiled code takes a gather and an `index_add` instead, which
the compiler fuses.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..walks import RandomWalk

_CHUNK_NUMBERS = 2**22  # edges x columns that exist at a time, where a product along the edges is needed


class Pattern(NamedTuple):
    """Where P is not zero: CSR, and the entries' rows; the same for the transpose; and the permutations between their entries."""

    row_ptr: Tensor
    col: Tensor
    row: Tensor
    t_ptr: Tensor
    t_row: Tensor
    t_col: Tensor
    to_transposed: Tensor
    from_transposed: Tensor

    @classmethod
    def of(cls, walk: RandomWalk) -> Pattern:
        pattern: Pattern = walk.known("both_ways", lambda: cls._both_ways(walk))
        return pattern

    @classmethod
    def _both_ways(cls, walk: RandomWalk) -> Pattern:
        t_ptr, t_row, position = walk.transpose
        inverse = torch.empty_like(position).scatter_(0, position, torch.arange(position.numel(), device=position.device))
        return cls(walk.row_ptr, walk.col, walk.row, t_ptr, t_row, walk.col[position], position, inverse)

    @property
    def transposed(self) -> Pattern:
        return Pattern(self.t_ptr, self.t_row, self.t_col, self.row_ptr, self.col, self.row, self.from_transposed, self.to_transposed)


def spmm(p: Tensor, z: Tensor, pattern: Pattern) -> Tensor:
    """P z for p (E, H) and z (n, K, R), where head h owns the h-th block of R / H columns; the result is (n, K, R)."""
    if torch.compiler.is_compiling():
        _, K, R = z.shape
        along = z.index_select(0, pattern.col).view(-1, K, p.size(1), R // p.size(1)) * p.view(-1, 1, p.size(1), 1)
        return torch.zeros_like(z).index_add(0, pattern.row, along.view(-1, K, R))
    product: Tensor = _Spmm.apply(p, z, pattern)
    return product


class _Spmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor, z: Tensor, pattern: Pattern) -> Tensor:
        ctx.save_for_backward(p, z if ctx.needs_input_grad[0] else None)
        ctx.pattern = pattern
        (n, K, R), H = z.shape, p.size(1)
        if H == 1:
            return _product(p[:, 0], z.reshape(n, K * R), pattern).view(n, K, R)
        blocks = z.view(n, K, H, R // H)
        heads = [_product(p[:, h], blocks[:, :, h].reshape(n, -1), pattern).view(n, K, R // H) for h in range(H)]
        return torch.stack(heads, dim=2).view(n, K, R)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        p, z = ctx.saved_tensors
        pattern: Pattern = ctx.pattern
        grad_p = _EdgeDot.apply(grad, z, p.size(1), pattern) if ctx.needs_input_grad[0] else None
        grad_z = _Spmm.apply(p[pattern.to_transposed], grad, pattern.transposed) if ctx.needs_input_grad[1] else None
        return grad_p, grad_z, None


class _EdgeDot(torch.autograd.Function):
    """For every edge i -> j and head, the inner product of row i of y and row j of z, (E, H)."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, z: Tensor, H: int, pattern: Pattern) -> Tensor:
        ctx.save_for_backward(y, z)
        ctx.pattern = pattern
        (n, K, R), E = y.shape, pattern.col.numel()
        result = y.new_empty(E, H)
        y, z = y.reshape(n, K, H, R // H), z.reshape(n, K, H, R // H)
        chunk = max(1, _CHUNK_NUMBERS // max(1, K * R))
        for begin in range(0, E, chunk):
            part = slice(begin, begin + chunk)
            result[part] = (y[pattern.row[part]] * z[pattern.col[part]]).sum((1, 3))
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        y, z = ctx.saved_tensors
        pattern: Pattern = ctx.pattern
        grad_y = _Spmm.apply(grad, z, pattern) if ctx.needs_input_grad[0] else None
        grad_z = _Spmm.apply(grad[pattern.to_transposed], y, pattern.transposed) if ctx.needs_input_grad[1] else None
        return grad_y, grad_z, None, None


def _product(p: Tensor, z: Tensor, pattern: Pattern) -> Tensor:
    """P z for one head, (n, columns)."""
    n = z.size(0)
    if z.is_cuda or torch.backends.mkl.is_available():
        _silence_beta_warning()
        matrix = torch.sparse_csr_tensor(pattern.row_ptr, pattern.col, p.contiguous(), (n, n), check_invariants=False)
        return matrix @ z
    result = torch.zeros_like(z)  # builds of PyTorch without a sparse library
    chunk = max(1, _CHUNK_NUMBERS // max(1, z.size(1)))
    for begin in range(0, p.numel(), chunk):
        part = slice(begin, begin + chunk)
        result.index_add_(0, pattern.row[part], p[part].unsqueeze(1) * z[pattern.col[part]])
    return result


@cache
def _silence_beta_warning() -> None:
    """PyTorch says once in a process that CSR tensors are in beta state, which tells our users nothing they could act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))
