"""How loops are written here, so that LLVM vectorises them.

- The innermost loop counts neighbouring numbers, `r`, and writes one array. LLVM guards it by tests whether arrays overlap, and gives up
  beyond eight pairs: a long formula is several loops.
- Counters of innermost loops and what is added to them are `count`s, unsigned: a signed index might be negative, and the test for that in
  every turn keeps a loop from being vectorised.
- What is done at one row is an `inline` function: part of its caller, and without counting references to arrays. A `loop` counts them, so
  it makes the arrays and walks through the rows. Counting takes atomic operations, which last longer than a loop over 64 numbers.
- Nothing is reordered or fused (no `fastmath`), so IEEE arithmetic fixes every bit on every processor.
"""

from __future__ import annotations

import numpy as np
from numba import njit

OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
inline = njit(**OPTIONS, forceinline=True, _nrt=False)  # it must not make arrays
loop = njit(**OPTIONS)
count = np.uint64


@loop
def fill(y, value):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Whole arrays of any shape; an assignment to ``y[:]`` walks through their indices one by one."""
    flat = y.reshape(y.size)
    for r in range(count(y.size)):
        flat[r] = value


@loop
def assign(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    flat, source = y.reshape(y.size), x.reshape(x.size)
    for r in range(count(y.size)):
        flat[r] = source[r]


@loop
def add(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    flat, source = y.reshape(y.size), x.reshape(x.size)
    for r in range(count(y.size)):
        flat[r] += source[r]
