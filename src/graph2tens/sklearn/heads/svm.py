r"""An SVM on features whose C and width are chosen on validation data: :math:`k(x, y) = \exp(-\gamma \|x - y\|^2 / \text{median})`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel, delayed

from .distances import typical

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]
Fold = tuple[Integers, Integers]  # training rows, validation rows


@dataclass(frozen=True, eq=False)
class Choice:
    """The best C and gamma, how well they did in validation, and the temperature that turns decisions into probabilities."""

    C: float
    gamma: float
    accuracy: float
    temperature: float
    table: list[dict[str, float]]


def choose(
    distances: NDArray[np.float64], y: Integers, folds: Sequence[Fold], Cs: Sequence[float], gammas: Sequence[float], **options: Any
) -> Choice:
    """Try all pairs of C and gamma (in units of 1 / median) on all folds; the highest log-likelihood of the right answers wins.

    The share of right answers is the coarser judge: on 400 graphs its standard error is 2 %, more than most candidates differ by, and the
    best of many looks better than it is. The likelihood sees how far from the border the answers are.
    """
    n_jobs, verbose = options.pop("n_jobs", None), options.pop("verbose", 0)
    unit, num_classes = typical(distances), int(y.max()) + 1
    tried = Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)(
        delayed(_try)(distances, y, folds, Cs, gamma / unit, num_classes, options) for gamma in gammas
    )
    found = [
        (float(C), float(gamma), *outcome)
        for gamma, outcomes in zip(gammas, tried, strict=True)
        for C, outcome in zip(Cs, outcomes, strict=True)
    ]
    table = [dict(zip(("C", "gamma", "accuracy", "log_likelihood", "temperature"), row, strict=True)) for row in found]
    # rounded, so that the last bits of a likelihood cannot decide what is equal
    best = max(table, key=lambda row: (round(row["log_likelihood"], 9), row["accuracy"]))
    return Choice(best["C"], best["gamma"], best["accuracy"], best["temperature"], table)


def fit_svc(kernel: NDArray[np.float64], y: Integers, C: float, **options: Any) -> SVC:
    """`kernel` between the training rows."""
    # Without a state of its own an SVC advances the global random numbers, though it draws none here.
    return SVC(C=C, kernel="precomputed", cache_size=1000, break_ties=True, random_state=0, **options).fit(kernel, y)


def decisions(svc: SVC, kernel: NDArray[np.float64], num_classes: int) -> NDArray[np.float64]:
    """One number for each class, the largest for the predicted one; a class the machine has not seen gets minus infinity."""
    values = svc.decision_function(kernel)
    values = np.stack([-values, values], axis=1) / 2 if values.ndim == 1 else values
    full = np.full((len(kernel), num_classes), -np.inf)
    full[:, svc.classes_] = values
    return full


def probabilities(values: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Softmax of decisions over a temperature: it keeps their order, so the likeliest class is the predicted one."""
    scaled = values / temperature
    scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return scaled / scaled.sum(axis=1, keepdims=True)


def _try(
    distances: NDArray[np.float64],
    y: Integers,
    folds: Sequence[Fold],
    Cs: Sequence[float],
    gamma: float,
    num_classes: int,
    options: dict[str, Any],
) -> list[tuple[float, float, float]]:
    """Accuracy, log-likelihood and temperature for each C; the kernels are computed once for all."""
    values: list[list[NDArray[np.float64]]] = [[] for _ in Cs]
    for train, validation in folds:
        inside, across = (np.exp(-gamma * distances[np.ix_(rows, train)]) for rows in (train, validation))
        only = y[train][0] if np.unique(y[train]).size < 2 else None
        for found, C in zip(values, Cs, strict=True):
            if only is not None:  # one class: nothing to separate
                found.append(np.where(np.arange(num_classes) == only, 1.0, -1.0)[None].repeat(len(validation), axis=0))
            else:
                found.append(decisions(fit_svc(inside, y[train], C, **options), across, num_classes))
    judged = np.concatenate([validation for _, validation in folds])
    target, rows = y[judged], np.unique(judged).size  # rows that several divisions judge do not make it surer
    outcomes = []
    for found in values:
        decided = np.concatenate(found)
        temperature, likelihood = calibrate(decided, target, rows)
        outcomes.append((float((decided.argmax(axis=1) == target).mean()), likelihood, temperature))
    return outcomes


def calibrate(values: NDArray[np.float64], target: Integers, rows: int | None = None) -> tuple[float, float]:
    """The temperature with the highest mean log-likelihood, and that likelihood.

    As in Platt's method an answer counts as right with probability (n + 1) / (n + 2) only, so that a machine that made no mistake on few
    graphs does not claim that it never will; n is the number of different `rows`, by default all.
    """
    n, classes = values.shape
    doubt = 1 / ((n if rows is None else rows) + 2)
    shares = np.full((n, classes), doubt / max(classes - 1, 1))
    shares[np.arange(n), target] = 1 - doubt

    def loss(log_temperature: float) -> float:
        return -float((shares * np.log(np.maximum(probabilities(values, float(np.exp(log_temperature))), 1e-12))).sum(axis=1).mean())

    found = minimize_scalar(loss, bounds=(-4, 4), method="bounded")
    return float(np.exp(found.x)), -float(found.fun)
