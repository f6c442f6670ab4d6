"""Pieces of a graph that no edge leaves: the graphs of a batch, a few at a time."""

from __future__ import annotations

import numpy as np


def pieces(row_ptr, col, weight):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Borders of ranges of nodes that no edge crosses, each with at least `weight` nodes and edges where the graph allows it."""
    n = row_ptr.size - 1
    farthest = np.arange(n)  # at the lower end of each edge, its higher end
    for i in range(n):
        for entry in range(row_ptr[i], row_ptr[i + 1]):
            low, high = min(i, col[entry]), max(i, col[entry])
            farthest[low] = max(farthest[low], high)
    borders = [0]
    reach, begin = 0, 0
    for i in range(n - 1):
        reach = max(reach, farthest[i])
        if reach <= i and (i + 1 - begin) + (row_ptr[i + 1] - row_ptr[begin]) >= weight:
            begin = i + 1
            borders.append(begin)
    borders.append(n)
    return np.array(borders)
