"""What features without training cost: `python benchmarks/features.py`

Processor seconds against the number of nodes, functionals, waves, layers, steps and degrees; the exact kernel against the dimension of
attributes; and one split of NCI1 from graphs to test accuracy, if the data is at hand (see `graph2tens info`). Best of several repeats;
before anything is timed, the features of a graph alone are checked to have the same bits as in the batch, and the kernel to be the inner
product of exact features.

Results go to benchmarks/features.json, with machine and date, unless ``--dry-run``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import graph2tens as g2t
from graph2tens.datasets import DataError, load
from graph2tens.sklearn import GraphTensFeatures, GraphTensKernel, feature_loops
from graph2tens.sklearn.evaluate import evaluate
from graph2tens.sklearn.inputs import OneGraph
from graph2tens.training.provenance import commit, machine, versions

NODES = 30  # of a graph, on average: the size of NCI1's


def molecules(count: int, kinds: int = 37, attributes: int = 0, seed: int = 0) -> list[OneGraph]:
    """Trees with two rings, labelled nodes; the sizes of NCI1."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(NODES // 2, 3 * NODES // 2 + 1))
        parents = [max(0, i - 1 - int(rng.integers(3))) for i in range(1, n)]
        pairs = np.array([*enumerate(parents, 1), (n - 1, n - 6), (n // 2, n // 2 - 5)])
        edges = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0).T
        x = rng.normal(size=(n, attributes)) if attributes else None
        labels = None if attributes else rng.integers(kinds, size=n).tolist()
        graphs.append(OneGraph(n, edges, np.ones(edges.shape[1]), x, labels))
    return graphs


def best(function: Callable[[], Any], repeat: int, clock: Callable[[], float] = time.process_time) -> float:
    """The least of several measurements; processor time, so that a busy machine does little harm."""
    times = []
    for _ in range(repeat):
        started = clock()
        function()
        times.append(clock() - started)
    return min(times)


def check(graphs: list[OneGraph]) -> None:
    """The speed of a wrong answer is not worth printing. This also compiles everything."""
    features = GraphTensFeatures(random_state=0).fit(graphs[:20])
    np.testing.assert_array_equal(features.transform(graphs[:20])[7:8], features.transform(graphs[7:8]))
    few = molecules(4, attributes=2)
    kernel = GraphTensKernel(walk_length=3, normalize=False, degree_attribute=False).fit(few)
    psi = []
    for graph, x in zip(few, kernel.encoder_.transform(few), strict=True):
        walk = g2t.random_walk(torch.from_numpy(graph.edges), graph.num_nodes)
        order_one = torch.tensor([1.0, 0.0], dtype=torch.float64)
        psi.append(g2t.graph_features(torch.from_numpy(x).double(), walk, length=3, degree=2, coefficients=order_one)[0])
    np.testing.assert_allclose(kernel.transform(few), (torch.stack(psi) @ torch.stack(psi).T).numpy(), rtol=1e-6)


def scaling(graphs: list[OneGraph], repeat: int) -> dict[str, dict[str, float]]:
    """Seconds of `transform`, one knob at a time."""
    found: dict[str, dict[str, float]] = {}

    def measure(name: str, value: int, count: int = 200, **options: Any) -> None:
        features = GraphTensFeatures(random_state=0, **options).fit(graphs[:20])
        chosen = graphs[:count]
        clock = time.perf_counter if name == "n_jobs" else time.process_time  # jobs save time, not work
        seconds = best(lambda: features.transform(chosen), repeat, clock)
        found.setdefault(name, {})[str(value)] = round(seconds, 4)
        nodes = sum(graph.num_nodes for graph in chosen)
        print(f"{name:<14} {value:>6}   {seconds:8.3f} s   {1e6 * seconds / nodes:8.1f} us a node", flush=True)

    for count in (100, 200, 400, 800):
        measure("graphs", count, count)
    for count in (64, 128, 256, 512, 1024):
        measure("n_functionals", count, n_functionals=count)
    for count in (0, 256, 512, 1024, 2048):
        measure("n_waves", count, n_waves=count)
    for count in (5, 10, 20):
        measure("n_layers", count, n_layers=count)
    for count in (1, 2, 5):
        measure("walk_length", count, walk_length=count)
    for count in (1, 2, 3):
        measure("degree", count, degree=count)
    for count in (1, 2):
        measure("n_jobs", count, n_jobs=count)
    return found


def product_speed(repeat: int) -> dict[str, float]:
    """Our product in fixed order against NumPy's, both on one core, at the sizes of a batch, in 10^9 operations a second."""
    rng = np.random.default_rng(0)
    x, vectors = rng.standard_normal((2048, 256), dtype=np.float32), rng.standard_normal((256, 768), dtype=np.float32)
    out = np.empty((2048, 768), dtype=np.float32)
    feature_loops.project(x, vectors, out)
    np.testing.assert_allclose(out, x @ vectors, atol=1e-3)
    work = 2 * x.size * vectors.shape[1] / 1e9
    with threadpool_limits(1):
        found = {
            "ours": work / best(lambda: feature_loops.project(x, vectors, out), 10 * repeat),
            "numpy": work / best(lambda: x @ vectors, 10 * repeat),
        }
    print("product of (2048, 256) and (256, 768), one core: ours {ours:.0f}, NumPy {numpy:.0f} GFlop/s".format(**found))
    return {name: round(value, 1) for name, value in found.items()}


def kernel_dimension(repeat: int) -> dict[str, float]:
    """Milliseconds for a pair of graphs; attributes enter through their inner products alone."""
    found = {}
    for dimension in (1, 10, 100, 1000):
        kernel = GraphTensKernel(walk_length=5, degree=2, degree_attribute=False).fit(molecules(10, attributes=dimension))
        other = molecules(40, attributes=dimension, seed=1)
        milliseconds = 1e3 * best(lambda k=kernel, o=other: k.transform(o), repeat) / (10 * 40)
        found[str(dimension)] = round(milliseconds, 4)
        print(f"kernel, attributes of dimension {dimension:>5}   {milliseconds:8.3f} ms a pair", flush=True)
    return found


def one_split(jobs: int) -> dict[str, Any] | None:
    try:
        data = load("NCI1")
    except DataError:
        print("NCI1 is not at hand; its split is left out")
        return None
    record = evaluate(data, "GraphTensFeatures+SVM", 0, n_jobs=jobs).to_dict()
    found = {name: record[name] for name in ("seconds", "seconds_features", "seconds_svm", "test_accuracy", "peak_memory_mib")}
    print("one split of NCI1, {seconds_features:.1f} s features + {seconds_svm:.1f} s SVM, test {test_accuracy:.2%}".format(**found))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the cost of features without training.")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="threads of the split of NCI1")
    parser.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    arguments = parser.parse_args()
    graphs = molecules(800)
    check(graphs)
    found = {
        "transform_seconds": scaling(graphs, arguments.repeat),
        "product_gflops": product_speed(arguments.repeat),
        "kernel_milliseconds_a_pair": kernel_dimension(arguments.repeat),
        "nci1_split": one_split(arguments.jobs),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if not arguments.dry_run:
        path = Path(__file__).with_suffix(".json")
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
