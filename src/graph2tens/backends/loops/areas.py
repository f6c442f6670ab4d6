r"""Degrees 1 and 2 with increments, no clock and rows of P that sum to 1: plain diffusion, and its first step.

The start factor is the jump of a walk from 0 to where it starts. Let :math:`F_m(i)` be the projections of that jump at node i, and
:math:`\delta_m = P F_m - F_m` the mean increments of a step. Then the features after k steps obey

.. math:: U_k = P U_{k-1} + E, \qquad U_0 = (c_1 F_2,\; c_2 F_1 F_2), \qquad E = (0,\; (c_1^2 - c_2) F_1 \delta_2 - c_2 F_2 \delta_1).

For, a step from i to j, with increments :math:`\Delta_m = F_m(j) - F_m(i)`, puts the factors of two jumps, to i and from i to j, in the
place of one, to j. Level 1 of both is :math:`c_1 (F_m + \Delta_m)`; level 2 is
:math:`c_2 F_1 F_2 + c_1^2 F_1 \Delta_2 + c_2 \Delta_1 \Delta_2` instead of :math:`c_2 (F_1 + \Delta_1)(F_2 + \Delta_2)`, and the difference
is linear in the increments. With :math:`c_m = 1/m!` it is the area :math:`\frac12 (F_1 \Delta_2 - F_2 \Delta_1)`.

So a step reads one row per edge, of the state alone, and after the first step the projections are not needed. Counting from 0 as in
`chain.py`, ``F[0]`` is :math:`F_2` and ``F[1]`` is :math:`F_1`; loops over ``range(1, M)`` are for degree 2 alone.

Shapes: a and U (rows, M, L), E (rows, M - 1, L); of a row the sums over its edges :math:`\delta_2`, :math:`\delta_1` and the mean of
:math:`\Delta_1 \Delta_2`, (1, 2 M - 1, L).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .dialect import Array, add_row_of, count, inline, loop, set_zero
from .sparse import Edges, add_products, add_row, room_for_weights, set_weighted, set_weights


class Jumps(NamedTuple):
    """Projections a (rows, M, L); what is taken off them to get F (G, M, L), at which place for each row (one entry stands for all); c."""

    a: Array
    offset: Array
    place: Array
    c: Array


@inline
def set_products(a: Array, i: int, j: int, products: Array) -> None:
    """Increments from row i to row j, and their product."""
    M = a.shape[1]
    for m in range(M):
        for r in range(count(a.shape[2])):
            products[0, m, r] = a[j, m, r] - a[i, m, r]
    for m in range(1, M):
        for r in range(count(a.shape[2])):
            products[0, M, r] = products[0, m, r] * products[0, 0, r]


@inline
def set_sums(edges: Edges, node: int, a: Array, weights: Array, products: Array, sums: Array) -> None:
    set_zero(sums, 0)
    for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
        set_products(a, node - edges.base, edges.col[entry] - edges.base, products)
        set_weights(weights, edges, node, entry)
        add_row(sums, 0, weights, products, 0)


@inline
def set_first(jumps: Jumps, i: int, sums: Array, E: Array, U: Array) -> None:
    """From the sums of row i its area E and its features U after one step."""
    a, offset, c, M = jumps.a, jumps.offset, jumps.c, jumps.a.shape[1]
    at = jumps.place[i] if jumps.place.size > 1 else jumps.place[0]
    for r in range(count(a.shape[2])):
        U[i, 0, r] = c[1, r] * ((a[i, 0, r] - offset[at, 0, r]) + sums[0, 0, r])
    for m in range(1, M):
        for r in range(count(a.shape[2])):
            F2, F1, d2, d1 = a[i, 0, r] - offset[at, 0, r], a[i, m, r] - offset[at, m, r], sums[0, 0, r], sums[0, m, r]
            U[i, m, r] = c[1, r] * c[1, r] * (F1 * d2) + c[2, r] * (F1 * F2 + sums[0, M, r])
            E[i, 0, r] = (c[1, r] * c[1, r] - c[2, r]) * (F1 * d2) - c[2, r] * (F2 * d1)


@loop
def first_step(edges: Edges, jumps: Jumps, E: Array, U: Array) -> None:
    """What every further step adds to level 2, and the features after one step."""
    _, M, L = U.shape
    products, sums, weights = np.empty((1, 2 * M - 1, L), U.dtype), np.empty((1, 2 * M - 1, L), U.dtype), room_for_weights(edges, U)
    for node in range(edges.first, edges.last):
        set_sums(edges, node, jumps.a, weights, products, sums)
        set_first(jumps, node - edges.base, sums, E, U)


@inline
def reverse_first(jumps: Jumps, i: int, sums: Array, W: Array, dE: Array, dsums: Array, da: Array, dc: Array) -> None:
    """From the gradients W and dE of the features after one step and of the area that of the sums, set, and those of F and c, added."""
    a, offset, c, M = jumps.a, jumps.offset, jumps.c, jumps.a.shape[1]
    at = jumps.place[i] if jumps.place.size > 1 else jumps.place[0]
    for r in range(count(a.shape[2])):
        da[i, 0, r] += c[1, r] * W[i, 0, r]
        dsums[0, 0, r] = c[1, r] * W[i, 0, r]
    for m in range(1, M):
        for r in range(count(a.shape[2])):
            F2, F1, d2, d1 = a[i, 0, r] - offset[at, 0, r], a[i, m, r] - offset[at, m, r], sums[0, 0, r], sums[0, m, r]
            w, e, square = W[i, m, r], dE[i, 0, r], c[1, r] * c[1, r]
            both = square * w + (square - c[2, r]) * e  # of F1 d2
            da[i, 0, r] += c[2, r] * (F1 * w - d1 * e)
            da[i, m, r] += d2 * both + c[2, r] * F2 * w
            dsums[0, 0, r] += F1 * both
            dsums[0, m, r] = -c[2, r] * F2 * e
            dsums[0, M, r] = c[2, r] * w
    if len(dc):
        for r in range(count(a.shape[2])):
            dc[0, 1, r] += ((a[i, 0, r] - offset[at, 0, r]) + sums[0, 0, r]) * W[i, 0, r]
        for m in range(1, M):
            for r in range(count(a.shape[2])):
                F2, F1, d2, d1 = a[i, 0, r] - offset[at, 0, r], a[i, m, r] - offset[at, m, r], sums[0, 0, r], sums[0, m, r]
                w, e = W[i, m, r], dE[i, 0, r]
                dc[0, 1, r] += 2 * c[1, r] * (F1 * d2) * (w + e)
                dc[0, 2, r] += (F1 * F2 + sums[0, M, r]) * w - (F1 * d2 + F2 * d1) * e


@inline
def add_differences(products: Array, d: Array, j: int, da: Array, da_i: Array) -> None:
    """From the gradient d of the products of the step to row j, add to that of row j, and take off that of the row it leaves."""
    M = da.shape[1]
    for m in range(M):
        for r in range(count(da.shape[2])):
            along = d[0, m, r] + d[0, M, r] * products[0, 1 - m, r] if M > 1 else d[0, m, r]
            da[j, m, r] += along
            da_i[0, m, r] -= along


@loop
def first_step_adjoint(edges: Edges, jumps: Jumps, W: Array, dE: Array, da: Array, dc: Array, dp: Array) -> None:
    """From the gradients W and dE of what `first_step` gives, add to the others."""
    _, M, L = W.shape
    shape = (1, 2 * M - 1, L)
    products, sums, dsums, d = np.empty(shape, W.dtype), np.empty(shape, W.dtype), np.empty(shape, W.dtype), np.empty(shape, W.dtype)
    weights, along, da_i = room_for_weights(edges, W), np.empty(L, W.dtype), np.empty((1, M, L), W.dtype)
    for node in range(edges.first, edges.last):
        i = node - edges.base
        set_sums(edges, node, jumps.a, weights, products, sums)
        reverse_first(jumps, i, sums, W, dE, dsums, da, dc)
        set_zero(da_i, 0)
        for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
            j = edges.col[entry] - edges.base
            set_products(jumps.a, i, j, products)
            if len(dp):
                add_products(dp, edges, entry, along, dsums, 0, products, 0)
            set_weights(weights, edges, node, entry)
            set_weighted(d, 0, weights, dsums, 0)
            add_differences(products, d, j, da, da_i)
        add_row_of(da, i, 1, da_i, 0)
