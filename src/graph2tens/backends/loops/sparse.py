"""The sparse product with P and its adjoints, on the rows of a graph.

Adjoints go over the same edges in the same order and add to what the edge points to. One thread owns all rows that its edges reach
(see `units.py`), so nothing has to be transposed or locked, and every sum has one order.

Shapes: states (rows, K, L) for the nodes from ``part.base`` on, with L functionals of one or several heads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .vectors import add_product, add_scaled, add_two_scaled, copy, loop, set_product, set_to, total, word


class Graph(NamedTuple):
    """P in CSR with a column of probabilities per head, (E, H); forward, empty probabilities stand for rows whose steps are all alike."""

    row_ptr: Any
    col: Any
    p: Any


class Part(NamedTuple):
    """The nodes from `first` up to `last` (exclusive), arrays whose row 0 is node `base`, and the heads that share the functionals."""

    first: int
    last: int
    base: int
    first_head: int
    heads: int


@word
def probability(graph, part, i, entry):  # type: ignore[no-untyped-def]  # pragma: no cover
    if graph.p.size:
        return graph.p[entry, part.first_head]
    return graph.p.dtype.type(1 / (graph.row_ptr[i + 1] - graph.row_ptr[i]))


@word
def set_weights(weights, graph, part, i, entry):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The probability of an edge for each functional, (L,)."""
    if part.heads == 1:
        set_to(weights, probability(graph, part, i, entry))
    else:
        lanes = weights.size // part.heads
        for head in range(part.heads):
            set_to(weights[head * lanes : (head + 1) * lanes], graph.p[entry, part.first_head + head])


@word
def add_totals(dp, along, heads):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Add to each head's entry of dp (heads,) the sum over its functionals."""
    lanes = along.size // heads
    for head in range(heads):
        dp[head] += total(along[head * lanes : (head + 1) * lanes])


@loop
def average(part, graph, old, start, new):  # type: ignore[no-untyped-def]  # pragma: no cover
    """new = start + P old; an empty `start` stands for zeros."""
    rows, K, L = new.shape
    weights = np.empty(L, new.dtype)
    flat_old, flat_new, flat_start = old.reshape(rows, K * L), new.reshape(rows, K * L), start.reshape(len(start), K * L)
    for i in range(part.first, part.last):
        row, entry, last = flat_new[i - part.base], graph.row_ptr[i], graph.row_ptr[i + 1]
        if start.size:
            copy(row, flat_start[i - part.base])
        else:
            set_to(row, 0)
        if part.heads == 1:
            if (last - entry) % 2:
                add_scaled(row, probability(graph, part, i, entry), flat_old[graph.col[entry] - part.base])
                entry += 1
            for k in range(entry, last, 2):  # two edges at a time read and write the row half as often
                here, there = flat_old[graph.col[k] - part.base], flat_old[graph.col[k + 1] - part.base]
                add_two_scaled(row, probability(graph, part, i, k), here, probability(graph, part, i, k + 1), there)
        else:
            for k in range(entry, last):
                set_weights(weights, graph, part, i, k)
                for m in range(K):
                    add_product(new[i - part.base, m], weights, old[graph.col[k] - part.base, m])


@loop
def spread(part, graph, g, g_old):  # type: ignore[no-untyped-def]  # pragma: no cover
    """g_old += P' g with the transpose of P, the adjoint of `average`."""
    rows, K, L = g.shape
    weights = np.empty(L, g.dtype)
    flat_g, flat_old = g.reshape(rows, K * L), g_old.reshape(rows, K * L)
    for i in range(part.first, part.last):
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            j = graph.col[entry] - part.base
            if part.heads == 1:
                add_scaled(flat_old[j], probability(graph, part, i, entry), flat_g[i - part.base])
            else:
                set_weights(weights, graph, part, i, entry)
                for m in range(K):
                    add_product(g_old[j, m], weights, g[i - part.base, m])


@loop
def add_along(part, graph, g, old, dp):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The gradient of P in `average`, to dp (E, heads) unless that is empty: the inner products of g_i and old_j for every edge i -> j."""
    K = g.shape[1]
    along = np.empty_like(g[0, 0])
    for i in range(part.first, part.last if dp.size else part.first):
        for entry in range(graph.row_ptr[i], graph.row_ptr[i + 1]):
            j = graph.col[entry] - part.base
            set_product(along, g[i - part.base, 0], old[j, 0])
            for m in range(1, K):
                add_product(along, g[i - part.base, m], old[j, m])
            add_totals(dp[entry], along, part.heads)
