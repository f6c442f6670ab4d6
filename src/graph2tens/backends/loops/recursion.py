"""The recursion for all degrees and variants: a chain at every edge or node in every step, and its adjoint.

Shapes as in `steps.py`; ``clock`` (M, L) is what the time coordinate adds to C.
"""

from __future__ import annotations

import numpy as np

from .sparse import add_along, average, spread
from .steps import Gradients, edge_step, edge_step_adjoint, node_levels, node_levels_adjoint
from .vectors import add_scaled, fill, loop

_ALL_ALIKE = np.zeros(0, np.int64)  # no node has a shift of its own


@loop
def shift_at(t, clock, increments):  # type: ignore[no-untyped-def]  # pragma: no cover
    """What the time coordinate adds to C in the step that arrives at time t."""
    return (clock if increments else clock * clock.dtype.type(t)).reshape(1, clock.shape[0], clock.shape[1])


@loop
def step(part, graph, a, shift, c, increments, f, s, new, s_new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The state after one more step; level 0 only if it is carried along."""
    nothing = np.empty((0, f.shape[1], f.shape[2]), f.dtype)
    if increments:
        edge_step(part, graph, a, shift, c, f, s, new)
    else:
        levels = np.empty_like(f)
        node_levels(part, _ALL_ALIKE, a, shift, c, f, s, levels)
        average(part, graph, levels, nothing, new)
    if s.size:
        average(part, graph, s, nothing, s_new)


@loop
def step_adjoint(part, graph, a, shift, c, increments, state, upstream, downstream, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Pairs of levels 1..M and level 0: the state before the step, the gradients after it, and those before it, which are zero at first."""
    (f, s), (g, gs), (g_old, gs_old) = state, upstream, downstream
    if increments:
        edge_step_adjoint(part, graph, a, shift, c, f, s, g, g_old, gs_old, gradients)
    else:
        spread(part, graph, g, g_old)
        if gradients.p.size:
            levels = np.empty_like(f)
            node_levels(part, _ALL_ALIKE, a, shift, c, f, s, levels)
            add_along(part, graph, g, levels, gradients.p)
        node_levels_adjoint(part, _ALL_ALIKE, a, shift, c, f, s, g_old, gs_old, gradients)
    if s.size:
        spread(part, graph, gs, gs_old)
        add_along(part, graph, gs, s, gradients.p)


@loop
def chains(part, graph, a, clock, c, length, increments, s):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Levels 1..M and level 0 after `length` steps, from level 0 at the end of the walk."""
    f, new, s_new = np.zeros_like(a), np.empty_like(a), np.empty_like(s)
    for t in range(length, 0, -1):
        step(part, graph, a, shift_at(t, clock, increments), c, increments, f, s, new, s_new)
        f, new, s, s_new = new, f, s_new, s
    return f, s


@loop
def all_states(part, graph, a, clock, c, length, increments, s):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The same for every number of steps up to `length`."""
    f, every_s = np.zeros((length + 1, *a.shape), a.dtype), np.ones((length + 1, *s.shape), a.dtype)
    for k in range(length):
        step(part, graph, a, shift_at(length - k, clock, increments), c, increments, f[k], every_s[k], f[k + 1], every_s[k + 1])
    return f, every_s


@loop
def chains_adjoint(part, graph, a, clock, c, increments, f, s, g, gs, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradients of the last of all states."""
    length = len(f) - 1
    g_old, gs_old = np.empty_like(g), np.empty_like(gs)
    for k in range(length - 1, -1, -1):
        t, dclock = length - k, np.zeros_like(gradients.shift)
        fill(g_old, 0)
        fill(gs_old, 0)
        here = Gradients(gradients.a, gradients.c, dclock, gradients.p)
        step_adjoint(part, graph, a, shift_at(t, clock, increments), c, increments, (f[k], s[k]), (g, gs), (g_old, gs_old), here)
        for q in range(len(dclock)):
            add_scaled(gradients.shift[q], a.dtype.type(1 if increments else t), dclock[q])
        g, g_old, gs, gs_old = g_old, g, gs_old, gs
