"""What the Gaussian processes, with all rows or with landmarks, have in common: targets in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..targets import check_numbers, r2
from .distances import Floats, Standardiser
from .gaussian_process import Matrix

GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
NOISES = tuple(float(f"{value:.2g}") for value in np.logspace(-5, 1, 25))
CRITERIA = ("density", "error")
ROWS = 2048  # rows that are worked on at a time


class Regression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Targets are scaled to mean 0 and variance 1; y of one dimension gives answers of one dimension."""

    criterion: str
    single_: bool
    shift_: Matrix
    spread_: Matrix
    standardiser_: Standardiser

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions (n,) or (n, targets), and with `return_std` their standard deviations of the same shape.

        The standard deviation is that of a new measurement: it holds the noise.
        """
        check_is_fitted(self, "unit_")
        X = validate_data(self, X, reset=False)
        self.settle()
        means, variances = (np.empty((len(X), self.spread_.size)) for _ in range(2))
        for start in range(0, len(X), ROWS):
            some = slice(start, start + ROWS)
            self._answer(self.standardiser_.transform(X[some]), means[some], variances[some] if return_std else None)
        found = self._shaped(self.shift_ + self.spread_ * means)
        return (found, self._shaped(self.spread_ * np.sqrt(variances))) if return_std else found

    def settle(self) -> None:
        """Solve, if there are new rows since the last time; :meth:`predict` does it by itself."""

    def _answer(self, table: Floats, means: Matrix, variances: Matrix | None) -> None:
        """Write means and variances (n, targets) of scaled rows, in units of the training targets."""
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of the known targets, the mean over the targets."""
        return r2(y, self.predict(X), sample_weight)

    def _check_criterion(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"`criterion` must be one of {', '.join(map(repr, CRITERIA))} (got {self.criterion!r}).")

    def _learn_scale(self, targets: Matrix) -> None:
        self.shift_, spread = np.nanmean(targets, axis=0), np.nanstd(targets, axis=0)
        self.spread_ = np.where(spread > 0, spread, 1.0)

    def _validation_rows(self, X_val: Any, y_val: Any) -> tuple[Floats, Matrix] | None:
        """Scaled rows, and their targets in units of the training targets."""
        if X_val is None:
            if y_val is not None:
                raise ValueError("`y_val` must come with `X_val`, the rows it belongs to (got None).")
            return None
        table = self.standardiser_.transform(validate_data(self, X_val, reset=False))
        return table, self._scaled(y_val, len(table), "y_val")

    def _scaled(self, y: Any, count: int, name: str) -> Matrix:
        """Further targets in units of the first ones."""
        targets, _ = check_numbers(y, count, name, least=0 if name == "y" else 1)
        if targets.shape[1] != self.spread_.size:
            raise ValueError(f"`{name}` must have {self.spread_.size} targets, as before (got {targets.shape[1]}).")
        return (targets - self.shift_) / self.spread_

    def _shaped(self, values: Matrix) -> Any:
        return values[..., 0] if self.single_ else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def row_weights(weights: Any, targets: Matrix) -> Matrix:
    """(n, T), 0 where a target is unknown; `weights` is None, (n,) or (n, T)."""
    known = ~np.isnan(targets)
    if weights is None:
        return known.astype(np.float64)
    given = np.asarray(weights, dtype=np.float64)
    given = given[:, None] if given.ndim == 1 else given
    if given.ndim != 2 or len(given) != len(known) or given.shape[1] not in (1, known.shape[1]):
        raise ValueError(f"`weights` must have shape (n,) or that of `y`, {known.shape} (got {np.shape(weights)}).")
    if not (np.isfinite(given) & (given >= 0)).all():
        raise ValueError("`weights` must be finite and not negative (got others).")
    if not (known * given).any(axis=0).all():
        raise ValueError("`weights` must be positive for some known number of every target (got 0 for all of one target).")
    return known * given
