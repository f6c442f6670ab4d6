r"""Degrees 1 and 2 with increments, no clock and rows of P that sum to 1: plain diffusion after the first step.

The recursion reads :math:`f_1' = P f_1 + e_1` and :math:`f_2' = P f_2 + c_1 (P(a_1 f_1) - a_1 P f_1) + e_2`, where :math:`e_1, e_2` are
the levels after the first step and :math:`a_1` is the projection onto :math:`u_1`. In the *sheared* variable :math:`h = f_2 + c_1 b f_1`,
with b any projection that differs from :math:`a_1` by a constant in each graph, the projections drop out:

.. math:: f_1' = P f_1 + e_1, \qquad h' = P h + e_2 + c_1 b e_1.

So :math:`S' = P S + E` for both levels: one sparse product per step, and :math:`W' = P^T W` for the adjoint. With a start factor
:math:`b = F_1`, so that its level 2, :math:`f_2 + c_1 F_1 f_1 + c_2 F_1 F_2`, is :math:`h + c_2 F_1 F_2`; without, :math:`b = a_1`.

Counting from 0 as in `chain.py`, `F[i, 0]` is :math:`F_2`, and `F[i, 1]` is b; loops over ``range(1, M)`` are for degree 2 alone.
"""

from __future__ import annotations

import numpy as np

from .dialect import Array, add, add_row_of, assign, copied, count, inline, loop, set_zero
from .sparse import (
    add_along,
    add_products,
    add_row,
    average,
    room_for_weights,
    set_weighted,
    set_weights,
    spread,
    spread_anew,
)
from .steps import Options, Unit, shifted


@loop
def start_projections(unit: Unit, options: Options) -> Array:
    """F, or a if there is no start factor."""
    return shifted(unit.a, unit.offset, unit.graph_of) if options.start else unit.a


@inline
def set_products(a: Array, i: int, j: int, levels: Array) -> None:
    """The levels of a first step from row i to row j, up to their coefficients: products of increments."""
    for r in range(count(a.shape[2])):
        levels[0, 0, r] = a[j, 0, r] - a[i, 0, r]
    for m in range(1, a.shape[1]):
        for r in range(count(a.shape[2])):
            levels[0, m, r] = (a[j, m, r] - a[i, m, r]) * levels[0, 0, r]


@loop
def first_step(unit: Unit) -> Array:
    """Q, the mean products: the levels after the first step are c Q."""
    edges, Q, levels = unit.edges, np.zeros_like(unit.a), np.empty((1, *unit.a.shape[1:]), unit.a.dtype)
    weights = room_for_weights(edges, Q)
    for node in range(edges.first, edges.last):
        i = node - edges.base
        for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
            set_products(unit.a, i, edges.col[entry] - edges.base, levels)
            set_weights(weights, edges, node, entry)
            add_row(Q, i, weights, levels, 0)
    return Q


@inline
def add_differences(a: Array, i: int, j: int, d: Array, da: Array, da_i: Array) -> None:
    """From the gradient d of the products, which is used up, add to that of a_j and to that of a_i."""
    for m in range(1, a.shape[1]):
        for r in range(count(a.shape[2])):
            along = d[0, m, r] * (a[j, 0, r] - a[i, 0, r])
            d[0, 0, r] += d[0, m, r] * (a[j, m, r] - a[i, m, r])
            da[j, m, r] += along
            da_i[0, m, r] -= along
    for r in range(count(a.shape[2])):
        da[j, 0, r] += d[0, 0, r]
        da_i[0, 0, r] -= d[0, 0, r]


@loop
def first_step_adjoint(unit: Unit, dQ: Array, da: Array, dp: Array) -> None:
    """From the gradient of Q add to those of projections and probabilities."""
    edges, rows = unit.edges, np.empty((3, 1, *unit.a.shape[1:]), dQ.dtype)
    levels, d, da_i = rows[0], rows[1], rows[2]
    weights, along = room_for_weights(edges, dQ), np.empty(dQ.shape[2], dQ.dtype)
    for node in range(edges.first, edges.last):
        i = node - edges.base
        set_zero(da_i, 0)
        for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
            j = edges.col[entry] - edges.base
            if len(dp):
                set_products(unit.a, i, j, levels)
                add_products(dp, edges, entry, along, dQ, i, levels, 0)
            set_weights(weights, edges, node, entry)
            set_weighted(d, 0, weights, dQ, i)
            add_differences(unit.a, i, j, d, da, da_i)
        add_row_of(da, i, 1, da_i, 0)


@inline
def shear_row(F: Array, c: Array, Q: Array, i: int, E: Array) -> None:
    """The sheared levels E after the first step."""
    for r in range(count(E.shape[2])):
        E[i, 0, r] = c[1, r] * Q[i, 0, r]
    for m in range(1, E.shape[1]):
        for r in range(count(E.shape[2])):
            E[i, m, r] = c[2, r] * Q[i, m, r] + c[1, r] * F[i, m, r] * (c[1, r] * Q[i, 0, r])


@loop
def shear(unit: Unit, F: Array, Q: Array, E: Array) -> None:
    for i in range(len(E)):
        shear_row(F, unit.c, Q, i, E)


@inline
def finish_row(F: Array, c: Array, start: bool, S: Array, i: int, out: Array) -> None:
    """From the sheared state the features."""
    for r in range(count(S.shape[2])):
        out[i, 0, r] = S[i, 0, r] + c[1, r] * F[i, 0, r] if start else S[i, 0, r]
    for m in range(1, S.shape[1]):
        for r in range(count(S.shape[2])):
            more = c[2, r] * F[i, m, r] * F[i, 0, r] if start else -c[1, r] * F[i, m, r] * S[i, 0, r]
            out[i, m, r] = S[i, m, r] + more


@loop
def diffusion(unit: Unit, options: Options, out: Array) -> None:
    """The features after `length` > 0 steps."""
    F, E, rooms = start_projections(unit, options), np.empty_like(unit.a), np.empty((2, *unit.a.shape), unit.a.dtype)
    shear(unit, F, first_step(unit), E)
    S = E
    for k in range(options.length - 1):
        average(unit.edges, S, E, rooms[k % 2])
        S = rooms[k % 2]
    for i in range(len(S)):
        finish_row(F, unit.c, options.start, S, i, out)


@loop
def all_sheared_states(unit: Unit, options: Options, F: Array, Q: Array) -> Array:
    """S after 1..length steps."""
    states = np.empty((options.length, *Q.shape), Q.dtype)
    shear(unit, F, Q, states[0])
    for k in range(1, options.length):
        average(unit.edges, states[k - 1], states[0], states[k])
    return states


@inline
def finish_row_adjoint(F: Array, c: Array, start: bool, out: Array, i: int, g: Array, da: Array, dc: Array) -> None:
    """g, the gradient of the features `out`, becomes that of the sheared state."""
    for r in range(count(g.shape[2] if start else 0)):
        da[i, 0, r] += c[1, r] * g[i, 0, r]
    for m in range(1, g.shape[1]):
        for r in range(count(g.shape[2])):
            if start:
                da[i, 0, r] += c[2, r] * F[i, m, r] * g[i, m, r]
                da[i, m, r] += c[2, r] * F[i, 0, r] * g[i, m, r]
            else:  # level 1 of `out` is that of the state
                da[i, m, r] -= c[1, r] * out[i, 0, r] * g[i, m, r]
    if len(dc):
        for r in range(count(g.shape[2] if start else 0)):
            dc[0, 1, r] += F[i, 0, r] * g[i, 0, r]
        for m in range(1, g.shape[1]):
            for r in range(count(g.shape[2])):
                if start:
                    dc[0, 2, r] += F[i, 0, r] * F[i, m, r] * g[i, m, r]
                else:
                    dc[0, 1, r] -= F[i, m, r] * out[i, 0, r] * g[i, m, r]
    for m in range(1, g.shape[1]):
        for r in range(count(0 if start else g.shape[2])):
            g[i, 0, r] -= c[1, r] * F[i, m, r] * g[i, m, r]


@inline
def shear_row_adjoint(F: Array, c: Array, Q: Array, i: int, V: Array, da: Array, dc: Array) -> None:
    """V, the gradient of the sheared levels after the first step, becomes that of Q."""
    for m in range(1, V.shape[1]):
        for r in range(count(V.shape[2])):
            da[i, m, r] += c[1, r] * (c[1, r] * Q[i, 0, r]) * V[i, m, r]
        for r in range(count(V.shape[2] if len(dc) else 0)):
            dc[0, 1, r] += F[i, m, r] * (c[1, r] * Q[i, 0, r]) * V[i, m, r]
        for r in range(count(V.shape[2])):
            V[i, 0, r] += c[1, r] * F[i, m, r] * V[i, m, r]
    for m in range(V.shape[1]):
        for r in range(count(V.shape[2] if len(dc) else 0)):
            dc[0, m + 1, r] += Q[i, m, r] * V[i, m, r]
        for r in range(count(V.shape[2])):
            V[i, m, r] *= c[m + 1, r]


@loop
def diffusion_adjoint(unit: Unit, options: Options, out: Array, grad: Array, da: Array, dc: Array, dp: Array) -> None:
    """From the gradient of the features `out`, add to the others."""
    F, Q, g = start_projections(unit, options), first_step(unit), copied(grad)
    for i in range(len(g)):
        finish_row_adjoint(F, unit.c, options.start, out, i, g, da, dc)
    # The gradient of what is added in every step is the sum V of all W = P'^k g; without gradients of P, V obeys the same law as S.
    V, rooms = g, np.empty((2, *g.shape), g.dtype)
    if len(dp):
        W, V, S = g, copied(g), all_sheared_states(unit, options, F, Q)
        for k in range(options.length - 2, -1, -1):
            new = rooms[k % 2]
            add_along(unit.edges, W, S[k], dp)
            spread_anew(unit.edges, W, new)
            add(V, new)
            W = new
    else:
        for k in range(options.length - 1):
            new = rooms[k % 2]
            assign(new, g)
            spread(unit.edges, V, new)
            V = new
    for i in range(len(V)):
        shear_row_adjoint(F, unit.c, Q, i, V, da, dc)
    first_step_adjoint(unit, V, da, dp)
