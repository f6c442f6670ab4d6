r"""Degrees 1 and 2 with increments, a start factor, no clock and rows of P that sum to 1: plain diffusion, and its adjoint.

The start factor is the jump of a walk from 0 to where it starts. Let :math:`F_m(i)` be the projections of that jump at node i, and
:math:`\delta_m = P F_m - F_m` the mean increments of a step. Then the features after k steps obey

.. math:: U_k = P U_{k-1} + E, \qquad U_0 = (c_1 F_2,\; c_2 F_1 F_2), \qquad E = (0,\; (c_1^2 - c_2) F_1 \delta_2 - c_2 F_2 \delta_1).

For, a step from i to j, with increments :math:`\Delta_m = F_m(j) - F_m(i)`, puts the factors of two jumps, to i and from i to j, in the
place of one, to j. Level 1 of both is :math:`c_1 (F_m + \Delta_m)`; level 2 is
:math:`c_2 F_1 F_2 + c_1^2 F_1 \Delta_2 + c_2 \Delta_1 \Delta_2` instead of :math:`c_2 (F_1 + \Delta_1)(F_2 + \Delta_2)`, and the difference
is linear in the increments. With :math:`c_m = 1/m!` it is the area :math:`\frac12 (F_1 \Delta_2 - F_2 \Delta_1)`.

So a step reads one row per edge, of the state alone, and after the start the projections are not needed. Counting from 0 as in
`chain.py`, ``F[0]`` is :math:`F_2` and ``F[1]`` is :math:`F_1`; loops over ``range(1, M)`` are for degree 2 alone.

Shapes: a, U and the mean increments d (rows, M, L), E (rows, M - 1, L).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .dialect import Array, add_row_of, copied, count, fill, inline, loop, row_of
from .sparse import Edges, add_along, average, spread
from .steps import Unit


class Jumps(NamedTuple):
    """Projections a (rows, M, L); what is taken off them to get F (G, M, L), at which place for each row (see `row_of`); c (M + 1, L)."""

    a: Array
    offset: Array
    place: Array
    c: Array


@inline
def set_jump(jumps: Jumps, i: int, F: Array) -> None:
    """F of row i."""
    at = row_of(jumps.place, i)
    for m in range(F.shape[1]):
        for r in range(count(F.shape[2])):
            F[0, m, r] = jumps.a[i, m, r] - jumps.offset[at, m, r]


@inline
def set_start(c: Array, F: Array, i: int, U: Array) -> None:
    """The features after no step."""
    for r in range(count(U.shape[2])):
        U[i, 0, r] = c[1, r] * F[0, 0, r]
    for m in range(1, U.shape[1]):
        for r in range(count(U.shape[2])):
            U[i, m, r] = c[2, r] * (F[0, m, r] * F[0, 0, r])


@inline
def set_area(c: Array, F: Array, d: Array, i: int, E: Array) -> None:
    for m in range(1, d.shape[1]):
        for r in range(count(d.shape[2])):
            E[i, 0, r] = (c[1, r] * c[1, r] - c[2, r]) * (F[0, m, r] * d[i, 0, r]) - c[2, r] * (F[0, 0, r] * d[i, m, r])


@loop
def start(edges: Edges, jumps: Jumps, d: Array, E: Array, U: Array) -> None:
    """From d = P a, which becomes the mean increments, what every step adds, and the features after no step; U may be a itself."""
    F = np.empty((1, *U.shape[1:]), U.dtype)
    for i in range(edges.first - edges.base, edges.last - edges.base):
        set_jump(jumps, i, F)
        add_row_of(d, i, -1, jumps.a, i)
        set_area(jumps.c, F, d, i, E)
        set_start(jumps.c, F, i, U)


@loop
def jumps_of(unit: Unit) -> Jumps:
    return Jumps(unit.a, unit.offset, unit.graph_of, unit.c)


@loop
def diffusion(unit: Unit, length: int, out: Array) -> None:
    """The features after `length` steps."""
    E, other = np.empty((len(out), out.shape[1] - 1, out.shape[2]), out.dtype), np.empty_like(out)
    U, new = (out, other) if length % 2 == 0 else (other, out)  # the last state shall stand in `out`
    average(unit.edges, unit.a, unit.a[:0], new)
    start(unit.edges, jumps_of(unit), new, E, U)
    for _ in range(length):
        average(unit.edges, U, E, new)
        U, new = new, U


@inline
def add_area_gradient(dE: Array, i: int, W: Array) -> None:
    """From the gradient of a state that E was added to."""
    for m in range(1, W.shape[1]):
        for r in range(count(W.shape[2])):
            dE[i, 0, r] += W[i, m, r]


@inline
def reverse_start(c: Array, F: Array, d: Array, i: int, W: Array, dE: Array, da: Array, dd: Array) -> None:
    """From the gradients W and dE of what `start` gives that of d, set, and that of F, added to `da`."""
    for r in range(count(W.shape[2])):
        da[i, 0, r] += c[1, r] * W[i, 0, r]
    for m in range(1, W.shape[1]):
        for r in range(count(W.shape[2])):
            w, e, square = W[i, m, r], dE[i, 0, r], c[1, r] * c[1, r]
            da[i, 0, r] += c[2, r] * (F[0, m, r] * w - d[i, m, r] * e)
            da[i, m, r] += c[2, r] * (F[0, 0, r] * w) + (square - c[2, r]) * (d[i, 0, r] * e)
            dd[i, 0, r] = (square - c[2, r]) * (F[0, m, r] * e)
            dd[i, m, r] = -c[2, r] * (F[0, 0, r] * e)


@inline
def add_to_coefficients(c: Array, F: Array, d: Array, i: int, W: Array, dE: Array, dc: Array) -> None:
    for r in range(count(W.shape[2])):
        dc[0, 1, r] += F[0, 0, r] * W[i, 0, r]
    for m in range(1, W.shape[1]):
        for r in range(count(W.shape[2])):
            first, second = F[0, m, r] * d[i, 0, r], F[0, 0, r] * d[i, m, r]
            dc[0, 1, r] += 2 * c[1, r] * (first * dE[i, 0, r])
            dc[0, 2, r] += F[0, m, r] * F[0, 0, r] * W[i, m, r] - (first + second) * dE[i, 0, r]


@loop
def start_adjoint(unit: Unit, d: Array, W: Array, dE: Array, da: Array, dc: Array, dp: Array) -> None:
    """From the gradients W and dE of what `start` gives, add to all others."""
    jumps, dd, F = jumps_of(unit), np.zeros_like(W), np.empty((1, *W.shape[1:]), W.dtype)
    for i in range(len(W)):
        set_jump(jumps, i, F)
        reverse_start(unit.c, F, d, i, W, dE, da, dd)
        if len(dc):
            add_to_coefficients(unit.c, F, d, i, W, dE, dc)
    spread(unit.edges, dd, da)
    for i in range(len(W)):
        add_row_of(da, i, -1, dd, i)
    if len(dp):
        add_along(unit.edges, dd, unit.a, unit.a, dp)


@loop
def diffusion_adjoint(unit: Unit, length: int, grad: Array, da: Array, dc: Array, dp: Array) -> None:
    """From the gradient of the features, add to the others."""
    rows, M, L = grad.shape
    d, E, dE = np.empty_like(grad), np.empty((rows, M - 1, L), grad.dtype), np.zeros((rows, M - 1, L), grad.dtype)
    states = np.empty((max(1, length) if len(dp) else 1, rows, M, L), grad.dtype)
    average(unit.edges, unit.a, unit.a[:0], d)
    start(unit.edges, jumps_of(unit), d, E, states[0])
    for k in range(1, len(states)):
        average(unit.edges, states[k - 1], E, states[k])
    W, new = copied(grad), np.empty_like(grad)
    for k in range(length - 1, -1, -1):
        if len(dp):  # rows of P sum to 1: what a row adds to all of its edges is such that the gradient is that of a sum over edges
            add_along(unit.edges, W, states[k], states[0], dp)
        fill(new)
        for i in range(rows):
            add_area_gradient(dE, i, W)
        spread(unit.edges, W, new)
        W, new = new, W
    start_adjoint(unit, d, W, dE, da, dc, dp)
