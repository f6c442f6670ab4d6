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

import numpy as np
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


@torch.library.custom_op("graph2tens::centre", mutates_args=(), device_types="cpu")
def fused_centre(x: Tensor, batch: Tensor, graphs: int) -> tuple[Tensor, Tensor]:
    """The same as `centre` on the CPU, each graph in the cache of a core."""
    x = x.detach().contiguous()
    centred, centres = torch.empty_like(x), x.new_empty(graphs, x.size(1))
    _by_graph("centre", x, batch, centres, centred)
    return centred, centres


@fused_centre.register_fake
def _(x: Tensor, batch: Tensor, graphs: int) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(graphs, x.size(1))


fused_centre.register_autograd(lambda ctx, centred, centres: (centred, None, None))


def add_up_by_graph(values: Tensor, batch: Tensor, graphs: int) -> Tensor:
    """Sum of the rows (n, columns) of each graph."""
    totals = values.new_empty(graphs, values.size(1))
    _by_graph("add_up", values, batch, totals)
    return totals


def _by_graph(kernel: str, values: Tensor, batch: Tensor, totals: Tensor, *more: Tensor) -> None:
    """Threads own graphs, or columns where there are few graphs; every sum has one owner and one order, so bits do not change."""
    graphs, columns = totals.shape
    kernels = graph_kernels(str(values.dtype))
    order, ptr = np.empty(batch.numel(), np.int64), np.zeros(graphs + 1, np.int64)
    kernels.sort(batch.numpy(), order, ptr)
    arrays = [order, ptr, *(tensor.numpy() for tensor in (values, totals, *more))]
    count = max(1, min(torch.get_num_threads(), values.numel() // 100_000))
    if graphs >= 8 * count:
        borders = [0, *np.searchsorted(ptr, values.size(0) * np.arange(1, count) / count), graphs]
        parts = [(int(first), int(last), 0, columns) for first, last in pairwise(borders)]
    else:
        parts = [(0, graphs, first, last) for first, last in pairwise(columns * part // count for part in range(count + 1))]
    threads.run([partial(getattr(kernels, kernel), *part, *arrays) for part in parts])


class GraphKernels(NamedTuple):
    """Loops over some graphs and some columns of a matrix of nodes."""

    sort: Compiled
    add_up: Compiled
    centre: Compiled


@cache
def graph_kernels(dtype: str) -> GraphKernels:
    def sort(batch, order, ptr):  # type: ignore[no-untyped-def]
        """Nodes graph by graph; those of graph g are ``order[ptr[g] : ptr[g + 1]]``."""
        for i in range(batch.size):
            ptr[batch[i] + 1] += 1
        for g in range(ptr.size - 1):
            ptr[g + 1] += ptr[g]
        place = ptr[:-1].copy()
        for i in range(batch.size):
            order[place[batch[i]]] = i
            place[batch[i]] += 1

    def add_up(first, last, left, right, order, ptr, values, totals):  # type: ignore[no-untyped-def]
        for g in range(first, last):
            total = totals[g, left:right]
            total[:] = 0
            for place in range(ptr[g], ptr[g + 1]):
                row = values[order[place], left:right]
                for column in range(right - left):
                    total[column] += row[column]

    def centre(first, last, left, right, order, ptr, x, centres, centred):  # type: ignore[no-untyped-def]
        for g in range(first, last):
            mean = centres[g, left:right]
            mean[:] = 0
            for place in range(ptr[g], ptr[g + 1]):
                row = x[order[place], left:right]
                for column in range(right - left):
                    mean[column] += row[column]
            for column in range(right - left):  # a sum beyond the range of the type: attributes near 1e38 stay as they are
                mean[column] = mean[column] / max(ptr[g + 1] - ptr[g], 1) if np.isfinite(mean[column]) else 0
            for place in range(ptr[g], ptr[g + 1]):
                row, target = x[order[place], left:right], centred[order[place], left:right]
                for column in range(right - left):
                    target[column] = row[column] - mean[column]

    return GraphKernels(compiled(sort, dtype), compiled(add_up, dtype), compiled(centre, dtype))
