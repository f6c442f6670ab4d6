r"""Degrees 1 and 2 with increments where rows of P sum to 1: plain diffusion, without a chain in every step.

The recursion reads, with :math:`\tau` the time coordinate's part of the components (zero without time),

.. math:: f_1' = P f_1 + e_1, \qquad f_2' = P f_2 + c_1 (P(a_1 f_1) - (a_1 - \tau_1) P f_1) + e_2,

where :math:`e_1, e_2` are the levels after the first step. Let :math:`b_k = a_1 - k \tau_1`. In the *sheared* variable
:math:`h_k = f_2 + c_1 b_k f_1` after k steps the projections drop out:

.. math:: f_1' = P f_1 + e_1, \qquad h_k = P h_{k-1} + e_2 + c_1 b_k e_1.

So a state S of one or two levels obeys :math:`S_k = P S_{k-1} + E_k`: one sparse product per step. What is added, :math:`E_1` at first,
changes with the clock alone. The adjoint, :math:`W' = P^T W`, reads states only for the gradient of P.

The first step needs means over the neighbours j of i, of :math:`D_q = a_q(j) - a_q(i) + \tau_q` and of :math:`D_1 D_2`. They are
:math:`(P a_q)(i) - a_q(i) + \tau_q` and, as a covariance does not see what is constant,
:math:`P(a_1 a_2) - P a_1 P a_2` plus the product of the two: one more sparse product.

Shapes: rows (M L) as in `chain.py`, so :math:`a_M` comes first; ``clock`` (M L); ``D`` (M L).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .dialect import add, assign, count, fill, inline, loop
from .sparse import add_along, add_totals, average, spread


@inline
def set_own(own, a, i, L):  # type: ignore[no-untyped-def]  # pragma: no cover
    width = count(a.shape[1])
    for r in range(width):
        own[i, r] = a[i, r]
    for r in range(count(own.shape[1]) - width):
        own[i, width + r] = a[i, r] * a[i, L + r]


@loop
def neighbour_means(part, graph, a):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Own numbers (rows, K L), a_1 or a_2, a_1 and their product; and their means over the neighbours."""
    own = np.empty((len(a), a.shape[1] + (part.lanes if a.shape[1] > part.lanes else 0)), a.dtype)
    for i in range(len(a)):
        set_own(own, a, i, count(part.lanes))
    means = np.empty_like(own)
    average(part, graph, own, own[:0], means)
    return own, means


@inline
def set_means(D, means, a, clock, i):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(count(a.shape[1])):
        D[r] = (means[i, r] - a[i, r]) + clock[r]


@inline
def second_moment(means, i, L, r, D):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The mean of D_1 D_2: a covariance, and the product of two means."""
    return (means[i, L + L + r] - means[i, r] * means[i, L + r]) + D[r] * D[L + r]


@inline
def first_row(i, a, means, clock, c, L, D, E):  # type: ignore[no-untyped-def]  # pragma: no cover
    high = count(a.shape[1]) - L
    set_means(D, means, a, clock, i)
    for r in range(L):
        E[i, r] = c.ends[0, r] * D[r]
    for r in range(high):
        E[i, L + r] = c.ends[0, L + r] * second_moment(means, i, L, r, D)
    for r in range(high):
        E[i, L + r] += c.ends[0, r] * (a[i, L + r] - clock[L + r]) * E[i, r]


@loop
def first_step(part, a, means, clock, c):  # type: ignore[no-untyped-def]  # pragma: no cover
    """E_1."""
    D, E = np.empty_like(clock), np.empty_like(a)
    for i in range(len(a)):
        first_row(i, a, means, clock, c, count(part.lanes), D, E)
    return E


@inline
def advance_clock(i, E, clock, c, L):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(L):
        E[i, L + r] -= c.ends[0, r] * clock[L + r] * E[i, r]


@loop
def sheared_states(part, graph, clock, c, E, length, keep):  # type: ignore[no-untyped-def]  # pragma: no cover
    """S after 1..length steps, unless `keep` after the last two numbers of steps, (count, rows, M L); E is used up."""
    kept = length if keep else min(2, length)
    S = np.empty((kept, *E.shape), E.dtype)
    assign(S[0], E)
    for k in range(1, length):
        for i in range(len(E) if E.shape[1] > part.lanes and clock.any() else 0):
            advance_clock(i, E, clock, c, count(part.lanes))
        average(part, graph, S[(k - 1) % kept], E, S[k % kept])
    return S


@inline
def unshear(i, k, f, a, clock, c, L):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(count(a.shape[1]) - L):
        f[i, L + r] -= c.ends[0, r] * (a[i, L + r] - k * clock[L + r]) * f[i, r]


@loop
def diffusion(part, graph, a, clock, c, length):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The levels after `length` > 0 steps."""
    _, means = neighbour_means(part, graph, a)
    f = sheared_states(part, graph, clock, c, first_step(part, a, means, clock, c), length, False)[(length - 1) % 2]
    for i in range(len(a)):
        unshear(i, a.dtype.type(length), f, a, clock, c, count(part.lanes))
    return f


@inline
def shear_adjoint(i, sign, k, low, g, a, clock, c, gradients, L):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Of ``high += sign c_1 b_k low`` at node i, from the gradient g of both: that of low, in place, and of b and c_1."""
    for r in range(L):
        gradients.a[i, L + r] += sign * (c.ends[0, r] * g[i, L + r]) * low[i, r]
    for r in range(L if len(gradients.shift) else count(0)):
        gradients.shift[0, L + r] -= sign * k * (c.ends[0, r] * g[i, L + r]) * low[i, r]
    for r in range(L if len(gradients.c.ends) else count(0)):
        gradients.c.ends[0, r] += sign * (a[i, L + r] - k * clock[L + r]) * low[i, r] * g[i, L + r]
    for r in range(L):
        g[i, r] += sign * (c.ends[0, r] * (a[i, L + r] - k * clock[L + r])) * g[i, L + r]


@loop
def diffusion_adjoint(part, graph, a, clock, c, length, f, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient g of the last levels f, of which level 1 is read; g is changed."""
    one, is_second = a.dtype.type(1), a.shape[1] > part.lanes
    own, means = neighbour_means(part, graph, a)
    E = first_step(part, a, means, clock, c)
    for i in range(len(a) if is_second else 0):
        shear_adjoint(i, -one, a.dtype.type(length), f, g, a, clock, c, gradients, count(part.lanes))
    # G, the gradient of E_1, is the sum of all W; without gradients of P it obeys the same law as S, with the transpose of P.
    # Every step but the first takes c_1 tau_1 e_1 off E once more: the gradient of that is the sum V of all G but the last.
    timed = is_second and (len(gradients.shift) > 0 or clock.any())
    G, W, new, V = g.copy(), g, np.empty_like(g), np.zeros_like(g if timed else g[:0])
    S = sheared_states(part, graph, clock, c, E.copy(), length, True) if gradients.p.size else np.empty((0, *g.shape), g.dtype)
    for k in range(length - 1, 0, -1):
        if timed:
            add(V, G)
        if gradients.p.size:
            add_along(part, graph, W, S[k - 1], gradients.p)
            fill(new, 0)
            spread(part, graph, W, new)
            W, new = new, W
            add(G, W)
        else:
            assign(new, g)
            spread(part, graph, G, new)
            G, new = new, G
    first_step_adjoint(part, graph, a, own, means, clock, c, E, G, V, gradients)


@inline
def clock_adjoint(i, low, V, clock, c, G, gradients, L):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Of what the clock takes off E in later steps, c_1 tau_1 low, from its gradient V."""
    for r in range(L if len(gradients.shift) else count(0)):
        gradients.shift[0, L + r] -= c.ends[0, r] * V[i, L + r] * low[i, r]
    for r in range(L if len(gradients.c.ends) else count(0)):
        gradients.c.ends[0, r] -= clock[L + r] * V[i, L + r] * low[i, r]
    for r in range(L):
        G[i, r] -= c.ends[0, r] * clock[L + r] * V[i, L + r]


class Room(NamedTuple):
    """Room for the first step's adjoint: gradients of all neighbours' means, (rows, K L); at one node the means of D, their gradient, and
    what D adds to the mean of a, (M L,); and one number per functional (L,).
    """

    d_means: Any
    D: Any
    gradient: Any
    added: Any
    along: Any


@inline
def first_row_adjoint(i, part, graph, a, means, clock, c, E, G, V, gradients, room):  # type: ignore[no-untyped-def]  # pragma: no cover
    L, width, one = count(part.lanes), count(a.shape[1]), a.dtype.type(1)
    high = width - L
    set_means(room.D, means, a, clock, i)
    for r in range(width):
        room.added[r] = clock[r] - a[i, r]
    if high:
        shear_adjoint(i, one, one, E, G, a, clock, c, gradients, L)
    if len(V):
        clock_adjoint(i, E, V, clock, c, G, gradients, L)
    for r in range(L if len(gradients.c.ends) else count(0)):
        gradients.c.ends[0, r] += room.D[r] * G[i, r]
    for r in range(high if len(gradients.c.ends) else count(0)):
        gradients.c.ends[0, L + r] += second_moment(means, i, L, r, room.D) * G[i, L + r]
    for r in range(width):
        G[i, r] *= c.ends[0, r]
    for r in range(L):
        room.d_means[i, r] = G[i, r]
    for r in range(L):
        room.gradient[r] = G[i, r]
    for r in range(high):
        room.d_means[i, r] += room.added[L + r] * G[i, L + r]
    for r in range(high):
        room.d_means[i, L + r] = room.added[r] * G[i, L + r]
    for r in range(high):
        room.d_means[i, L + L + r] = G[i, L + r]
    for r in range(high):
        room.gradient[r] += room.D[L + r] * G[i, L + r]
    for r in range(high):
        room.gradient[L + r] = room.D[r] * G[i, L + r]
    for r in range(width):
        gradients.a[i, r] -= room.gradient[r]
    for r in range(width if len(gradients.shift) else count(0)):
        gradients.shift[0, r] += room.gradient[r]
    if gradients.p.size:  # the means take rows of P to sum to 1, but the gradient of P is that of the sums over edges
        for r in range(L):
            room.along[r] = room.added[r] * room.d_means[i, r]
        for entry in range(graph.row_ptr[i + part.first], graph.row_ptr[i + part.first + 1]):
            add_totals(gradients.p, entry, room.along)


@inline
def own_adjoint(i, a, d_own, gradients, L):  # type: ignore[no-untyped-def]  # pragma: no cover
    width = count(a.shape[1])
    for r in range(width):
        gradients.a[i, r] += d_own[i, r]
    for r in range(width - L):
        gradients.a[i, r] += a[i, L + r] * d_own[i, width + r]
    for r in range(width - L):
        gradients.a[i, L + r] += a[i, r] * d_own[i, width + r]


@loop
def first_step_adjoint(part, graph, a, own, means, clock, c, E, G, V, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient G of E_1 (which is changed), and V, empty without time."""
    d_means, d_own = np.empty_like(own), np.zeros_like(own)
    room = Room(d_means, np.empty_like(clock), np.empty_like(clock), np.empty_like(clock), np.empty_like(clock[: part.lanes]))
    for i in range(len(a)):
        first_row_adjoint(i, part, graph, a, means, clock, c, E, G, V, gradients, room)
    spread(part, graph, d_means, d_own)
    add_along(part, graph, d_means, own, gradients.p)
    for i in range(len(a)):
        own_adjoint(i, a, d_own, gradients, count(part.lanes))
