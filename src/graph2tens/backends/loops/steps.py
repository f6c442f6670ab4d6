r"""One step of the recursion on the rows of a graph, and its adjoint.

**Edge form**, with increments: :math:`C_q = a_q(j) - a_q(i)` belongs to the edge i -> j, so every edge has its own chain.
**Node form**, without: :math:`C_q = a_q(j)` belongs to the node stepped to: one chain per node, then one sparse product.

Adjoints go over the same edges in the same order and add to what the edge points to. One thread owns all rows that its edges reach
(see `units.py`), so nothing has to be transposed or locked, and every sum has one order.

Shapes: states and gradients (rows, M, L), for the nodes from ``part.base`` on; level 0 ``s`` and its gradient ``gs`` (rows,), or empty
where it is constantly 1 and not carried along; ``shift`` (G, M, L), what is added to C (the clock, G = 1) or to F (the offset of each
graph).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .chain import chain, reverse
from .vectors import add_scaled, loop, set_increment, set_product, set_sum, set_zero, total, word


class Graph(NamedTuple):
    """P in CSR with a column of probabilities per head, (E, H); forward, empty probabilities stand for rows whose steps are all alike."""

    row_ptr: Any
    col: Any
    p: Any


class Part(NamedTuple):
    """The nodes from `first` up to `last` (exclusive), arrays whose row 0 is node `base`, and the head whose probabilities count."""

    first: int
    last: int
    base: int
    head: int


class Gradients(NamedTuple):
    """What adjoints add to: a (rows, M, L), c (M + 1, L), shift (M, L) and p (E,), the last three empty where they are not wanted."""

    a: Any
    c: Any
    shift: Any
    p: Any


@word
def probability(graph, part, i, entry):  # type: ignore[no-untyped-def]  # pragma: no cover
    return graph.p[entry, part.head] if graph.p.size else graph.p.dtype.type(1 / (graph.row_ptr[i + 1] - graph.row_ptr[i]))


@word
def add_rows(rows, weight, changes):  # type: ignore[no-untyped-def]  # pragma: no cover
    for q in range(len(rows)):
        add_scaled(rows[q], weight, changes[q])


@loop
def edge_step(part, graph, a, shift, c, f, s, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new = the levels after one more step, from the levels f before it."""
    C, levels, order, one = np.empty_like(c[1:]), np.empty_like(c[1:]), np.arange(len(c) - 1), a.dtype.type(1)
    for i in range(part.first, part.last):
        for m in range(len(C)):
            set_zero(new[i - part.base, m])
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            j = graph.col[entry] - part.base
            for q in range(len(C)):
                set_increment(C[q], a[j, q], a[i - part.base, q], shift[0, q])
            chain(C, f[j], s[j] if s.size else one, c, order, levels)
            add_rows(new[i - part.base], probability(graph, part, i, entry), levels)


@loop
def edge_step_adjoint(part, graph, a, shift, c, f, s, g, g_old, gs_old, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient g of the levels after the step, add to those of f and s, ``g_old`` and ``gs_old``, and to the others."""
    order, one = np.arange(len(c) - 1), a.dtype.type(1)
    C, dC, room = np.empty_like(c[1:]), np.empty_like(c[1:]), np.empty((len(c) + 1, c.shape[1]), c.dtype)
    sums = np.empty((2 if gs_old.size or gradients.p.size else 0, c.shape[1]), c.dtype)
    for i in range(part.first, part.last):
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            j, weight = graph.col[entry] - part.base, graph.p[entry, part.head]
            for q in range(len(C)):
                set_increment(C[q], a[j, q], a[i - part.base, q], shift[0, q])
                set_zero(dC[q])
            for k in range(len(sums)):
                set_zero(sums[k])
            reverse(C, f[j], s[j] if s.size else one, c, order, g[i - part.base], weight, dC, g_old[j], gradients.c, sums, room)
            add_rows(gradients.a[j], one, dC)
            add_rows(gradients.a[i - part.base], -one, dC)
            if gradients.shift.size:
                add_rows(gradients.shift, one, dC)
            if gs_old.size:
                gs_old[j] += total(sums[0])
            if gradients.p.size:
                gradients.p[entry] += total(sums[1])


@loop
def node_levels(part, graph_of, a, shift, c, f, s, levels):  # type: ignore[no-untyped-def]  # pragma: no cover
    """A chain per node with C = a + shift: the node form before its sparse product, and the start factor, with a shift per graph."""
    C, order, one = np.empty_like(c[1:]), np.arange(len(c) - 1), a.dtype.type(1)
    for i in range(part.first - part.base, part.last - part.base):
        graph = graph_of[i + part.base] if graph_of.size else 0
        for q in range(len(C)):
            set_sum(C[q], a[i, q], shift[graph, q])
        chain(C, f[i], s[i] if s.size else one, c, order, levels[i])


@loop
def node_levels_adjoint(part, graph_of, a, shift, c, f, s, g, g_old, gs_old, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    order, one = np.arange(len(c) - 1), a.dtype.type(1)
    C, dC, room = np.empty_like(c[1:]), np.empty_like(c[1:]), np.empty((len(c) + 1, c.shape[1]), c.dtype)
    sums = np.empty((2 if gs_old.size else 0, c.shape[1]), c.dtype)
    for i in range(part.first - part.base, part.last - part.base):
        graph = graph_of[i + part.base] if graph_of.size else 0
        for q in range(len(C)):
            set_sum(C[q], a[i, q], shift[graph, q])
            set_zero(dC[q])
        for k in range(len(sums)):
            set_zero(sums[k])
        reverse(C, f[i], s[i] if s.size else one, c, order, g[i], one, dC, g_old[i], gradients.c, sums, room)
        add_rows(gradients.a[i], one, dC)
        if gradients.shift.size:
            add_rows(gradients.shift, one, dC)
        if gs_old.size:
            gs_old[i] += total(sums[0])


@loop
def add_average(part, graph, old, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new += P old, for arrays (rows, columns)."""
    for i in range(part.first, part.last):
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            add_scaled(new[i - part.base], probability(graph, part, i, entry), old[graph.col[entry] - part.base])


@loop
def spread(part, graph, g, g_old):  # type: ignore[no-untyped-def]  # pragma: no cover
    """g_old += P' g with the transpose of P, the adjoint of `add_average`."""
    for i in range(part.first, part.last):
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            add_scaled(g_old[graph.col[entry] - part.base], graph.p[entry, part.head], g[i - part.base])


@loop
def add_along(part, graph, g, old, dp):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The gradient of the probabilities in `add_average`: for every edge i -> j the inner product of g_i and old_j, if it is wanted."""
    along = np.empty_like(g[0])
    for i in range(part.first, part.last if dp.size else part.first):
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            set_product(along, g[i - part.base], old[graph.col[entry] - part.base])
            dp[entry] += total(along)
