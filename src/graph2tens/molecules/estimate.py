"""How good is a model on molecules it has not seen? By cross-validation, with simple baselines on the same folds beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score

from .novelty import counts
from .scaffolds import random_folds, scaffold_folds

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
INTERVAL = 1.6449  # standard deviations on each side that hold 90 % of a Gaussian
FOLDS = 5
MANY = 6000  # molecules beyond which one fold is predicted, not all


@dataclass(frozen=True, eq=False)
class Row:
    """One method's score: root mean squared error (less is better), or AUROC (more is better); the mean over the targets."""

    method: str
    score: float
    coverage: float | None = None


def folds(smiles: Sequence[str], split: str, seed: int) -> Integers:
    """(n,) a fold for each molecule; a molecule that occurs twice has one fold."""
    names = sorted(set(smiles))
    fold = scaffold_folds(names, FOLDS, seed) if split == "scaffold" else random_folds(len(names), FOLDS, seed)
    place = {name: number for number, name in enumerate(names)}
    return fold[[place[name] for name in smiles]]


def parts(fold: Integers) -> Iterator[tuple[Integers, Integers]]:
    """(training, test) rows: every fold once, or the first alone where there are many molecules."""
    for number in range(1 if fold.size > MANY else int(fold.max()) + 1):
        test = np.flatnonzero(fold == number)
        if test.size:
            yield np.flatnonzero(fold != number), test


def rmse(y: Matrix, predicted: Matrix) -> float:
    """The mean over the targets, unknown entries left out."""
    errors = np.square(y - predicted)
    return float(np.mean([np.sqrt(np.nanmean(column)) for column in errors.T if not np.isnan(column).all()]))


def coverage(y: Matrix, predicted: Matrix, deviation: Matrix) -> float:
    """The share of known targets inside the 90 % interval."""
    known = ~np.isnan(y)
    return float((np.abs(y - predicted)[known] <= INTERVAL * deviation[known]).mean())


def auroc(y: Matrix, scores: Matrix) -> float:
    """The mean over the labels (n, T) that have both 0 and 1 among the known entries."""
    found = []
    for truth, score in zip(y.T, scores.T, strict=True):
        known = ~np.isnan(truth)
        if np.unique(truth[known]).size == 2:
            found.append(roc_auc_score(truth[known], score[known]))
    return float(np.mean(found)) if found else float("nan")


def forest(
    smiles: Sequence[str], y: Matrix, task: str, n_jobs: int | None = None, most: int = MANY
) -> Callable[[Integers, Integers], Matrix]:
    """Morgan counts and a random forest: predictions of test rows from training rows, target by target.

    It learns from `most` rows at most: trees on a hundred thousand molecules would take far longer than everything else.
    """
    table = counts(smiles) if len(smiles) <= 2 * MANY else None  # 8 kB per molecule
    made: Any = RandomForestRegressor if task == "regression" else RandomForestClassifier
    share = 1 / 3 if task == "regression" else "sqrt"
    opposite = task != "regression" and y.shape[1] == 2 and bool((y.sum(axis=1) == 1).all())  # two classes of one target

    def of(rows: Integers) -> NDArray[np.float32]:
        return counts([smiles[row] for row in rows]) if table is None else table[rows]

    def predict(train: Integers, test: Integers) -> Matrix:
        train = np.random.default_rng(0).permutation(train)[:most] if train.size > most else train
        learnt = of(train)
        used = learnt.any(axis=0)
        learnt = learnt[:, used]
        asked = [of(test[start : start + MANY])[:, used] for start in range(0, test.size, MANY)]
        columns = []
        for truth in y.T[1:] if opposite else y.T:
            known = ~np.isnan(truth[train])
            model = made(100, max_features=share, random_state=0, n_jobs=n_jobs).fit(learnt[known], truth[train[known]])
            if task == "regression":
                columns.append(np.concatenate([model.predict(block) for block in asked]))
            else:  # of 1, also where there was 0 alone
                columns.append(np.concatenate([model.predict_proba(block) @ model.classes_ for block in asked]))
        return np.column_stack([1 - columns[0], *columns] if opposite else columns)

    return predict
