"""Accuracy of estimators over the paper's splits: fit on the training part, choose on the validation part, judge on the test part."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import FeatureUnion

from ..datasets import DataError, GraphDataset, fold_split, split
from ..training.config import Cell
from ..training.judged import judged_on
from ..training.objectives import auroc
from ..training.provenance import reset_peak_memory
from ..training.records import PARTS, Record
from .features import GraphTensFeatures
from .heads.svm import calibrate, decisions, fit_svc
from .heads.validated_svc import ValidatedSVC
from .weisfeiler_lehman import WeisfeilerLehman

TABLE = "features"
FAR = 1000  # between the random states of two draws: more than there are splits, which have one each
ITERATIONS, MARGINS = 6, (1, 10, 100, 1000)  # of Weisfeiler-Lehman at most, and candidates for the C of its SVM


Graphs = dict[str, list[Any]]  # in the three parts of a split
Classes = dict[str, NDArray[np.int64]]  # of these graphs


@dataclass(frozen=True)
class Judgement:
    """What a method did: decisions (n, classes) on each part, what it chose, and how long features and SVM took."""

    decisions: dict[str, NDArray[np.float64]]
    chosen: dict[str, Any]
    seconds_features: float
    seconds_svm: float


def graph_tens(graphs: Graphs, y: Classes, seed: int, n_jobs: int, draws: int = 1, **options: Any) -> Judgement:
    """What :class:`GraphTensClassifier` does; `options` are those of the features, whose functionals the seed draws.

    The columns of several `draws` stand side by side, so that less depends on the luck of one; the first is that of ``draws=1``.
    """
    started = time.perf_counter()
    each = [(f"draw{number}", GraphTensFeatures(**options, random_state=seed + FAR * number, n_jobs=n_jobs)) for number in range(draws)]
    features = FeatureUnion(each).fit(graphs["train"])
    tables = {part: features.transform(some) for part, some in graphs.items()}
    seconds = time.perf_counter() - started
    svm = ValidatedSVC(n_jobs=n_jobs)
    svm.fit(tables["train"], y["train"], tables["validation"], y["validation"])
    found = {part: _two_columns(svm.decision_function(table)) for part, table in tables.items()}
    chosen = {"C": svm.C_, "gamma": svm.gamma_, "columns": tables["train"].shape[1], "candidates": {"C": svm.C, "gamma": svm.gamma}}
    return Judgement(found, chosen, seconds, time.perf_counter() - started - seconds)


def weisfeiler_lehman(graphs: Graphs, y: Classes, seed: int, n_jobs: int, structure: str = "") -> Judgement:
    """The normalised subtree kernel; the number of iterations, up to ITERATIONS, and C are chosen on the validation part.

    The colours are collected from all graphs: the kernel of two graphs does not depend on the others, but the norm that a graph is
    divided by counts its colours that no training graph has, too.
    """
    started = time.perf_counter()
    wl = WeisfeilerLehman(ITERATIONS, structure).fit([graph for some in graphs.values() for graph in some])
    counts = {part: wl.transform(some) for part, some in graphs.items()}
    seconds = time.perf_counter() - started
    widths = np.cumsum([len(colours) for colours in wl.colours_])
    num_classes = int(max(classes.max() for classes in y.values())) + 1
    best: tuple[float, Any, Any, dict[str, Any]] = -np.inf, None, {}, {}
    for h in range(1, ITERATIONS + 1):
        kernels = {part: _cosines(table[:, : widths[h]], counts["train"][:, : widths[h]]) for part, table in counts.items()}
        for c in MARGINS:
            svc = fit_svc(kernels["train"], y["train"], c, tol=1e-2)
            likelihood = calibrate(decisions(svc, kernels["validation"], num_classes), y["validation"])[1]
            if likelihood > best[0]:
                best = likelihood, svc, kernels, {"C": c, "iterations": h, "columns": int(widths[h])}
    found = {part: decisions(best[1], kernel, num_classes) for part, kernel in best[2].items()}
    return Judgement(found, best[3], seconds, time.perf_counter() - started - seconds)


METHODS: dict[str, Callable[..., Judgement]] = {"GraphTensFeatures+SVM": graph_tens, "WL+SVM": weisfeiler_lehman}


def evaluate(
    dataset: GraphDataset, model: str, seed: int, *, folds: int | None = None, variant: str = "base", n_jobs: int = 1, **options: Any
) -> Record:
    """One split, from the graphs to a record like those of trained networks; with `folds`, the seed is the number of the fold."""
    if dataset.task != "graph":
        raise DataError(f"{dataset.name}: has a class for each node; `classify` wants a class for each graph")
    reset_peak_memory()
    parts, labels = split(dataset, seed) if folds is None else fold_split(dataset, seed, folds), dataset.labels
    graphs = {name: dataset[getattr(parts, name)] for name in PARTS}
    classes = {name: labels[getattr(parts, name)] for name in PARTS}
    started = time.perf_counter()
    judgement = METHODS[model](graphs, classes, seed, n_jobs, **options)
    found, seconds = judgement.decisions, time.perf_counter() - started
    return Record.make(
        cell_of(dataset, model, variant, folds),
        seed,
        {name: float((found[name].argmax(1) == classes[name]).mean()) for name in PARTS},
        auroc=auroc(found["test"], classes["test"]),
        seconds=seconds,
        options={**options, "chosen": judgement.chosen, "n_jobs": n_jobs, "fingerprint": dataset.fingerprint()},
        judged=judged_on(dataset, parts, found["test"].argmax(1)),
        extra={"seconds_features": round(judgement.seconds_features, 3), "seconds_svm": round(judgement.seconds_svm, 3)},
    )


def cell_of(dataset: GraphDataset, model: str, variant: str = "base", folds: int | None = None) -> Cell:
    """What the records call it. Without folds the splits are those of the authors' code, so their accuracies can be laid beside it."""
    if folds is not None:
        return Cell(f"{folds} folds", dataset.name, model, variant)
    return Cell(TABLE, dataset.name, model, variant, protocol="authors")


def _two_columns(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([-values, values], axis=1) / 2 if values.ndim == 1 else values


def _cosines(one: Any, other: Any) -> NDArray[np.float64]:
    norms = [np.sqrt(np.maximum(table.multiply(table).sum(axis=1), 1e-12)) for table in (one, other)]
    return (one @ other.T).toarray() / np.outer(*norms)
