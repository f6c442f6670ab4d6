"""`GraphTensClassifier`: random features and an SVM that chooses its own C and width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .features import GraphTensFeatures
from .inputs import as_graphs
from .svm import Fold, Standardiser, choose, decisions, fit_svc, probabilities, squared_distances, typical
from .targets import check_targets, known_classes, set_aside

FEW = 1000  # graphs below which the internal validation uses every graph once
FOLDS = 5


class GraphTensClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Classify graphs without training a network: :class:`GraphTensFeatures`, columns scaled, an SVM with a Gaussian kernel.

    The SVM's C and the kernel's width are chosen on validation data, either given to :meth:`fit` or set aside there. The same data gives
    the temperature that turns decisions into probabilities. Time and memory of the SVM grow with the square of the number of graphs.

    Args:
        features: the transformer; by default ``GraphTensFeatures()``. Any transformer of lists of graphs will do. Its
            `random_state` and `n_jobs` are those of the classifier unless it has its own.
        C: candidates for the SVM's C.
        gamma: candidates for the kernel's :math:`\exp(-\gamma\,\|x - y\|^2 / \text{median})`.
        validation: how candidates are compared if :meth:`fit` gets no validation data: a share of the graphs to set aside (stratified), a
            number of folds, or ``"auto"``: 5 folds below 1000 graphs, a tenth of the graphs from there on.
        refit: after the choice, fit to all graphs of :meth:`fit`; otherwise to those not set aside. Validation data given by the
            caller is never trained on.
        class_weight: as in :class:`sklearn.svm.SVC`.
        tol: precision of the SVM.
        n_jobs: threads; None is 1, -1 is all cores.
        random_state: an integer makes everything reproducible.
        verbose: progress, as joblib has it.

    Attributes:
        classes_: class labels.
        features_: the fitted transformer.
        C_, gamma_: the chosen values.
        validation_accuracy_: of the chosen values.
        validation_table_: accuracy and log-likelihood of all candidates, a list of dictionaries.
        svc_: the fitted SVM (None if there is only one class).
    """

    def __init__(
        self,
        features: GraphTensFeatures | None = None,
        *,
        C: Sequence[float] = (1.0, 3.0, 10.0, 30.0),
        gamma: Sequence[float] = (0.3, 1.0, 3.0),
        validation: float | int | str = "auto",
        refit: bool = True,
        class_weight: Any = None,
        tol: float = 1e-2,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.features = features
        self.C = C
        self.gamma = gamma
        self.validation = validation
        self.refit = refit
        self.class_weight = class_weight
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Compute features, choose C and gamma, fit the SVM.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs`.
            y: their classes.
            X_val, y_val: graphs and classes to choose by; nothing else is learnt from them.
        """
        graphs = as_graphs(X)
        y = check_targets(y, len(graphs))
        self.classes_, target = np.unique(y, return_inverse=True)
        random = check_random_state(self.random_state)
        self.features_ = self._make_features().fit(graphs)
        table = self.features_.transform(graphs)
        training = np.arange(len(graphs))
        if X_val is not None:
            held_out = as_graphs(X_val)
            known = known_classes(check_targets(y_val, len(held_out), "y_val"), self.classes_)
            table = np.concatenate([table, self.features_.transform(held_out)])
            target = np.concatenate([target, known])
            folds: list[Fold] = [(training, np.arange(len(graphs), len(target)))]
        elif y_val is not None:
            raise ValueError("`y_val` must come with `X_val`, the graphs it belongs to (got None).")
        else:
            folds = self._folds(target, random)
            training = training if self.refit or len(folds) > 1 else np.asarray(folds[0][0])

        self.standardiser_ = Standardiser.fit(table[: len(graphs)])
        scaled = self.standardiser_.transform(table)
        distances = squared_distances(scaled)
        self._fit_svm(scaled, distances, target, folds, training)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each graph."""
        values = self._decide(X)
        return self.classes_[values.argmax(axis=1)]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``; the likeliest class is the one :meth:`predict` answers."""
        return probabilities(self._decide(X), self.temperature_)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The SVM's decisions: (n,) for two classes, positive for the second; (n, classes) for more."""
        values = self._decide(X)
        return values[:, 1] - values[:, 0] if self.classes_.size == 2 else values

    def _fit_svm(
        self,
        scaled: NDArray[Any],
        distances: NDArray[np.float64],
        target: NDArray[np.int64],
        folds: list[Fold],
        training: NDArray[np.int64],
    ) -> None:
        self.svc_, self.temperature_ = None, 1.0
        self.C_, self.gamma_, self.validation_accuracy_, self.validation_table_ = None, None, None, []
        if self.classes_.size < 2:
            return
        options = {"class_weight": self.class_weight, "tol": self.tol}
        choice = choose(distances, target, folds, self.C, self.gamma, n_jobs=self.n_jobs, verbose=self.verbose, **options)
        self.C_, self.gamma_, self.temperature_ = choice.C, choice.gamma, choice.temperature
        self.validation_accuracy_, self.validation_table_ = choice.accuracy, choice.table
        inside = distances[np.ix_(training, training)]
        self.rate_ = choice.gamma / typical(inside)
        self.svc_ = fit_svc(np.exp(-self.rate_ * inside), target[training], choice.C, **options)
        # Only support vectors matter from now on, so only their features are kept.
        self.support_features_ = scaled[training][self.svc_.support_]

    def _decide(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "features_")
        table = self.standardiser_.transform(self.features_.transform(X))
        if self.svc_ is None:
            return np.ones((len(table), 1))
        kernel = np.zeros((len(table), self.svc_.shape_fit_[0]))
        kernel[:, self.svc_.support_] = np.exp(-self.rate_ * squared_distances(table, self.support_features_))
        return decisions(self.svc_, kernel, self.classes_.size)

    def _make_features(self) -> GraphTensFeatures:
        made: GraphTensFeatures = GraphTensFeatures() if self.features is None else clone(self.features)
        for name in ("random_state", "n_jobs"):
            if made.get_params(deep=False).get(name, 0) is None:
                made.set_params(**{name: getattr(self, name)})
        return made

    def _folds(self, target: NDArray[np.int64], random: np.random.RandomState) -> list[Fold]:
        """Training and validation parts of the graphs, with the classes' shares where they are large enough."""
        n, smallest = target.size, int(np.bincount(target).min())
        how = self.validation
        if how == "auto":
            how = FOLDS if n < FEW else 0.1
        if isinstance(how, bool) or not isinstance(how, (int, float)) or how <= 0:
            raise ValueError(f"`validation` must be 'auto', a share in (0, 1) or a number of folds >= 2 (got {self.validation!r}).")
        if n < 2:
            raise ValueError(f"`X` must hold at least 2 graphs to set some aside for validation (got {n}: 1 sample).")
        if how < 1:
            return [set_aside(target, how, random)]
        folds = min(int(how), n)
        if folds < 2:
            raise ValueError(f"`validation` must be 'auto', a share in (0, 1) or a number of folds >= 2 (got {self.validation!r}).")
        if smallest >= 2:
            return list(StratifiedKFold(min(folds, smallest), shuffle=True, random_state=random).split(target, target))
        return list(KFold(folds, shuffle=True, random_state=random).split(target))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
