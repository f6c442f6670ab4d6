"""What a network is asked for: the loss that is minimised, the score that is reported, and what its outputs mean.

An objective is any object with the attributes and methods of :class:`Objective`. ``outputs`` and ``y`` have a row for each example;
entries of ``y`` that are NaN are unknown and count nowhere.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy


class Objective(Protocol):
    """See the top of this module. `metric` names the score; `higher_is_better` says which way it improves."""

    metric: str
    higher_is_better: bool

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        """The mean over all known entries."""
        ...

    def count(self, y: Tensor) -> int:
        """How many entries the mean is over."""
        ...

    def score(self, outputs: Tensor, y: Tensor) -> float: ...

    def predictions(self, outputs: Tensor) -> Tensor:
        """Probabilities, or values."""
        ...


class Classification:
    """One of several classes: cross-entropy, and the share of right answers."""

    metric, higher_is_better = "accuracy", True

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(outputs, y)

    def count(self, y: Tensor) -> int:
        return y.numel()

    def score(self, outputs: Tensor, y: Tensor) -> float:
        return float((outputs.argmax(1) == y).double().mean())

    def predictions(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(1)


class Regression:
    """One or several numbers (B, T): mean absolute error, as loss and as score."""

    metric, higher_is_better = "mae", False

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        known = ~y.isnan()
        return (outputs[known] - y[known]).abs().mean()

    def count(self, y: Tensor) -> int:
        return int((~y.isnan()).sum())

    def score(self, outputs: Tensor, y: Tensor) -> float:
        return float(self.loss(outputs.double(), y.double()))

    def predictions(self, outputs: Tensor) -> Tensor:
        return outputs


class SeveralLabels:
    """Several yes-or-no questions (B, T): binary cross-entropy, and the mean area under the ROC curve over the questions."""

    metric, higher_is_better = "auroc", True

    def loss(self, outputs: Tensor, y: Tensor) -> Tensor:
        known = ~y.isnan()
        return binary_cross_entropy_with_logits(outputs[known], y[known].to(outputs.dtype))

    def count(self, y: Tensor) -> int:
        return int((~y.isnan()).sum())

    def score(self, outputs: Tensor, y: Tensor) -> float:
        columns = [(values[~truth.isnan()], truth[~truth.isnan()]) for values, truth in zip(outputs.T, y.T, strict=True)]
        areas = [auroc(torch.stack([-values, values], dim=1).numpy(), truth.long().numpy()) for values, truth in columns]
        known = [area for area in areas if area is not None]
        return float(np.mean(known)) if known else float("nan")

    def predictions(self, outputs: Tensor) -> Tensor:
        return outputs.sigmoid()


def auroc(values: NDArray[np.floating], y: NDArray[np.integer]) -> float | None:
    """Area under the ROC curve of values (n, classes) that are higher where a class is likelier; None where a class is missing.

    Of several classes it is the mean over one class against the rest.
    """
    from sklearn.metrics import roc_auc_score

    classes = values.shape[1]
    if np.unique(y).size < classes or not np.isfinite(values).all():
        return None
    if classes == 2:
        return float(roc_auc_score(y, values[:, 1]))
    return float(np.mean([roc_auc_score(y == label, values[:, label]) for label in range(classes)]))
