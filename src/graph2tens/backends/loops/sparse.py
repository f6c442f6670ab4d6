"""The sparse product with P and its adjoints.

Adjoints go over the same edges in the same order and add to what the edge points to. One thread owns all rows that its edges reach
(see `units.py`), so nothing has to be transposed or locked, and every sum has one order.

Shapes: states (rows, levels, functionals), one row for each node from ``edges.base`` on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .dialect import Array, count, inline, loop, set_zero


class Edges(NamedTuple):
    """The edges out of the nodes `first` up to `last` (exclusive).

    Attributes:
        row_ptr, col: P in CSR, of the whole graph.
        p: (E, H), a column of probabilities for each head; empty if the steps of a row are all alike.
        base: the node that row 0 of states belongs to.
        head, heads, per_head: the first head of the functionals, the number of heads, and of functionals of each.
    """

    row_ptr: Array
    col: Array
    p: Array
    first: int
    last: int
    base: int
    head: int
    heads: int
    per_head: int


@loop
def room_for_weights(edges: Edges, like: Array) -> Array:
    """One number, or with several heads one for each functional."""
    return np.empty(1 if edges.heads == 1 else like.shape[2], like.dtype)


@inline
def set_weights(weights: Array, edges: Edges, node: int, entry: int) -> None:
    """The probability of an edge, of each functional."""
    if edges.p.size:
        weights[0] = edges.p[entry, edges.head]
    else:
        weights[0] = 1 / (edges.row_ptr[node + 1] - edges.row_ptr[node])
    for h in range(edges.heads if weights.size > 1 else 0):
        weight, first = edges.p[entry, edges.head + h], count(h * edges.per_head)
        for r in range(count(edges.per_head)):
            weights[first + r] = weight


@inline
def add_row(target: Array, i: int, weights: Array, source: Array, j: int) -> None:
    """Add row j of `source`, weighted, to row i of `target`."""
    if weights.size == 1:
        weight = weights[0]
        for r in range(count(target.shape[1] * target.shape[2])):
            target[i, 0, r] += weight * source[j, 0, r]
    else:
        for m in range(target.shape[1]):
            for r in range(count(target.shape[2])):
                target[i, m, r] += weights[r] * source[j, m, r]


@inline
def add_last(new: Array, i: int, start: Array) -> None:
    few, first = start.shape[1], new.shape[1] - start.shape[1]
    for m in range(few):
        for r in range(count(new.shape[2])):
            new[i, first + m, r] += start[i, m, r]


@inline
def set_average(edges: Edges, node: int, weights: Array, old: Array, new: Array) -> None:
    """A row of new = P old."""
    i = node - edges.base
    set_zero(new, i)
    for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
        set_weights(weights, edges, node, entry)
        add_row(new, i, weights, old, edges.col[entry] - edges.base)


@loop
def average(edges: Edges, old: Array, start: Array, new: Array) -> None:
    """new = P old + start; `start`, if it has rows, has the last of its levels."""
    weights = room_for_weights(edges, new)
    for node in range(edges.first, edges.last):
        set_average(edges, node, weights, old, new)
        if len(start):
            add_last(new, node - edges.base, start)


@loop
def spread(edges: Edges, g: Array, g_old: Array) -> None:
    """g_old += P' g with the transpose of P, the adjoint of `average`."""
    weights = room_for_weights(edges, g)
    for node in range(edges.first, edges.last):
        for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
            set_weights(weights, edges, node, entry)
            add_row(g_old, edges.col[entry] - edges.base, weights, g, node - edges.base)


@inline
def add_totals(dp: Array, edges: Edges, entry: int, along: Array) -> None:
    """To each head's gradient of an edge the sum of its products."""
    size = min(edges.per_head, along.size)
    for h in range(edges.heads):
        a = b = c = d = along.dtype.type(0)  # one sum would wait for itself
        for r in range(count(h * size), count((h + 1) * size - size % 4), count(4)):
            a, b, c, d = a + along[r], b + along[r + count(1)], c + along[r + count(2)], d + along[r + count(3)]
        for r in range((h + 1) * size - size % 4, (h + 1) * size):
            a += along[r]
        dp[entry, edges.head + h] += (a + b) + (c + d)


@inline
def add_products(dp: Array, edges: Edges, entry: int, along: Array, g: Array, i: int, new: Array, j: int, old: Array) -> None:
    """To each head's gradient of an edge the inner product of row i of g and what row j of `new` has more than row i of `old`, or its only
    one."""
    at = min(i, len(old) - 1)
    for r in range(count(along.size)):
        along[r] = g[i, 0, r] * (new[j, 0, r] - old[at, 0, r])
    for m in range(1, g.shape[1]):
        for r in range(count(along.size)):
            along[r] += g[i, m, r] * (new[j, m, r] - old[at, m, r])
    add_totals(dp, edges, entry, along)


@loop
def add_along(edges: Edges, g: Array, new: Array, old: Array, dp: Array) -> None:
    """The gradient of P in `average`: for every edge i -> j the inner product of g_i and new_j - old_i. One row of `old` stands for all."""
    along = np.empty(g.shape[2], g.dtype)
    for node in range(edges.first, edges.last):
        for entry in range(edges.row_ptr[node], edges.row_ptr[node + 1]):
            add_products(dp, edges, entry, along, g, node - edges.base, new, edges.col[entry] - edges.base, old)
