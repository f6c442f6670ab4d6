"""`LeastSquaresClassifier`: a Gaussian process on -1 and 1, for several labels and for more rows than an SVM takes. It takes tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ..targets import has_labels, share_right
from .answers import Labels, OneClass
from .distances import Groups
from .gaussian_process import Matrix
from .landmark_gp import LandmarkGP
from .regression import GAMMAS, NOISES
from .validated_gp import ValidatedGP


@dataclass(eq=False, repr=False)
class LeastSquaresClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Least-squares classification: :class:`ValidatedGP` or :class:`LandmarkGP` with the targets -1 and 1.

    One class for each row (y of one dimension), or several labels (y of two dimensions: 1, 0, or NaN where unknown). Probabilities are
    calibrated on predictions of rows not learnt from: by Platt's method for each label, by a temperature for classes.

    Args:
        n_landmarks: of :class:`LandmarkGP`, for many rows; None is the exact kernel.
        gamma, noise: candidates, see :class:`ValidatedGP`; those with the lowest mean squared error win.
        class_weight: None, ``"balanced"`` or a dictionary from classes to weights; for several labels its keys are 0 and 1, and a list
            has one dictionary for each label. Weights count in the probabilities too.
        random_state: of landmarks.

    Attributes:
        classes_: the classes; for several labels a list with [0, 1] for each.
        gp_: the fitted Gaussian process, which knows what was chosen: ``gp_.gamma_``, ``gp_.noise_``, ``gp_.scores_``.
        answers_: how its predictions become decisions and probabilities.
    """

    n_landmarks: int | None = None
    _: KW_ONLY
    gamma: float | Sequence[float] = GAMMAS
    noise: float | Sequence[float] = NOISES
    class_weight: Any = None
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None, groups: Groups | None = None) -> Self:
        """Choose width and noise, fit, calibrate.

        Args:
            X: (n, columns).
            y: (n,) classes, or (n, labels) of 0, 1 and NaN.
            X_val, y_val: rows and answers to choose and calibrate by; nothing else is learnt from them.
            groups: (columns, weight) pairs, where columns do not count alike, as :class:`Standardiser` takes them.
        """
        X = validate_data(self, X, ensure_min_samples=2)
        self._start(y, len(X))
        self._learn("fit", X, y, X_val, y_val, groups)
        self.settle()
        return self

    @available_if(lambda self: self.n_landmarks is not None)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, X_val: Any = None, y_val: Any = None, groups: Groups | None = None) -> Self:
        """Learn from further rows as well, with landmarks. The first call fixes classes, landmarks and width.

        Args:
            X, y: as in :meth:`fit`.
            classes: all classes, if the first rows may lack some.
            X_val, y_val, groups: as in :meth:`fit`, in the first call only.
        """
        first = not hasattr(self, "gp_")
        X = validate_data(self, X, reset=first, ensure_min_samples=2 if first else 1)
        if first:
            if isinstance(self.class_weight, str):
                raise ValueError(
                    f"`class_weight` must be None or a dictionary for partial_fit, which knows only some rows (got {self.class_weight!r})."
                )
            self._start(y, len(X), classes)
        self._learn("partial_fit", X, y, X_val, y_val, groups)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, or (n, labels) of 0 and 1."""
        predictions = self._predict(X)
        return self.answers_.predict(predictions)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, classes) in the order of ``classes_``; for several labels (n, labels), the probability of 1."""
        predictions = self._predict(X)
        return self.answers_.probabilities(predictions)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) for two classes, positive for the second, (n, classes) for more; for several labels (n, labels), positive for 1."""
        predictions = self._predict(X)
        return self.answers_.decide(predictions)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right answers, of several labels among the known ones."""
        return share_right(y, self.predict(X), sample_weight)

    def _start(self, y: Any, count: int, classes: Any = None) -> None:
        kind = Labels if has_labels(y) else OneClass
        self.answers_: Labels | OneClass = kind.of(y, count, self.class_weight, classes)
        self.classes_ = self.answers_.classes
        options: dict[str, Any] = {"gamma": self.gamma, "noise": self.noise, "criterion": "error"}
        if self.n_landmarks is None:
            self.gp_: ValidatedGP | LandmarkGP = ValidatedGP(**options)
        else:
            self.gp_ = LandmarkGP(self.n_landmarks, **options, random_state=self.random_state)

    def _learn(self, how: str, X: Any, y: Any, X_val: Any, y_val: Any, groups: Groups | None) -> None:
        signs, weights = self.answers_.encode(y, len(X))
        if X_val is not None:
            X_val = validate_data(self, X_val, reset=False)
            y_val = self.answers_.encode(y_val, len(X_val), "y_val")[0]
        elif y_val is not None:
            raise ValueError("`y_val` must come with `X_val`, the rows it belongs to (got None).")
        getattr(self.gp_, how)(X, signs, X_val, y_val, groups, weights=weights)
        self.calibrated_ = False

    def settle(self) -> None:
        """Solve and calibrate, if there are new rows since the last time; predictions do it by themselves."""
        if self.calibrated_:
            return
        self.gp_.settle()
        self.answers_ = self.answers_.calibrated(self.gp_.left_out_, self.gp_.left_out_targets_)
        self.calibrated_ = True

    def _predict(self, X: Any) -> Matrix:
        check_is_fitted(self, "gp_")
        self.settle()
        return self.gp_.predict(validate_data(self, X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
