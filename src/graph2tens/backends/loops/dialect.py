"""How loops are written here, so that LLVM makes short vector code of them.

- The innermost loop counts functionals, `r`, with the unsigned `count`: a signed index might be negative, and the test for that in every
  turn keeps a loop from being vectorised.
- Loops over levels inside it have an end that the compiler knows: the degree is given as a tuple of so many zeros (`Levels`), since the
  length of a tuple belongs to its type. LLVM unrolls them and holds all levels of a functional in registers. Beyond degree 5 it finds
  them too long, and the code is correct but several times as slow.
- What is done at one row is an `inline` function: part of its caller, without counting references to arrays, which takes longer than a
  short loop (so it makes no arrays). **An array that it writes must not overlap another of its arguments**: LLVM is told so (`noalias`)
  and then neither tests for it nor loads what it has loaded before. Without this, the adjoint of a chain took eight times as long.
- Whole arrays are filled, copied and added by loops: ``y[:] = x`` and ``y += x`` walk index by index, and each takes a second to compile.
- Nothing is reordered or fused (no `fastmath`), so IEEE arithmetic fixes every bit on every processor, whatever the vectors are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numba.core.compiler import Compiler, Flags
from numpy.typing import NDArray

Array = NDArray[Any]
Levels = tuple[int, ...]
Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
count = np.uint64


class _Inline(Compiler):  # type: ignore[misc]
    """Numba can tell LLVM that arguments do not overlap, and has no option for it."""

    def __init__(self, *arguments: Any) -> None:
        next(one for one in arguments if isinstance(one, Flags)).noalias = True
        super().__init__(*arguments)


def inline(function: Function) -> Function:
    compiled: Function = njit(**OPTIONS, forceinline=True, _nrt=False, pipeline_class=_Inline)(function)
    return compiled


def loop(function: Function) -> Function:
    compiled: Function = njit(**OPTIONS)(function)
    return compiled


@inline
def set_zero(y: Array, i: int) -> None:
    """Row i of an array (rows, levels, functionals), whose levels stand one after the other: one loop counts through all of them."""
    for r in range(count(y.shape[1] * y.shape[2])):
        y[i, 0, r] = 0


@inline
def set_row(y: Array, i: int, x: Array, j: int) -> None:
    for r in range(count(y.shape[1] * y.shape[2])):
        y[i, 0, r] = x[j, 0, r]


@inline
def add_row_of(y: Array, i: int, scale: float, x: Array, j: int) -> None:
    for r in range(count(y.shape[1] * y.shape[2])):
        y[i, 0, r] += y.dtype.type(scale) * x[j, 0, r]


@inline
def row_of(place: Array, i: int) -> Any:
    """The row that belongs to row i of another array: one entry of `place` stands for all rows, none for i itself."""
    if place.size > 1:
        return place[i]
    return place[0] if place.size else i


@loop
def fill(y: Array) -> None:
    """Zeros."""
    for i in range(len(y)):
        set_zero(y, i)


@loop
def copied(x: Array) -> Array:
    y = np.empty_like(x)
    for i in range(len(y)):
        set_row(y, i, x, i)
    return y
