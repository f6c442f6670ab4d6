r"""What all heads share: scaling of columns, squared distances of rows, and the unit of a kernel's width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Groups = Sequence[tuple[NDArray[np.int64], float]]


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Columns with mean 0 and variance 1; columns that are constant in the training data become 0."""

    shift: Floats
    scale: Floats

    @classmethod
    def fit(cls, features: Floats, groups: Groups | None = None) -> Standardiser:
        """`groups` are (columns, weight) pairs: the columns of a group that vary share its weight, as a sum of their variances."""
        mean = features.mean(axis=0, dtype=np.float64)
        spread = features.std(axis=0, dtype=np.float64)
        varies = spread > 1e-5 * np.maximum(np.abs(mean), 1e-12)  # less is rounding of float32
        scale = np.where(varies, 1 / np.where(varies, spread, 1), 0.0)
        for columns, weight in groups or ():
            scale[columns] *= np.sqrt(weight / max(int(varies[columns].sum()), 1))
        return cls(mean, scale)

    def transform(self, features: Floats) -> Floats:
        return ((features - self.shift) * self.scale).astype(np.float32)


def squared_distances(one: Floats, other: Floats | None = None, *, exact: bool = False) -> NDArray[np.float64]:
    """Between all rows; exactly 0 on the diagonal if there is one table only.

    The product is taken in single precision, which an SVM does not notice, or if `exact` in double precision, twice as slow: a Gaussian
    process with little noise would learn the rounding.
    """
    second = one if other is None else other
    if exact:
        one, second = one.astype(np.float64), second.astype(np.float64)
    norms = [np.square(table, dtype=np.float64).sum(axis=1) for table in (one, second)]
    distances: NDArray[np.float64] = np.maximum(norms[0][:, None] + norms[1][None, :] - 2 * (one @ second.T).astype(np.float64), 0)
    if other is None:
        np.fill_diagonal(distances, 0)
    return distances


def typical(distances: NDArray[np.float64]) -> float:
    """The median off the diagonal: the unit in which widths are counted. 1 if all points are equal."""
    n = len(distances)
    some = distances[:: max(1, n // 2000), :: max(1, n // 2000)]  # a few thousand rows tell the median well enough
    positive = some[some > 1e-6 * some.max()]  # equal graphs have distance 0, up to rounding
    return float(np.median(positive)) if positive.size else 1.0


def candidates(values: Any, name: str) -> tuple[float, ...]:
    """The values to choose from; a number alone is the only candidate."""
    try:
        numbers = np.atleast_1d(np.asarray(values))
    except ValueError:  # lists of several lengths
        numbers = np.empty(0)
    if numbers.dtype.kind not in "iuf" or numbers.ndim > 1 or not numbers.size or not ((numbers > 0) & np.isfinite(numbers)).all():
        raise ValueError(f"`{name}` must be a positive number or a list of them, the candidates (got {values!r}).")
    return tuple(float(number) for number in numbers)
