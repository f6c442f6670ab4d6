"""`LandmarkGP`: Gaussian process regression for any number of rows, block by block, by the Nyström approximation. It takes tables."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ...checks import check_integer
from ..targets import check_numbers
from .distances import Floats, Groups, Standardiser, candidates, squared_distances, typical
from .gaussian_process import Integers, Matrix, rational
from .landmarks import LandmarkSpectrum, Sums, Whitener
from .regression import GAMMAS, NOISES, ROWS, Regression, row_weights

FIRST = 4096  # rows of the first block, which fixes scale, landmarks and width, at least
HELD_OUT = 2048  # rows to choose by, at most
CHOOSING = 1000  # landmarks with which the width is chosen: the order of widths is seen with few, and time grows with their cube
ENOUGH = 20  # known rows of every target in the first block, as far as there are


@dataclass(eq=False, repr=False)
class LandmarkGP(Regression):
    r"""The Gaussian process of :class:`ValidatedGP`, approximated with `n_landmarks` rows, in time and memory linear in the rows.

    The first block of rows (all of the first :meth:`partial_fit`, some thousand random ones in :meth:`fit`) fixes the scale of the columns,
    the landmarks (drawn from it) and the width, one for all targets. A tenth of it, at most 2,048 rows, is held out to choose by,
    and learnt from afterwards. All further rows enter sums that do not grow.

    Args:
        n_landmarks: rows that stand for all others. Time grows with their square for each row, and with their cube once.
        gamma, noise, criterion: as in :class:`ValidatedGP`.
        random_state: of landmarks and rows held out.

    Attributes:
        landmarks_: (n_landmarks, columns), scaled.
        gamma_: the chosen width; noise_, rmse_, left_out_: as in :class:`ValidatedGP`.
        left_out_targets_: what ``left_out_`` predicts.
        held_rows_: which rows of the first block these are; none if there was validation data.
        scores_: density and error of every width, with the best noise, for every target.
        n_rows_: rows learnt from.
    """

    n_landmarks: int = 4000
    _: KW_ONLY
    gamma: float | Sequence[float] = GAMMAS
    noise: float | Sequence[float] = NOISES
    criterion: str = "density"
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None, groups: Groups | None = None, *, weights: Any = None) -> Self:
        """Learn from all rows; the arguments are those of :meth:`ValidatedGP.fit`."""
        X = validate_data(self, X, ensure_min_samples=2)
        targets, self.single_ = check_numbers(y, len(X))
        weight = row_weights(weights, targets)
        random = check_random_state(self.random_state)
        first, *others = blocks(~np.isnan(targets), random, max(FIRST, check_integer(self.n_landmarks, "n_landmarks", 1)))
        self._learn_scale(targets)
        self._start(X[first], targets[first], weight[first], random, groups, X_val, y_val)
        for block in others:
            self._add(X[block], targets[block], weight[block])
        self._solve()
        return self

    def partial_fit(
        self, X: Any, y: Any, X_val: Any = None, y_val: Any = None, groups: Groups | None = None, *, weights: Any = None
    ) -> Self:
        """Learn from further rows as well; validation data and groups are read in the first call only.

        The next prediction solves anew, so many small blocks cost little more than few large ones.
        """
        first = not hasattr(self, "sums_")
        X = validate_data(self, X, reset=first, ensure_min_samples=2 if first else 1)
        targets, single = check_numbers(y, len(X), least=2 if first else 0)
        weight = row_weights(weights, targets)
        if first:
            self.single_ = single
            self._learn_scale(targets)
            self._start(X, targets, weight, check_random_state(self.random_state), groups, X_val, y_val)
        else:
            self._add(X, targets, weight)
        self.spectra_: list[tuple[Integers, LandmarkSpectrum]] | None = None
        return self

    def settle(self) -> None:
        if self.spectra_ is None:
            self._solve()

    def _answer(self, table: Floats, means: Matrix, variances: Matrix | None) -> None:
        kernel = self._across(table)
        for columns, spectrum in self.spectra_ or ():
            means[:, columns], found = spectrum.predict(kernel, self.choice_.noise[columns])
            if variances is not None:
                variances[:, columns] = self.choice_.scale[columns] * found

    def _start(self, X: Floats, targets: Matrix, weights: Matrix, random: Any, groups: Groups | None, X_val: Any, y_val: Any) -> None:
        """Fix everything that further rows do not change."""
        gammas = candidates(self.gamma, "gamma")
        candidates(self.noise, "noise")
        self._check_criterion()
        self.standardiser_ = Standardiser.fit(X, groups)
        table, y = self.standardiser_.transform(X), self._scaled(targets, len(X), "y")
        order, kept = random.permutation(len(X)), np.zeros(0, dtype=np.int64)
        if (held := self._validation_rows(X_val, y_val)) is not None:
            self.held_: Any = *held, None  # without weights: not learnt from
        else:
            kept, order = _set_aside(~np.isnan(y), order)
            self.held_ = table[kept], y[kept], weights[kept]
        self.held_rows_ = kept
        # Rows held out may be landmarks, the last ones: their targets are not learnt from meanwhile.
        self.landmarks_ = table[np.concatenate([order, kept])[: check_integer(self.n_landmarks, "n_landmarks", 1)]]
        inside = squared_distances(self.landmarks_, exact=True)
        self.unit_ = typical(inside)
        self.scores_: list[dict[str, float]] = []
        self.gamma_ = self._width(gammas, inside, table[order[:FIRST]], y[order[:FIRST]], weights[order[:FIRST]])
        self.whitener_, self.sums_ = Whitener.of(self._kernel(inside)), Sums.zero(len(inside), y.shape[1])
        self._add_to(self.sums_, table[order], y[order], weights[order])
        self.n_rows_ = len(X)

    def _width(self, gammas: Sequence[float], inside: Matrix, table: Floats, y: Matrix, weights: Matrix) -> float:
        """The one that predicts the rows held out best, from some rows and some landmarks."""
        if len(gammas) == 1:
            return gammas[0]
        inside = inside[:CHOOSING, :CHOOSING]
        across, aside = (squared_distances(some, self.landmarks_[:CHOOSING], exact=True) for some in (table, self.held_[0]))
        merits = []
        for self.gamma_ in gammas:
            sums = Sums.zero(len(inside), y.shape[1])
            sums.add(self._kernel(across), y, weights)
            merits.append(float(self._choose(Whitener.of(self._kernel(inside)), sums, self._kernel(aside)).merit.mean()))
        return gammas[int(np.argmax(merits))]

    def _add(self, X: Floats, targets: Matrix, weights: Matrix) -> None:
        self._add_to(self.sums_, self.standardiser_.transform(X), self._scaled(targets, len(X), "y"), weights)
        self.n_rows_ += len(X)

    def _add_to(self, sums: Sums, table: Floats, y: Matrix, weights: Matrix) -> None:
        for start in range(0, len(table), ROWS):
            some = slice(start, start + ROWS)
            sums.add(self._across(table[some]), y[some], weights[some])

    def _across(self, table: Floats) -> Matrix:
        """The kernel of rows with the landmarks."""
        return self._kernel(squared_distances(table, self.landmarks_, exact=True))

    def _kernel(self, distances: Matrix) -> Matrix:
        return rational(self.gamma_ / self.unit_, distances)

    def _choose(self, whitener: Whitener, sums: Sums, kernel: Matrix) -> Choice:
        """The best noise of every target, by the rows held out, whose kernel with the landmarks is given."""
        _, y, weights = self.held_
        noises = np.array(candidates(self.noise, "noise"))
        merits, scale, noise, error = (np.empty(y.shape[1]) for _ in range(4))
        choice = Choice(merits, scale, noise, error, np.empty_like(y))
        for columns, spectrum in self._spectra(whitener, sums):
            errors = spectrum.held_out(kernel, y[:, columns], noises)
            found, each = errors.judge(None if weights is None else weights[:, columns]), np.arange(columns.size)
            merit = found.merit(self.criterion)
            best = merit.argmax(axis=1)
            merits[columns], scale[columns] = merit[each, best], found.scale[each, best]
            noise[columns], error[columns] = noises[best], found.error[each, best]
            choice.left_out[:, columns] = y[:, columns] - errors.errors[:, each, best]
            for place, target in enumerate(columns.tolist()):
                rmse, density = error[target] * self.spread_[target], found.density[place, best[place]]
                row = {"gamma": self.gamma_, "noise": noise[target], "density": density, "rmse": rmse}
                self.scores_.append({"target": target, **{name: float(value) for name, value in row.items()}})
        return choice

    def _solve(self) -> None:
        """Choose the noise again, now that there are more rows, then learn from the rows held out too."""
        table, y, weights = self.held_
        self.choice_ = self._choose(self.whitener_, self.sums_, self._across(table))
        self.noise_, self.rmse_ = self._shaped(self.choice_.noise), self._shaped(self.choice_.error * self.spread_)
        self.left_out_, self.left_out_targets_ = (
            self._shaped(self.shift_ + self.spread_ * values) for values in (self.choice_.left_out, y)
        )
        sums = self.sums_
        if weights is not None:
            sums = copy.deepcopy(sums)  # rows to come are chosen for without those held out
            self._add_to(sums, table, y, weights)
        self.spectra_ = self._spectra(self.whitener_, sums)

    def _spectra(self, whitener: Whitener, sums: Sums) -> list[tuple[Integers, LandmarkSpectrum]]:
        """With the targets that they belong to: all, or one each."""
        spectra = whitener.solve(sums)
        targets = np.arange(self.spread_.size)
        return list(zip([targets] if len(spectra) == 1 else targets[:, None], spectra, strict=True))


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen for every target, how the rows held out liked it, and how they were predicted."""

    merit: Matrix
    scale: Matrix
    noise: Matrix
    error: Matrix
    left_out: Matrix


def blocks(known: Any, random: np.random.RandomState, first: int, rows: int = ROWS) -> Iterator[Integers]:
    """Rows in random order, the `first` ones together; among these are some that are known for each target (n, T)."""
    order = random.permutation(len(known))
    early = np.zeros(len(known), dtype=bool)
    for column in np.asarray(known)[order].T:
        early[np.flatnonzero(column)[:ENOUGH]] = True
    order = np.concatenate([order[early], order[~early]])
    start = max(first, int(early.sum()))
    yield order[:start]
    for place in range(start, len(order), rows):
        yield order[place : place + rows]


def _set_aside(known: Any, order: Integers) -> tuple[Integers, Integers]:
    """Rows to choose by and rows to learn from; among the former are some of each target."""
    aside = np.zeros(len(order), dtype=bool)
    aside[: min(max(len(order) // 10, 1), HELD_OUT)] = True
    for column in known[order].T:
        if not column[aside].any():
            aside[np.flatnonzero(column)[: max(int(column.sum()) // 10, 1)]] = True
    return order[aside], order[~aside]
