"""Classes and numbers to learn: checks, scores, and graphs set aside to choose by."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

Integers = NDArray[np.int64]
LARGEST = 1e150  # of a number to learn


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, or the NA of pandas."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and np.isnan(value))


def check_targets(y: Any, count: int, name: str = "y") -> NDArray[Any]:
    """`y` as a vector with a class for each of `count` graphs."""
    if y is None:
        raise ValueError(f"`{name}` must hold the class of each graph (got None): fit requires y to be passed, but the target y is None.")
    given = y if isinstance(y, Sequence) else np.asarray(y)
    shape = np.shape(given)
    if len(shape) > 2 or (len(shape) == 2 and shape[1] != 1):
        raise ValueError(f"`{name}` must hold one class for each of the {count} graphs (got shape {shape}, y should be a 1d array).")
    # in a list before NumPy sees it, which makes the text "nan" of a NaN among texts
    for place, value in enumerate(given if isinstance(given, Sequence) else given.reshape(-1).tolist()):
        if is_missing(value):
            raise ValueError(
                f"`{name}` must hold a class for each graph (got {value!r} for graph {place}, input contains NaN). Leave it out?"
            )
    kinds = {isinstance(value, str) for value in given} if isinstance(given, Sequence) and len(shape) == 1 else set()
    if len(kinds) > 1:  # NumPy makes words of numbers beside words
        odd = next(value for value in given if isinstance(value, str) != isinstance(given[0], str))
        raise TypeError(f"`{name}` must hold classes that are all words or all numbers (got {given[0]!r} and {odd!r}).")
    of_pandas = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if of_pandas is not None and of_pandas.kind in "biu":  # NumPy, asked in general, makes floating numbers of them
        y = y.to_numpy(dtype=of_pandas)
    classes: NDArray[Any] = column_or_1d(y, warn=True)
    if len(classes) != count:
        raise ValueError(f"`{name}` must hold one class for each of the {count} graphs (got {len(classes)}).")
    try:
        check_classification_targets(classes)
    except ValueError as error:
        first = classes.tolist()[0]
        if not isinstance(first, (int, float)):
            raise TypeError(f"`{name}` must hold classes that are words or whole numbers (got {first!r}). {error}") from None
        raise ValueError(f"`{name}` must hold classes (got numbers such as {first!r}). Did you mean a regressor? {error}") from None
    return classes


def check_numbers(y: Any, count: int, name: str = "y", *, least: int = 2) -> tuple[NDArray[np.float64], bool]:
    """`y` as a table (count, targets) of numbers, NaN where unknown, and whether it is a single column without a second dimension.

    At least `least` numbers of every target must be known.
    """
    if y is None:
        raise ValueError(f"`{name}` must hold numbers (got None): fit requires y to be passed, but the target y is None.")
    if isinstance(y, torch.Tensor):
        y = y.detach().cpu().numpy()
    try:
        numbers = check_array(y, ensure_2d=False, ensure_all_finite="allow-nan", dtype=np.float64, ensure_min_samples=0, input_name=name)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"`{name}` must hold numbers ({error}). Did you mean a classifier?") from None
    if numbers.ndim > 2:
        raise ValueError(f"`{name}` must have shape (n,) or (n, targets) (got {numbers.shape}).")
    if len(numbers) != count:
        raise ValueError(f"`{name}` must hold one row for each of the {count} graphs or rows (got {len(numbers)}).")
    table: NDArray[np.float64] = numbers[:, None] if numbers.ndim == 1 else numbers
    if (np.abs(table) > LARGEST).any():
        raise ValueError(f"`{name}` must hold numbers of at most {LARGEST:g}, whose squares exist (got {np.nanmax(np.abs(table)):g}).")
    known = (~np.isnan(table)).sum(axis=0)
    if (known < least).any():
        target = int(np.flatnonzero(known < least)[0])
        raise ValueError(
            f"`{name}` must hold at least {least} known numbers of every target (got {known[target]} for target {target}, "
            f"the others are NaN). Leave this target out?"
        )
    holes = int(len(table) - known[0]) if numbers.ndim == 1 else 0
    if holes and name == "y" and least > 1:
        warnings.warn(f"`{name}` is NaN for {holes} of {count} graphs, which teach nothing. Leave them out?", stacklevel=3)
    return table, numbers.ndim == 1


def r2(y: Any, predicted: NDArray[np.float64], sample_weight: Any = None) -> float:
    """Coefficient of determination over known targets, the mean over the columns."""
    table, found = check_numbers(y, len(predicted), least=1)[0], predicted.reshape(len(predicted), -1)
    if table.shape != found.shape:
        raise ValueError(f"`y` must have {found.shape[1]} targets, as in training (got {table.shape[1]}).")
    weight = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight)
    known = ~np.isnan(table)
    scores = [r2_score(table[rows, target], found[rows, target], sample_weight=weight[rows]) for target, rows in enumerate(known.T)]
    return float(np.mean(scores))


def has_labels(y: Any) -> bool:
    """Whether `y` has several labels for each graph: two dimensions and more than one column."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    return len(shape) == 2 and shape[1] != 1


def check_labels(y: Any, count: int, name: str = "y", *, least: int = 1) -> NDArray[np.float64]:
    """`y` as a table (count, labels) of 0, 1 and NaN for unknown; at least `least` values of every label must be known."""
    try:
        table, _ = check_numbers(y, count, name, least=least)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"`{name}` must hold 0, 1 or NaN for unknown, if it has several columns (got what is no number). "
            "Did you mean one class for each graph? That is a vector, of words or of whole numbers."
        ) from None
    bad = ~(np.isnan(table) | (table == 0) | (table == 1))
    if bad.any():
        row, label = (int(place) for place in np.argwhere(bad)[0])
        raise ValueError(
            f"`{name}` must hold 0, 1 or NaN for unknown, if it has several labels (got {table[row, label]:g} in row {row}, label {label})."
        )
    return table


def warn_of_rare(y: NDArray[Any]) -> None:
    """Say which class (y of one dimension) or which value of a label (of two) has too few graphs to be learnt and judged."""
    if y.ndim == 1:
        classes, counts = np.unique(y, return_counts=True)
        if classes.size == 1:
            warnings.warn(
                f"`y` holds one class only, {classes.tolist()[0]!r}: there is nothing to learn, it will be every answer.", stacklevel=3
            )
        named = [f"class {value!r}" for value in classes[counts == 1].tolist()] if classes.size > 1 else []
        what = "has one member only, so it cannot be learnt from and checked on at once"
    else:
        counts = np.stack([(y == value).sum(axis=0) for value in (0, 1)], axis=1)
        named = [f"label {label} with value {value}" for label, value in np.argwhere(counts < 2).tolist()]
        what = "is known of fewer than two graphs, so it cannot be learnt from and checked on at once"
    if named:
        others = f" (and {len(named) - 1} more)" if len(named) > 1 else ""
        warnings.warn(f"{named[0]} of `y`{others} {what}. Add graphs of it, or leave it out.", stacklevel=3)


def share_right(y: Any, predicted: NDArray[Any], sample_weight: Any = None) -> float:
    """The share of right answers: of classes, or of several labels where they are known."""
    if predicted.ndim == 1:
        right = check_targets(y, len(predicted)) == predicted
        return float(np.average(right, weights=sample_weight))
    labels = check_labels(y, len(predicted))
    weight = ~np.isnan(labels) * (1.0 if sample_weight is None else np.asarray(sample_weight)[:, None])
    return float(((labels == predicted) * weight).sum() / weight.sum())


def known_classes(y: NDArray[Any], classes: NDArray[Any], name: str = "y_val") -> Integers:
    """Numbers of classes of further data, which must not have others than the training data."""
    place = np.searchsorted(classes, y).clip(max=classes.size - 1)
    if (classes[place] != y).any():
        stranger = y[classes[place] != y].tolist()[0]
        raise ValueError(
            f"`{name}` must hold {'classes of `y`' if name == 'y_val' else 'the classes of the first call'}, {classes.tolist()} "
            f"(got {stranger!r}){'.' if name == 'y_val' else '; its argument `classes` names all there will be.'}"
        )
    return place.astype(np.int64)


def set_aside(target: Integers, share: float, random: np.random.RandomState) -> tuple[Integers, Integers]:
    """Rows to learn from and rows to choose by, with the classes' shares where there are enough graphs of every class."""
    n, counts = target.size, np.bincount(target)
    size = min(max(int(np.ceil(share * n)), counts.size), n - 1)
    fits = counts.min() > 1 and counts.size <= size <= n - counts.size
    learn, choose = train_test_split(np.arange(n), test_size=size, stratify=target if fits else None, random_state=random)
    return learn, choose
