"""The whole recursion, forward and backward, unit by unit.

A unit is a *piece* of the graph, a range of nodes that no edge leaves, together with some *lanes*, neighbouring functionals.
No functional reads another, so units are independent: a thread takes a unit through all steps while its states are in the cache, waits for
nobody, and is the only one that writes to its gradients. Nothing is kept between forward and backward but inputs and outputs: the states
of a unit are computed again where its adjoint needs them.

What units share is added up outside, in a fixed order: coefficients and clock have a gradient per piece, probabilities one per block of
lanes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .recursion import all_states, chains, chains_adjoint
from .shear import diffusion, diffusion_adjoint
from .sparse import Part
from .steps import Gradients, node_levels, node_levels_adjoint
from .vectors import assign, fill, loop


class Share(NamedTuple):
    """Borders of all pieces and of all blocks of lanes, functionals per head, and the pieces and blocks that a call is for.

    A block holds whole heads, or a part of one.
    """

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
    """Gradients (n, M, R), (pieces, M + 1, R), (pieces, M, R) and (blocks, E, heads of a block); all but the first may be empty."""

    a: Any
    c: Any
    tau: Any
    p: Any


@loop
def cut(values, first, last, left, right):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Rows and lanes of an array (n, M, R), contiguous: a copy."""
    own = np.empty((last - first, values.shape[1], right - left), values.dtype)
    for i in range(first, last):
        for m in range(values.shape[1]):
            source, target = values[i, m], own[i - first, m]
            for r in range(right - left):
                target[r] = source[left + r]
    return own


@loop
def room_for(values, first, last, left, right):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Rows and lanes of an array (n, M, R) to be written: the array's own if these are all lanes, else new ones that `paste` takes back."""
    if right - left == values.shape[2]:
        return values[first:last]
    return np.empty((last - first, values.shape[1], right - left), values.dtype)


@loop
def paste(own, values, first, left):  # type: ignore[no-untyped-def]  # pragma: no cover
    for i in range(len(own) if own.shape[2] < values.shape[2] else 0):
        for m in range(own.shape[1]):
            source, target = own[i, m], values[i + first, m]
            for r in range(source.size):
                target[left + r] = source[r]


@loop
def constants(inputs, left, right):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Coefficients, offset and clock of some lanes."""
    c, offset = inputs.c[:, left:right].copy(), inputs.offset[:, :, left:right].copy()
    return c, offset, inputs.tau[:, left:right].copy() if inputs.tau.size else np.zeros_like(c[1:])


@loop
def unit(share, inputs, block, piece):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The nodes of a unit and its projections."""
    left, right = share.lanes[block], share.lanes[block + 1]
    first, last = share.pieces[piece], share.pieces[piece + 1]
    part = Part(first, last, first, left // share.per_head, max(1, (right - left) // share.per_head))
    whole = right - left == inputs.a.shape[2]
    return part, inputs.a[first:last] if whole else cut(inputs.a, first, last, left, right)


@loop
def is_diffusion(inputs, options):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Whether `shear.py` has a shorter way."""
    return inputs.a.shape[1] <= 2 and options.length > 0 and not options.carried and (options.increments or not inputs.tau.size)


@loop
def level_zero(a, options):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Level 0 at the end of a walk, empty where it is 1 everywhere and always."""
    return np.ones((len(a) if options.carried else 0, 1, a.shape[2]), a.dtype)


def forward(share, graph, inputs, options, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Features of some units, into `out` (n, M, R)."""
    for block in range(share.first_block, share.last_block):
        left, right = share.lanes[block], share.lanes[block + 1]
        c, offset, clock = constants(inputs, left, right)
        for piece in range(share.first_piece, share.last_piece):
            part, a = unit(share, inputs, block, piece)
            features, s = room_for(out, part.first, part.last, left, right), level_zero(a, options)
            if is_diffusion(inputs, options):
                f = diffusion(part, graph, a, clock, c, options.length, options.increments)
            else:
                f, s = chains(part, graph, a, clock, c, options.length, options.increments, s)
            if options.start:
                node_levels(part, inputs.graph_of, a, offset, c, f, s, features)
            else:
                assign(features, f)
            paste(features, out, part.first, left)


def backward(share, graph, inputs, options, out, grad, wanted):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Gradients of some units, from the features `out` and their gradient `grad`, (n, M, R) both."""
    for block in range(share.first_block, share.last_block):
        left, right = share.lanes[block], share.lanes[block + 1]
        c, offset, clock = constants(inputs, left, right)
        for piece in range(share.first_piece, share.last_piece):
            part, a = unit(share, inputs, block, piece)
            dc, dclock = np.zeros_like(c if wanted.c.size else c[:0]), np.zeros_like(clock if wanted.tau.size else clock[:0])
            dp = wanted.p[block] if wanted.p.size else np.empty((0, 1), a.dtype)
            gradients = Gradients(room_for(wanted.a, part.first, part.last, left, right), dc, dclock, dp)
            fill(gradients.a, 0)
            g = cut(grad, part.first, part.last, left, right)
            if is_diffusion(inputs, options):
                f, s = cut(out, part.first, part.last, left, right), level_zero(a, options)
                if options.start:  # of the last state only level 1 is read, which is that of the features without their start factor
                    undo_start(part, inputs.graph_of, a, offset, c, f)
                    start_adjoint(part, inputs.graph_of, a, offset, c, f, s, g, s, gradients)
                diffusion_adjoint(part, graph, a, clock, c, options.length, options.increments, f, g, gradients)
            else:
                states, zeros = all_states(part, graph, a, clock, c, options.length, options.increments, level_zero(a, options))
                gs = np.zeros_like(zeros[0])
                if options.start:
                    start_adjoint(part, inputs.graph_of, a, offset, c, states[options.length], zeros[options.length], g, gs, gradients)
                chains_adjoint(part, graph, a, clock, c, options.increments, states, zeros, g, gs, gradients)
            paste(gradients.a, wanted.a, part.first, left)
            for m in range(len(dc)):
                wanted.c[piece, m, left:right] = dc[m]
            for m in range(len(dclock)):
                wanted.tau[piece, m, left:right] = dclock[m]


@loop
def undo_start(part, graph_of, a, offset, c, f):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Take the start factor off level 1."""
    for i in range(len(a)):
        low, own, constant, c1 = f[i, 0], a[i, -1], offset[graph_of[i + part.first], -1], c[1]
        for r in range(low.size):
            low[r] -= c1[r] * (own[r] + constant[r])


@loop
def start_adjoint(part, graph_of, a, offset, c, f, s, g, gs, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Replace the gradient g of the features by that of the last state; the clock does not enter the start factor."""
    without_clock = Gradients(gradients.a, gradients.c, gradients.shift[:0], gradients.p)
    node_levels_adjoint(part, graph_of, a, offset, c, f, s, g, gs, without_clock)
