"""`ValidatedSVC`: an SVM that scales its columns and chooses its C and width by itself. It takes tables, not graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..targets import check_targets, known_classes, set_aside
from .distances import Groups, Standardiser, candidates, squared_distances, typical
from .svm import Fold, choose, decisions, fit_svc, probabilities

FEW = 1000  # rows below which the internal validation uses every row once
FOLDS = 5
VERY_FEW, REPEATS = 400, 3  # below this many rows the choice depends on which rows share a fold: several divisions are averaged


@dataclass(eq=False, repr=False)
class ValidatedSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Columns scaled, :class:`sklearn.svm.SVC` with the kernel :math:`\exp(-\gamma\,\|x - y\|^2 / \text{median})`, C and gamma chosen.

    They are chosen by the likelihood of validation data, given to :meth:`fit` or set aside there; the same data gives the temperature
    that turns decisions into probabilities. All candidates share one matrix of distances. Time and memory grow with the square of the rows.

    Args:
        C, gamma: the candidates; a number is the only one.
        validation: how candidates are compared if :meth:`fit` gets no validation data: a share of the rows to set aside (stratified), a
            number of folds, or ``"auto"``: 5 folds below 1000 rows (three divisions into 5 below 400), a tenth of the rows from there on.
        refit: after the choice, fit to all rows of :meth:`fit`; otherwise to those not set aside. Validation data given by the
            caller is never trained on.
        class_weight, tol: as in :class:`sklearn.svm.SVC`: a dictionary has classes of `y` for keys, those it leaves out weigh 1.
        n_jobs: threads; None is 1, -1 is all cores.
        random_state: of the rows set aside.
        verbose: progress, as joblib has it.

    Attributes:
        classes_: class labels.
        C_, gamma_: the chosen values.
        validation_accuracy_: of the chosen values.
        validation_table_: accuracy and log-likelihood of all candidates, a list of dictionaries.
        svc_: the fitted SVM, None if there is only one class.
    """

    C: float | Sequence[float] = (1.0, 3.0, 10.0, 100.0)
    gamma: float | Sequence[float] = (0.1, 0.5, 1.0, 2.0, 4.0)
    _: KW_ONLY
    validation: float | int | str = "auto"
    refit: bool = True
    class_weight: Any = None
    tol: float = 1e-2
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None, groups: Groups | None = None) -> Self:
        """Choose C and gamma, fit the SVM.

        Args:
            X: (n, columns).
            y: classes.
            X_val, y_val: rows and classes to choose by; nothing else is learnt from them.
            groups: (columns, weight) pairs, where columns do not count alike, as :class:`Standardiser` takes them.
        """
        Cs, gammas = candidates(self.C, "C"), candidates(self.gamma, "gamma")
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, target = np.unique(y, return_inverse=True)
        training = np.arange(len(target))
        self.standardiser_ = Standardiser.fit(X, groups)
        table = self.standardiser_.transform(X)
        if X_val is not None:
            X_val = validate_data(self, X_val, reset=False)
            known = known_classes(check_targets(y_val, len(X_val), "y_val"), self.classes_)
            table, target = np.concatenate([table, self.standardiser_.transform(X_val)]), np.concatenate([target, known])
            folds: list[Fold] = [(training, np.arange(training.size, target.size))]
        elif y_val is not None:
            raise ValueError("`y_val` must come with `X_val`, the rows it belongs to (got None).")
        else:
            folds = self._folds(target)
            if not self.refit and len(folds) == 1:
                training = np.asarray(folds[0][0])
        self._fit_svm(table, target, folds, training, Cs, gammas)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        values = self._decide(X)
        return self.classes_[values.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``; the likeliest class is the one :meth:`predict` answers."""
        values = self._decide(X)
        return probabilities(values, self.temperature_)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The SVM's decisions: (n,) for two classes, positive for the second; (n, classes) for more."""
        values = self._decide(X)
        return values[:, 1] - values[:, 0] if self.classes_.size == 2 else values

    def _fit_svm(
        self,
        table: NDArray[Any],
        target: NDArray[np.int64],
        folds: list[Fold],
        training: NDArray[np.int64],
        Cs: Sequence[float],
        gammas: Sequence[float],
    ) -> None:
        self.svc_, self.temperature_ = None, 1.0
        self.C_, self.gamma_, self.validation_accuracy_, self.validation_table_ = None, None, None, []
        if self.classes_.size < 2:
            return
        distances = squared_distances(table)
        options = {"class_weight": self._weights(), "tol": self.tol}
        choice = choose(distances, target, folds, Cs, gammas, n_jobs=self.n_jobs, verbose=self.verbose, **options)
        self.C_, self.gamma_, self.temperature_ = choice.C, choice.gamma, choice.temperature
        self.validation_accuracy_, self.validation_table_ = choice.accuracy, choice.table
        inside = distances[np.ix_(training, training)]
        self.rate_ = choice.gamma / typical(inside)
        self.svc_ = fit_svc(np.exp(-self.rate_ * inside), target[training], choice.C, **options)
        # Only support vectors matter from now on, so only their features are kept.
        self.support_features_ = table[training][self.svc_.support_]

    def _weights(self) -> Any:
        """`class_weight` by the numbers of classes, which the machines know them by; all of them, since a fold may lack some."""
        if not isinstance(self.class_weight, dict):
            return self.class_weight
        return dict(enumerate(compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)))

    def _decide(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "standardiser_")
        table = self.standardiser_.transform(validate_data(self, X, reset=False))
        if self.svc_ is None:
            return np.ones((len(table), 1))
        kernel = np.zeros((len(table), self.svc_.shape_fit_[0]))
        kernel[:, self.svc_.support_] = np.exp(-self.rate_ * squared_distances(table, self.support_features_))
        return decisions(self.svc_, kernel, self.classes_.size)

    def _folds(self, target: NDArray[np.int64]) -> list[Fold]:
        """Training and validation parts of the rows, with the classes' shares where they are large enough."""
        random = check_random_state(self.random_state)
        n, smallest = target.size, int(np.bincount(target).min())
        how = self.validation
        if how == "auto":
            how = FOLDS if n < FEW else 0.1
        if isinstance(how, (bool, str)) or not (0 < how < 1 or (how >= 2 and how == int(how))):
            raise ValueError(f"`validation` must be 'auto', a share in (0, 1) or a number of folds >= 2 (got {self.validation!r}).")
        if n < 2:
            raise ValueError(f"`X` must have at least 2 rows to set some aside for validation (got n_samples = {n}).")
        if how < 1:
            return [set_aside(target, how, random)]
        if self.validation == "auto" and n < VERY_FEW and smallest >= FOLDS:
            return list(RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=random).split(target, target))
        if smallest >= 2:
            return list(StratifiedKFold(min(int(how), smallest), shuffle=True, random_state=random).split(target, target))
        return list(KFold(min(int(how), n), shuffle=True, random_state=random).split(target))
