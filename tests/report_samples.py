"""Made-up records for the tests of the report: the same every time, scattered about the paper's numbers, no measurements."""

from __future__ import annotations

import csv
import math
import random
from pathlib import Path
from typing import Any

from graph2tens.paper.published import PUBLISHED, Published

MACHINE = {"processor": "Sample Processor 1", "cores": 2, "device": "cpu"}


def record(seed: int = 0, test_accuracy: float = 0.8, **fields: Any) -> dict[str, Any]:
    """One finished run in the format of ``results/*.jsonl``."""
    epochs = list(range(0, 200, 5))
    rate = 1 + seed / 10
    curve = {
        "epoch": epochs,
        "train_loss": [0.7 * math.exp(-rate * epoch / 60) for epoch in epochs],
        "validation_loss": [0.45 + 0.3 * math.exp(-rate * epoch / 40) + epoch / 2000 for epoch in epochs],
        "validation_accuracy": [test_accuracy - 0.3 * math.exp(-rate * epoch / 30) + 0.01 * math.sin(epoch + seed) for epoch in epochs],
    }
    return {
        "table": "nci",
        "dataset": "NCI1",
        "model": "G2TN",
        "variant": "base",
        "khop": 0,
        "protocol": "authors",
        "seed": seed,
        "train_accuracy": min(1.0, test_accuracy + 0.15),
        "validation_accuracy": test_accuracy + 0.005,
        "test_accuracy": test_accuracy,
        "test_auroc": min(1.0, test_accuracy + 0.06),
        "epochs": 200,
        "best_epoch": 199,
        "seconds": 300.0 + 7 * seed,
        "seconds_per_epoch": 1.5,
        "peak_memory_mib": 900.0,
        "curve": curve,
        "options": {"network": {"layers": 4, "degree": 2}, "training": {"epochs": 200, "l2": 1e-4}},
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "versions": {"torch": "2.13.0", "graph2tens": "0.1.0"},
        "machine": MACHINE,
        "finished": f"2026-03-0{1 + seed % 7}T12:00:00+00:00",
        "epochs_limit": None,
        **fields,
    }


def around(published: Published, seeds: int, shift: float = 0.0, protocol: str = "authors", **fields: Any) -> list[dict[str, Any]]:
    """Runs of a cell whose accuracies scatter about the paper's mean, moved by ``shift`` points."""
    rng = random.Random(f"{published} {protocol} {sorted(fields.items())}")
    accuracies = [rng.gauss(published.mean + shift, published.std or 1.0) / 100 for _ in range(seeds)]
    cell = {name: getattr(published, name) for name in ("table", "dataset", "model", "variant", "khop")}
    slow = 4 if published.model == "G2TAN" else 1
    base = {"nci": 400.0, "ablation": 400.0}.get(published.table, 8.0) * slow
    return [
        record(seed, accuracy, **{**cell, "protocol": protocol, "seconds": base * rng.uniform(0.8, 1.5), **fields})
        for seed, accuracy in enumerate(accuracies)
    ]


def study_records() -> list[dict[str, Any]]:
    """A study half done: all citation cells, NCI1 with three seeds (one cell off), some ablations, one cell with a single seed."""
    records: list[dict[str, Any]] = []
    for published in PUBLISHED:
        if not published.proposed:
            continue
        if published.table in ("citation", "khop"):
            records += around(published, 20, shift=-2.5 if (published.dataset, published.khop) == ("CiteSeer", 2) else 0.0)
        elif published.table == "nci" and published.dataset == "NCI1":
            records += around(published, 5)
        elif published.table == "nci" and published.model == "G2TN":
            records += around(published, 1)
        elif published.table == "ablation" and published.dataset == "NCI1" and published.variant in ("NoDiff", "NoJK", "AvgPool"):
            records += around(published, 5)
        if published.table == "citation":
            records += around(published, 20, shift=0.5, protocol="paper")
        if published.table == "nci" and published.dataset == "NCI1" and published.model == "G2TN":
            records += around(published, 5, shift=-0.6, table="differences", variant="NoSelfLoops")
    records.append(record(0, 0.5, table="ablation", variant="NoSkip", epochs=1, epochs_limit=1))
    return records


def authors_table(path: Path) -> Path:
    """A made-up table of runs in the format of the authors' one."""
    rng = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["dataset", "model", "variant", "khop", "seed", "test_acc", "val_acc", "train_acc"])
        for p in PUBLISHED:
            for seed in range(p.seeds if p.proposed and p.seeds else 0):
                name = p.dataset if p.dataset.startswith("NCI") else p.dataset.lower()
                writer.writerow([name, p.model, p.variant, p.khop, seed, f"{rng.gauss(p.mean, p.std or 1.0) / 100:.6f}", 0.8, 0.9])
    return path


BENCHMARKS = [
    {"name": "layer step, forward + backward", "reference": "reference", "fast": "numba", "seconds_reference": 0.41, "seconds_fast": 0.017,
     "ratio": 24.1, "machine": MACHINE, "date": "2026-03-05"},
    {"name": "layer step, forward", "reference": "reference", "fast": "spmm", "seconds_reference": 0.12, "seconds_fast": 0.011,
     "ratio": 10.9, "machine": MACHINE, "date": "2026-03-05"},
]  # fmt: skip


def own_records() -> list[dict[str, Any]]:
    """Three methods on the user's own data: two judged on the same three test parts, the third on folds."""
    judged = {"fingerprint": "f00d", "sizes": {"train": 160, "validation": 20, "test": 20}, "majority": 0.55, "class_names": ["no", "yes"]}

    def one(model: str, seed: int, right: float, table: str = "train", part: str = "") -> dict[str, Any]:
        facts = {**judged, "test_part": part or f"part {seed}", "confusion": [[8, 1], [2, 9]]}
        return record(seed, right, dataset="./compounds", model=model, table=table, protocol="paper", judged=facts)

    better = [one("G2TN", seed, right) for seed, right in enumerate((0.80, 0.82, 0.79, 0.82, 0.82))]
    worse = [one("G2TAN", seed, right) for seed, right in enumerate((0.70, 0.73, 0.68))]
    return [*better, *worse, *(one("WL+SVM", fold, 0.6, "3 folds", f"fold {fold}") for fold in range(3))]
