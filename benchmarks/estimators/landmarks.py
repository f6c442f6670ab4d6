"""Landmarks against the exact kernel, from the same features: the graphs of NCI1, and 4,000 made ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from statistics import mean, stdev
from typing import Any

import numpy as np

from graph2tens.datasets import load, split
from graph2tens.sklearn import GraphTensFeatures, LeastSquaresClassifier, ValidatedSVC
from graph2tens.sklearn.base import EXACT, LANDMARKS

from .made import made_molecules
from .records import Run, once, recorded

SPLITS = {"NCI1": range(5), "made": range(2)}
TEST = 1000  # made graphs
HEADS = {"landmarks": "least squares, {:,} landmarks", "exact": "least squares, exact kernel", "svm": "SVM, exact kernel"}


def run() -> None:
    for data, splits in SPLITS.items():
        for seed in splits:
            once("landmarks", {"data": data, "split": seed, "n_landmarks": LANDMARKS}, partial(_one, data, seed))


def _one(data: str, seed: int) -> Run:
    """The exact kernel takes the width that landmarks chose."""
    graphs, y, graphs_test, y_test = _graphs(data, seed)
    features = GraphTensFeatures(random_state=seed).fit(graphs)
    X, X_test = features.transform(graphs), features.transform(graphs_test)
    found: Run = {"graphs": [y.size, y_test.size]}
    heads: dict[str, Any] = {"landmarks": LeastSquaresClassifier(LANDMARKS, random_state=seed)}
    for name in HEADS:
        started = time.process_time()
        head = heads[name].fit(X, y)
        found |= {name: float((head.predict(X_test) == y_test).mean()), f"{name}_seconds": round(time.process_time() - started, 1)}
        if name == "landmarks":
            found["taken"] = len(head.gp_.landmarks_)
            heads |= {"exact": LeastSquaresClassifier(gamma=head.gp_.gamma_), "svm": ValidatedSVC(random_state=seed)}
    return found


def _graphs(data: str, seed: int) -> tuple[Sequence[Any], Any, Sequence[Any], Any]:
    """To learn from and to judge by; the validation part of NCI1 is learnt from too, since nothing is chosen by it here."""
    if data == "made":
        graphs, classes = made_molecules(EXACT + TEST, seed)
        return graphs[TEST:], classes[TEST:], graphs[:TEST], classes[:TEST]
    dataset = load(data)
    parts = split(dataset, seed)
    train = np.concatenate([parts.train, parts.validation])
    return dataset[train], dataset.labels[train], dataset[parts.test], dataset.labels[parts.test]


def table() -> str:
    """A row for every number of landmarks that was ever recorded; numbers of splits differ, so each is compared with its own exact head."""
    lines = [
        "| data | graphs learnt from | head | test accuracy, % (splits) | against exact least squares, points | processor seconds |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for data in SPLITS:
        runs = [run for run in recorded("landmarks") if run["data"] == data]
        numbers = sorted({_taken(run) for run in runs})
        for number in numbers:
            lines.append(_row("landmarks", [run for run in runs if _taken(run) == number]))
        if runs:
            lines += [_row(name, [run for run in runs if _taken(run) == numbers[-1]]) for name in ("exact", "svm")]
    return "\n".join(lines)


def _taken(run: Run) -> int:
    """Landmarks; the first runs did not name them."""
    number: int = run.get("taken") or run.get("n_landmarks", 1500)
    return number


def _row(head: str, runs: list[Run]) -> str:
    found, pairs = [100 * run[head] for run in runs], [100 * (run[head] - run["exact"]) for run in runs]
    against = "" if head == "exact" else f"{mean(pairs):+.2f}".replace("-", "\N{MINUS SIGN}")
    spread = f" ± {stdev(found):.2f}" if len(runs) > 1 else ""
    words, seconds = HEADS[head].format(_taken(runs[0])), mean(run[head + "_seconds"] for run in runs)
    return (
        f"| {runs[0]['data']} | {runs[0]['graphs'][0]:,} | {words} | {mean(found):.2f}{spread} ({len(runs)}) | {against} | {seconds:.0f} |"
    )
