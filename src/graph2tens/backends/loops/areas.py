r"""Degrees 1 and 2 with increments and a start factor, no clock and rows of P that sum to 1: plain diffusion, forward only.

The start factor is the jump of a walk from 0 to where it starts. Let :math:`F_m(i)` be the projections of that jump at node i, and
:math:`\delta_m = P F_m - F_m` the mean increments of a step. Then the features after k steps obey

.. math:: U_k = P U_{k-1} + E, \qquad U_0 = (c_1 F_2,\; c_2 F_1 F_2), \qquad E = (0,\; (c_1^2 - c_2) F_1 \delta_2 - c_2 F_2 \delta_1).

For, a step from i to j, with increments :math:`\Delta_m = F_m(j) - F_m(i)`, puts the factors of two jumps, to i and from i to j, in the
place of one, to j. Level 1 of both is :math:`c_1 (F_m + \Delta_m)`; level 2 is
:math:`c_2 F_1 F_2 + c_1^2 F_1 \Delta_2 + c_2 \Delta_1 \Delta_2` instead of :math:`c_2 (F_1 + \Delta_1)(F_2 + \Delta_2)`, and the difference
is linear in the increments. With :math:`c_m = 1/m!` it is the area :math:`\frac12 (F_1 \Delta_2 - F_2 \Delta_1)`.

So a step reads one row per edge, of the state alone, and after the first step the projections are not needed. Counting from 0 as in
`chain.py`, ``F[0]`` is :math:`F_2` and ``F[1]`` is :math:`F_1`; loops over ``range(1, M)`` are for degree 2 alone.
"""

from __future__ import annotations

from typing import Any

from .dialect import Array, Levels, add_row_of, count, inline, loop, set_zero
from .sparse import Edges


@inline
def weight_of(edges: Edges, entry: int, alike: Any) -> Any:
    return edges.p[entry, 0] if edges.p.size else alike


@inline
def add_products(degree: Levels, a: Array, i: int, j: int, weight: Any, E: Array, U: Array) -> None:
    """Increments along an edge from i to j, and their product, weighted, each to where there is room for it."""
    w = U.dtype.type(weight)
    for r in range(count(a.shape[2])):
        along = a[j, 0, r] - a[i, 0, r]
        U[i, 0, r] += w * along
        for m in range(1, len(degree)):
            other = a[j, m, r] - a[i, m, r]
            U[i, m, r] += w * (other * along)
            E[i, 0, r] += w * other


@inline
def set_first(degree: Levels, a: Array, offset: Array, c: Array, i: int, E: Array, U: Array) -> None:
    """From the sums of `add_products` the area E and the features U after one step."""
    for r in range(count(a.shape[2])):
        F2, d2 = a[i, 0, r] + offset[0, r], U[i, 0, r]
        U[i, 0, r] = c[1, r] * (F2 + d2)
        for m in range(1, len(degree)):
            F1, d1 = a[i, m, r] + offset[m, r], E[i, 0, r]
            U[i, m, r] = c[1, r] * c[1, r] * (F1 * d2) + c[2, r] * (F1 * F2 + U[i, m, r])
            E[i, 0, r] = (c[1, r] * c[1, r] - c[2, r]) * (F1 * d2) - c[2, r] * (F2 * d1)


@loop
def first_step(edges: Edges, degree: Levels, a: Array, offset: Array, c: Array, E: Array, U: Array) -> None:
    """What every further step adds to level 2, E (rows, M - 1, L), and the features U after one step."""
    for i in range(edges.first, edges.last):
        set_zero(U, i)
        set_zero(E, i)
        alike = 1 / (edges.row_ptr[i + 1] - edges.row_ptr[i])
        for entry in range(edges.row_ptr[i], edges.row_ptr[i + 1]):
            add_products(degree, a, i, edges.col[entry], weight_of(edges, entry, alike), E, U)
        set_first(degree, a, offset, c, i, E, U)


@inline
def set_area(new: Array, i: int, E: Array) -> None:
    for r in range(count(new.shape[2])):
        new[i, 0, r] = 0
    for m in range(1, new.shape[1]):
        for r in range(count(new.shape[2])):
            new[i, m, r] = E[i, 0, r]


@loop
def next_step(edges: Edges, U: Array, E: Array, new: Array) -> None:
    """new = P U + E."""
    for i in range(edges.first, edges.last):
        set_area(new, i, E)
        alike = 1 / (edges.row_ptr[i + 1] - edges.row_ptr[i])
        for entry in range(edges.row_ptr[i], edges.row_ptr[i + 1]):
            add_row_of(new, i, weight_of(edges, entry, alike), U, edges.col[entry])
