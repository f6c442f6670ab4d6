r"""Projections :math:`a = \langle u, x_i\rangle` of all nodes at once, shared by the fast backends.

Both form increments as :math:`a_j - a_i`, which cancels where attributes share a large offset: at 1e3, float32 keeps three digits in the
edge form and none in the node form. Increments do not see a constant, so each graph's mean attribute is subtracted *before* projecting;
its projection comes back in the start factor alone. The mean counts as a constant for gradients: up to rounding nothing depends on it.

Attributes may be sparse (CSR): the words of a citation graph fill 1 % of x, and a sparse product reads only those. They are not centred,
since that would fill them, and get no gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from . import threads
from .compiling import Compiled, compiled
from .problem import Problem

# Transposes of sparse attributes, made with the first backward pass and forgotten with the attributes.
_TRANSPOSED: Any = WeakTensorKeyDictionary()


class Projections(NamedTuple):
    """What the recursion needs of x and the components.

    Attributes:
        a: (n, M, R). With increments centred and without bias, which cancels; else with bias.
        offset: (G, M, R), what the start factor adds to `a` again in each of G graphs.
        tau: (M, R), the projections of the time coordinate; (0, R) without time.
    """

    a: Tensor
    offset: Tensor
    tau: Tensor


def project_all(problem: Problem, centre: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> Projections:
    """Project all nodes onto all components, subtracting the mean of each graph by `centre` or `fused_centre`."""
    x, components, bias = problem.x, problem.components, problem.bias
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
        centres = centres.detach()
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
        if ctx.x not in _TRANSPOSED:
            _TRANSPOSED[ctx.x] = ctx.x.t().to_sparse_csr()
        return _TRANSPOSED[ctx.x] @ gradient, None


def centre(x: Tensor, batch: Tensor, graphs: int) -> tuple[Tensor, Tensor]:
    """x without the mean of each graph, and the means (G, d), which carry no gradient."""
    with torch.no_grad():
        counts = torch.bincount(batch, minlength=graphs).clamp(min=1).to(x.dtype)
        centres = x.new_zeros(graphs, x.size(1)).index_add(0, batch, x) / counts.unsqueeze(1)
    return x - centres.index_select(0, batch), centres


@torch.library.custom_op("graph2tens::centre", mutates_args=(), device_types="cpu")
def fused_centre(x: Tensor, batch: Tensor, graphs: int) -> tuple[Tensor, Tensor]:
    """The same as `centre` on the CPU, reading x twice and writing once."""
    x = x.detach().contiguous()
    centred, centres = torch.empty_like(x), add_up_by_graph(x, batch, graphs)
    arrays = [tensor.numpy() for tensor in (x, batch, torch.bincount(batch, minlength=graphs), centred, centres)]
    kernel = column_kernels(str(x.dtype)).centre
    threads.run([partial(kernel, first, last, *arrays) for first, last in _column_ranges(x)])
    return centred, centres


@fused_centre.register_fake
def _(x: Tensor, batch: Tensor, graphs: int) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(graphs, x.size(1))


fused_centre.register_autograd(lambda ctx, centred, centres: (centred, None, None))


class ColumnKernels(NamedTuple):
    """Loops over some of the columns of a matrix of nodes."""

    add_up: Compiled
    centre: Compiled


@cache
def column_kernels(dtype: str) -> ColumnKernels:
    def add_up(first, last, values, batch, totals):  # type: ignore[no-untyped-def]
        """Sum of the rows of each graph; `totals` starts at zero."""
        for i in range(values.shape[0]):
            total, row = totals[batch[i], first:last], values[i, first:last]
            for column in range(last - first):
                total[column] += row[column]

    def centre(first, last, x, batch, counts, centred, centres):  # type: ignore[no-untyped-def]
        """x without the mean of its graph; `centres` holds the sums and becomes the means."""
        for g in range(centres.shape[0]):
            total = centres[g, first:last]
            for column in range(last - first):
                total[column] /= max(counts[g], 1)
        for i in range(x.shape[0]):
            mean, row, target = centres[batch[i], first:last], x[i, first:last], centred[i, first:last]
            for column in range(last - first):
                target[column] = row[column] - mean[column]

    return ColumnKernels(compiled(add_up, dtype), compiled(centre, dtype))


def add_up_by_graph(values: Tensor, batch: Tensor, graphs: int) -> Tensor:
    """Sum of the rows (n, columns) of each graph. Threads own columns, so every sum has one owner and one order."""
    totals = values.new_zeros(graphs, values.size(1))
    arrays = [tensor.numpy() for tensor in (values, batch, totals)]
    add_up = column_kernels(str(values.dtype)).add_up
    threads.run([partial(add_up, first, last, *arrays) for first, last in _column_ranges(values)])
    return totals


def _column_ranges(matrix: Tensor) -> list[tuple[int, int]]:
    columns = matrix.size(1)
    count = max(1, min(torch.get_num_threads(), columns // 16, matrix.numel() // 100_000))
    return list(pairwise(columns * part // count for part in range(count + 1)))
