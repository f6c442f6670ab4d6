"""`GraphTensRegressor`: random features and a Gaussian process, so that every predicted number comes with its error bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .base import WithFeatures
from .features import GraphTensFeatures, own_features
from .heads.distances import candidates
from .heads.validated_gp import NOISES, ValidatedGP
from .inputs import as_graphs
from .targets import check_numbers, r2


class GraphTensRegressor(WithFeatures, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Predict numbers for graphs without training a network: :class:`GraphTensFeatures` and :class:`ValidatedGP`.

    Args:
        features: the transformer; by default ``GraphTensFeatures()``. Any transformer of lists of graphs will do. Its
            `random_state` and `n_jobs` are those of the regressor unless it has its own.
        gamma, noise: candidates for width and noise, see :class:`ValidatedGP`.
        n_jobs: threads of the features; None is 1, -1 is all cores.
        random_state: an integer makes everything reproducible.

    Attributes:
        features_: the fitted transformer.
        head_: the fitted :class:`ValidatedGP`, which knows what was chosen: ``head_.gamma_``, ``head_.noise_``, ``head_.scores_``.

    Example:
        >>> import networkx as nx
        >>> graphs = [nx.cycle_graph(n) for n in range(3, 40)]
        >>> regressor = GraphTensRegressor(random_state=0).fit(graphs[::2], [len(graph) for graph in graphs[::2]])
        >>> size, error = regressor.predict(graphs[1::2], return_std=True)
    """

    def __init__(
        self,
        features: GraphTensFeatures | None = None,
        *,
        gamma: float | Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0),
        noise: float | Sequence[float] = NOISES,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.features = features
        self.gamma = gamma
        self.noise = noise
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Compute features, choose width and noise, fit the Gaussian process.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs`.
            y: (n,) or (n, targets) numbers, NaN where unknown.
            X_val, y_val: graphs and targets to choose by; nothing else is learnt from them.
        """
        for name in ("gamma", "noise"):  # before the features are computed, which takes time
            candidates(getattr(self, name), name)
        graphs = as_graphs(X)
        check_numbers(y, len(graphs))
        made = own_features(self)
        table = made.fit(graphs).transform(graphs)
        table_val = None if X_val is None else made.transform(X_val)
        self.head_ = ValidatedGP(self.gamma, self.noise).fit(table, y, table_val, y_val, getattr(made, "column_groups_", None))
        self.features_ = made
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictions (n,) or (n, targets), and with `return_std` the standard deviation of a measurement, of the same shape."""
        check_is_fitted(self, "head_")
        return self.head_.predict(self.features_.transform(X), return_std=return_std)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of the known targets, the mean over the targets."""
        return r2(y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
