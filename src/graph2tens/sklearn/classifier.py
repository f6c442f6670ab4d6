"""`GraphTensClassifier`: random features and a head that chooses its own settings: an SVM, or least squares for labels and many graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from .features import GraphTensFeatures
from .heads.answers import as_dictionaries
from .heads.distances import candidates
from .heads.least_squares import LeastSquaresClassifier
from .heads.validated_svc import ValidatedSVC
from .inputs import as_graphs
from .targets import check_labels, check_targets, has_labels, share_right, warn_of_rare
from .with_features import WithFeatures


@dataclass(eq=False, repr=False)
class GraphTensClassifier(WithFeatures, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Classify graphs without training a network: :class:`GraphTensFeatures` and a head that learns from them.

    The head is :class:`ValidatedSVC` for one class per graph; :class:`LeastSquaresClassifier` for several labels per graph, for more
    than 4,000 graphs (with landmarks, in time and memory linear in the graphs), and for streams (:meth:`partial_fit`).

    Args:
        features: the transformer; by default ``GraphTensFeatures()``. Any transformer of lists of graphs will do. Its
            `random_state` and `n_jobs` are those of the classifier unless it has its own. Give ``features=GraphTensFeatures()`` to
            search over its arguments: ``GridSearchCV(GraphTensClassifier(GraphTensFeatures()), {"features__degree": [1, 2]})``.
        landmarks: None for the exact kernel; a number for least squares with as many landmarks; ``"auto"``: None up to 4,000 graphs,
            4,000 beyond, 1,500 for several labels.
        gamma: candidates for the width of the kernel; None for those of the head.
        C, validation, refit, tol: of the SVM, see :class:`ValidatedSVC`.
        class_weight: of the head.
        n_jobs: threads; None is 1, -1 is all cores.
        random_state: an integer makes everything reproducible.
        verbose: progress, as joblib has it.

    Attributes:
        classes_: class labels; for several labels a list with [0, 1] for each.
        features_: the fitted transformer.
        head_: the fitted head, which knows what was chosen: for an SVM ``head_.C_``, ``head_.gamma_``, ``head_.validation_accuracy_``, for
            least squares ``head_.gp_.gamma_``, ``head_.gp_.noise_``, ``head_.gp_.rmse_``.
    """

    features: GraphTensFeatures | None = None
    _: KW_ONLY
    landmarks: int | str | None = "auto"
    C: float | Sequence[float] = (1.0, 3.0, 10.0, 100.0)
    gamma: float | Sequence[float] | None = None
    validation: float | int | str = "auto"
    refit: bool = True
    class_weight: Any = None
    tol: float = 1e-2
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Compute features, and let the head choose and learn.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs`.
            y: (n,) classes, or (n, labels) of 1, 0, and NaN where unknown.
            X_val, y_val: graphs and answers to choose by; nothing else is learnt from them.
        """
        self._check_candidates()  # before the features are computed, which takes time
        graphs = as_graphs(X)
        several, landmarks = has_labels(y), self._landmarks(len(graphs), y)
        answers = check_labels(y, len(graphs)) if several else check_targets(y, len(graphs))
        warn_of_rare(answers)
        if landmarks is None:
            self._learn(self._with_landmarks(None) if several else self._svm(), graphs, answers, None, X_val, y_val)
        else:
            known = ~np.isnan(answers) if several else answers[:, None] == np.unique(answers)
            head = self._with_landmarks(landmarks, all_answers=answers)
            self._learn(head, graphs, answers, known, X_val, y_val, classes=np.unique(answers))
        self.classes_ = self.head_.classes_
        return self

    @available_if(lambda self: self.landmarks is not None)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from further graphs as well, by least squares with landmarks.

        The first call fixes the features, the landmarks and the width, so it should have some thousand graphs like those to come.

        Args:
            X, y: as in :meth:`fit`.
            classes: all classes, if the first graphs may lack some.
        """
        self._learn_more(X, y, classes=classes)
        self.classes_ = self.head_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each graph, or (n, labels) of 0 and 1."""
        return self._ask(X, lambda table: self.head_.predict(table))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``; for several labels (n, labels), the probability of 1.

        The likeliest class is the one :meth:`predict` answers.
        """
        return self._ask(X, lambda table: self.head_.predict_proba(table))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) for two classes, positive for the second, (n, classes) for more; for several labels (n, labels), positive for 1."""
        return self._ask(X, lambda table: self.head_.decision_function(table))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right answers, of several labels among the known ones."""
        return share_right(y, self.predict(X), sample_weight)

    def _check_candidates(self) -> None:
        candidates(self.C, "C")
        if self.gamma is not None:
            candidates(self.gamma, "gamma")

    def _svm(self) -> ValidatedSVC:
        names = ("C", "validation", "refit", "class_weight", "tol", "n_jobs", "random_state", "verbose")
        return ValidatedSVC(**{name: getattr(self, name) for name in names}, **self._width())

    def _with_landmarks(self, landmarks: int | None, all_answers: Any = None) -> LeastSquaresClassifier:
        weight = self.class_weight
        if isinstance(weight, str) and all_answers is not None:  # a stream of blocks must know the shares of the classes beforehand
            weight = as_dictionaries(weight, all_answers)
        return LeastSquaresClassifier(landmarks, class_weight=weight, random_state=self.random_state, **self._width())

    def _width(self) -> dict[str, Any]:
        return {} if self.gamma is None else {"gamma": self.gamma}
