"""Estimators that make features of their graphs, for a head that learns from them: all at once, or block by block with landmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import check_integer
from .base import EXACT, GRAPHS, LANDMARKS, LANDMARKS_OF_SEVERAL, GraphInput
from .features import GraphTensFeatures
from .heads.landmark_gp import FIRST, blocks
from .inputs import OneGraph, as_graphs
from .targets import has_labels


class WithFeatures(GraphInput):
    """What :class:`GraphTensClassifier` and :class:`GraphTensRegressor` share."""

    features: Any
    landmarks: int | str | None
    random_state: Any

    def _check_candidates(self) -> None:
        raise NotImplementedError

    def _with_landmarks(self, landmarks: int | None) -> Any:
        """A head that learns block by block."""
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Set arguments, ``features__degree`` those of the transformer, which must have been given."""
        nested = [name for name in params if name.startswith("features__")]
        if nested and params.get("features", self.features) is None:
            raise ValueError(f"`features` must be given to set `{nested[0]}` (got None). Did you mean features=GraphTensFeatures()?")
        super().set_params(**params)  # type: ignore[misc]
        return self

    def _landmarks(self, count: int | None, y: Any) -> int | None:
        """The number of landmarks for `count` graphs (None: for a stream) and answers `y`, or None for the exact kernel."""
        if isinstance(self.landmarks, str) and self.landmarks == "auto":
            if count is not None and count <= EXACT:
                return None
            return LANDMARKS_OF_SEVERAL if has_labels(y) else LANDMARKS
        if self.landmarks is None:
            return None
        return check_integer(self.landmarks, "landmarks", 1, ", 'auto' or None for the exact kernel")

    def _learn(self, head: Any, graphs: list[OneGraph], y: Any, known: Any, X_val: Any, y_val: Any, **options: Any) -> None:
        """Compute features, and let the head choose and learn.

        Where `known` says which answers are known, it learns in blocks of random order, so that the whole table of features never exists,
        and `options` go with the first block; None is for all graphs at once.
        """
        made = own_features(self).fit(graphs)
        groups = getattr(made, "column_groups_", None)
        table_val = None if X_val is None else made.transform(X_val)
        if known is None:
            head.fit(made.transform(graphs), y, table_val, y_val, groups)
        else:
            options |= {"X_val": table_val, "y_val": y_val, "groups": groups}
            random = check_random_state(self.random_state)
            for number, block in enumerate(blocks(known, random, max(FIRST, head.n_landmarks), GRAPHS)):
                head.partial_fit(made.transform([graphs[place] for place in block]), y[block], **(options if number == 0 else {}))
            head.settle()
        self.head_, self.features_ = head, made

    def _learn_more(self, X: Any, y: Any, **options: Any) -> None:
        """From further graphs as well. The first call fixes the features, the landmarks and the width."""
        graphs = as_graphs(X)
        if not hasattr(getattr(self, "head_", None), "partial_fit"):  # a fit with all graphs cannot go on
            self._check_candidates()
            self.features_ = own_features(self).fit(graphs)
            self.head_ = self._with_landmarks(self._landmarks(None, y))
        self.head_.partial_fit(self.features_.transform(graphs), y, groups=getattr(self.features_, "column_groups_", None), **options)

    def _ask(self, X: Any, answer: Callable[[Any], Any]) -> Any:
        """``answer(features_.transform(X))`` without the whole table of features; `answer` may return a tuple."""
        check_is_fitted(self, "head_")
        graphs = as_graphs(X)
        found = [answer(self.features_.transform(graphs[start : start + GRAPHS])) for start in range(0, len(graphs), GRAPHS)]
        if isinstance(found[0], tuple):
            return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
        return np.concatenate(found)


def own_features(owner: BaseEstimator) -> GraphTensFeatures:
    """A copy of an estimator's ``features``, by default ``GraphTensFeatures()``; `random_state` and `n_jobs` are the estimator's unless
    the features have their own."""
    made: GraphTensFeatures = GraphTensFeatures() if owner.features is None else clone(owner.features)
    for name in ("random_state", "n_jobs"):
        if made.get_params(deep=False).get(name, 0) is None:
            made.set_params(**{name: getattr(owner, name)})
    return made
