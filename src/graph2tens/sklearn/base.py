"""What all estimators of graphs have in common with each other and not with those of tables.

Estimators here are dataclasses: the fields are the arguments of the constructor, which stores them untouched, as scikit-learn asks.
"""

from __future__ import annotations

from typing import Any

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
