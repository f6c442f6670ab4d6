"""Measure, record, show: ``python -m benchmarks.molecules --sets ESOL,FreeSolv --splits 0-4``.

Every run is one line of results/molecules/runs.jsonl; runs that are there are skipped. chemprop runs in an environment of its own:

    python -m venv rivals && rivals/bin/pip install torch==2.13.0 && rivals/bin/pip install chemprop==2.3.1
    python -m benchmarks.molecules --methods chemprop --chemprop rivals/bin/chemprop
"""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graph2tens.molecules.estimate import INTERVAL, auroc, rmse
from graph2tens.molecules.model import encoded
from graph2tens.training.provenance import commit, machine

from .methods import METHODS, chemprop, processor_seconds
from .sets import FILES, MoleculeSet
from .show import write_tables

RUNS = Path(__file__).parents[2] / "results" / "molecules" / "runs.jsonl"
RIVAL = "chemprop 2.3.1"


def recorded() -> list[dict[str, Any]]:
    """All runs so far."""
    return [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []


def measure(chosen: MoleculeSet, number: int, kind: str, method: str, run: Any) -> dict[str, Any]:
    """One run: learn, predict, judge."""
    data = chosen.data
    train, validation, test = chosen.split(number, kind)
    start, processor = time.perf_counter(), processor_seconds()
    found = run(data, train, validation, test)
    seconds, processor = time.perf_counter() - start, processor_seconds() - processor
    truth = encoded(data)[test]
    regression = data.task == "regression"
    record: dict[str, Any] = {
        "set": chosen.name,
        "split": kind,
        "number": number,
        "method": method,
        "metric": "RMSE" if regression else "AUROC",
        "score": (rmse if regression else auroc)(truth, found.values),
        "seconds": round(seconds, 2),
        "processor_seconds": round(processor, 2),
        "molecules": [train.size, validation.size, test.size],
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine()["processor"],
        "commit": commit(),
    }
    if regression and found.deviations is not None:
        errors = abs(truth - found.values)
        record["coverage"] = float((errors <= INTERVAL * found.deviations).mean())
        if found.unlike is not None:
            record["flagged"] = int(found.unlike.sum())
            for name, rows in (("error_flagged", found.unlike), ("error_others", ~found.unlike)):
                record[name] = rmse(truth[rows], found.values[rows]) if rows.any() else None
    return record


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.molecules", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("GRAPH2TENS_DATA", "data")) / "molecules")
    parser.add_argument("--sets", default="ESOL,FreeSolv,Lipophilicity", help=f"of {', '.join(FILES)}")
    parser.add_argument("--splits", default="0-4", help="as 0-4 or 0,3; a scaffold split has number 0")
    parser.add_argument("--split", default="random", choices=["random", "scaffold"])
    parser.add_argument("--methods", default="graph2tens", help="names separated by |, or all, or chemprop")
    parser.add_argument("--chemprop", default="chemprop", help="chemprop's program, for --methods chemprop")
    parser.add_argument("--epochs", type=int, default=50, help="of chemprop, whose default is 50")
    given = parser.parse_args()
    numbers = [int(text) for text in given.splits.split(",")] if "-" not in given.splits else list(_range(given.splits))
    rival = RIVAL if given.epochs == 50 else f"{RIVAL}, {given.epochs} epochs"
    methods = {"chemprop": [rival], "all": list(METHODS)}.get(given.methods, given.methods.split("|"))
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    for name in given.sets.split(","):
        chosen = MoleculeSet(name, given.data)
        for number in [0] if given.split == "scaffold" else numbers:
            for method in methods:
                key = (name, given.split, number, method)
                if any((run["set"], run["split"], run["number"], run["method"]) == key for run in recorded()):
                    continue
                run = chemprop(given.chemprop, given.epochs) if method == rival else METHODS[method]
                record = measure(chosen, number, given.split, method, run)
                with RUNS.open("a") as stream:
                    stream.write(json.dumps(record) + "\n")
                print(f"{name} {given.split} {number} {method}: {record['score']:.3f}, {record['processor_seconds']:.0f} s", flush=True)
    write_tables(recorded())


def _range(text: str) -> range:
    first, last = map(int, text.split("-"))
    return range(first, last + 1)


if __name__ == "__main__":
    main()
