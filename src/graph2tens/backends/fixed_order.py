r"""The recursion of Theorem 3 from given projections, forward only, with every sum in a fixed order.

What is computed for a node and a functional does not depend on which other nodes or functionals are computed with it, on threads, or on how
LLVM vectorises: each number is made of additions and products in one order, which IEEE arithmetic makes reproducible bit for bit. For
features that must be the same in any batch (`sklearn/`) and in any cut of a huge graph (`scale/`); training has faster loops.

Shapes: n nodes, M degrees, R functionals; ``a`` (n, M, R) projections, ``f`` (n, M, R) levels 1..M. Loops run outside Python's global lock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from . import threads
from .compiling import Compiled, specialised

Array = NDArray[Any]


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
    """Levels 1..M of a walk of `length` steps, (n, M, R). Two arrays like `a` are made, one of which is returned.

    Args:
        pattern: of the walk; rows of P sum to 1.
        a: projections of the attributes; with increments, up to a constant.
        tau: (M, R), projections of the time coordinate; zeros without time.
        coefficients: :math:`c_0..c_M`, (M + 1, R).
        offset: (M, R), what the start factor adds to `a`; None for no start factor.
        on_step: is told the number of steps done.
    """
    loops = _loops(a.dtype.name, pattern.col.dtype.name)
    f, new = np.zeros_like(a), np.empty_like(a)
    spans = _spans(pattern.row_ptr, num_threads)
    for t in range(length, 0, -1):
        shift = a.dtype.type(1 if increments else t) * tau
        threads.run([partial(loops.step, *span, *pattern, a, shift, increments, coefficients, f, new) for span in spans])
        f, new = new, f
        if on_step is not None:
            on_step(length - t + 1)
    if offset is not None:
        threads.run([partial(loops.start, *span, a, offset, coefficients, f, new) for span in spans])
        f, new = new, f
    return f


def _spans(row_ptr: Array, count: int) -> list[tuple[int, int]]:
    """Rows for each thread, with about equally many nodes and entries."""
    n = row_ptr.size - 1
    stride = max(1, n // 4096)
    work = row_ptr[:n:stride] + np.arange(0, n, stride)
    inner = [int(np.searchsorted(work, (row_ptr[-1] + n) * k / count)) * stride for k in range(1, count)]
    return [(first, last) for first, last in pairwise([0, *(min(border, n) for border in inner), n]) if last > first]


def _step(first, last, row_ptr, col, p, a, shift, increments, c, f, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Rows `first` to `last` of the state after a step to the nodes whose states are `f`."""
    M, R = shift.shape
    C = np.empty((M, R), dtype=a.dtype)
    h = np.empty(R, dtype=a.dtype)
    for i in range(first, last):
        new[i] = 0
        begin, end = row_ptr[i], row_ptr[i + 1]
        for entry in range(begin, end):
            j = col[entry]
            weight = p[entry] if p.size else a.dtype.type(1 / (end - begin))
            for q in range(M):
                target, own, steady, mine = a[j, q], a[i, q], shift[q], C[q]
                if increments:
                    for r in range(R):
                        mine[r] = (target[r] - own[r]) + steady[r]
                else:
                    for r in range(R):
                        mine[r] = target[r] + steady[r]
            for m in range(1, M + 1):
                _horner(m, C, f[j], c, h)
                total = new[i, m - 1]
                for r in range(R):
                    total[r] += weight * h[r]


def _start(first, last, a, offset, c, f, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The start factor, node by node."""
    M, R = offset.shape
    C = np.empty((M, R), dtype=a.dtype)
    h = np.empty(R, dtype=a.dtype)
    for i in range(first, last):
        for q in range(M):
            own, constant, mine = a[i, q], offset[q], C[q]
            for r in range(R):
                mine[r] = own[r] + constant[r]
        for m in range(1, M + 1):
            _horner(m, C, f[i], c, h)
            total = new[i, m - 1]
            for r in range(R):
                total[r] = h[r]


@njit(nogil=True, inline="always")  # becomes part of its caller, so there is nothing of its own to keep on disk
def _horner(m, C, f, c, h):  # type: ignore[no-untyped-def]  # pragma: no cover
    r"""h = :math:`f_m + C_{M-m+1} (c_1 f_{m-1} + C_{M-m+2} (c_2 f_{m-2} + \dots + C_M c_m))` for all R functionals."""
    M, R = C.shape
    highest = c[m]
    for r in range(R):
        h[r] = highest[r]
    for s in range(m - 1, -1, -1):
        factor, lower, scale = C[M - m + s], f[m - s - 1], c[s]
        for r in range(R):
            h[r] = scale[r] * lower[r] + factor[r] * h[r]


class _Loops(NamedTuple):
    step: Compiled
    start: Compiled


@cache
def _loops(dtype: str, columns: str) -> _Loops:
    return _Loops(*(specialised(function, f"{dtype} {columns}") for function in (_step, _start)))
