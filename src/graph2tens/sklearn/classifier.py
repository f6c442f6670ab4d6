"""`GraphTensClassifier`: random features and an SVM that chooses its own C and width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .base import WithFeatures
from .features import GraphTensFeatures, own_features
from .heads.distances import candidates
from .heads.validated_svc import ValidatedSVC
from .inputs import as_graphs
from .targets import check_targets


class GraphTensClassifier(WithFeatures, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Classify graphs without training a network: :class:`GraphTensFeatures` and :class:`ValidatedSVC`.

    Args:
        features: the transformer; by default ``GraphTensFeatures()``. Any transformer of lists of graphs will do. Its
            `random_state` and `n_jobs` are those of the classifier unless it has its own. Give ``features=GraphTensFeatures()`` to
            search over its arguments: ``GridSearchCV(GraphTensClassifier(GraphTensFeatures()), {"features__degree": [1, 2]})``.
        C, gamma, validation, refit, class_weight, tol: of the SVM, see :class:`ValidatedSVC`.
        n_jobs: threads; None is 1, -1 is all cores.
        random_state: an integer makes everything reproducible.
        verbose: progress, as joblib has it.

    Attributes:
        classes_: class labels.
        features_: the fitted transformer.
        svm_: the fitted :class:`ValidatedSVC`, which knows what was chosen: ``svm_.C_``, ``svm_.gamma_``, ``svm_.validation_accuracy_``.
    """

    def __init__(
        self,
        features: GraphTensFeatures | None = None,
        *,
        C: float | Sequence[float] = (1.0, 3.0, 10.0, 100.0),
        gamma: float | Sequence[float] = (0.1, 0.5, 1.0, 2.0, 4.0),
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
            X_val, y_val: graphs and classes to choose C and gamma by; nothing else is learnt from them.
        """
        for name in ("C", "gamma"):  # before the features are computed, which takes time
            candidates(getattr(self, name), name)
        graphs = as_graphs(X)
        y = check_targets(y, len(graphs))
        made = own_features(self)
        names = ("C", "gamma", "validation", "refit", "class_weight", "tol", "n_jobs", "random_state", "verbose")
        svm = ValidatedSVC(**{name: getattr(self, name) for name in names})
        table = made.fit(graphs).transform(graphs)
        table_val = None if X_val is None else made.transform(X_val)
        self.svm_ = svm.fit(table, y, table_val, y_val, getattr(made, "column_groups_", None))
        self.features_, self.classes_ = made, svm.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each graph."""
        return self._svm().predict(self.features_.transform(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``; the likeliest class is the one :meth:`predict` answers."""
        return self._svm().predict_proba(self.features_.transform(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The SVM's decisions: (n,) for two classes, positive for the second; (n, classes) for more."""
        return self._svm().decision_function(self.features_.transform(X))

    def _svm(self) -> ValidatedSVC:
        check_is_fitted(self, "svm_")
        return self.svm_
