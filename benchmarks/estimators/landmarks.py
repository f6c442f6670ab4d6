"""Landmarks against the exact kernel on the 4,110 graphs of NCI1: the same features, the same least squares, and the default SVM."""

from __future__ import annotations

import time
from functools import partial
from statistics import mean, stdev
from typing import Any

import numpy as np

from graph2tens.datasets import GraphDataset, load, split
from graph2tens.sklearn import GraphTensFeatures, LeastSquaresClassifier, ValidatedSVC
from graph2tens.sklearn.base import LANDMARKS

from .records import Run, once, recorded

SPLITS = range(5)
HEADS = {"landmarks": "least squares, {:,} landmarks", "exact": "least squares, exact kernel", "svm": "SVM, exact kernel"}


def run() -> None:
    dataset = load("NCI1")
    for seed in SPLITS:
        once("landmarks", {"data": "NCI1", "split": seed, "n_landmarks": LANDMARKS}, partial(_one, dataset, seed))


def _one(dataset: GraphDataset, seed: int) -> Run:
    """The validation part is learnt from too: nothing is chosen by it here. The exact kernel takes the width that landmarks chose."""
    parts = split(dataset, seed)
    train = np.concatenate([parts.train, parts.validation])
    features = GraphTensFeatures(random_state=seed).fit(dataset[train])
    X, X_test, y = features.transform(dataset[train]), features.transform(dataset[parts.test]), dataset.labels[train]
    y_test = dataset.labels[parts.test]
    found: Run = {"graphs": [train.size, parts.test.size]}
    heads: dict[str, Any] = {"landmarks": LeastSquaresClassifier(LANDMARKS, random_state=seed)}
    for name in HEADS:
        started = time.process_time()
        head = heads[name].fit(X, y)
        found |= {name: float((head.predict(X_test) == y_test).mean()), f"{name}_seconds": round(time.process_time() - started, 1)}
        if name == "landmarks":
            heads |= {"exact": LeastSquaresClassifier(gamma=head.gp_.gamma_), "svm": ValidatedSVC(random_state=seed)}
    return found


def table() -> str:
    number = max(run.get("n_landmarks", 1500) for run in recorded("landmarks"))  # the first runs did not name it
    runs = [run for run in recorded("landmarks") if run.get("n_landmarks", 1500) == number]
    lines = [
        f"| head | test accuracy, %, {len(runs)} splits | against exact least squares, points | processor seconds |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, words in HEADS.items():
        found, pairs = [100 * run[name] for run in runs], [100 * (run[name] - run["exact"]) for run in runs]
        against = "" if name == "exact" else f"{mean(pairs):+.2f}".replace("-", "\N{MINUS SIGN}")
        seconds = mean(run[name + "_seconds"] for run in runs)
        lines.append(f"| {words.format(number)} | {mean(found):.2f} ± {stdev(found):.2f} | {against} | {seconds:.0f} |")
    return "\n".join(lines)
