"""What all estimators of graphs have in common with each other and not with those of tables."""

from __future__ import annotations

from typing import Any, Self


class GraphInput:
    """An estimator whose X is a list of graphs."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True  # labels may be
        return tags


class WithFeatures(GraphInput):
    """An estimator that makes features of its graphs, by default with ``GraphTensFeatures()``."""

    features: Any

    def set_params(self, **params: Any) -> Self:
        """Set arguments, ``features__degree`` those of the transformer, which must have been given."""
        nested = [name for name in params if name.startswith("features__")]
        if nested and params.get("features", self.features) is None:
            raise ValueError(f"`features` must be given to set `{nested[0]}` (got None). Did you mean features=GraphTensFeatures()?")
        super().set_params(**params)  # type: ignore[misc]
        return self
