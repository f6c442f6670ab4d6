"""Compiled loops that sort edges into rows: each touches an edge once or twice, and nothing of the size of all edges is made.

`weights` and `p` are empty where there are none.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ...backends.compiling import Compiled, compiled


def _count(src, ptr):  # type: ignore[no-untyped-def]  # pragma: no cover
    """ptr[i + 1] += number of edges out of i."""
    for e in range(src.size):
        ptr[src[e] + 1] += 1


def _put(src, dst, weight, weighted, place, col, weights):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Every edge to the next free place of its row."""
    n = place.size
    for e in range(src.size):
        i = src[e]
        if i >= n or place[i] >= col.size:  # other edges than were counted
            return
        col[place[i]] = dst[e]
        if weighted:
            weights[place[i]] = weight[e] if weight.size else 1.0
        place[i] += 1


def _sort_rows(ptr, col, weights, merged):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Sort every row by column, then by weight, and count its different columns in ``merged[i + 1]``; whether some were equal."""
    uneven = False
    for i in range(ptr.size - 1):
        row = col[ptr[i] : ptr[i + 1]]
        if weights.size:
            own = weights[ptr[i] : ptr[i + 1]]
            # By weight first: sums over parallel edges then do not depend on the order in which they were given.
            order = np.argsort(own, kind="mergesort")
            row[:], own[:] = row[order], own[order]
            order = np.argsort(row, kind="mergesort")
            row[:], own[:] = row[order], own[order]
        else:
            row.sort()
        different = 0
        for e in range(row.size):
            if e == 0 or row[e] != row[e - 1]:
                different += 1
        merged[i + 1] = different
        uneven |= different < row.size
    return uneven


def _without_loop(ptr, col):  # type: ignore[no-untyped-def]  # pragma: no cover
    """1 for every node without an edge to itself, for which laziness adds an entry."""
    missing = np.ones(ptr.size - 1, np.int64)
    for i in range(ptr.size - 1):
        for e in range(ptr[i], ptr[i + 1]):
            if col[e] == i:
                missing[i] = 0
    return missing


def _merge_rows(ptr, col, weights, laziness, merged, final, p):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Sorted rows without repetitions, and their probabilities; the first node whose weights have no positive, finite sum, or -1."""
    for i in range(ptr.size - 1):
        total = 0.0
        if weights.size:
            for e in range(ptr[i], ptr[i + 1]):
                total += weights[e]
            if not (total > 0 and total < np.inf):
                return i
        else:
            total = float(ptr[i + 1] - ptr[i])
        place = merged[i] - 1
        previous = -1
        sum_of_equals = 0.0
        stayed = laziness == 0
        for e in range(ptr[i], ptr[i + 1]):
            j = col[e]
            if not stayed and j > i and previous < i:  # the lazy step of a node without a loop, in its order
                place += 1
                final[place] = i
                p[place] = laziness
                stayed = True
            if j != previous:
                place += 1
                final[place] = j
                sum_of_equals = 0.0
            previous = j
            sum_of_equals += weights[e] if weights.size else 1.0
            if p.size:
                stay = laziness if j == i else 0.0
                p[place] = sum_of_equals / total * (1 - laziness) + stay
            if j == i:
                stayed = True
        if not stayed:
            place += 1
            final[place] = i
            p[place] = laziness
    return -1


class Loops(NamedTuple):
    """The loops for one type of columns."""

    count: Compiled
    put: Compiled
    sort_rows: Compiled
    without_loop: Compiled
    merge_rows: Compiled


@cache
def loops(columns: str) -> Loops:
    functions = (_count, _put, _sort_rows, _without_loop, _merge_rows)
    return Loops(*(compiled(function, f"graph on disk {columns}") for function in functions))
