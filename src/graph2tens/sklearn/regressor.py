"""`GraphTensRegressor`: random features and a Gaussian process, so that every predicted number comes with its error bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.metaestimators import available_if

from .features import GraphTensFeatures
from .heads.distances import candidates
from .heads.landmark_gp import LandmarkGP
from .heads.regression import GAMMAS, NOISES
from .heads.validated_gp import ValidatedGP
from .inputs import as_graphs
from .targets import check_numbers, r2
from .with_features import WithFeatures


@dataclass(eq=False, repr=False)
class GraphTensRegressor(WithFeatures, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Predict numbers for graphs without training a network: :class:`GraphTensFeatures` and a Gaussian process.

    Args:
        features: the transformer; by default ``GraphTensFeatures()``. Any transformer of lists of graphs will do. Its
            `random_state` and `n_jobs` are those of the regressor unless it has its own.
        landmarks: None for the exact kernel of all graphs; a number for the approximation of :class:`LandmarkGP` with as many landmarks, in
            time and memory linear in the graphs; ``"auto"``: None up to 4,000 graphs, 4,000 beyond,
            1,500 for several targets.
        gamma, noise: candidates for width and noise, see :class:`ValidatedGP`.
        n_jobs: threads of the features; None is 1, -1 is all cores.
        random_state: an integer makes everything reproducible.

    Attributes:
        features_: the fitted transformer.
        head_: the fitted :class:`ValidatedGP` or :class:`LandmarkGP`, which knows what was chosen: ``head_.gamma_``, ``head_.noise_``,
            ``head_.scores_``.

    Example:
        >>> import networkx as nx
        >>> graphs = [nx.cycle_graph(n) for n in range(3, 40)]
        >>> regressor = GraphTensRegressor(random_state=0).fit(graphs[::2], [len(graph) for graph in graphs[::2]])
        >>> size, error = regressor.predict(graphs[1::2], return_std=True)
    """

    features: GraphTensFeatures | None = None
    _: KW_ONLY
    landmarks: int | str | None = "auto"
    gamma: float | Sequence[float] = GAMMAS
    noise: float | Sequence[float] = NOISES
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Compute features, choose width and noise, fit the Gaussian process.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs`.
            y: (n,) or (n, targets) numbers, NaN where unknown.
            X_val, y_val: graphs and targets to choose by; nothing else is learnt from them.
        """
        self._check_candidates()  # before the features are computed, which takes time
        graphs = as_graphs(X)
        targets, single = check_numbers(y, len(graphs))
        landmarks = self._landmarks(len(graphs), y)
        if landmarks is None:
            self._learn(ValidatedGP(self.gamma, self.noise), graphs, y, None, X_val, y_val)
        else:
            self._learn(self._with_landmarks(landmarks), graphs, targets[:, 0] if single else targets, ~np.isnan(targets), X_val, y_val)
        return self

    @available_if(lambda self: self.landmarks is not None)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from further graphs as well, with landmarks.

        The first call fixes the features, the landmarks and the width, so it should have some thousand graphs like those to come.
        """
        self._learn_more(X, y)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions (n,) or (n, targets), and with `return_std` the standard deviation of a measurement, of the same shape."""
        return self._ask(X, lambda table: self.head_.predict(table, return_std=return_std))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of the known targets, the mean over the targets."""
        return r2(y, self.predict(X), sample_weight)

    def _check_candidates(self) -> None:
        for name in ("gamma", "noise"):
            candidates(getattr(self, name), name)

    def _with_landmarks(self, landmarks: Any) -> LandmarkGP:
        return LandmarkGP(landmarks, gamma=self.gamma, noise=self.noise, random_state=self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
