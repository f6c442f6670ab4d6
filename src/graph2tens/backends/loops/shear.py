r"""Degrees 1 and 2 where rows of P sum to 1: plain diffusion, without a chain in every step.

**With increments** the recursion reads

.. math:: f_1' = P f_1 + e_1, \qquad f_2' = P f_2 + c_1 (P(a_1 f_1) - a_1 P f_1 + \tau_1 P f_1) + e_2,

where :math:`e_1, e_2` are the levels after the first step and :math:`\tau` is the time coordinate's part of the components, zero without
time. In the *sheared* variable :math:`h = f_2 + c_1 a_1 f_1` the projections drop out:

.. math:: f_1' = P f_1 + e_1, \qquad h' = P h + c_1 \tau_1 P f_1 + h_1, \qquad h_1 = e_2 + c_1 a_1 e_1.

The first step needs means over the neighbours j of i, of :math:`D_q = a_q(j) - a_q(i) + \tau_q` and of :math:`D_1 D_2`. They are
:math:`\mu_q = (P a_q)(i) - a_q(i) + \tau_q` and, as a covariance does not see what is constant,
:math:`P(a_1 a_2) - P a_1 P a_2 + \mu_1 \mu_2`: one more sparse product.

**Without increments** (and without time) :math:`f_1' = P(f_1 + c_1 a_2)` and :math:`f_2' = P(f_2 + c_1 a_1 f_1 + c_2 a_1 a_2)`. The
variables in brackets, b and h, start at :math:`b_1 = c_1 a_2` and :math:`h_1 = c_2 a_1 a_2` and obey

.. math:: b' = P b + b_1, \qquad h' = P h + c_1 a_1 P b + h_1.

So in both cases a state S of one or two levels obeys :math:`S' = P S + S_1`, where level 1 may add to level 2 by a factor K, the
*coupling*, :math:`\tau_1` or :math:`a_1`: one sparse product per step. Its adjoint, :math:`W' = P^T W`, reads states only for the
gradients of P and K.
"""

from __future__ import annotations

import numpy as np

from .sparse import add_along, add_totals, average, spread
from .vectors import (
    add,
    add_product,
    add_scaled,
    assign,
    copy,
    fill,
    loop,
    multiply,
    set_increment,
    set_product,
    set_scaled,
    set_second_moment,
    subtract,
    subtract_from,
    word,
)


@loop
def neighbour_means(part, graph, a):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Own (rows, K, L): a_1, or a_1, a_2 and their product; and their means over the neighbours, P own."""
    rows, M, L = a.shape
    own, nothing = np.empty((rows, 1 if M == 1 else 3, L), a.dtype), np.empty((0, 1, L), a.dtype)
    for i in range(rows):
        for q in range(M):
            copy(own[i, q], a[i, q])
        if M == 2:
            set_product(own[i, 2], a[i, 0], a[i, 1])
    means = np.empty_like(own)
    average(part, graph, own, nothing, means)
    return own, means


@word
def set_moments(a, means, clock, first, sums):  # type: ignore[no-untyped-def]  # pragma: no cover
    """At one node: the mean of D_1, and the levels of the first step over their coefficients, the means of D_M and of D_1 D_2."""
    M = len(a)
    set_increment(sums[0], means[M - 1], a[M - 1], clock[M - 1])
    if M == 2:
        set_increment(first, means[0], a[0], clock[0])
        set_second_moment(sums[1], means[2], means[0], means[1], first, sums[0])


@loop
def first_step(a, means, clock, c, sums, S_1):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The first step's levels over their coefficients, and the sheared state that they make."""
    first = np.empty_like(clock[0])
    for i in range(len(a)):
        set_moments(a[i], means[i], clock, first, sums[i])
        for m in range(len(clock)):
            set_product(S_1[i, m], c[m + 1], sums[i, m])
    shear(a, c, a.dtype.type(1), S_1)


@loop
def first_step_adjoint(part, graph, a, own, means, clock, c, sums, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient g of the levels, which is changed."""
    M = len(clock)
    d_means, d_own = np.empty_like(own), np.zeros_like(own)
    d, first = np.empty_like(clock), np.empty_like(clock[0])  # d: the gradients of the means of D_q
    for i in range(len(a)):
        for m in range(M):
            if gradients.c.size:
                add_product(gradients.c[m + 1], sums[i, m], g[i, m])
            multiply(g[i, m], c[m + 1])
        copy(d[M - 1], g[i, 0])
        if M == 2:
            set_increment(first, means[i, 0], a[i, 0], clock[0])
            set_product(d[0], g[i, 1], sums[i, 0])
            add_product(d[1], g[i, 1], first)
            copy(d_means[i, 2], g[i, 1])
            for q in range(2):
                set_product(d_means[i, q], g[i, 1], means[i, 1 - q])
                subtract_from(d_means[i, q], d[q])
        else:
            copy(d_means[i, 0], d[0])
        for q in range(M):
            subtract(gradients.a[i, q], d[q])
            if gradients.shift.size:
                add(gradients.shift[q], d[q])
    spread(part, graph, d_means, d_own)
    add_along(part, graph, d_means, own, gradients.p)
    add_to_sums_of_rows(part, graph, a, clock, g, gradients.p)
    for i in range(len(a)):
        for q in range(M):
            add(gradients.a[i, q], d_own[i, q])
            if M == 2:
                add_product(gradients.a[i, q], a[i, 1 - q], d_own[i, 2])


@loop
def add_to_sums_of_rows(part, graph, a, clock, g, dp):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The means take rows of P to sum to 1, but the gradient of P is that of the sums over edges: what b_q = tau_q - a_q(i) was worth."""
    M = len(clock)
    b, along = np.empty_like(clock), np.empty_like(clock[0])
    for i in range(len(a) if dp.size else 0):
        for q in range(M):
            copy(b[q], clock[q])
            subtract(b[q], a[i, q])
        copy(along, g[i, 0])
        if M == 2:
            add_product(along, b[0], g[i, 1])
        multiply(along, b[M - 1])
        for entry in range(graph.row_ptr[i + part.first], graph.row_ptr[i + part.first + 1]):
            add_totals(dp[entry], along, part.heads)


@loop
def shear(a, c, sign, f):  # type: ignore[no-untyped-def]  # pragma: no cover
    """f_2 += sign c_1 a_1 f_1, in place."""
    product = np.empty_like(c[0])
    for i in range(len(f) if f.shape[1] == 2 else 0):
        set_product(product, a[i, 0], f[i, 0])
        multiply(product, c[1])
        add_scaled(f[i, 1], sign, product)


@loop
def shear_adjoint(a, c, sign, f, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The gradient of f from that of the sheared state, in place; of f only level 1 is read."""
    signed, product = np.empty_like(c[0]), np.empty_like(c[0])
    for i in range(len(f) if f.shape[1] == 2 else 0):
        set_scaled(signed, sign, g[i, 1])
        if gradients.c.size:
            set_product(product, a[i, 0], f[i, 0])
            add_product(gradients.c[1], product, signed)
        multiply(signed, c[1])
        add_product(g[i, 0], a[i, 0], signed)
        add_product(gradients.a[i, 0], f[i, 0], signed)


@loop
def lift(a, c, S_1):  # type: ignore[no-untyped-def]  # pragma: no cover
    """S_1 without increments: c_1 a_M and c_2 a_1 a_2."""
    M = a.shape[1]
    for i in range(len(a)):
        set_product(S_1[i, 0], c[1], a[i, M - 1])
        if M == 2:
            set_product(S_1[i, 1], a[i, 0], a[i, 1])
            multiply(S_1[i, 1], c[2])


@loop
def lift_adjoint(a, c, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    M, scaled = a.shape[1], np.empty_like(c[0])
    for i in range(len(a)):
        add_product(gradients.a[i, M - 1], c[1], g[i, 0])
        if gradients.c.size:
            add_product(gradients.c[1], a[i, M - 1], g[i, 0])
        if M == 2:
            if gradients.c.size:
                set_product(scaled, a[i, 0], a[i, 1])
                add_product(gradients.c[2], scaled, g[i, 1])
            set_product(scaled, c[2], g[i, 1])
            for q in range(2):
                add_product(gradients.a[i, q], a[i, 1 - q], scaled)


@loop
def diffuse(part, graph, c, coupling, S_1, old, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new = P old + S_1, and what level 1 adds to level 2; `coupling` is (rows, M, L), (1, M, L) if it is constant, or empty."""
    average(part, graph, old, S_1, new)
    for i in range(len(new) if len(coupling) and new.shape[1] == 2 else 0):
        low, high, first, c1, K = new[i, 0], new[i, 1], S_1[i, 0], c[1], coupling[i % len(coupling), 0]
        for r in range(low.size):
            high[r] += c1[r] * K[r] * (low[r] - first[r])


@loop
def diffuse_adjoint(part, graph, c, coupling, S_1, old, new, W, W_old, dK, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """W_old = the gradient of `old`, from the gradient W of `new`, which is changed."""
    share = np.empty_like(c[0])
    for i in range(len(W) if len(coupling) and W.shape[1] == 2 else 0):
        w1, w2, low, first, c1, K = W[i, 0], W[i, 1], new[i, 0], S_1[i, 0], c[1], coupling[i % len(coupling), 0]
        for r in range(low.size):
            w1[r] += c1[r] * (K[r] * w2[r])
        for r in range(low.size):
            share[r] = w2[r] * (low[r] - first[r])
        if dK.size:
            add_product(dK[i % len(dK), 0], c1, share)
        if gradients.c.size:
            add_product(gradients.c[1], K, share)
    fill(W_old, 0)
    spread(part, graph, W, W_old)
    add_along(part, graph, W, old, gradients.p)


@loop
def diffusion(part, graph, a, clock, c, length, increments):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The levels after `length` > 0 steps."""
    S_1, new = np.empty_like(a), np.empty_like(a)
    coupling = coupling_of(a, clock, increments, False)
    if increments:
        _, means = neighbour_means(part, graph, a)
        first_step(a, means, clock, c, new, S_1)
    else:
        lift(a, c, S_1)
    f = S_1.copy()
    for _ in range(length - 1 if increments else length):
        diffuse(part, graph, c, coupling, S_1, f, new)
        f, new = new, f
    if not increments:
        subtract(f.reshape(f.size), S_1.reshape(f.size))
    shear(a, c, a.dtype.type(-1), f)
    return f


@loop
def coupling_of(a, clock, increments, is_wanted):  # type: ignore[no-untyped-def]  # pragma: no cover
    """(G, M, L), of which row 0 counts; empty where there is none and its gradient is not wanted."""
    if increments:
        return clock.reshape(1, clock.shape[0], clock.shape[1])[: 1 if is_wanted or clock.any() else 0]
    return a


@loop
def diffusion_adjoint(part, graph, a, clock, c, length, increments, f, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient g of the last levels f, of which level 1 is read; both arrays are changed."""
    S_1, sums = np.empty_like(a), np.empty_like(a)
    coupling = coupling_of(a, clock, increments, gradients.shift.size > 0)
    own, means = neighbour_means(part, graph, a) if increments else (S_1, S_1)
    if increments:
        first_step(a, means, clock, c, sums, S_1)
    else:
        lift(a, c, S_1)
    shear_adjoint(a, c, a.dtype.type(-1), f, g, gradients)
    # G: the gradient of S_1, to which every step adds; without increments S_1 is taken off again at the end
    G, W, W_old = g.copy() if increments else np.zeros_like(g), g, f
    if not increments or len(coupling) or gradients.p.size:
        steps = length if increments else length + 1
        dK = gradients.shift.reshape(1 if gradients.shift.size else 0, *clock.shape) if increments else gradients.a
        states = np.empty((steps, *a.shape), a.dtype)
        assign(states[0], S_1)
        for t in range(1, steps):
            diffuse(part, graph, c, coupling, S_1, states[t - 1], states[t])
        for t in range(steps - 1, 0, -1):
            diffuse_adjoint(part, graph, c, coupling, S_1, states[t - 1], states[t], W, W_old, dK, gradients)
            W, W_old = W_old, W
            add(G.reshape(G.size), W.reshape(W.size))
    else:  # the sum of all W obeys the same law as S, with the transpose of P
        for _ in range(length - 1):
            assign(W_old, g)
            spread(part, graph, G, W_old)
            G, W_old = W_old, G
    if increments:
        shear_adjoint(a, c, a.dtype.type(1), S_1, G, gradients)
        first_step_adjoint(part, graph, a, own, means, clock, c, sums, G, gradients)
    else:
        lift_adjoint(a, c, G, gradients)
