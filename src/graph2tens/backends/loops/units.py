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

from .chain import Coefficients
from .dialect import count, loop
from .recursion import all_states, chains, chains_adjoint
from .shear import diffusion, diffusion_adjoint
from .sparse import Part
from .steps import Gradients, node_levels, node_levels_adjoint


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
    """Projections (n, M, R), offset per graph (G, M, R), clock (M, R) or (0, R), coefficients (M + 1, R), graph of each node (n,).

    Components descend, as in `chain.py`.
    """

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
    """Rows and lanes of an array (n, M, R) as rows of M L numbers: a view if these are all lanes, else a copy."""
    _, M, R = values.shape
    if right - left == R:
        return values[first:last].reshape(last - first, M * R)
    own, L = np.empty((last - first, M * (right - left)), values.dtype), count(right - left)
    for i in range(first, last):
        for m in range(count(M)):
            for r in range(L):
                own[i - first, m * L + r] = values[i, m, count(left) + r]
    return own


@loop
def paste(own, values, first, left):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Take rows of M L numbers back to an array (n, M, R)."""
    M = values.shape[1]
    L = count(own.shape[1] // M)
    for i in range(len(own)):
        for m in range(count(M)):
            for r in range(L):
                values[i + first, m, count(left) + r] = own[i, m * L + r]


@loop
def constants(inputs, left, right):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Coefficients, offset and clock of some lanes."""
    c, M, L = inputs.c[:, left:right], inputs.a.shape[1], right - left
    each, ends = np.empty((M + 1, M * L), inputs.a.dtype), np.empty((1, M * L), inputs.a.dtype)
    for m in range(M):
        ends[0, m * L : (m + 1) * L] = c[m + 1]
        each[:, m * L : (m + 1) * L] = c
    tau = inputs.tau if inputs.tau.size else np.zeros_like(inputs.c[1:])
    offset, clock = cut(inputs.offset, 0, len(inputs.offset), left, right), cut(tau.reshape(1, M, tau.shape[1]), 0, 1, left, right)
    return Coefficients(each, ends), offset, clock


@loop
def unit(share, inputs, block, piece):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The nodes of a unit and its projections."""
    left, right = share.lanes[block], share.lanes[block + 1]
    first, last = share.pieces[piece], share.pieces[piece + 1]
    part = Part(first, last, first, right - left, left // share.per_head, max(1, (right - left) // share.per_head))
    return part, cut(inputs.a, first, last, left, right)


@loop
def is_diffusion(inputs, options):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Whether `shear.py` has a shorter way."""
    return options.increments and inputs.a.shape[1] <= 2 and options.length > 0 and not options.carried


@loop
def level_zero(a, part, options):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Level 0 at the end of a walk, empty where it is 1 everywhere and always."""
    return np.ones((len(a) if options.carried else 0, part.lanes), a.dtype)


def forward(share, graph, inputs, options, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Features of some units, into `out` (n, M, R)."""
    for block in range(share.first_block, share.last_block):
        left, right = share.lanes[block], share.lanes[block + 1]
        c, offset, clock = constants(inputs, left, right)
        for piece in range(share.first_piece, share.last_piece):
            part, a = unit(share, inputs, block, piece)
            s = level_zero(a, part, options)
            if is_diffusion(inputs, options):
                f = diffusion(part, graph, a, clock[0], c, options.length)
            else:
                f, s = chains(part, graph, a, clock, c, options.length, options.increments, s)
            if options.start:
                features = np.empty_like(f)
                node_levels(part, inputs.graph_of, a, offset, c, f, s, features)
                f = features
            paste(f, out, part.first, left)


def backward(share, graph, inputs, options, out, grad, wanted):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Gradients of some units, from the features `out` and their gradient `grad`, (n, M, R) both."""
    for block in range(share.first_block, share.last_block):
        left, right = share.lanes[block], share.lanes[block + 1]
        c, offset, clock = constants(inputs, left, right)
        for piece in range(share.first_piece, share.last_piece):
            part, a = unit(share, inputs, block, piece)
            wants_c, wants_clock = wanted.c.size > 0, wanted.tau.size > 0
            dc = Coefficients(np.zeros_like(c.each if wants_c else c.each[:0]), np.zeros_like(c.ends if wants_c else c.ends[:0]))
            dp = wanted.p[block] if wanted.p.size else np.empty((0, 1), a.dtype)
            gradients = Gradients(np.zeros_like(a), dc, np.zeros_like(clock if wants_clock else clock[:0]), dp)
            g = cut(grad, part.first, part.last, left, right).copy()
            if is_diffusion(inputs, options):
                f, s = cut(out, part.first, part.last, left, right).copy(), level_zero(a, part, options)
                if options.start:  # of the last state only level 1 is read, which is that of the features without their start factor
                    undo_start(part, inputs.graph_of, a, offset, c, f)
                    start_adjoint(part, inputs.graph_of, a, offset, c, f, s, g, s, gradients)
                diffusion_adjoint(part, graph, a, clock[0], c, options.length, f, g, gradients)
            else:
                s = level_zero(a, part, options)
                states, zeros = all_states(part, graph, a, clock, c, options.length, options.increments, s, True)
                gs = np.zeros_like(s)
                if options.start:
                    start_adjoint(part, inputs.graph_of, a, offset, c, states[options.length], zeros[options.length], g, gs, gradients)
                chains_adjoint(part, graph, a, clock, c, options.increments, states, zeros, g, gs, gradients)
            hand_in(gradients, wanted, piece, part, left)


@loop
def hand_in(gradients, wanted, piece, part, left):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Gradients of a unit, to those of all."""
    L, M = part.lanes, wanted.a.shape[1]
    right = left + L
    paste(gradients.a, wanted.a, part.first, left)
    for m in range(M if wanted.c.size else 0):
        wanted.c[piece, m + 1, left:right] += gradients.c.ends[0, m * L : (m + 1) * L]
        wanted.c[piece, :, left:right] += gradients.c.each[:, m * L : (m + 1) * L]
    for m in range(M if wanted.tau.size else 0):
        wanted.tau[piece, m, left:right] = gradients.shift[0, m * L : (m + 1) * L]


@loop
def undo_start(part, graph_of, a, offset, c, f):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Take the start factor off level 1."""
    for i in range(len(a)):
        graph = graph_of[i + part.first]
        for r in range(count(part.lanes)):
            f[i, r] -= c.ends[0, r] * (a[i, r] + offset[graph, r])


@loop
def start_adjoint(part, graph_of, a, offset, c, f, s, g, gs, gradients):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Replace the gradient g of the features by that of the last state; the clock does not enter the start factor."""
    without_clock = Gradients(gradients.a, gradients.c, gradients.shift[:0], gradients.p)
    node_levels_adjoint(part, graph_of, a, offset, c, f, s, g, gs, without_clock)
