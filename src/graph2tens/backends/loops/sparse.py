"""The sparse product with P and its adjoints, on the rows of a graph.

Adjoints go over the same edges in the same order and add to what the edge points to. One thread owns all rows that its edges reach
(see `units.py`), so nothing has to be transposed or locked, and every sum has one order.

Shapes: states (rows, K L), for the nodes from ``part.base`` on: K levels, one after the other, with L functionals of one or several heads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .dialect import count, inline, loop

_CHUNK = 8  # a loop of a fixed number of turns becomes one instruction


class Graph(NamedTuple):
    """P in CSR with a column of probabilities per head, (E, H); forward, empty probabilities stand for rows whose steps are all alike."""

    row_ptr: Any
    col: Any
    p: Any


class Part(NamedTuple):
    """The nodes from `first` up to `last` (exclusive), arrays whose row 0 is node `base`; functionals, and the heads that share them."""

    first: int
    last: int
    base: int
    lanes: int
    first_head: int
    heads: int


@inline
def probability(graph, part, i, entry):  # type: ignore[no-untyped-def]  # pragma: no cover
    if graph.p.size:
        return graph.p[entry, part.first_head]
    return graph.p.dtype.type(1 / (graph.row_ptr[i + 1] - graph.row_ptr[i]))


@inline
def set_weights(weights, graph, part, entry):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The probability of an edge for each functional of several heads, (L,)."""
    lanes = count(part.lanes // part.heads)
    for head in range(count(part.heads)):
        weight = graph.p[entry, count(part.first_head) + head]
        begin, end = head * lanes, (head + count(1)) * lanes
        for chunk in range(begin, end - lanes % count(_CHUNK), count(_CHUNK)):
            for r in range(count(_CHUNK)):
                weights[chunk + r] = weight
        for r in range(end - lanes % count(_CHUNK), end):
            weights[r] = weight


@inline
def add_totals(dp, entry, along):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Add to each head's dp (E, heads) of an edge the sum over its functionals.

    By four running sums: one alone waits for itself at every turn. The order is the same on every processor.
    """
    lanes = count(along.size // dp.shape[1])
    for head in range(count(dp.shape[1])):
        s0 = s1 = s2 = s3 = along.dtype.type(0)
        begin, whole = head * lanes, lanes // count(4) * count(4)
        for r in range(begin, begin + whole, count(4)):
            s0 += along[r]
            s1 += along[r + count(1)]
            s2 += along[r + count(2)]
            s3 += along[r + count(3)]
        for r in range(begin + whole, begin + lanes):
            s0 += along[r]
        dp[entry, head] += (s0 + s1) + (s2 + s3)


@inline
def add_weighted(target, t, weights, graph, part, node, entry, source, f):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Add to row t of `target` row f of `source`, times the probability of an edge."""
    L, width = count(part.lanes), count(source.shape[1])
    if part.heads == 1:
        weight = probability(graph, part, node, entry)
        for r in range(width):
            target[t, r] += weight * source[f, r]
    else:
        set_weights(weights, graph, part, entry)
        for m in range(count(0), width, L):
            for r in range(L):
                target[t, m + r] += weights[r] * source[f, m + r]


@inline
def average_row(part, graph, node, old, start, new, weights):  # type: ignore[no-untyped-def]  # pragma: no cover
    i, entry, last, width = node - part.base, graph.row_ptr[node], graph.row_ptr[node + 1], count(new.shape[1])
    for r in range(width if len(start) else count(0)):
        new[i, r] = start[i, r]
    for r in range(count(0) if len(start) else width):
        new[i, r] = 0
    while part.heads == 1 and entry + 1 < last:  # two edges at a time read and write the row half as often
        j, weight = graph.col[entry] - part.base, probability(graph, part, node, entry)
        next_j, next_weight = graph.col[entry + 1] - part.base, probability(graph, part, node, entry + 1)
        for r in range(width):
            new[i, r] = (new[i, r] + weight * old[j, r]) + next_weight * old[next_j, r]
        entry += 2
    for k in range(entry, last):
        add_weighted(new, i, weights, graph, part, node, k, old, graph.col[k] - part.base)


@loop
def average(part, graph, old, start, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new = start + P old; `start` without rows stands for zeros."""
    weights = np.empty(part.lanes, new.dtype)
    for node in range(part.first, part.last):
        average_row(part, graph, node, old, start, new, weights)


@inline
def spread_row(part, graph, node, g, g_old, weights):  # type: ignore[no-untyped-def]  # pragma: no cover
    for entry in range(graph.row_ptr[node], graph.row_ptr[node + 1]):
        add_weighted(g_old, graph.col[entry] - part.base, weights, graph, part, node, entry, g, node - part.base)


@loop
def spread(part, graph, g, g_old):  # type: ignore[no-untyped-def]  # pragma: no cover
    """g_old += P' g with the transpose of P, the adjoint of `average`."""
    weights = np.empty(part.lanes, g.dtype)
    for node in range(part.first, part.last):
        spread_row(part, graph, node, g, g_old, weights)


@inline
def set_inner(along, g, i, old, j):  # type: ignore[no-untyped-def]  # pragma: no cover
    """For each functional, the sum over levels of the product of row i of g and row j of old."""
    L = count(along.size)
    for r in range(L):
        along[r] = g[i, r] * old[j, r]
    for m in range(L, count(g.shape[1]), L):
        for r in range(L):
            along[r] += g[i, m + r] * old[j, m + r]


@inline
def add_along_row(part, graph, node, g, old, dp, along):  # type: ignore[no-untyped-def]  # pragma: no cover
    for entry in range(graph.row_ptr[node], graph.row_ptr[node + 1]):
        set_inner(along, g, node - part.base, old, graph.col[entry] - part.base)
        add_totals(dp, entry, along)


@loop
def add_along(part, graph, g, old, dp):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The gradient of P in `average`, to dp (E, heads) unless that is empty: the inner products of g_i and old_j for every edge i -> j."""
    along = np.empty(part.lanes, g.dtype)
    for node in range(part.first, part.last if dp.size else part.first):
        add_along_row(part, graph, node, g, old, dp, along)
