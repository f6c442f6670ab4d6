"""Learn from a hundred thousand graphs that never exist at once: a stream, a classifier with landmarks, and how memory stays put.

    python examples/hundred_thousand_graphs.py  # minutes
    python examples/hundred_thousand_graphs.py --count 5000       # a first look

Where the graphs fit into memory, ``GraphTensClassifier().fit(graphs, classes)`` does the same in one call: beyond 4,000 graphs it
takes landmarks by itself.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import numpy as np

from graph2tens.sklearn import GraphTensClassifier, GraphTensFeatures

LABELS, SHARES = np.array(list("CONSF")), (0.55, 0.2, 0.15, 0.06, 0.04)


def stream(count: int, block: int, seed: int) -> Iterator[tuple[list, np.ndarray]]:
    """Blocks of trees of 25 nodes with a ring, whose class is whether more than one O has an N for a neighbour. Yours come from files."""
    random = np.random.default_rng(seed)
    for start in range(0, count, block):
        graphs, classes = [], []
        for _ in range(min(block, count - start)):
            adjacency = np.zeros((25, 25))
            adjacency[np.arange(1, 25), np.maximum(np.arange(24) - random.integers(3, size=24), 0)] = 1
            adjacency[24, 19] = 1
            labels = LABELS[random.choice(5, size=25, p=SHARES)]
            graphs.append((adjacency + adjacency.T, labels))
            classes.append((adjacency + adjacency.T)[labels == "O"][:, labels == "N"].sum() > 1)
        yield graphs, np.array(classes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="graphs to learn from")
    parser.add_argument("--block", type=int, default=4096, help="graphs that exist at a time; the first block chooses width and landmarks")
    parser.add_argument("--landmarks", type=int, default=1500, help="graphs that stand for all others")
    arguments = parser.parse_args()
    [(test, truth)] = stream(1000, 1000, seed=1)
    features = GraphTensFeatures(n_layers=4, n_functionals=64, n_waves=128)  # less than the defaults, and enough for small neighbourhoods
    classifier = GraphTensClassifier(features, landmarks=arguments.landmarks, n_jobs=-1, random_state=0)
    started, seen, shown = time.perf_counter(), 0, 0
    for graphs, classes in stream(arguments.count, arguments.block, seed=0):
        classifier.partial_fit(graphs, classes, classes=[False, True])
        seen += len(graphs)
        if seen >= 2 * shown or seen == arguments.count:  # predictions solve anew, so not after every block
            shown = seen
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            right, seconds = classifier.score(test, truth), time.perf_counter() - started
            print(f"{seen:7,} graphs: {right:.1%} of new graphs right, {seconds:.0f} s, {memory:,.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
