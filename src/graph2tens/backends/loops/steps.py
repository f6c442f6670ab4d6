"""The recursion for all degrees and variants, step by step, and its adjoint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .chain import Chain, Gradients, chain_at_sources, chain_at_sources_adjoint, step_along_edges, step_along_edges_adjoint
from .dialect import Array, Levels, add, add_row_of, count, fill, loop, set_row
from .sparse import Edges, add_along, average, spread_anew

NOWHERE = np.zeros(0, np.int64)  # every row has an origin of its own
ONE_PLACE = np.zeros(1, np.int64)  # all rows have the same


class Unit(NamedTuple):
    """A piece of the graph and some functionals, L; arrays have a row for each node of the piece.

    Attributes:
        degree, carried: as in `Chain`.
        edges: the steps of the walk.
        graph_of: (rows,), the row of `offset` for each node.
        a: (rows, M, L), projections.
        offset: (G, M, L), what is taken off `a` in the start factor.
        clock: (1, M, L), what one step of time adds to C.
        c: (M + 1, L), coefficients.
    """

    degree: Levels
    carried: Levels
    edges: Edges
    graph_of: Array
    a: Array
    offset: Array
    clock: Array
    c: Array


class Options(NamedTuple):
    """The variant of the recursion; `timed` if the clock adds anything."""

    length: int
    increments: bool
    start: bool
    timed: bool


@loop
def shifted(a: Array, shift: Array, place: Array) -> Array:
    """Each row of a without the row of `shift` at its place."""
    y = np.empty_like(a)
    for i in range(len(a)):
        set_row(y, i, a, i)
        add_row_of(y, i, -1, shift, place[i] if place.size > 1 else place[0])
    return y


@loop
def chain_of_step(unit: Unit, options: Options, t: int, f: Array) -> Chain:
    """The chains of the step that arrives at time t, from the state f."""
    if options.increments:
        origin = shifted(unit.a, unit.clock, ONE_PLACE) if options.timed else unit.a
        return Chain(unit.degree, unit.carried, unit.a, origin, NOWHERE, f, unit.c)
    origin = np.zeros_like(unit.clock)
    add_row_of(origin, 0, -t, unit.clock, 0)
    return Chain(unit.degree, unit.carried, unit.a, origin, ONE_PLACE, f, unit.c)


@loop
def step(unit: Unit, options: Options, t: int, f: Array, new: Array) -> None:
    """The state after one more step of the walk, the one that arrives at time t."""
    chain = chain_of_step(unit, options, t, f)
    if options.increments:  # every edge has its own chain
        step_along_edges(unit.edges, chain, new)
    else:  # every node has one, and then its neighbours read it
        levels = np.empty_like(f)
        chain_at_sources(unit.edges, chain, levels)
        average(unit.edges, levels, f[:0], new)


@loop
def move_levels(y: Array, to: int, x: Array, at: int) -> None:
    """M levels of y, from `to` on, become those of x from `at` on."""
    for i in range(len(y)):
        for m in range(min(y.shape[1], x.shape[1])):
            for r in range(count(y.shape[2])):
                y[i, to + m, r] = x[i, at + m, r]


@loop
def all_states(unit: Unit, options: Options, keep: int) -> Array:
    """The last `keep` states of those after 0..length steps: the one after k steps has the index k % keep."""
    rows, M, L = unit.a.shape
    states = np.zeros((keep, rows, len(unit.carried) + M, L), unit.a.dtype)
    for i in range(rows if len(unit.carried) else 0):
        for r in range(count(L)):
            states[0, i, 0, r] = 1
    for k in range(options.length):
        step(unit, options, options.length - k, states[k % keep], states[(k + 1) % keep])
    return states


@loop
def all_steps_adjoint(unit: Unit, options: Options, states: Array, g: Array, da: Array, dc: Array, dclock: Array, dp: Array) -> None:
    """From the gradient g of the last state, which is used up, add to the others; `dclock` (1, M, L) may have no rows."""
    g_old, levels, whole = np.empty_like(g), np.empty_like(g), len(dclock) > 0 and options.increments
    dorigin = np.zeros_like(da) if whole else np.zeros_like(dclock)
    for t in range(1, options.length + 1):
        chain = chain_of_step(unit, options, t, states[options.length - t])
        fill(g_old)
        if options.increments:
            step_along_edges_adjoint(unit.edges, chain, g, Gradients(da, g_old, dorigin if whole else da, dc, dp))
        else:
            if len(dp):
                chain_at_sources(unit.edges, chain, levels)
                add_along(unit.edges, g, levels, levels[:0], dp)
            spread_anew(unit.edges, g, levels)
            fill(dorigin)
            chain_at_sources_adjoint(chain, levels, Gradients(da, g_old, dorigin, dc, dp))
            if len(dclock):
                add_row_of(dclock, 0, -t, dorigin, 0)
        g, g_old = g_old, g
    if whole:
        add(da, dorigin)
        for i in range(len(dorigin)):
            add_row_of(dclock, 0, -1, dorigin, i)


@loop
def chain_of_start(unit: Unit, f: Array) -> Chain:
    return Chain(unit.degree, unit.carried, unit.a, unit.offset, unit.graph_of, f, unit.c)


@loop
def recursion(unit: Unit, options: Options, out: Array) -> None:
    """Levels 1..M."""
    states = all_states(unit, options, 2)
    state, other = states[options.length % 2], states[(options.length + 1) % 2]
    if options.start:
        chain_at_sources(unit.edges, chain_of_start(unit, state), other)
    move_levels(out, 0, other if options.start else state, len(unit.carried))


@loop
def recursion_adjoint(unit: Unit, options: Options, grad: Array, da: Array, dc: Array, dclock: Array, dp: Array) -> None:
    """From the gradient of levels 1..M, add to the others."""
    rows, M, L = grad.shape
    K = len(unit.carried)
    states, g = all_states(unit, options, options.length + 1), np.zeros((rows, K + M, L), grad.dtype)  # level 0 is no output
    move_levels(g, K, grad, 0)
    if options.start:
        after, g = g, np.zeros((rows, K + M, L), grad.dtype)
        chain_at_sources_adjoint(chain_of_start(unit, states[options.length]), after, Gradients(da, g, da[:0], dc, dp))
    all_steps_adjoint(unit, options, states, g, da, dc, dclock, dp)
