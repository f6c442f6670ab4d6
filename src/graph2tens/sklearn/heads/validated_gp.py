"""`ValidatedGP`: Gaussian process regression that scales columns and targets and chooses width and noise by itself. It takes tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..targets import check_numbers, r2
from .distances import Groups, Standardiser, candidates, squared_distances, typical
from .gaussian_process import Matrix, Spectrum, held_out, leave_one_out, rational

NOISES = tuple(float(f"{value:.2g}") for value in np.logspace(-5, 1, 25))
ROWS = 4096  # rows predicted at a time


class ValidatedGP(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Gaussian process regression with the kernel :math:`1 / (1 + \gamma\,\|x - y\|^2 / \text{median})`, width and noise chosen.

    This kernel is a mixture of Gaussian ones of many widths, so its own width matters less.

    Every target gets the width and the noise with the highest density of the training targets, each predicted from all others
    (leave-one-out), or of validation data where :meth:`fit` gets some. Targets may be unknown (NaN) in some rows; those with the same
    unknown rows share their eigendecompositions, one for each width. Time grows with the cube of the rows, memory with the square.

    Args:
        gamma: candidates for the width, in units of one over the median squared distance; a number is the only one.
        noise: candidates for the variance of the noise, relative to that of the signal.

    Attributes:
        gamma_, noise_: the chosen values; arrays with one for each target if `y` has two dimensions.
        rmse_: root mean squared error of the predictions that were chosen by, in units of the target.
        scores_: density and error of every candidate for every target, a list of dictionaries.
    """

    def __init__(self, gamma: float | Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0), noise: float | Sequence[float] = NOISES) -> None:
        self.gamma = gamma
        self.noise = noise

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None, groups: Groups | None = None) -> Self:
        """Choose width and noise, and fit.

        Args:
            X: (n, columns).
            y: (n,) or (n, targets) numbers, NaN where unknown.
            X_val, y_val: rows and targets to choose by; nothing else is learnt from them.
            groups: (columns, weight) pairs, where columns do not count alike, as :class:`Standardiser` takes them.
        """
        gammas, noises = candidates(self.gamma, "gamma"), np.array(candidates(self.noise, "noise"))
        X = validate_data(self, X, ensure_min_samples=2)
        targets, self.single_ = check_numbers(y, len(X))
        self.shift_, spread = np.nanmean(targets, axis=0), np.nanstd(targets, axis=0)
        self.spread_ = np.where(spread > 0, spread, 1.0)
        scaled = (targets - self.shift_) / self.spread_
        self.standardiser_ = Standardiser.fit(X, groups)
        self.table_ = self.standardiser_.transform(X)
        distances = squared_distances(self.table_)
        self.unit_ = typical(distances)
        across, scaled_val = self._validation(X_val, y_val)
        count = targets.shape[1]
        gamma, noise, error = np.empty(count), np.empty(count), np.empty(count)
        self.parts_: list[Part] = []
        self.scores_: list[dict[str, float]] = []
        for rows, columns in same_rows(~np.isnan(scaled)):
            inside, known = distances[np.ix_(rows, rows)], scaled[np.ix_(rows, columns)]
            best: dict[int, tuple[float, Any]] = {}
            for width in gammas:
                spectrum = Spectrum.of(rational(width / self.unit_, inside))
                if across is None or scaled_val is None:
                    found = leave_one_out(spectrum, known, noises).judge()
                else:
                    kernel = rational(width / self.unit_, across[:, rows])
                    found = held_out(spectrum, known, noises, kernel, scaled_val[:, columns]).judge()
                self._remember(width, noises, columns, found)
                for place in range(columns.size):
                    v = int(found.density[place].argmax())
                    density = round(float(found.density[place, v]), 9)  # the last bits must not decide what is equal
                    if place not in best or density > best[place][0]:
                        best[place] = density, (width, spectrum, noises[v], found.scale[place, v], found.error[place, v])
            for width in gammas:
                places = [place for place, (_, choice) in best.items() if choice[0] == width]
                if places:
                    chosen = [best[place][1] for place in places]
                    spectrum, levels = chosen[0][1], np.array([choice[2] for choice in chosen])
                    weights, scale = spectrum.weights(known[:, places], levels), np.array([choice[3] for choice in chosen])
                    self.parts_.append(Part(rows, columns[places], width / self.unit_, spectrum, weights, levels, scale))
                    gamma[columns[places]], noise[columns[places]] = width, levels
                    error[columns[places]] = [choice[4] for choice in chosen]
        error *= self.spread_
        self.gamma_, self.noise_, self.rmse_ = (values[0] if self.single_ else values for values in (gamma, noise, error))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions (n,) or (n, targets), and with `return_std` their standard deviations of the same shape.

        The standard deviation is that of a new measurement: it holds the noise.
        """
        check_is_fitted(self, "parts_")
        X = validate_data(self, X, reset=False)
        means, variances = (np.empty((len(X), self.spread_.size)) for _ in range(2))
        for start in range(0, len(X), ROWS):
            some = slice(start, start + ROWS)
            distances = squared_distances(self.standardiser_.transform(X[some]), self.table_)
            for part in self.parts_:
                kernel = rational(part.rate, distances[:, part.rows])
                means[some, part.columns] = kernel @ part.weights
                if return_std:
                    variances[some, part.columns] = part.scale * part.spectrum.variances(kernel, part.noise)
        found = self._shaped(self.shift_ + self.spread_ * means)
        return (found, self._shaped(self.spread_ * np.sqrt(variances))) if return_std else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of the known targets, the mean over the targets."""
        return r2(y, self.predict(X), sample_weight)

    def _validation(self, X_val: Any, y_val: Any) -> tuple[Matrix | None, Matrix | None]:
        """Squared distances to the training rows, and targets in units of the training targets."""
        if X_val is None:
            if y_val is not None:
                raise ValueError("`y_val` must come with `X_val`, the rows it belongs to (got None).")
            return None, None
        table = self.standardiser_.transform(validate_data(self, X_val, reset=False))
        targets, _ = check_numbers(y_val, len(table), "y_val", least=1)
        if targets.shape[1] != self.spread_.size:
            raise ValueError(f"`y_val` must have the {self.spread_.size} targets of `y` (got {targets.shape[1]}).")
        return squared_distances(table, self.table_), (targets - self.shift_) / self.spread_

    def _remember(self, width: float, noises: Matrix, columns: NDArray[np.int64], found: Any) -> None:
        for place, target in enumerate(columns.tolist()):
            errors = found.error[place] * self.spread_[target]
            self.scores_ += [
                {"target": target, "gamma": width, "noise": noise, "density": density, "rmse": error}
                for noise, density, error in zip(noises.tolist(), found.density[place].tolist(), errors.tolist(), strict=True)
            ]

    def _shaped(self, values: Matrix) -> Matrix:
        return values[:, 0] if self.single_ else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@dataclass(frozen=True, eq=False)
class Part:
    """Targets that share their training rows and their width."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    rate: float
    spectrum: Spectrum
    weights: Matrix
    noise: Matrix
    scale: Matrix


def same_rows(known: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Groups of targets with the same known rows: (rows, targets)."""
    patterns, group = np.unique(known, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        yield np.flatnonzero(pattern), np.flatnonzero(group.reshape(-1) == number)
