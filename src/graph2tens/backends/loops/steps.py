r"""One step of the recursion on the rows of a graph, and its adjoint.

**Edge form**, with increments: :math:`C_q = a_q(j) - a_q(i)` belongs to the edge i -> j, so every edge has its own chain.
**Node form**, without: :math:`C_q = a_q(j)` belongs to the node stepped to: one chain per node, then one sparse product.

Shapes: projections, states and gradients (rows, M L) as in `chain.py`, for the nodes from ``part.base`` on; level 0 ``s`` and its gradient
``gs`` (rows, L), or (0, L) where it is constantly 1 and not carried along; ``shift`` (G, M L), what is added to C (the clock, G = 1) or to
F (the offset of each graph).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .chain import Coefficients, chain, reverse, set_brackets
from .dialect import count, inline, loop
from .sparse import add_totals, add_weighted, set_inner


class Gradients(NamedTuple):
    """What adjoints add to: a (rows, M L), c (`Coefficients`), shift (1, M L) and p (E, heads), the last three empty if not wanted."""

    a: Any
    c: Coefficients
    shift: Any
    p: Any


class Scratch(NamedTuple):
    """Room for one place: C, its gradient, levels or their gradient, (1, M L); all rounds of a chain (M + 1, M L); two rows (L,)."""

    C: Any
    gradient: Any
    levels: Any
    brackets: Any
    weights: Any
    along: Any


@loop
def scratch(c, s):  # type: ignore[no-untyped-def]  # pragma: no cover
    row, lanes = c.ends, np.empty(s.shape[1], s.dtype)
    return Scratch(np.empty_like(row), np.empty_like(row), np.empty_like(row), np.empty_like(c.each), lanes, np.empty_like(lanes))


@inline
def edge_row(part, graph, node, a, shift, c, f, s, new, own):  # type: ignore[no-untyped-def]  # pragma: no cover
    i, width = node - part.base, count(a.shape[1])
    for r in range(width):
        new[i, r] = 0
    for entry in range(graph.row_ptr[node], graph.row_ptr[node + 1]):
        j = graph.col[entry] - part.base
        for r in range(width):
            own.C[0, r] = (a[j, r] - a[i, r]) + shift[0, r]
        chain(own.C, f, s, j, c, own.levels, 0)
        add_weighted(new, i, own.weights, graph, part, node, entry, own.levels, 0)


@loop
def edge_step(part, graph, a, shift, c, f, s, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new = the levels after one more step, from the levels f before it."""
    own = scratch(c, s)
    for node in range(part.first, part.last):
        edge_row(part, graph, node, a, shift, c, f, s, new, own)


@inline
def edge_row_adjoint(part, graph, node, a, shift, c, f, s, g, downstream, gradients, own):  # type: ignore[no-untyped-def]  # pragma: no cover
    i, width, (g_old, gs_old) = node - part.base, count(a.shape[1]), downstream
    for entry in range(graph.row_ptr[node], graph.row_ptr[node + 1]):
        j = graph.col[entry] - part.base
        for r in range(width):
            own.C[0, r] = (a[j, r] - a[i, r]) + shift[0, r]
        set_brackets(own.C, f, s, j, c, own.brackets)
        for r in range(width):
            own.levels[0, r] = 0
        add_weighted(own.levels, 0, own.weights, graph, part, node, entry, g, i)
        reverse(own.C, f, s, j, c, own.brackets, own.levels, own.gradient, g_old, j, gs_old, gradients.c)
        for r in range(width):
            gradients.a[j, r] += own.gradient[0, r]
        for r in range(width):
            gradients.a[i, r] -= own.gradient[0, r]
        for r in range(width if len(gradients.shift) else count(0)):
            gradients.shift[0, r] += own.gradient[0, r]
        if gradients.p.size:
            set_inner(own.along, g, i, own.brackets, 0)
            add_totals(gradients.p, entry, own.along)


@loop
def edge_step_adjoint(part, graph, a, shift, c, f, s, g, g_old, gs_old, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient g of the levels after the step, add to those of f and s, ``g_old`` and ``gs_old``, and to the others."""
    own = scratch(c, s)
    for node in range(part.first, part.last):
        edge_row_adjoint(part, graph, node, a, shift, c, f, s, g, (g_old, gs_old), gradients, own)


@inline
def node_row(graph, i, a, shift, c, f, s, levels, own):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(count(a.shape[1])):
        own.C[0, r] = a[i, r] + shift[graph, r]
    chain(own.C, f, s, i, c, levels, i)


@loop
def node_levels(part, graph_of, a, shift, c, f, s, levels):  # type: ignore[no-untyped-def]  # pragma: no cover
    """A chain per node with C = a + shift: the node form before its sparse product, and the start factor, with a shift per graph."""
    own = scratch(c, s)
    for i in range(part.first - part.base, part.last - part.base):
        node_row(graph_of[i + part.base] if graph_of.size else 0, i, a, shift, c, f, s, levels, own)


@inline
def node_row_adjoint(graph, i, a, shift, c, f, s, g, gs_old, gradients, own):  # type: ignore[no-untyped-def]  # pragma: no cover
    width = count(a.shape[1])
    for r in range(width):
        own.C[0, r] = a[i, r] + shift[graph, r]
    set_brackets(own.C, f, s, i, c, own.brackets)
    for r in range(width):
        own.levels[0, r] = g[i, r]
    for r in range(width):
        g[i, r] = 0
    reverse(own.C, f, s, i, c, own.brackets, own.levels, own.gradient, g, i, gs_old, gradients.c)
    for r in range(width):
        gradients.a[i, r] += own.gradient[0, r]
    for r in range(width if len(gradients.shift) else count(0)):
        gradients.shift[0, r] += own.gradient[0, r]


@loop
def node_levels_adjoint(part, graph_of, a, shift, c, f, s, g, gs_old, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Replace the gradient g of the levels by that of f, and add to the others."""
    own = scratch(c, s)
    for i in range(part.first - part.base, part.last - part.base):
        node_row_adjoint(graph_of[i + part.base] if graph_of.size else 0, i, a, shift, c, f, s, g, gs_old, gradients, own)
