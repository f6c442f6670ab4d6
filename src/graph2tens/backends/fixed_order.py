r"""The recursion from given projections, forward only, with every sum in a fixed order.

What is computed for a node and a functional does not depend on which other nodes or functionals are computed with it, on threads, or on how
LLVM vectorises: each number is made of additions and products in one order, which IEEE arithmetic makes reproducible bit for bit. For
features that must be the same in any batch (`sklearn/`) and in any cut of a huge graph (`scale/`). The loops are the general
ones of training (`loops/chain.py`), taken step by step on all rows, with projections that the caller has made in a fixed order, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import threads
from .compiling import compiled
from .loops import chain, sparse, steps

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
    """Levels 1..M of a walk of `length` steps, (n, M, R). Two arrays like `a` are made, with a clock or without increments three, one of
    which is returned.

    Args:
        pattern: of the walk; rows of P sum to 1.
        a: projections of the attributes (n, M, R) onto components M..1; with increments, up to a constant.
        tau: (M, R), projections of the time coordinate, components descending; zeros without time.
        coefficients: :math:`c_0..c_M`, (M + 1, R).
        offset: (M, R), components descending, what the start factor adds to `a`; None for no start factor.
        on_step: is told the number of steps done.
    """
    _, M, R = a.shape
    a, degree, p = np.ascontiguousarray(a), (0,) * M, pattern.probabilities.reshape(-1, 1)
    f, new = np.zeros_like(a), np.empty_like(a)
    spare = np.empty_like(a) if not increments else a - tau if tau.any() else a  # levels of chains at nodes, or the origin of increments
    parts = [sparse.Edges(pattern.row_ptr, pattern.col, p, first, last, 0, 0, 1, R) for first, last in _spans(pattern.row_ptr, num_threads)]
    version = f"fixed {a.dtype} {pattern.col.dtype} {M}"

    def share(loop: Any, *arguments: Any) -> None:
        threads.run([partial(_compiled(loop, version), part, *arguments) for part in parts])

    def from_state(origin: Array, place: Array) -> chain.Chain:
        return chain.Chain(degree, (), a, origin, place, f, coefficients)

    for t in range(length, 0, -1):
        if increments:
            share(chain.step_along_edges, from_state(spare, steps.NOWHERE), new)
        else:
            share(chain.chain_at_sources, from_state(-t * tau[None].astype(a.dtype), steps.ONE_PLACE), spare)
            share(sparse.average, spare, spare[:0], new)
        f, new = new, f
        if on_step is not None:
            on_step(length - t + 1)
    if offset is None:
        return f
    share(chain.chain_at_sources, from_state(-offset[None], steps.ONE_PLACE), new)
    return new


def _spans(row_ptr: Array, count: int) -> list[tuple[int, int]]:
    """Rows for each thread, with about equally many nodes and entries."""
    n = row_ptr.size - 1
    stride = max(1, n // 4096)
    work = row_ptr[:n:stride] + np.arange(0, n, stride)
    inner = [int(np.searchsorted(work, (row_ptr[-1] + n) * k / count)) * stride for k in range(1, count)]
    return [(first, last) for first, last in pairwise([0, *(min(border, n) for border in inner), n]) if last > first]


_compiled = cache(compiled)
