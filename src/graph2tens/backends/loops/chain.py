r"""The mathematics of one step at one place, for all M levels: Horner chains, and their adjoint.

With :math:`C_q = C^{u_q}` for the M components and levels :math:`f_0 = s, f_1, \dots, f_M` of the node stepped to, level m of a step is

.. math:: f_m + C_{M-m+1} (c_1 f_{m-1} + C_{M-m+2} (c_2 f_{m-2} + \dots + C_M c_m s)).

**Counting.** Components stand in descending order, :math:`C_M` first, and everything counts from 0: ``C[e]`` is :math:`C_{M-e}`, and
``f[m]`` the level of degree m + 1. Level m of the step is then ``f[m] + C[m] B[m, m]`` with the brackets, from the inside to the outside,

.. math:: B_{m,0} = c_{m+1} s, \qquad B_{m,e+1} = c_{m-e} f_e + C_e B_{m,e}.

**Places.** C is the projection of the node stepped to, minus an `origin`: with increments that of the node stepped from (minus the clock),
without increments minus the clock, in the start factor minus the offset of the graph.

Shapes: projections (rows, M, L) for L functionals; states (rows, K + M, L), where level 0 comes first if it is carried along (K = 1), and
else is 1 (K = 0).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .dialect import Array, Levels, add_row_of, count, inline, loop, row_of, set_row, set_zero
from .sparse import Edges, add_products, add_row, room_for_weights, set_average, set_weights


class Chain(NamedTuple):
    """What chains are made of.

    Attributes:
        degree, carried: tuples of M and K zeros.
        a: projections.
        origin: (rows, M, L), and
        place: the row of it for each row, see `row_of`.
        f: the state before the step; level M may be missing where only an adjoint reads it.
        c: (M + 1, L), :math:`c_0 = 1, c_1, .., c_M`.
    """

    degree: Levels
    carried: Levels
    a: Array
    origin: Array
    place: Array
    f: Array
    c: Array


class Gradients(NamedTuple):
    """What adjoints add to: projections a, state f, `origin` (which may be `a`), coefficients c (1, M + 1, L), probabilities p (E, H).

    The last three may be empty.
    """

    a: Array
    f: Array
    origin: Array
    c: Array
    p: Array


@inline
def set_levels(chain: Chain, i: int, j: int, levels: Array, row: int) -> None:
    """A row of `levels` becomes the state after the step from row i to row j."""
    M, K, at = len(chain.degree), len(chain.carried), row_of(chain.place, i)
    a, origin, f, c = chain.a, chain.origin, chain.f, chain.c
    for r in range(count(a.shape[2])):
        if K:
            levels[row, 0, r] = f[j, 0, r]
        for m in range(M):
            bracket = c[m + 1, r] * f[j, 0, r] if K else c[m + 1, r]
            for e in range(M):
                if e < m:
                    bracket = c[m - e, r] * f[j, K + e, r] + (a[j, e, r] - origin[at, e, r]) * bracket
            levels[row, K + m, r] = f[j, K + m, r] + (a[j, m, r] - origin[at, m, r]) * bracket


@loop
def step_along_edges(edges: Edges, chain: Chain, new: Array) -> None:
    """new = the state after one more step, with a chain at every edge."""
    levels, weights = np.empty((1, *new.shape[1:]), new.dtype), room_for_weights(edges, new)
    for node in range(edges.first, edges.last):
        i = node - edges.base
        set_zero(new, i)
        for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
            j = edges.col[entry] - edges.base
            set_levels(chain, i, j, levels, 0)
            set_weights(weights, edges, node, entry)
            add_row(new, i, weights, levels, 0)


@loop
def step_to_nodes(edges: Edges, old: Array, chain: Chain, new: Array) -> None:
    """chain.f = P old, and new = the levels of a chain at every row, taken while the row is in the cache."""
    weights = room_for_weights(edges, new)
    for node in range(edges.first, edges.last):
        i = node - edges.base
        set_average(edges, node, weights, old, chain.f)
        set_levels(chain, i, i, new, i)


@loop
def chain_at_sources(edges: Edges, chain: Chain, new: Array) -> None:
    """new = the levels of a chain at every row that the edges leave, itself."""
    for i in range(edges.first - edges.base, edges.last - edges.base):
        set_levels(chain, i, i, new, i)


class Room(NamedTuple):
    """For one place: C (M, L), brackets (M, M, L), levels, their gradient d and zeros (1, K + M, L), products (L,); for one row
    dC (1, M, L).
    """

    C: Array
    brackets: Array
    levels: Array
    d: Array
    zero: Array
    along: Array
    dC: Array  # noqa: N815


@loop
def make_room(chain: Chain) -> Room:
    _, M, L = chain.a.shape
    K, dtype = len(chain.carried), chain.a.dtype
    levels, d, zero = np.empty((1, K + M, L), dtype), np.empty((1, K + M, L), dtype), np.zeros((1, K + M, L), dtype)
    return Room(np.empty((M, L), dtype), np.empty((M, M, L), dtype), levels, d, zero, np.empty(L, dtype), np.empty((1, M, L), dtype))


@inline
def set_brackets(chain: Chain, i: int, j: int, room: Room) -> None:
    """C and all brackets of the step from row i to row j."""
    M, K, at = len(chain.degree), len(chain.carried), row_of(chain.place, i)
    a, origin, f, c, C, B = chain.a, chain.origin, chain.f, chain.c, room.C, room.brackets
    for r in range(count(a.shape[2])):
        for e in range(M):
            C[e, r] = a[j, e, r] - origin[at, e, r]
        for m in range(M):
            B[m, 0, r] = c[m + 1, r] * f[j, 0, r] if K else c[m + 1, r]
            for e in range(M):
                if e < m:
                    B[m, e + 1, r] = c[m - e, r] * f[j, K + e, r] + C[e, r] * B[m, e, r]


@inline
def reverse(chain: Chain, j: int, room: Room, da: Array, df: Array) -> None:
    """From the gradient d of the state after the step to row j, which is used up, add to those of C, a and f."""
    M, K, c, C, B, d, dC = len(chain.degree), len(chain.carried), chain.c, room.C, room.brackets, room.d, room.dC
    for r in range(count(C.shape[1])):
        for back in range(M):
            e = M - 1 - back
            below, along = d[0, K + e, r], d[0, K + e, r] * B[e, e, r]
            d[0, K + e, r] *= C[e, r]
            for m in range(M):
                if m > e:
                    along += d[0, K + m, r] * B[m, e, r]
                    below += c[m - e, r] * d[0, K + m, r]
                    d[0, K + m, r] *= C[e, r]
            dC[0, e, r] += along
            da[j, e, r] += along
            df[j, K + e, r] += below
        if K:
            df[j, 0, r] += d[0, 0, r]
            for m in range(M):
                df[j, 0, r] += c[m + 1, r] * d[0, K + m, r]


@inline
def add_to_coefficients(chain: Chain, j: int, room: Room, dc: Array) -> None:
    """From the same gradient d that of the coefficients, added."""
    M, K, f, C, d = len(chain.degree), len(chain.carried), chain.f, room.C, room.d
    for r in range(count(C.shape[1])):
        for m in range(M):
            D = d[0, K + m, r]
            for back in range(M):
                e = M - 1 - back
                if e < m:
                    dc[0, m - e, r] += f[j, K + e, r] * D
                if e <= m:
                    D *= C[e, r]
            dc[0, m + 1, r] += D * f[j, 0, r] if K else D


@inline
def add_place(chain: Chain, j: int, room: Room, to: Gradients) -> None:
    """What the step to row j, with the gradient d of the state after it, adds to all gradients but those of origin and probabilities."""
    if len(to.c):
        add_to_coefficients(chain, j, room, to.c)
    reverse(chain, j, room, to.a, to.f)


@loop
def step_along_edges_adjoint(edges: Edges, chain: Chain, g: Array, to: Gradients) -> None:
    """From the gradient g of the state after the step, add to those of everything else."""
    room, weights = make_room(chain), room_for_weights(edges, g)
    for node in range(edges.first, edges.last):
        i = node - edges.base
        set_zero(room.dC, 0)
        for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
            j = edges.col[entry] - edges.base
            if len(to.p):
                set_levels(chain, i, j, room.levels, 0)
                add_products(to.p, edges, entry, room.along, g, i, room.levels, 0, room.zero)
            set_weights(weights, edges, node, entry)
            set_zero(room.d, 0)
            add_row(room.d, 0, weights, g, i)
            set_brackets(chain, i, j, room)
            add_place(chain, j, room, to)
        if len(to.origin):
            add_row_of(to.origin, row_of(chain.place, i), -1, room.dC, 0)


@loop
def chain_at_sources_adjoint(chain: Chain, g: Array, to: Gradients) -> None:
    """The same for `chain_at_sources` at all rows."""
    room = make_room(chain)
    for i in range(len(g)):
        set_zero(room.dC, 0)
        set_row(room.d, 0, g, i)
        set_brackets(chain, i, i, room)
        add_place(chain, i, room, to)
        if len(to.origin):
            add_row_of(to.origin, row_of(chain.place, i), -1, room.dC, 0)
