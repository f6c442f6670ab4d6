"""Classes as numbers that a regression can learn, and its predictions as decisions and probabilities.

`OneClass` is for one class in each row, `Labels` for several labels of 0 and 1. Both turn y into targets -1 and 1, and are calibrated on
predictions of rows that were not learnt from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.class_weight import compute_class_weight

from ..targets import check_labels, check_targets, known_classes
from .gaussian_process import Matrix
from .svm import calibrate, probabilities


@dataclass(frozen=True, eq=False)
class OneClass:
    """One of several classes: a target for each class, or one alone if there are two.

    Attributes:
        classes: sorted.
        weights: of the rows of each class.
        temperature: that turns decisions into probabilities.
    """

    classes: NDArray[Any]
    weights: Matrix
    temperature: float = 1.0

    @classmethod
    def of(cls, y: Any, count: int, class_weight: Any, classes: Any = None) -> Self:
        answers = check_targets(y, count)
        classes = np.unique(answers if classes is None else classes)
        seen = answers if isinstance(class_weight, str) else classes
        return cls(classes, compute_class_weight(class_weight, classes=classes, y=seen))

    def encode(self, y: Any, count: int, name: str = "y") -> tuple[Matrix, Matrix]:
        """Targets (n, T) and weights (n, T)."""
        place = known_classes(check_targets(y, count, name), self.classes, name)
        columns = np.arange(self.classes.size)[-1:] if self.classes.size == 2 else np.arange(self.classes.size)
        signs = np.where(place[:, None] == columns, 1.0, -1.0)
        return signs, np.broadcast_to(self.weights[place][:, None], signs.shape)

    def calibrated(self, predictions: Matrix, targets: Matrix) -> OneClass:
        """By predictions of rows that were not learnt from."""
        place = (targets[:, 0] > 0).astype(np.int64) if self.classes.size == 2 else targets.argmax(axis=1)
        return OneClass(self.classes, self.weights, calibrate(self.values(predictions), place)[0])

    def values(self, predictions: Matrix) -> Matrix:
        """(n, classes), the largest for the likeliest."""
        return np.concatenate([-predictions, predictions], axis=1) if self.classes.size == 2 else predictions

    def decide(self, predictions: Matrix) -> Matrix:
        """(n,) for two classes, positive for the second, (n, classes) for more."""
        return predictions[:, 0] if self.classes.size == 2 else self.values(predictions)

    def predict(self, predictions: Matrix) -> NDArray[Any]:
        return self.classes[self.values(predictions).argmax(axis=1)]

    def probabilities(self, predictions: Matrix) -> Matrix:
        return probabilities(self.values(predictions), self.temperature)


@dataclass(frozen=True, eq=False)
class Labels:
    """Several labels of 0 and 1, NaN where unknown.

    Attributes:
        classes: [0, 1] for each label.
        weights: (labels, 2) of the rows with 0 and with 1.
        slope, offset: (labels,) of the logarithm of the odds.
    """

    classes: list[NDArray[np.int64]]
    weights: Matrix
    slope: Matrix
    offset: Matrix

    @classmethod
    def of(cls, y: Any, count: int, class_weight: Any, classes: Any = None) -> Self:
        labels = check_labels(y, count)
        width = labels.shape[1]
        given = class_weight if isinstance(class_weight, list) else [class_weight] * width
        if len(given) != width:
            raise ValueError(f"`class_weight` must have a dictionary for each of the {width} labels (got {len(given)}).")
        both, weights = np.array([0, 1]), np.ones((width, 2))
        for number, (one, column) in enumerate(zip(given, labels.T, strict=True)):
            known = column[~np.isnan(column)].astype(np.int64)
            if isinstance(one, str):
                seen = np.unique(known)
                weights[number, seen] = compute_class_weight(one, classes=seen, y=known)
            else:
                weights[number] = compute_class_weight(one, classes=both, y=both)
        return cls([both] * width, weights, np.ones(width), np.zeros(width))

    def encode(self, y: Any, count: int, name: str = "y") -> tuple[Matrix, Matrix]:
        """Targets (n, labels), NaN where unknown, and weights of the same shape."""
        labels = check_labels(y, count, name, least=0)
        if labels.shape[1] != len(self.classes):
            raise ValueError(f"`{name}` must have {len(self.classes)} labels, as before (got {labels.shape[1]}).")
        return 2 * labels - 1, self._weights(labels > 0)

    def _weights(self, positive: NDArray[np.bool_]) -> Matrix:
        return np.where(positive, self.weights[:, 1], self.weights[:, 0])

    def calibrated(self, predictions: Matrix, targets: Matrix) -> Labels:
        """By predictions of rows that were not learnt from, label by label; weights count."""
        weights = self._weights(targets > 0)
        lines = np.array([_platt(*column) for column in zip(predictions.T, targets.T, weights.T, strict=True)])
        return Labels(self.classes, self.weights, lines[:, 0], lines[:, 1])

    def decide(self, predictions: Matrix) -> Matrix:
        """(n, labels), the logarithm of the odds of 1."""
        return self.slope * predictions + self.offset

    def predict(self, predictions: Matrix) -> NDArray[np.int64]:
        return (self.decide(predictions) > 0).astype(np.int64)

    def probabilities(self, predictions: Matrix) -> Matrix:
        """(n, labels), of 1."""
        return expit(self.decide(predictions))


def as_dictionaries(class_weight: Any, y: Any) -> Any:
    """``"balanced"`` as weights of the classes of all of `y`, for heads that see it block by block."""
    if y.ndim == 2:
        return [dict(enumerate(weights)) for weights in Labels.of(y, len(y), class_weight).weights.tolist()]
    found = OneClass.of(y, len(y), class_weight)
    return dict(zip(found.classes.tolist(), found.weights.tolist(), strict=True))


def _platt(predictions: Matrix, targets: Matrix, weights: Matrix) -> tuple[float, float]:
    """Slope and offset of the log-odds with the highest likelihood, by Platt's method; the slope is positive, so order is kept."""
    known = ~np.isnan(targets)
    x, positive, weights = predictions[known], targets[known] > 0, weights[known]
    centre, scale = x.mean(), max(float(x.std()), 1e-9)
    z = (x - centre) / scale
    # Platt's doubt: after n rows of a class it counts as certain to (n + 1) / (n + 2) only
    counts = np.array([(~positive).sum(), positive.sum()])
    aim = np.where(positive, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))

    def loss(line: Matrix) -> tuple[float, Matrix]:
        odds = np.exp(line[0]) * z + line[1]
        difference = weights * (expit(odds) - aim)
        value = (weights * (np.logaddexp(0, odds) - aim * odds)).sum()
        return value / weights.sum(), np.array([(difference * z).sum() * np.exp(line[0]), difference.sum()]) / weights.sum()

    # the slope goes through its logarithm, which keeps it positive
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-6, 4), (-12, 12)]).x
    slope = float(np.exp(found[0])) / scale
    return slope, float(found[1] - slope * centre)
