"""The recursion for all degrees and variants, step by step, and its adjoint.

With increments every edge has a chain of its own (`.._along_edges`). Without them every node has one, and then its neighbours read it
(`.._at_nodes`); the start factor is one more of these chains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .chain import Chain, Gradients, chain_at_sources, chain_at_sources_adjoint, step_along_edges, step_along_edges_adjoint, step_to_nodes
from .dialect import Array, Levels, add_row_of, count, fill, loop, set_row
from .sparse import Edges, add_along, spread

NOWHERE = np.zeros(0, np.int64)  # every row has an origin of its own
ONE_PLACE = np.zeros(1, np.int64)  # all rows have the same


class Unit(NamedTuple):
    """A piece of the graph and some functionals, L; arrays have a row for each node of the piece.

    Attributes:
        degree, carried: as in `Chain`.
        kept: zeros, as many as levels of old states are wanted in the adjoint: M for a gradient of P, else M - 1, for no chain multiplies
            level M by anything.
        edges: the steps of the walk.
        graph_of: (rows,), the row of `offset` for each node.
        a: (rows, M, L), projections.
        offset: (G, M, L), what is taken off `a` in the start factor.
        clock: (1, M, L), what one step of time adds to C, or without time (0, M, L).
        c: (M + 1, L), coefficients.
    """

    degree: Levels
    carried: Levels
    kept: Levels
    edges: Edges
    graph_of: Array
    a: Array
    offset: Array
    clock: Array
    c: Array


@loop
def move_levels(y: Array, to: int, x: Array, at: int) -> None:
    """M levels of y, from `to` on, become those of x from `at` on."""
    for i in range(len(y)):
        for m in range(min(y.shape[1], x.shape[1])):
            for r in range(count(y.shape[2])):
                y[i, to + m, r] = x[i, at + m, r]


@loop
def first_states(unit: Unit, degree: Levels, keep: int) -> Array:
    """Room for states with levels up to `degree`; the first is that after no step."""
    rows, _, L = unit.a.shape
    states = np.zeros((keep, rows, len(unit.carried) + len(degree), L), unit.a.dtype)
    for i in range(rows if len(unit.carried) else 0):
        for r in range(count(L)):
            states[0, i, 0, r] = 1
    return states


@loop
def origin_of(unit: Unit) -> Array:
    """What the projections of steps are taken off: those of the node stepped from, less the clock."""
    if len(unit.clock) == 0:
        return unit.a
    origin = np.empty_like(unit.a)
    for i in range(len(origin)):
        set_row(origin, i, unit.a, i)
        add_row_of(origin, i, -1, unit.clock, 0)
    return origin


@loop
def states_along_edges(unit: Unit, origin: Array, degree: Levels, length: int, keep: int) -> Array:
    """The last `keep` states of those after 0..length steps: the one after k steps has the index k % keep."""
    states = first_states(unit, degree, keep)
    for k in range(length):
        chain = Chain(degree, unit.carried, unit.a, origin, NOWHERE, states[k % keep], unit.c)
        step_along_edges(unit.edges, chain, states[(k + 1) % keep])
    return states


@loop
def chain_of_start(unit: Unit, f: Array) -> Chain:
    return Chain(unit.degree, unit.carried, unit.a, unit.offset, unit.graph_of, f, unit.c)


@loop
def recursion_along_edges(unit: Unit, length: int, has_start: bool, out: Array) -> None:
    """Levels 1..M."""
    states = states_along_edges(unit, origin_of(unit), unit.degree, length, 2)
    state, other = states[length % 2], states[(length + 1) % 2]
    if has_start:
        chain_at_sources(unit.edges, chain_of_start(unit, state), other)
    move_levels(out, 0, other if has_start else state, len(unit.carried))


@loop
def recursion_along_edges_adjoint(
    unit: Unit, length: int, has_start: bool, grad: Array, da: Array, dc: Array, dclock: Array, dp: Array
) -> None:
    """From the gradient of levels 1..M, add to the others; `dclock` (1, M, L) may have no rows."""
    rows, M, L = grad.shape
    K, origin = len(unit.carried), origin_of(unit)
    states = states_along_edges(unit, origin, unit.kept, length, length + 1)
    g, g_old = np.zeros((rows, K + M, L), grad.dtype), np.zeros((rows, K + M, L), grad.dtype)  # level 0 is no output
    move_levels(g, K, grad, 0)
    if has_start:
        chain_at_sources_adjoint(chain_of_start(unit, states[length]), g, Gradients(da, g_old, da[:0], dc, dp))
        g, g_old = g_old, g
    dorigin = np.zeros_like(da) if len(dclock) else da
    for k in range(length - 1, -1, -1):
        fill(g_old)
        chain = Chain(unit.degree, unit.carried, unit.a, origin, NOWHERE, states[k], unit.c)
        step_along_edges_adjoint(unit.edges, chain, g, Gradients(da, g_old, dorigin, dc, dp))
        g, g_old = g_old, g
    for i in range(rows if len(dclock) else 0):
        add_row_of(da, i, 1, dorigin, i)
        add_row_of(dclock, 0, -1, dorigin, i)


@loop
def chain_at_time(unit: Unit, degree: Levels, t: int, f: Array) -> Chain:
    """The chains of the nodes where the walk is at time t, the start among them."""
    origin = np.zeros((1, *unit.a.shape[1:]), unit.a.dtype)
    if len(unit.clock):
        add_row_of(origin, 0, -t, unit.clock, 0)
    return Chain(degree, unit.carried, unit.a, origin, ONE_PLACE, f, unit.c)


@loop
def recursion_at_nodes(unit: Unit, length: int, out: Array) -> None:
    """Levels 1..M."""
    states = first_states(unit, unit.degree, 1)
    levels, new = np.empty_like(states[0]), np.empty_like(states[0])
    chain_at_sources(unit.edges, chain_at_time(unit, unit.degree, length, states[0]), levels)
    for t in range(length - 1, -1, -1):
        step_to_nodes(unit.edges, levels, chain_at_time(unit, unit.degree, t, states[0]), new)
        levels, new = new, levels
    move_levels(out, 0, levels, len(unit.carried))


@loop
def recursion_at_nodes_adjoint(unit: Unit, length: int, grad: Array, da: Array, dc: Array, dclock: Array, dp: Array) -> None:
    """From the gradient of levels 1..M, add to the others; `dclock` (1, M, L) may have no rows."""
    rows, M, L = grad.shape
    K = len(unit.carried)
    states = first_states(unit, unit.kept, length + 1)
    levels, new = np.empty_like(states[0]), np.empty_like(states[0])
    chain_at_sources(unit.edges, chain_at_time(unit, unit.kept, length, states[0]), levels)
    for k in range(1, length + 1):
        step_to_nodes(unit.edges, levels, chain_at_time(unit, unit.kept, length - k, states[k]), new)
        levels, new = new, levels
    g, g_old, dorigin = np.zeros((rows, K + M, L), grad.dtype), np.empty((rows, K + M, L), grad.dtype), np.zeros_like(dclock)
    move_levels(g, K, grad, 0)
    for k in range(length, -1, -1):
        chain = chain_at_time(unit, unit.degree, length - k, states[k])
        fill(g_old)
        fill(dorigin)
        chain_at_sources_adjoint(chain, g, Gradients(da, g_old, dorigin, dc, dp))
        if len(dclock):
            add_row_of(dclock, 0, k - length, dorigin, 0)
        if k and len(dp):
            chain_at_sources(unit.edges, chain_at_time(unit, unit.kept, length - k + 1, states[k - 1]), levels)
            add_along(unit.edges, g_old, levels, np.zeros_like(levels[:1]), dp)
        fill(g)
        if k:
            spread(unit.edges, g_old, g)
