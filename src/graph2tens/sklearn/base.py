"""What all estimators of graphs have in common with each other and not with those of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..checks import check_integer
from .heads.landmark_gp import FIRST, blocks
from .inputs import OneGraph, as_graphs
from .targets import has_labels

EXACT = 4000  # graphs up to which kernels are exact, if nothing else is asked for
LANDMARKS = 4000  # graphs that stand for all others beyond; with fewer, 4,001 graphs would be answered worse than 4,000
LANDMARKS_OF_SEVERAL = 1500  # the same for several labels or targets: each that has its own holes has a matrix of its own
GRAPHS = 2048  # whose features exist at a time


class GraphInput:
    """An estimator whose X is a list of graphs."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True  # labels may be
        return tags


class WithFeatures(GraphInput):
    """An estimator that makes features of its graphs, by default with ``GraphTensFeatures()``, for a head that learns from them."""

    features: Any
    landmarks: int | str | None

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


def in_blocks(features: Any, X: Any, answer: Callable[[Any], Any]) -> Any:
    """``answer(features.transform(X))`` without the whole table of features; `answer` may return a tuple."""
    graphs = as_graphs(X)
    found = [answer(features.transform(graphs[start : start + GRAPHS])) for start in range(0, len(graphs), GRAPHS)]
    if isinstance(found[0], tuple):
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
    return np.concatenate(found)


def learn_in_blocks(
    features: Any, head: Any, graphs: Sequence[OneGraph], y: NDArray[Any], known: NDArray[np.bool_], random: Any, **options: Any
) -> None:
    """``head.partial_fit`` with all graphs in random order, without the whole table of features; `options` go with the first block."""
    for number, block in enumerate(blocks(known, random, max(FIRST, head.n_landmarks), GRAPHS)):
        head.partial_fit(features.transform([graphs[place] for place in block]), y[block], **(options if number == 0 else {}))
