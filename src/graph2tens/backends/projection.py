r"""Projections :math:`a = \langle u, x_i\rangle` of all nodes at once, shared by the fast backends.

Both form increments as :math:`a_j - a_i`, which cancels where attributes share a large offset: at 1e3, float32 keeps three digits.
Increments do not see a constant, so each graph's mean attribute is subtracted *before* projecting; its projection comes back in the start
factor alone. The mean counts as a constant for gradients: up to rounding nothing depends on it.

Attributes may be sparse (CSR): the words of a citation graph fill 1 % of x, and a sparse product reads only those. They are not centred,
since that would fill them, and get no gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from .problem import Problem

# Transposes of sparse attributes, made with the first backward pass and forgotten with the attributes.
_TRANSPOSED: Any = WeakTensorKeyDictionary()


class Projections(NamedTuple):
    """What the recursion needs of x and the components.

    Attributes:
        a: (n, M, R), onto components M..1: level m is made of the first m of them. With increments centred and without bias, which
            cancels; else with bias.
        offset: (G, M, R), what the start factor adds to `a` again in each of G graphs.
        tau: (M, R), the projections of the time coordinate; (0, R) without time.
    """

    a: Tensor
    offset: Tensor
    tau: Tensor


def project_all(problem: Problem) -> Projections:
    """Project all nodes onto all components, with increments without the mean of each graph."""
    x, components, bias = problem.x, problem.components.flip(0), None if problem.bias is None else problem.bias.flip(0)
    M, _, R = components.shape
    tau, rest = (components[:, 0], components[:, 1:]) if problem.variant.time else (components[:0, 0], components)
    weights = rest.transpose(0, 1).reshape(-1, M * R)
    flat_bias = None if bias is None else bias.reshape(1, -1)
    batch, graphs = problem.walk.graphs
    if not problem.variant.increments or x.layout != torch.strided:
        a = project(x, weights)
        offset = a.new_zeros(graphs, M * R)
        if flat_bias is not None:
            a, offset = (a, offset + flat_bias) if problem.variant.increments else (a + flat_bias, offset)
    else:
        centred, centres = centre(x, batch, graphs)
        a, offset = project(centred, weights), project(centres, weights)
        offset = offset if flat_bias is None else offset + flat_bias
    return Projections(a.view(-1, M, R), offset.view(-1, M, R), tau)


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
        return _transposed(ctx.x) @ gradient, None


def _transposed(x: Tensor) -> Tensor:
    """The transpose of a sparse matrix, kept until the matrix is changed or forgotten."""
    parts = (x.crow_indices(), x.col_indices(), x.values())
    known: tuple[list[Tensor], Tensor] | None = _TRANSPOSED.get(x)
    if known is None or not all(map(torch.equal, known[0], parts)):  # PyTorch does not count changes of a sparse tensor's parts
        known = _TRANSPOSED[x] = ([part.clone() for part in parts], x.t().to_sparse_csr())
    return known[1]


def centre(x: Tensor, batch: Tensor, graphs: int) -> tuple[Tensor, Tensor]:
    """x without the mean of each graph, and the means (G, d), which carry no gradient."""
    with torch.no_grad():
        counts = torch.bincount(batch, minlength=graphs).clamp(min=1).to(x.dtype)
        centres = x.new_zeros(graphs, x.size(1)).index_add(0, batch, x) / counts.unsqueeze(1)
        centres = centres.nan_to_num(0.0, 0.0, 0.0)  # sums beyond the range of the type: attributes near 1e38 stay as they are
    return x - centres.index_select(0, batch), centres


def without_start(U: Tensor, a: Tensor, coefficients: Tensor) -> Tensor:
    r"""Degrees 1 and 2 without a start factor from those with one, (n, M, R), whose factor is made of `a`.

    Level 1 is :math:`U_1 - c_1 a_2`, level 2 :math:`U_2 - c_1 a_1 (U_1 - c_1 a_2) - c_2 a_1 a_2`.
    """
    first = U[:, 0] - coefficients[0] * a[:, 0]
    if a.size(1) == 1:
        return first.unsqueeze(1)
    return torch.stack([first, U[:, 1] - coefficients[0] * a[:, 1] * first - coefficients[1] * a[:, 1] * a[:, 0]], dim=1)
