"""The whole recursion, forward and backward, unit by unit.

A unit is a *piece* of the graph, a range of nodes that no edge leaves, together with a *block* of functionals.
No functional reads another, so units are independent: a thread takes a unit through all steps while its states are in the cache, waits for
nobody, and is the only one that writes to its gradients. Nothing is kept between forward and backward but inputs and outputs: the states
of a unit are computed again where its adjoint needs them.

What units share is added up outside, in a fixed order: coefficients and clock have a gradient per piece, probabilities one per part
of a head.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .dialect import Array, Levels, count, fill, loop
from .diffuse import diffusion, diffusion_adjoint
from .sparse import Edges
from .steps import Options, Unit, recursion, recursion_adjoint


class Share(NamedTuple):
    """What one call is for: units from the first piece and block up to the last (exclusive). `pieces` and `blocks` are all borders,
    `width` the size of a block (the last of a head may be smaller), `per_head` that of a head.
    """

    pieces: Array
    blocks: Array
    first_piece: int
    last_piece: int
    first_block: int
    last_block: int
    width: int
    per_head: int


class Inputs(NamedTuple):
    """P in CSR with probabilities (E, H), the graph of each node (n,), projections (n, M, R), what the start factor takes off them
    (G, M, R), clock (1, M, R), coefficients (1, M + 1, R); degree and carried as in `Chain`. Components descend.
    """

    degree: Levels
    carried: Levels
    row_ptr: Array
    col: Array
    p: Array
    graph_of: Array
    a: Array
    offset: Array
    clock: Array
    c: Array


class Wanted(NamedTuple):
    """Gradients: of a (n, M, R), which is set; and what is added to, without rows where nobody wants them: of the coefficients
    (pieces, M + 1, R), of the clock (pieces, M, R), and of P (parts of a head, E, H).
    """

    a: Array
    c: Array
    clock: Array
    p: Array


@loop
def take(x: Array, first: int, last: int, left: int, right: int) -> Array:
    """Some rows and functionals; no copy if they are all functionals."""
    if right - left == x.shape[2]:
        return x[first:last]
    part = np.empty((last - first, x.shape[1], right - left), x.dtype)
    for i in range(last - first):
        for m in range(x.shape[1]):
            for r in range(count(right - left)):
                part[i, m, r] = x[first + i, m, count(left) + r]
    return part


@loop
def put(part: Array, x: Array, first: int, left: int) -> None:
    """Back to where `take` took it."""
    if part.shape[2] == x.shape[2]:
        return
    for i in range(len(part)):
        for m in range(x.shape[1]):
            for r in range(count(part.shape[2])):
                x[first + i, m, count(left) + r] = part[i, m, r]


@loop
def limits(share: Share, b: int, piece: int) -> tuple[int, int, int, int]:
    """Nodes and functionals of a unit, from first to last (exclusive)."""
    return share.pieces[piece], share.pieces[piece + 1], share.blocks[b], share.blocks[b + 1]


@loop
def block_of(inputs: Inputs, share: Share, b: int) -> Inputs:
    """The same with the functionals of a block; of projections, which `unit_of` takes, all are left."""
    left, right = share.blocks[b], share.blocks[b + 1]
    return Inputs(
        inputs.degree,
        inputs.carried,
        inputs.row_ptr,
        inputs.col,
        inputs.p,
        inputs.graph_of,
        inputs.a,
        take(inputs.offset, 0, len(inputs.offset), left, right),
        take(inputs.clock, 0, 1, left, right),
        take(inputs.c, 0, 1, left, right),
    )


@loop
def unit_of(block: Inputs, share: Share, b: int, piece: int) -> Unit:
    first, last, left, right = limits(share, b, piece)
    per_head = block.a.shape[2] // block.p.shape[1]
    heads = max(1, (right - left) // per_head)
    edges = Edges(block.row_ptr, block.col, block.p, first, last, first, left // per_head, heads, per_head)
    a = take(block.a, first, last, left, right)
    return Unit(block.degree, block.carried, edges, block.graph_of[first:last], a, block.offset, block.clock, block.c[0])


@loop
def wanted_of(wanted: Wanted, share: Share, b: int, piece: int) -> Wanted:
    """The gradients that a unit adds to, for which `put_back` has to be called."""
    first, last, left, right = limits(share, b, piece)
    a = take(wanted.a, first, last, left, right)
    fill(a)
    c, clock = (
        take(wanted.c, piece, piece + min(1, len(wanted.c)), left, right),
        take(wanted.clock, piece, piece + min(1, len(wanted.clock)), left, right),
    )
    part = left % share.per_head // share.width
    return Wanted(a, c, clock, wanted.p[part : part + 1])


@loop
def put_back(own: Wanted, wanted: Wanted, share: Share, b: int, piece: int) -> None:
    first, _, left, _ = limits(share, b, piece)
    put(own.a, wanted.a, first, left)
    put(own.c, wanted.c, piece, left)
    put(own.clock, wanted.clock, piece, left)


@loop
def forward(share: Share, inputs: Inputs, options: Options, out: Array) -> None:
    """Features of some units."""
    for b in range(share.first_block, share.last_block):
        block = block_of(inputs, share, b)
        for piece in range(share.first_piece, share.last_piece):
            features = take(out, *limits(share, b, piece))
            recursion(unit_of(block, share, b, piece), options, features)
            put(features, out, share.pieces[piece], share.blocks[b])


@loop
def forward_diffusion(share: Share, inputs: Inputs, options: Options, out: Array) -> None:
    """The same where `areas.py` has a shorter way."""
    for b in range(share.first_block, share.last_block):
        block = block_of(inputs, share, b)
        for piece in range(share.first_piece, share.last_piece):
            features = take(out, *limits(share, b, piece))
            diffusion(unit_of(block, share, b, piece), options, features)
            put(features, out, share.pieces[piece], share.blocks[b])


@loop
def backward(share: Share, inputs: Inputs, options: Options, out: Array, grad: Array, wanted: Wanted) -> None:
    """Gradients of some units, from the gradient `grad` of the features."""
    for b in range(share.first_block, share.last_block):
        block = block_of(inputs, share, b)
        for piece in range(share.first_piece, share.last_piece):
            own, g = wanted_of(wanted, share, b, piece), take(grad, *limits(share, b, piece))
            recursion_adjoint(unit_of(block, share, b, piece), options, g, own.a, own.c, own.clock, own.p[0])
            put_back(own, wanted, share, b, piece)


@loop
def backward_diffusion(share: Share, inputs: Inputs, options: Options, out: Array, grad: Array, wanted: Wanted) -> None:
    """The same where `areas.py` has a shorter way, from the features `out`, too."""
    for b in range(share.first_block, share.last_block):
        block = block_of(inputs, share, b)
        for piece in range(share.first_piece, share.last_piece):
            own, g, y = wanted_of(wanted, share, b, piece), take(grad, *limits(share, b, piece)), take(out, *limits(share, b, piece))
            diffusion_adjoint(unit_of(block, share, b, piece), options, y, g, own.a, own.c, own.p[0])
            put_back(own, wanted, share, b, piece)
