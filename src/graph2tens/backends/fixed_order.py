r"""The recursion from given projections, forward only, with every sum in a fixed order.

What is computed for a node and a functional does not depend on which other nodes or functionals are computed with it, on threads, or on how
LLVM vectorises: each number is made of additions and products in one order, which IEEE arithmetic makes reproducible bit for bit. For
features that must be the same in any batch (`sklearn/`) and in any cut of a huge graph (`scale/`). The loops are the general
ones of training (`loops/steps.py`), taken step by step on all rows, with projections that the caller has made in a fixed order, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import threads
from .compiling import Compiled, specialised
from .loops import chain, sparse, steps

Array = NDArray[Any]
_ALL_ALIKE = np.zeros(0, np.int64)  # no node has an offset of its own


class Pattern(NamedTuple):
    """P in CSR; empty `probabilities` stand for rows whose steps are all alike."""

    row_ptr: Array
    col: Array
    probabilities: Array


def walk(
    pattern: Pattern,
    a: Array,
    tau: Array,
    coefficients: Array,
    *,
    length: int,
    increments: bool,
    offset: Array | None,
    num_threads: int = 1,
    on_step: Callable[[int], None] | None = None,
) -> Array:
    """Levels 1..M of a walk of `length` steps, (n, M, R). Two arrays like `a` are made, without increments three, one of which is returned.

    Args:
        pattern: of the walk; rows of P sum to 1.
        a: projections of the attributes (n, M, R) onto components M..1; with increments, up to a constant.
        tau: (M, R), projections of the time coordinate, components descending; zeros without time.
        coefficients: :math:`c_0..c_M`, (M + 1, R).
        offset: (M, R), components descending, what the start factor adds to `a`; None for no start factor.
        on_step: is told the number of steps done.
    """
    loops = _loops(a.dtype.name, pattern.col.dtype.name)
    n, M, R = a.shape
    own = np.ascontiguousarray(a).reshape(n, M * R)
    graph = sparse.Graph(pattern.row_ptr, pattern.col, pattern.probabilities.reshape(-1, 1))
    c = chain.Coefficients(np.tile(coefficients, M), coefficients[1:].reshape(1, M * R))
    f, new, s = np.zeros_like(own), np.empty_like(own), np.empty((0, R), a.dtype)
    parts = [sparse.Part(first, last, 0, R, 0, 1) for first, last in _spans(pattern.row_ptr, num_threads)]

    def share(loop: Compiled, *arguments: Any) -> None:
        threads.run([partial(loop, part, *arguments) for part in parts])

    levels = None if increments else np.empty_like(own)
    for t in range(length, 0, -1):
        shift = (a.dtype.type(1 if increments else t) * tau).reshape(1, M * R)
        if levels is None:
            share(loops.edge_step, graph, own, shift, c, f, s, new)
        else:
            share(loops.node_levels, _ALL_ALIKE, own, shift, c, f, s, levels)
            share(loops.average, graph, levels, levels[:0], new)
        f, new = new, f
        if on_step is not None:
            on_step(length - t + 1)
    if offset is not None:
        share(loops.node_levels, _ALL_ALIKE, own, np.ascontiguousarray(offset).reshape(1, M * R), c, f, s, new)
        f, new = new, f
    return f.reshape(n, M, R)


def _spans(row_ptr: Array, count: int) -> list[tuple[int, int]]:
    """Rows for each thread, with about equally many nodes and entries."""
    n = row_ptr.size - 1
    stride = max(1, n // 4096)
    work = row_ptr[:n:stride] + np.arange(0, n, stride)
    inner = [int(np.searchsorted(work, (row_ptr[-1] + n) * k / count)) * stride for k in range(1, count)]
    return [(first, last) for first, last in pairwise([0, *(min(border, n) for border in inner), n]) if last > first]


class _Loops(NamedTuple):
    edge_step: Compiled
    node_levels: Compiled
    average: Compiled


@cache
def _loops(dtype: str, columns: str) -> _Loops:
    loops = (steps.edge_step, steps.node_levels, sparse.average)
    return _Loops(*(specialised(loop.py_func, f"fixed {dtype} {columns}") for loop in loops))
