"""Time and memory of `GraphTensClassifier` with landmarks, from 1,000 to 100,000 made graphs of 25 nodes; each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from functools import partial

import numpy as np

from graph2tens.sklearn import GraphTensClassifier
from graph2tens.sklearn.base import LANDMARKS

from .made import made_molecules
from .records import Run, once, recorded

COUNTS = (1000, 3000, 10_000, 30_000, 100_000)
TEST = 1000


def run(counts: tuple[int, ...] = COUNTS) -> None:
    for count in counts:
        once("curve", {"graphs": count, "n_landmarks": LANDMARKS}, partial(_in_a_process, count))


def _in_a_process(count: int) -> Run:
    """The peak of memory belongs to a process, so each size has one."""
    done = subprocess.run([sys.executable, "-m", __spec__.name, str(count)], check=True, stdout=subprocess.PIPE, text=True)
    found: Run = json.loads(done.stdout)
    return found


def measure(count: int) -> Run:
    graphs, classes = made_molecules(count + TEST)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, started = time.perf_counter(), time.process_time()
    classifier = GraphTensClassifier(landmarks=LANDMARKS, n_jobs=2, random_state=0).fit(graphs[TEST:], classes[TEST:])
    wall, processor = time.perf_counter() - wall, time.process_time() - started
    right = classifier.predict(graphs[:TEST]) == classes[:TEST]
    return {
        "fit_seconds": round(wall, 1),
        "fit_processor_seconds": round(processor, 1),
        "graphs_mib": round(before),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "test_accuracy": float(np.mean(right)),
    }


def table() -> str:
    lines = [
        "| landmarks | graphs | processor seconds of `fit` | per 1,000 graphs | peak memory, MiB | of it the graphs | test accuracy, % |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for run in sorted(recorded("curve"), key=lambda run: (_landmarks(run), run["graphs"])):
        seconds = run["fit_processor_seconds"]
        lines.append(
            f"| {_landmarks(run):,} | {run['graphs']:,} | {seconds:.0f} | {1000 * seconds / run['graphs']:.2f} | {run['peak_mib']:,} | "
            f"{run['graphs_mib']:,} | {100 * run['test_accuracy']:.1f} |"
        )
    return "\n".join(lines)


def _landmarks(run: Run) -> int:
    """At most; the first runs did not name the number."""
    number: int = run.get("n_landmarks", 3000)
    return number


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
