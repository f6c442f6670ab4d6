"""Means, standard errors and differences of accuracies: what a table of seeds needs.

Every number here is in percent (points), and a deviation is always the sample one (n - 1 in the denominator).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key")
AGREEMENT = 2.0  # standard errors: about 19 of 20 true agreements stay within


@dataclass(frozen=True)
class Summary:
    """Mean and sample deviation of ``n`` values; the deviation of fewer than two values is unknown."""

    mean: float
    std: float | None
    n: int

    @property
    def standard_error(self) -> float | None:
        r""":math:`s/\sqrt n`, the deviation of the mean itself."""
        return None if self.std is None else self.std / math.sqrt(self.n)


@dataclass(frozen=True)
class Difference:
    """``points`` between two means, and the standard error of that difference."""

    points: float
    standard_error: float
    pairs: int | None = None  # of equal seeds, when the difference was taken seed by seed

    @property
    def in_standard_errors(self) -> float:
        """The difference over its standard error; without any spread a difference is infinitely many of them, or none."""
        if self.standard_error > 0:
            return self.points / self.standard_error
        return math.copysign(math.inf, self.points) if self.points else 0.0

    @property
    def reach(self) -> float:
        """How far from zero a picture of it reaches, two standard errors either side."""
        return abs(self.points) + AGREEMENT * self.standard_error

    @property
    def agrees(self) -> bool:
        """Whether chance alone easily makes such a difference: at most two standard errors."""
        return abs(self.in_standard_errors) <= AGREEMENT


def summarise(values: Iterable[float]) -> Summary | None:
    """Mean and sample deviation of the values, ``None`` of nothing. Sums are exact (``fsum``), so the order does not matter."""
    xs = list(values)
    if not xs:
        return None
    mean = math.fsum(xs) / len(xs)
    std = math.sqrt(math.fsum((x - mean) ** 2 for x in xs) / (len(xs) - 1)) if len(xs) > 1 else None
    return Summary(mean, std, len(xs))


def difference(ours: Summary | None, theirs: Summary | None) -> Difference | None:
    r"""Difference of two independent means with :math:`\sqrt{s_1^2/n_1 + s_2^2/n_2}`; ``None`` where a deviation is unknown."""
    if ours is None or theirs is None or ours.standard_error is None or theirs.standard_error is None:
        return None
    return Difference(ours.mean - theirs.mean, math.hypot(ours.standard_error, theirs.standard_error))


def paired_difference(ours: Mapping[Key, float], theirs: Mapping[Key, float]) -> Difference | None:
    """Mean of the differences seed by seed over the seeds both have, with its standard error; ``None`` below two common seeds.

    Equal seeds mean equal splits, so luck with the split cancels: sharper than :func:`difference` on the same values.
    """
    gaps = summarise(ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys())
    if gaps is None or gaps.standard_error is None:
        return None
    return Difference(gaps.mean, gaps.standard_error, gaps.n)


def beyond_by_chance(comparisons: int) -> float:
    """How many of this many true agreements are expected beyond two standard errors (normal approximation)."""
    return comparisons * math.erfc(AGREEMENT / math.sqrt(2))
