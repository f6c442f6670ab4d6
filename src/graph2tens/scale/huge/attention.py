"""The walk of one attention head on a graph on disk: 4 bytes per entry, a head at a time."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...backends.compiling import Compiled, compiled
from ...backends.fixed_order import Pattern
from ...sklearn.feature_loops import plain


@cache
def _softmax_loop(dtype: str, columns: str) -> Compiled:
    return compiled(_softmax, f"graph on disk {dtype} {columns}")


def head_walk(pattern: Pattern, scores: NDArray[Any], negative_slope: float) -> Pattern:
    """The walk of one attention head; `scores` (n, 2) are those of a node as source and as target."""
    p = np.empty(pattern.col.size, np.float32)
    _softmax_loop(scores.dtype.name, pattern.col.dtype.name)(*pattern, plain(scores), float(negative_slope), p)
    return Pattern(pattern.row_ptr, pattern.col, p)


def _softmax(row_ptr, col, prior, scores, slope, p):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Attention of one head: p_ij is the walk's times exp LeakyReLU(scores[i, 0] + scores[j, 1]), normalised over the row."""
    for i in range(row_ptr.size - 1):
        begin, end = row_ptr[i], row_ptr[i + 1]
        highest = -np.inf
        for e in range(begin, end):
            score = scores[i, 0] + scores[col[e], 1]
            score = score if score > 0 else slope * score
            p[e] = score
            if prior.size == 0 or prior[e] > 0:  # a step that is never taken must not set the shift
                highest = max(highest, score)
        total = 0.0
        for e in range(begin, end):
            weight = prior[e] if prior.size else 1.0
            p[e] = weight * math.exp(p[e] - highest) if weight > 0 else 0.0
            total += p[e]
        for e in range(begin, end):
            p[e] /= total
