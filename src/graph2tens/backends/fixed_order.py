r"""The recursion from given projections, forward only, with every sum in a fixed order.

What is computed for a node and a functional does not depend on which other nodes or functionals are computed with it, on threads, or on how
LLVM vectorises: each number is made of additions and products in one order, which IEEE arithmetic makes reproducible bit for bit. For
features that must be the same in any batch (`sklearn/`) and in any cut of a huge graph (`scale/`). The loops are taken step by step on all
rows, with projections that the caller has made in a fixed order, too: in general those of training (`loops/chain.py`), and where it can be
had, plain diffusion (`loops/areas.py`), which waits for memory half as often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import threads
from .compiling import compiled
from .loops import areas, chain, sparse, steps

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
    """Levels 1..M of a walk of `length` steps, (n, M, R); `arrays_at_once` says what memory it takes.

    Args:
        pattern: of the walk; rows of P sum to 1.
        a: projections of the attributes (n, M, R) onto components M..1; with increments, up to a constant. It is used up.
        tau: (M, R), projections of the time coordinate, components descending; zeros without time.
        coefficients: :math:`c_0..c_M`, (M + 1, R).
        offset: (M, R), components descending, what the start factor adds to `a`; None for no start factor.
        on_step: is told the number of steps done.
    """
    _, M, R = a.shape
    a, p = np.ascontiguousarray(a), pattern.probabilities.reshape(-1, 1)
    edges = [sparse.Edges(pattern.row_ptr, pattern.col, p, first, last, 0, 0, 1, R) for first, last in _spans(pattern.row_ptr, num_threads)]
    version = f"fixed {a.dtype} {pattern.col.dtype} {p.dtype} {M}"

    def share(loop: Any, *arguments: Any) -> None:
        threads.run([partial(_compiled(loop, version), part, *arguments) for part in edges])

    if offset is not None and _is_diffusion(M, increments, start=True, time=bool(tau.any())):
        states = _diffusion(share, a, coefficients, offset, length)
    else:
        states = _chains(share, a, tau, coefficients, length, increments, offset)
    for done in range(1, length + 1):
        next(states)
        if on_step is not None:
            on_step(done)
    return next(states)


def arrays_at_once(degree: int, *, increments: bool, start: bool, time: bool) -> float:
    """The memory that `walk` takes, `a` and what it returns among it, in arrays of their size."""
    if _is_diffusion(degree, increments, start, time):
        return 3 - 1 / degree
    return 4 if increments and time else 3


def _is_diffusion(degree: int, increments: bool, start: bool, time: bool) -> bool:
    return degree <= 2 and increments and start and not time


def _chains(
    share: Callable[..., None], a: Array, tau: Array, c: Array, length: int, increments: bool, offset: Array | None
) -> Iterator[Array]:
    """The state after each step, and then the levels."""
    f, new, degree = np.zeros_like(a), np.empty_like(a), (0,) * a.shape[1]
    origin = (a - tau if tau.any() else a) if increments else a[:0]
    for t in range(length, 0, -1):
        if increments:  # every edge has its own chain
            share(chain.step_along_edges, chain.Chain(degree, (), a, origin, steps.NOWHERE, f, c), new)
            f, new = new, f
        else:  # every node has one, and then its neighbours read it
            clock = -t * tau[None].astype(a.dtype)
            share(chain.chain_at_sources, chain.Chain(degree, (), a, clock, steps.ONE_PLACE, f, c), new)
            share(sparse.average, new, new[:0], f)
        yield f
    if offset is not None:
        share(chain.chain_at_sources, chain.Chain(degree, (), a, -offset[None], steps.ONE_PLACE, f, c), new)
        f = new
    yield f


def _diffusion(share: Callable[..., None], a: Array, c: Array, offset: Array, length: int) -> Iterator[Array]:
    """The same for degrees 1 and 2 with increments and a start factor, without time."""
    n, M, R = a.shape
    added, f, new = np.empty((n, M - 1, R), a.dtype), a, np.empty_like(a)
    share(sparse.average, a, a[:0], new)
    share(areas.start, areas.Jumps(a, -offset[None], steps.ONE_PLACE, c), new, added, f)
    for _ in range(length):
        share(sparse.average, f, added, new)
        f, new = new, f
        yield f
    yield f


def _spans(row_ptr: Array, count: int) -> list[tuple[int, int]]:
    """Rows for each thread, with about equally many nodes and entries."""
    n = row_ptr.size - 1
    stride = max(1, n // 4096)
    work = row_ptr[:n:stride] + np.arange(0, n, stride)
    inner = [int(np.searchsorted(work, (row_ptr[-1] + n) * k / count)) * stride for k in range(1, count)]
    return [(first, last) for first, last in pairwise([0, *(min(border, n) for border in inner), n]) if last > first]


_compiled = cache(compiled)
