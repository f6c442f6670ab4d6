"""`GraphTensNodeClassifier` with its defaults on the citation graphs, 20 splits of protocol ``paper``, beside the recorded networks."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from graph2tens.datasets import GraphDataset, load
from graph2tens.paper.splits import protocol_split
from graph2tens.sklearn import GraphTensNodeClassifier

from .records import Run, once, recorded

NAMES = ("Cora", "CiteSeer", "PubMed")
SPLITS = range(20)
NETWORKS = Path(__file__).parents[2] / "results" / "citation.jsonl"


def run() -> None:
    for name in NAMES:
        dataset = load(name)
        for seed in SPLITS:
            once("nodes", {"data": name, "split": seed}, partial(_one, dataset, seed))


def _one(dataset: GraphDataset, seed: int) -> Run:
    parts, y = protocol_split(dataset, "paper", seed), dataset.labels
    known = np.full(y.size, -1)
    known[parts.train] = y[parts.train]
    classifier = GraphTensNodeClassifier(random_state=seed).fit(dataset.graphs[0], known)
    shares = classifier.predict_proba()[parts.test]
    right = classifier.predict()[parts.test] == y[parts.test]
    return {"test_accuracy": float(right.mean()), "mean_confidence": float(shares.max(axis=1).mean())}


def table() -> str:
    """Accuracy of the estimator and of the networks that are recorded for the same protocol; numbers of seeds in brackets."""
    networks: dict[tuple[str, str], list[float]] = {}
    for line in NETWORKS.read_text().splitlines():
        record = json.loads(line)
        if record["protocol"] == "paper" and record["variant"] == "base":
            networks.setdefault((record["model"], record["dataset"]), []).append(record["test_accuracy"])
    rows: dict[str, dict[str, list[float]]] = {"`GraphTensNodeClassifier`": {}}
    for record in recorded("nodes"):
        rows["`GraphTensNodeClassifier`"].setdefault(record["data"], []).append(record["test_accuracy"])
    for (model, name), found in sorted(networks.items()):
        rows.setdefault(model, {})[name] = found
    lines = [f"| method | {' | '.join(NAMES)} |", f"| --- |{' ---: |' * len(NAMES)}"]
    for method, cells in rows.items():
        lines.append(f"| {method} | {' | '.join(_cell(cells.get(name, [])) for name in NAMES)} |")
    runs = recorded("nodes")
    seconds = {name: mean(run["processor_seconds"] for run in runs if run["data"] == name) for name in NAMES}
    sure = {name: mean(run["mean_confidence"] for run in runs if run["data"] == name) for name in NAMES}
    return "\n".join(
        [
            *lines,
            "",
            "Processor seconds per split: " + ", ".join(f"{name} {value:.1f}" for name, value in seconds.items()) + ".",
            "Mean probability of the predicted class: " + ", ".join(f"{name} {value:.0%}" for name, value in sure.items()) + ".",
        ]
    )


def _cell(found: list[float]) -> str:
    if not found:
        return ""
    around = f" ± {100 * stdev(found):.1f}" if len(found) > 1 else ""
    return f"{100 * mean(found):.1f}{around} ({len(found)})"
