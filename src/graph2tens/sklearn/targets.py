"""Classes to learn: checks, and graphs set aside to choose by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

Integers = NDArray[np.int64]


def check_targets(y: Any, count: int, name: str = "y") -> NDArray[Any]:
    """`y` as a vector with a class for each of `count` graphs."""
    if y is None:
        raise ValueError(f"`{name}` must hold the class of each graph (got None): fit requires y to be passed, but the target y is None.")
    classes: NDArray[Any] = column_or_1d(y, warn=True)
    check_classification_targets(classes)
    if len(classes) != count:
        raise ValueError(f"`{name}` must hold one class for each of the {count} graphs (got {len(classes)}).")
    return classes


def known_classes(y: NDArray[Any], classes: NDArray[Any]) -> Integers:
    """Numbers of classes of validation data, which must not have others than the training data."""
    place = np.searchsorted(classes, y).clip(max=classes.size - 1)
    if (classes[place] != y).any():
        raise ValueError(f"`y_val` must hold classes of `y`, {classes.tolist()} (got {y[classes[place] != y][0]!r}).")
    return place.astype(np.int64)


def set_aside(target: Integers, share: float, random: np.random.RandomState) -> tuple[Integers, Integers]:
    """Rows to learn from and rows to choose by, with the classes' shares where there are enough graphs of every class."""
    n, counts = target.size, np.bincount(target)
    size = min(max(int(np.ceil(share * n)), counts.size), n - 1)
    fits = counts.min() > 1 and counts.size <= size <= n - counts.size
    learn, choose = train_test_split(np.arange(n), test_size=size, stratify=target if fits else None, random_state=random)
    return learn, choose
