"""The whole recursion, forward and backward, unit by unit.

A unit is a *piece* of the graph, a range of nodes that no edge leaves, together with a *block* of functionals.
No functional reads another, so units are independent: a thread takes a unit through all steps while its states are in the cache, waits for
nobody, and is the only one that writes to its gradients. Nothing is kept between forward and backward but inputs: the states of a unit are
computed again where its adjoint needs them.

What units share is added up outside, in a fixed order: coefficients and clock have a gradient per piece, probabilities one per part
of a head.
"""

from __future__ import annotations

from typing import NamedTuple

from .areas import diffusion, diffusion_adjoint
from .dialect import Array, Levels, fill, loop
from .sparse import Edges
from .steps import Unit, recursion_along_edges, recursion_along_edges_adjoint, recursion_at_nodes, recursion_at_nodes_adjoint


class Inputs(NamedTuple):
    """Some pieces and a block of functionals, L.

    Attributes:
        length, has_start: steps, and whether there is a start factor.
        degree, carried, kept, clock, offset: as in `Unit`.
        c: (1, M + 1, L).
        borders: of the pieces, from the first node to the last (exclusive).
        row_ptr, col, p: P in CSR with probabilities (E, H), of the whole graph.
        head, heads, per_head: as in `Edges`.
        graph_of, a: a row for each node from the first on.
    """

    length: int
    has_start: bool
    degree: Levels
    carried: Levels
    kept: Levels
    borders: Array
    row_ptr: Array
    col: Array
    p: Array
    head: int
    heads: int
    per_head: int
    graph_of: Array
    a: Array
    offset: Array
    clock: Array
    c: Array


@loop
def unit_of(x: Inputs, k: int) -> tuple[Unit, int, int]:
    """A piece, and its rows, first and last (exclusive)."""
    first, last, base = x.borders[k], x.borders[k + 1], x.borders[0]
    edges = Edges(x.row_ptr, x.col, x.p, first, last, first, x.head, x.heads, x.per_head)
    rows = slice(first - base, last - base)
    return Unit(x.degree, x.carried, x.kept, edges, x.graph_of[rows], x.a[rows], x.offset, x.clock, x.c[0]), first - base, last - base


@loop
def forward_diffusion(x: Inputs, out: Array) -> None:
    for k in range(len(x.borders) - 1):
        unit, first, last = unit_of(x, k)
        diffusion(unit, x.length, out[first:last])


@loop
def forward_along_edges(x: Inputs, out: Array) -> None:
    for k in range(len(x.borders) - 1):
        unit, first, last = unit_of(x, k)
        recursion_along_edges(unit, x.length, x.has_start, out[first:last])


@loop
def forward_at_nodes(x: Inputs, out: Array) -> None:
    for k in range(len(x.borders) - 1):
        unit, first, last = unit_of(x, k)
        recursion_at_nodes(unit, x.length, out[first:last])


@loop
def backward_diffusion(x: Inputs, grad: Array, da: Array, dc: Array, dclock: Array, dp: Array) -> None:
    """Gradients of a (rows, M, L), which is set; and what is added to, without rows where nobody wants them: of the coefficients
    (pieces, M + 1, L), of the clock (pieces, M, L), and of P (E, H).
    """
    fill(da)
    for k in range(len(x.borders) - 1):
        unit, first, last = unit_of(x, k)
        diffusion_adjoint(unit, x.length, grad[first:last], da[first:last], dc[k : k + 1], dp)


@loop
def backward_along_edges(x: Inputs, grad: Array, da: Array, dc: Array, dclock: Array, dp: Array) -> None:
    fill(da)
    for k in range(len(x.borders) - 1):
        unit, first, last = unit_of(x, k)
        g, to = grad[first:last], da[first:last]
        recursion_along_edges_adjoint(unit, x.length, x.has_start, g, to, dc[k : k + 1], dclock[k : k + 1], dp)


@loop
def backward_at_nodes(x: Inputs, grad: Array, da: Array, dc: Array, dclock: Array, dp: Array) -> None:
    fill(da)
    for k in range(len(x.borders) - 1):
        unit, first, last = unit_of(x, k)
        recursion_at_nodes_adjoint(unit, x.length, grad[first:last], da[first:last], dc[k : k + 1], dclock[k : k + 1], dp)
