r"""Degrees 1 and 2 with increments and rows of P that sum to 1: only the first step looks at the projections, the rest is plain diffusion.

The recursion reads :math:`f_1' = P f_1 + e_1` and :math:`f_2' = P f_2 + c_1 (P(a_1 f_1) - a_1 P f_1 + \tau_1 P f_1) + e_2`, where
:math:`e_1, e_2` are the levels after the first step and :math:`\tau` is the time coordinate's part of the components, zero without time.
In the *sheared* variable :math:`h = f_2 + c_1 a_1 f_1` the projections drop out:

.. math:: f_1' = P f_1 + e_1, \qquad h' = P h + c_1 \tau_1 P f_1 + h_1, \qquad h_1 = e_2 + c_1 a_1 e_1.

So without time :math:`S = (f_1, h)` obeys :math:`S' = P S + S_1`: a sparse product per step instead of a chain on every edge. Its adjoint,
:math:`W' = P^T W`, reads states only for the gradients of P and of the clock. Degree 1 is the same without h.
"""

from __future__ import annotations

import numpy as np

from .steps import add_along, add_average, spread
from .vectors import (
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
    set_zero,
    total,
)


@loop
def first_sums(part, graph, a, clock, sums):  # type: ignore[no-untyped-def]  # pragma: no cover
    r"""The levels of the first step over their coefficients: :math:`\sum_j P_{ij} D_M` and :math:`\sum_j P_{ij} D_1 D_2`.

    :math:`D_q = a_q(j) - a_q(i) + \tau_q`. It is the edge form without the levels of the node stepped to, which are zero.
    """
    M, L = clock.shape
    first, last = np.empty(L, a.dtype), np.empty(L, a.dtype)
    for i in range(part.first - part.base, part.last - part.base):
        for m in range(M):
            set_zero(sums[i, m])
        for entry in range(graph.row_ptr[i + part.base], graph.row_ptr[i + part.base + 1]):
            j, weight = graph.col[entry] - part.base, graph.p[entry, part.head]
            set_increment(last, a[j, M - 1], a[i, M - 1], clock[M - 1])
            add_scaled(sums[i, 0], weight, last)
            if M == 2:
                set_increment(first, a[j, 0], a[i, 0], clock[0])
                multiply(first, last)
                add_scaled(sums[i, 1], weight, first)


@loop
def first_sums_adjoint(part, graph, a, clock, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    M, L = clock.shape
    D, d, along = np.empty((M, L), a.dtype), np.empty((M, L), a.dtype), np.empty(L, a.dtype)
    for i in range(part.first - part.base, part.last - part.base):
        for entry in range(graph.row_ptr[i + part.base], graph.row_ptr[i + part.base + 1]):
            j, weight = graph.col[entry] - part.base, graph.p[entry, part.head]
            for q in range(M):
                set_increment(D[q], a[j, q], a[i, q], clock[q])
            copy(d[M - 1], g[i, 0])
            if M == 2:
                set_product(d[0], g[i, 1], D[1])
                add_product(d[1], g[i, 1], D[0])
            for q in range(M):
                add_scaled(gradients.a[j, q], weight, d[q])
                add_scaled(gradients.a[i, q], -weight, d[q])
                if gradients.shift.size:
                    add_scaled(gradients.shift[q], weight, d[q])
            if gradients.p.size:
                set_product(along, d[M - 1], D[M - 1])
                gradients.p[entry] += total(along)


@loop
def scale(c, sums, levels):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Multiply each level by its coefficient."""
    for i in range(len(sums)):
        for m in range(sums.shape[1]):
            set_product(levels[i, m], c[m + 1], sums[i, m])


@loop
def scale_adjoint(c, sums, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The gradient of the sums from that of the levels, in place."""
    for i in range(len(sums)):
        for m in range(sums.shape[1]):
            if gradients.c.size:
                add_product(gradients.c[m + 1], sums[i, m], g[i, m])
            multiply(g[i, m], c[m + 1])


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
def diffuse(part, graph, c, clock, S_1, old, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new = P old + S_1, and the clock's share; `clock` is (M, L)."""
    rows, columns = len(old), old[0].size
    assign(new, S_1)
    add_average(part, graph, old.reshape(rows, columns), new.reshape(rows, columns))
    if clock.any() and len(clock) == 2:
        for i in range(rows):
            low, high, first, c1, tau = new[i, 0], new[i, 1], S_1[i, 0], c[1], clock[0]
            for r in range(low.size):
                high[r] += c1[r] * tau[r] * (low[r] - first[r])


@loop
def diffuse_adjoint(part, graph, c, clock, S_1, old, new, W, W_old, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """W_old = the gradient of `old`, from the gradient W of `new`, which is changed."""
    rows, columns = len(W), W[0].size
    if (clock.any() or gradients.shift.size) and len(clock) == 2:
        share = W[0, 0].copy()
        for i in range(rows):
            w1, w2, low, first, c1, tau = W[i, 0], W[i, 1], new[i, 0], S_1[i, 0], c[1], clock[0]
            for r in range(low.size):
                w1[r] += c1[r] * (tau[r] * w2[r])
            for r in range(low.size):
                share[r] = w2[r] * (low[r] - first[r])
            if gradients.shift.size:
                add_product(gradients.shift[0], c1, share)
            if gradients.c.size:
                add_product(gradients.c[1], tau, share)
    fill(W_old, 0)
    spread(part, graph, W.reshape(rows, columns), W_old.reshape(rows, columns))
    add_along(part, graph, W.reshape(rows, columns), old.reshape(rows, columns), gradients.p)
