r"""Classes by pieces: a linear function of which surroundings of atoms a molecule has, and how often.

Rare actives share pieces more than they share their whole shape, and pieces can be learnt from all molecules, where walks have landmarks.
Surroundings of radius 0, 1 and 2 of a few plain properties get a number (see :mod:`environments`); a molecule's row has a 1 for "this
number at least k times", k = 1 to 4, and length 1. The weights minimise

.. math:: \sum_i w_i \big(\langle v, x_i - \bar x \rangle - (y_i - \bar y)\big)^2 / \bar w + \lambda \|v\|^2, \qquad y_i = \pm 1,

by conjugate gradients, in a second for forty thousand molecules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from ..sklearn.inputs import OneGraph
from .environments import PLAIN, Hashes, surroundings

Matrix = NDArray[np.float64]
BUCKETS, MOST = 16384, 4  # 65,536 and all counts did the same on rare scaffolds of HIV
RIDGE = 3.0  # by the same; 1.5 to 6 differ by 0.003
STEPS, ACCURACY = 100, 1e-4


@dataclass(frozen=True, eq=False)
class Pieces:
    """Linear functions, one for each of T labels.

    Attributes:
        weights: (MOST * BUCKETS, T), of the columns of :func:`pieces`.
        offset: (T,)
        middle: (T,) means over the training molecules.
    """

    weights: Matrix
    offset: Matrix
    middle: Matrix

    @classmethod
    def fit(cls, table: Any, signs: Matrix, weights: Matrix) -> Pieces:
        """Signs (n, T) are -1 and 1, NaN where unknown; weights (n, T) of them."""
        lines = [_line(table, *columns) for columns in zip(signs.T, weights.T, strict=True)]
        found = cls(np.stack([line for line, _ in lines], axis=1), np.array([offset for _, offset in lines]), np.zeros(len(lines)))
        return cls(found.weights, found.offset, found.predict(table).mean(axis=0))

    def predict(self, table: Any) -> Matrix:
        """(n, T)"""
        return table @ self.weights + self.offset

    def shares(self, graph: OneGraph) -> Matrix:
        """(atoms, T) parts of ``predict - offset``: a piece belongs to the atom in its middle, and of k equal ones each has a k-th."""
        numbers, _ = surroundings([graph], PLAIN)
        rows = pieces([graph])
        buckets, place, times = np.unique(_buckets(numbers), return_inverse=True, return_counts=True)
        steps = np.arange(MOST)[None, :] * BUCKETS + buckets[:, None]
        met = np.minimum(times, MOST)[:, None] > np.arange(MOST)
        each = (self.weights[steps] * met[:, :, None]).sum(axis=1) * rows.data[0] / times[:, None]
        return each[place.reshape(numbers.shape)].sum(axis=1)


def pieces(graphs: Sequence[OneGraph]) -> Any:
    """(graphs, MOST * BUCKETS) sparse; each row has length 1."""
    numbers, starts = surroundings(graphs, PLAIN)
    rows = np.repeat(np.arange(len(graphs)), np.diff(starts) * numbers.shape[1])
    once, times = np.unique(rows * BUCKETS + _buckets(numbers).reshape(-1), return_counts=True)
    times = np.minimum(times, MOST)
    step = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    row, column = np.divmod(np.repeat(once, times), BUCKETS)
    lengths = np.sqrt(np.bincount(row, minlength=len(graphs)))
    table = scipy.sparse.csr_array((1 / lengths[row], (row, step * BUCKETS + column)), shape=(len(graphs), MOST * BUCKETS))
    table.sort_indices()
    return table


def left_out(table: Any, signs: Matrix, weights: Matrix, fold: NDArray[np.int64]) -> Matrix:
    """(n, T) predictions of each fold by what is learnt from the others."""
    found = np.empty_like(signs)
    for number in np.unique(fold):
        learnt = np.flatnonzero(fold != number)
        found[fold == number] = Pieces.fit(table[learnt], signs[learnt], weights[learnt]).predict(table[np.flatnonzero(fold == number)])
    return found


def _line(table: Any, signs: Matrix, weights: Matrix) -> tuple[Matrix, float]:
    """One label's weights and offset."""
    known = np.flatnonzero(~np.isnan(signs))
    if not known.size:
        return np.zeros(table.shape[1]), 0.0
    table, y = table[known], signs[known]
    weight = weights[known] / weights[known].mean()
    middle, mean = (table.T @ weight) / known.size, float((weight @ y) / known.size)

    def normal(v: Matrix) -> Matrix:
        rest = weight * (table @ v - middle @ v)
        return table.T @ rest - middle * rest.sum() + RIDGE * v

    aim = weight * (y - mean)
    line, _ = cg(
        LinearOperator((table.shape[1],) * 2, matvec=normal, dtype=np.float64),
        table.T @ aim - middle * aim.sum(),
        rtol=ACCURACY,
        maxiter=STEPS,
    )
    return line, mean - float(middle @ line)


def _buckets(numbers: Hashes) -> NDArray[np.int64]:
    return (numbers % np.uint64(BUCKETS)).astype(np.int64)
