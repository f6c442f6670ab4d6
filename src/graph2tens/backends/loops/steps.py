r"""One step of the recursion on the rows of a graph, and its adjoint.

**Edge form**, with increments: :math:`C_q = a_q(j) - a_q(i)` belongs to the edge i -> j, so every edge has its own chain.
**Node form**, without: :math:`C_q = a_q(j)` belongs to the node stepped to: one chain per node, then one sparse product.

Shapes: states and gradients (rows, M, L), for the nodes from ``part.base`` on; level 0 ``s`` and its gradient ``gs`` (rows, 1, L), or empty
where it is constantly 1 and not carried along; ``shift`` (G, M, L), what is added to C (the clock, G = 1) or to F (the offset of each
graph).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .chain import chain, reverse
from .sparse import add_totals, set_weights
from .vectors import add, add_product, copy, loop, set_increment, set_sum, set_to, subtract


class Gradients(NamedTuple):
    """What adjoints add to: a (rows, M, L), c (M + 1, L), shift (M, L) and p (E, heads), the last three empty where they are not wanted."""

    a: Any
    c: Any
    shift: Any
    p: Any


@loop
def edge_step(part, graph, a, shift, c, f, s, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new = the levels after one more step, from the levels f before it."""
    M, ones, weights = len(c) - 1, np.ones_like(c[0]), np.empty_like(c[0])
    C, levels, order = np.empty_like(c[1:]), np.empty_like(c[1:]), np.arange(M)
    for i in range(part.first, part.last):
        for m in range(M):
            set_to(new[i - part.base, m], 0)
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            j = graph.col[entry] - part.base
            for q in range(M):
                set_increment(C[q], a[j, q], a[i - part.base, q], shift[0, q])
            chain(C, f[j], s[j, 0] if s.size else ones, c, order, levels)
            set_weights(weights, graph, part, i, entry)
            for m in range(M):
                add_product(new[i - part.base, m], weights, levels[m])


@loop
def edge_step_adjoint(part, graph, a, shift, c, f, s, g, g_old, gs_old, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient g of the levels after the step, add to those of f and s, ``g_old`` and ``gs_old``, and to the others."""
    M, ones, weights, order = len(c) - 1, np.ones_like(c[0]), np.empty_like(c[0]), np.arange(len(c) - 1)
    C, dC, room = np.empty_like(c[1:]), np.empty_like(c[1:]), np.empty((M + 2, c.shape[1]), c.dtype)
    sums = np.empty((2 if gs_old.size or gradients.p.size else 0, c.shape[1]), c.dtype)
    for i in range(part.first, part.last):
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            j = graph.col[entry] - part.base
            for q in range(M):
                set_increment(C[q], a[j, q], a[i - part.base, q], shift[0, q])
            for k in range(len(sums)):
                set_to(sums[k], 0)
            set_weights(weights, graph, part, i, entry)
            reverse(C, f[j], s[j, 0] if s.size else ones, c, order, g[i - part.base], weights, dC, g_old[j], gradients.c, sums, room)
            for q in range(M):
                add(gradients.a[j, q], dC[q])
                subtract(gradients.a[i - part.base, q], dC[q])
                if gradients.shift.size:
                    add(gradients.shift[q], dC[q])
            if gs_old.size:
                add(gs_old[j, 0], sums[0])
            if gradients.p.size:
                add_totals(gradients.p[entry], sums[1], part.heads)


@loop
def node_levels(part, graph_of, a, shift, c, f, s, levels):  # type: ignore[no-untyped-def]  # pragma: no cover
    """A chain per node with C = a + shift: the node form before its sparse product, and the start factor, with a shift per graph."""
    C, order, ones = np.empty_like(c[1:]), np.arange(len(c) - 1), np.ones_like(c[0])
    for i in range(part.first - part.base, part.last - part.base):
        graph = graph_of[i + part.base] if graph_of.size else 0
        for q in range(len(C)):
            set_sum(C[q], a[i, q], shift[graph, q])
        chain(C, f[i], s[i, 0] if s.size else ones, c, order, levels[i])


@loop
def node_levels_adjoint(part, graph_of, a, shift, c, f, s, g, gs_old, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Replace the gradient g of the levels by that of f, and add to the others."""
    ones, order = np.ones_like(c[0]), np.arange(len(c) - 1)
    C, dC, upstream, room = np.empty_like(c[1:]), np.empty_like(c[1:]), np.empty_like(c[1:]), np.empty((len(c) + 1, c.shape[1]), c.dtype)
    sums = np.empty((2 if gs_old.size else 0, c.shape[1]), c.dtype)
    for i in range(part.first - part.base, part.last - part.base):
        graph = graph_of[i + part.base] if graph_of.size else 0
        for q in range(len(C)):
            set_sum(C[q], a[i, q], shift[graph, q])
            copy(upstream[q], g[i, q])
            set_to(g[i, q], 0)
        for k in range(len(sums)):
            set_to(sums[k], 0)
        reverse(C, f[i], s[i, 0] if s.size else ones, c, order, upstream, ones, dC, g[i], gradients.c, sums, room)
        for q in range(len(C)):
            add(gradients.a[i, q], dC[q])
            if gradients.shift.size:
                add(gradients.shift[q], dC[q])
        if gs_old.size:
            add(gs_old[i, 0], sums[0])
