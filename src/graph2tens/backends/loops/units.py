"""The whole recursion, forward and backward, unit by unit.

A unit is a *piece* of the graph, a range of nodes that no edge leaves, together with some *lanes*, neighbouring functionals of one head.
No functional reads another, so units are independent: a thread takes a unit through all steps while its states are in the cache, waits for
nobody, and is the only one that writes to its gradients. Nothing is kept between forward and backward but inputs and outputs: the states
of a unit are computed again where its adjoint needs them.

What units share is added up outside, in a fixed order: coefficients and clock have a gradient per piece, probabilities one per block of
lanes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .shear import diffuse, diffuse_adjoint, first_sums, first_sums_adjoint, scale, scale_adjoint, shear, shear_adjoint
from .steps import (
    Gradients,
    Part,
    add_along,
    add_average,
    edge_step,
    edge_step_adjoint,
    node_levels,
    node_levels_adjoint,
    spread,
)
from .vectors import add, assign, fill, loop


class Share(NamedTuple):
    """Borders of all pieces and of all blocks of lanes, functionals per head, and the pieces and blocks that a call is for."""

    pieces: Any
    lanes: Any
    per_head: int
    first_piece: int
    last_piece: int
    first_block: int
    last_block: int


class Inputs(NamedTuple):
    """Projections (n, M, R), offset per graph (G, M, R), clock (M, R) or (0, R), coefficients (M + 1, R), graph of each node (n,)."""

    a: Any
    offset: Any
    tau: Any
    c: Any
    graph_of: Any


class Options(NamedTuple):
    """The variant of the recursion; `carried` says that level 0 is not constantly 1."""

    length: int
    increments: bool
    start: bool
    carried: bool


class Wanted(NamedTuple):
    """Gradients (n, M, R), (pieces, M + 1, R), (pieces, M, R) and (blocks, E), the last three empty where they are not wanted."""

    a: Any
    c: Any
    tau: Any
    p: Any


@loop
def cut(values, first, last, left, right):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Rows and lanes of an array (n, M, R), contiguous."""
    own = np.empty((last - first, values.shape[1], right - left), values.dtype)
    for i in range(first, last):
        for m in range(values.shape[1]):
            source, target = values[i, m], own[i - first, m]
            for r in range(right - left):
                target[r] = source[left + r]
    return own


@loop
def paste(own, values, first, left):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Put such rows and lanes back into an array (n, M, R)."""
    for i in range(len(own)):
        for m in range(own.shape[1]):
            source, target = own[i, m], values[i + first, m]
            for r in range(source.size):
                target[left + r] = source[r]


@loop
def is_diffusion(a, options):  # type: ignore[no-untyped-def]  # pragma: no cover
    return options.increments and not options.carried and a.shape[1] <= 2 and options.length > 0


@loop
def shift_at(t, clock, options):  # type: ignore[no-untyped-def]  # pragma: no cover
    """What the time coordinate adds to C in the step that arrives at time t."""
    return (clock if options.increments else clock * clock.dtype.type(t)).reshape(1, clock.shape[0], clock.shape[1])


@loop
def step(part, graph, a, shift, c, options, f, s, new, s_new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The state after one more step."""
    rows, columns = len(f), f[0].size
    if options.increments:
        edge_step(part, graph, a, shift, c, f, s, new)
    else:
        levels = np.empty_like(f)
        node_levels(part, np.empty(0, np.int64), a, shift, c, f, s, levels)
        fill(new, 0)
        add_average(part, graph, levels.reshape(rows, columns), new.reshape(rows, columns))
    if options.carried:
        fill(s_new, 0)
        add_average(part, graph, s.reshape(rows, 1), s_new.reshape(rows, 1))


@loop
def step_adjoint(part, graph, a, shift, c, options, state, upstream, downstream, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Pairs of levels 1..M and level 0: the state before the step, the gradients after it, and those before it, which are added to."""
    (f, s), (g, gs), (g_old, gs_old) = state, upstream, downstream
    rows, columns = len(f), f[0].size
    if options.increments:
        edge_step_adjoint(part, graph, a, shift, c, f, s, g, g_old, gs_old, gradients)
    else:
        before, all_alike = np.zeros_like(f), np.empty(0, np.int64)
        spread(part, graph, g.reshape(rows, columns), before.reshape(rows, columns))
        if gradients.p.size:
            levels = np.empty_like(f)
            node_levels(part, all_alike, a, shift, c, f, s, levels)
            add_along(part, graph, g.reshape(rows, columns), levels.reshape(rows, columns), gradients.p)
        node_levels_adjoint(part, all_alike, a, shift, c, f, s, before, g_old, gs_old, gradients)
    if options.carried:
        spread(part, graph, gs.reshape(rows, 1), gs_old.reshape(rows, 1))
        add_along(part, graph, gs.reshape(rows, 1), s.reshape(rows, 1), gradients.p)


def forward(share, graph, inputs, options, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Features of some units, into `out` (n, M, R)."""
    for block in range(share.first_block, share.last_block):
        left, right = share.lanes[block], share.lanes[block + 1]
        c, offset = inputs.c[:, left:right].copy(), inputs.offset[:, :, left:right].copy()
        clock = inputs.tau[:, left:right].copy() if inputs.tau.size else np.zeros_like(c[1:])
        for piece in range(share.first_piece, share.last_piece):
            first, last = share.pieces[piece], share.pieces[piece + 1]
            part, a = Part(first, last, first, left // share.per_head), cut(inputs.a, first, last, left, right)
            f, new, one = np.zeros_like(a), np.empty_like(a), a.dtype.type(1)
            s = np.ones(len(a) if options.carried else 0, c.dtype)
            if is_diffusion(a, options):
                S_1 = np.empty_like(a)
                first_sums(part, graph, a, clock, new)
                scale(c, new, S_1)
                shear(a, c, one, S_1)
                assign(f, S_1)
                for _ in range(options.length - 1):
                    diffuse(part, graph, c, clock, S_1, f, new)
                    f, new = new, f
                shear(a, c, -one, f)
            else:
                s_new = np.empty_like(s)
                for t in range(options.length, 0, -1):
                    step(part, graph, a, shift_at(t, clock, options), c, options, f, s, new, s_new)
                    f, new, s, s_new = new, f, s_new, s
            if options.start:
                node_levels(part, inputs.graph_of, a, offset, c, f, s, new)
                f = new
            paste(f, out, first, left)


def backward(share, graph, inputs, options, out, grad, wanted):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Gradients of some units, from the features `out` and their gradient `grad`, (n, M, R) both."""
    for block in range(share.first_block, share.last_block):
        left, right = share.lanes[block], share.lanes[block + 1]
        c, offset = inputs.c[:, left:right].copy(), inputs.offset[:, :, left:right].copy()
        clock = inputs.tau[:, left:right].copy() if inputs.tau.size else np.zeros_like(c[1:])
        dp = wanted.p[block] if wanted.p.size else wanted.p.reshape(0)
        for piece in range(share.first_piece, share.last_piece):
            first, last = share.pieces[piece], share.pieces[piece + 1]
            part, a = Part(first, last, first, left // share.per_head), cut(inputs.a, first, last, left, right)
            dc, dshift = np.zeros_like(c if wanted.c.size else c[:0]), np.zeros_like(clock if wanted.tau.size else clock[:0])
            gradients = Gradients(np.zeros_like(a), dc, dshift, dp)
            g = cut(grad, first, last, left, right)
            if is_diffusion(a, options):
                features = cut(out, first, last, left, right)
                diffusion_adjoint(part, graph, inputs.graph_of, options, a, offset, clock, c, features, g, gradients)
            else:
                chains_adjoint(part, graph, inputs.graph_of, options, a, offset, clock, c, g, gradients)
            paste(gradients.a, wanted.a, first, left)
            for m in range(len(dc)):
                wanted.c[piece, m, left:right] = dc[m]
            for m in range(len(dshift)):
                wanted.tau[piece, m, left:right] = dshift[m]


@loop
def start_adjoint(part, graph_of, a, offset, c, f, s, g, gs, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The gradient of the last state, through the start factor, which the clock does not enter."""
    g_old = np.zeros_like(g)
    without_clock = Gradients(gradients.a, gradients.c, gradients.shift[:0], gradients.p)
    node_levels_adjoint(part, graph_of, a, offset, c, f, s, g, g_old, gs, without_clock)
    return g_old


@loop
def diffusion_adjoint(part, graph, graph_of, options, a, offset, clock, c, out, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    one, nothing = a.dtype.type(1), np.empty(0, a.dtype)
    sums, e = np.empty_like(a), np.empty_like(a)
    first_sums(part, graph, a, clock, sums)
    scale(c, sums, e)
    f = out  # of the last state only level 1 is read, which is that of the features without their start factor
    if options.start:
        for i in range(len(a)):
            low, own, constant, c1 = f[i, 0], a[i, -1], offset[graph_of[i + part.first], -1], c[1]
            for r in range(low.size):
                low[r] -= c1[r] * (own[r] + constant[r])
        g = start_adjoint(part, graph_of, a, offset, c, f, nothing, g, nothing, gradients)
    shear_adjoint(a, c, -one, f, g, gradients)
    G, W_old = g.copy(), f  # G: the gradient of S_1, which every step adds; f has been read
    if clock.any() or gradients.shift.size or gradients.p.size:
        states = np.empty((options.length, *a.shape), a.dtype)
        assign(states[0], e)
        shear(a, c, one, states[0])
        for t in range(1, options.length):
            diffuse(part, graph, c, clock, states[0], states[t - 1], states[t])
        W = g
        for t in range(options.length - 1, 0, -1):
            diffuse_adjoint(part, graph, c, clock, states[0], states[t - 1], states[t], W, W_old, gradients)
            W, W_old = W_old, W
            add(G, W)
    else:  # the sum of all W obeys the same law as S, with the transpose of P
        for _ in range(options.length - 1):
            assign(W_old, g)
            spread(part, graph, G.reshape(len(G), G[0].size), W_old.reshape(len(G), G[0].size))
            G, W_old = W_old, G
    shear_adjoint(a, c, one, e, G, gradients)
    scale_adjoint(c, sums, G, gradients)
    first_sums_adjoint(part, graph, a, clock, G, gradients)


@loop
def chains_adjoint(part, graph, graph_of, options, a, offset, clock, c, g, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    length = options.length
    f = np.zeros((length + 1, *a.shape), a.dtype)
    s = np.ones((length + 1, len(a) if options.carried else 0), a.dtype)
    for k in range(length):
        step(part, graph, a, shift_at(length - k, clock, options), c, options, f[k], s[k], f[k + 1], s[k + 1])
    gs = np.zeros_like(s[0])
    if options.start:
        g = start_adjoint(part, graph_of, a, offset, c, f[length], s[length], g, gs, gradients)
    for k in range(length - 1, -1, -1):
        t, g_old, gs_old, dclock = length - k, np.zeros_like(g), np.zeros_like(gs), np.zeros_like(gradients.shift)
        here = Gradients(gradients.a, gradients.c, dclock, gradients.p)
        step_adjoint(part, graph, a, shift_at(t, clock, options), c, options, (f[k], s[k]), (g, gs), (g_old, gs_old), here)
        for q in range(len(dclock)):
            gradients.shift[q] += dclock[q] if options.increments else dclock[q] * a.dtype.type(t)
        g, gs = g_old, gs_old
