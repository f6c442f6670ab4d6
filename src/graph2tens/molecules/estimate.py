"""How good is a model on molecules it has not seen? By cross-validation, with simple baselines on the same folds beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score

from ..sklearn.heads.gaussian_process import same_rows
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


def auroc_of_folds(y: Matrix, scores: Matrix, fold: Integers) -> float:
    """The mean over the labels of the mean over the folds in which a label has both 0 and 1; NaN if there is none.

    Not over all folds at once: where few are positive, a fold that holds one leaves fewer to learn from, so that all its scores are lower
    than those of the other folds; two positives among 300 gave an AUROC of 0.1.
    """
    found = []
    for label in range(y.shape[1]):
        each = [auroc(y[fold == number][:, [label]], scores[fold == number][:, [label]]) for number in np.unique(fold)]
        if not np.isnan(each).all():
            found.append(float(np.nanmean(each)))
    return float(np.mean(found)) if found else float("nan")


def forest(
    smiles: Sequence[str], y: Matrix, task: str, n_jobs: int | None = None, most: int = MANY
) -> Callable[[Integers, Integers], Matrix]:
    """Morgan counts and a random forest: predictions of test rows from training rows, target by target.

    It learns from `most` rows at most: trees on a hundred thousand molecules would take far longer than everything else.
    """
    table = counts(smiles) if len(smiles) <= 2 * MANY else None  # 8 kB per molecule
    made: Any = RandomForestRegressor if task == "regression" else RandomForestClassifier
    # trees of numbers try a third of the columns at every branch; without those of one or two molecules they take 11 s instead of 15 s on
    # ESOL, five folds, and err the same (0.889 and 0.890)
    share, rarest = (1 / 3, 3) if task == "regression" else ("sqrt", 1)
    opposite = task != "regression" and y.shape[1] == 2 and bool((y.sum(axis=1) == 1).all())  # two classes of one target

    def of(rows: Integers) -> NDArray[np.float32]:
        return counts([smiles[row] for row in rows]) if table is None else table[rows]

    def predict(train: Integers, test: Integers) -> Matrix:
        train = np.random.default_rng(0).permutation(train)[:most] if train.size > most else train
        learnt = of(train)
        frequency = (learnt > 0).sum(axis=0)
        used = frequency >= min(rarest, frequency.max())
        learnt = learnt[:, used]
        asked = [of(test[start : start + MANY])[:, used] for start in range(0, test.size, MANY)]
        truth = y[train][:, 1:] if opposite else y[train]
        found = np.empty((test.size, truth.shape[1]))
        for known, targets in same_rows((~np.isnan(truth)).astype(np.float64)):  # one forest for all of them: a tree each takes minutes
            model = made(100, max_features=share, random_state=0, n_jobs=n_jobs).fit(learnt[known], truth[np.ix_(known, targets)].squeeze())
            found[:, targets] = np.concatenate([_numbers(model, block, task) for block in asked]).reshape(test.size, -1)
        return np.column_stack([1 - found, found]) if opposite else found

    return predict


def _numbers(model: Any, block: NDArray[np.float32], task: str) -> Matrix:
    """Predicted numbers, or the probabilities of 1, also where there was 0 alone."""
    if task == "regression":
        return np.asarray(model.predict(block))
    if model.n_outputs_ == 1:
        return np.asarray(model.predict_proba(block) @ model.classes_)
    return np.column_stack([shares @ classes for shares, classes in zip(model.predict_proba(block), model.classes_, strict=True)])
