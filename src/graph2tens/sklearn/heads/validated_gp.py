"""`ValidatedGP`: Gaussian process regression that scales columns and targets and chooses width and noise by itself. It takes tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from ..targets import check_numbers
from .distances import Floats, Groups, Standardiser, candidates, squared_distances, typical
from .gaussian_process import Errors, Integers, Judgement, Matrix, Spectrum, held_out, leave_one_out, rational, same_rows
from .regression import GAMMAS, NOISES, Regression, row_weights


@dataclass(eq=False, repr=False)
class ValidatedGP(Regression):
    r"""Gaussian process regression with the kernel :math:`1 / (1 + \gamma\,\|x - y\|^2 / \text{median})`, width and noise chosen.

    This kernel is a mixture of Gaussian ones of many widths, so its own width matters less.

    Every target gets the width and the noise with the highest density of the training targets, each predicted from all others
    (leave-one-out), or of validation data where :meth:`fit` gets some. Targets may be unknown (NaN) in some rows; those with the same
    unknown rows share their eigendecompositions, one for each width. Time grows with the cube of the rows, memory with the square.

    Args:
        gamma: candidates for the width, in units of one over the median squared distance; a number is the only one.
        noise: candidates for the variance of the noise, relative to that of the signal.
        criterion: what is best: the highest ``"density"`` of the targets or the lowest mean squared ``"error"``.

    Attributes:
        gamma_, noise_: the chosen values; arrays with one for each target if `y` has two dimensions.
        rmse_: root mean squared error of the predictions that were chosen by, in units of the target.
        scores_: density and error of every candidate for every target, a list of dictionaries.
        left_out_: predictions of the rows that were chosen by, each made without the row itself; NaN where the target is unknown.
        left_out_targets_: what ``left_out_`` predicts.
    """

    gamma: float | Sequence[float] = GAMMAS
    noise: float | Sequence[float] = NOISES
    _: KW_ONLY
    criterion: str = "density"

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None, groups: Groups | None = None, *, weights: Any = None) -> Self:
        """Choose width and noise, and fit.

        Args:
            X: (n, columns).
            y: (n,) or (n, targets) numbers, NaN where unknown.
            X_val, y_val: rows and targets to choose by; nothing else is learnt from them.
            groups: (columns, weight) pairs, where columns do not count alike, as :class:`Standardiser` takes them.
            weights: (n,) or (n, targets); a row of weight 2 has half the noise, as the mean of two measurements has.
        """
        gammas, noises = candidates(self.gamma, "gamma"), np.array(candidates(self.noise, "noise"))
        self._check_criterion()
        X = validate_data(self, X, ensure_min_samples=2)
        targets, self.single_ = check_numbers(y, len(X))
        weight = row_weights(weights, targets)
        self._learn_scale(targets)
        scaled = (targets - self.shift_) / self.spread_
        self.standardiser_ = Standardiser.fit(X, groups)
        self.table_ = self.standardiser_.transform(X)
        distances = squared_distances(self.table_, exact=True)
        self.unit_ = typical(distances)
        held = self._validation_rows(X_val, y_val)
        validation = None if held is None else (squared_distances(held[0], self.table_, exact=True), held[1])
        self.parts_: list[Part] = []
        self.scores_: list[dict[str, float]] = []
        left_out = np.full((len(X) if validation is None else len(validation[1]), targets.shape[1]), np.nan)
        chosen = np.empty((3, targets.shape[1]))
        for rows, columns in same_rows(weight):
            group = Group(distances[np.ix_(rows, rows)], scaled[np.ix_(rows, columns)], weight[rows, columns[0]])
            across = None if validation is None else (validation[0][:, rows], validation[1][:, columns])
            best: list[Candidate | None] = [None] * columns.size
            for gamma in gammas:
                spectrum = Spectrum.of(rational(gamma / self.unit_, group.distances), group.weights)
                errors, found = self._try(group, spectrum, noises, gamma, across)
                self._remember(gamma, noises, columns, found)
                merit = found.merit(self.criterion)
                for place, known in enumerate(best):
                    v = int(merit[place].argmax())
                    if known is None or merit[place, v] > known.merit:
                        aim = group.y[:, place] if across is None else across[1][:, place]
                        numbers = noises[v], found.scale[place, v], found.error[place, v]
                        best[place] = Candidate(merit[place, v], gamma, spectrum, *numbers, aim - errors.errors[:, place, v])
            winners = [winner for winner in best if winner is not None]
            self._keep(rows, columns, group.y, winners)
            left_out[np.ix_(rows if across is None else np.arange(len(left_out)), columns)] = np.stack(
                [winner.left_out for winner in winners], axis=1
            )
            chosen[:, columns] = [[getattr(winner, name) for winner in winners] for name in ("gamma", "noise", "error")]
        chosen[2] *= self.spread_
        self.gamma_, self.noise_, self.rmse_ = map(self._shaped, chosen)
        self.left_out_ = self._shaped(self.shift_ + self.spread_ * left_out)
        self.left_out_targets_ = self._shaped(self.shift_ + self.spread_ * (scaled if validation is None else validation[1]))
        return self

    def _answer(self, table: Floats, means: Matrix, variances: Matrix | None) -> None:
        distances = squared_distances(table, self.table_, exact=True)
        for part in self.parts_:
            kernel = rational(part.gamma / self.unit_, distances[:, part.rows])
            means[:, part.columns] = kernel @ part.weights
            if variances is not None:
                variances[:, part.columns] = part.scale * part.spectrum.variances(kernel, part.noise)

    def _try(
        self, group: Group, spectrum: Spectrum, noises: Matrix, gamma: float, across: tuple[Matrix, Matrix] | None
    ) -> tuple[Errors, Judgement]:
        if across is None:
            errors = leave_one_out(spectrum, group.y, noises)
            return errors, errors.judge(group.weights)
        errors = held_out(spectrum, group.y, noises, rational(gamma / self.unit_, across[0]), across[1])
        return errors, errors.judge()

    def _keep(self, rows: Integers, columns: Integers, y: Matrix, winners: list[Candidate]) -> None:
        """A part for every width that was chosen by some target of the group."""
        for gamma in dict.fromkeys(winner.gamma for winner in winners):
            places = [place for place, winner in enumerate(winners) if winner.gamma == gamma]
            spectrum = winners[places[0]].spectrum
            noise, scale = (np.array([getattr(winners[place], name) for place in places]) for name in ("noise", "scale"))
            self.parts_.append(Part(rows, columns[places], gamma, spectrum, spectrum.weights(y[:, places], noise), noise, scale))

    def _remember(self, gamma: float, noises: Matrix, columns: Integers, found: Judgement) -> None:
        for place, target in enumerate(columns.tolist()):
            errors = found.error[place] * self.spread_[target]
            self.scores_ += [
                {"target": target, "gamma": gamma, "noise": noise, "density": density, "rmse": error}
                for noise, density, error in zip(noises.tolist(), found.density[place].tolist(), errors.tolist(), strict=True)
            ]


@dataclass(frozen=True, eq=False)
class Group:
    """Targets with the same rows of the same weights: squared distances (n, n), targets (n, T), weights (n,)."""

    distances: Matrix
    y: Matrix
    weights: Matrix


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best width and noise of a target so far."""

    merit: float
    gamma: float
    spectrum: Spectrum
    noise: float
    scale: float
    error: float
    left_out: Matrix


@dataclass(frozen=True, eq=False)
class Part:
    """Targets that share their training rows and their width."""

    rows: Integers
    columns: Integers
    gamma: float
    spectrum: Spectrum
    weights: Matrix
    noise: Matrix
    scale: Matrix
