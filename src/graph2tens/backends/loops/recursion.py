"""The recursion for all degrees and variants: a chain at every edge or node in every step, and its adjoint.

Shapes as in `steps.py`; ``clock`` (1, M L) is what the time coordinate adds to C.
"""

from __future__ import annotations

import numpy as np

from .dialect import count, fill, loop
from .sparse import add_along, average, spread
from .steps import Gradients, edge_step, edge_step_adjoint, node_levels, node_levels_adjoint

_ALL_ALIKE = np.zeros(0, np.int64)  # no node has a shift of its own


@loop
def shift_at(t, clock, increments):  # type: ignore[no-untyped-def]  # pragma: no cover
    """What the time coordinate adds to C in the step that arrives at time t."""
    return clock if increments else clock * clock.dtype.type(t)


@loop
def step(part, graph, a, shift, c, increments, f, s, new, s_new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The state after one more step; level 0 only if it is carried along."""
    if increments:
        edge_step(part, graph, a, shift, c, f, s, new)
    else:
        levels = np.empty_like(f)
        node_levels(part, _ALL_ALIKE, a, shift, c, f, s, levels)
        average(part, graph, levels, f[:0], new)
    if len(s):
        average(part, graph, s, s[:0], s_new)


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
    if len(s):
        spread(part, graph, gs, gs_old)
        add_along(part, graph, gs, s, gradients.p)


@loop
def all_states(part, graph, a, clock, c, length, increments, s, keep):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Levels 1..M and level 0 after 0..length steps, from level 0 at the end of the walk; unless `keep`, only the last two."""
    count = length + 1 if keep else 2
    f, every_s = np.zeros((count, *a.shape), a.dtype), np.ones((count, *s.shape), a.dtype)
    for k in range(length):
        old, new = k % count, (k + 1) % count
        step(part, graph, a, shift_at(length - k, clock, increments), c, increments, f[old], every_s[old], f[new], every_s[new])
    return f, every_s


@loop
def chains(part, graph, a, clock, c, length, increments, s):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Levels 1..M and level 0 after `length` steps."""
    f, every_s = all_states(part, graph, a, clock, c, length, increments, s, False)
    return f[length % 2], every_s[length % 2]


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
        for r in range(count(dclock.size)):
            gradients.shift[0, r] += a.dtype.type(1 if increments else t) * dclock[0, r]
        g, g_old, gs, gs_old = g_old, g, gs_old, gs
