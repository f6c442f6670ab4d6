"""Accuracy of `GraphTensNodeClassifier` with its defaults on the citation graphs: ``python -m benchmarks.nodes [splits] [names]``."""

from __future__ import annotations

import sys
import time

import numpy as np

from graph2tens.datasets import load
from graph2tens.paper.splits import protocol_split
from graph2tens.sklearn import GraphTensNodeClassifier


def main(splits: int = 20, names: str = "Cora,CiteSeer,PubMed") -> None:
    for name in names.split(","):
        dataset = load(name)
        started, found = time.process_time(), []
        for seed in range(splits):
            parts, y = protocol_split(dataset, "paper", seed), dataset.labels
            known = np.full(y.size, -1)
            known[parts.train] = y[parts.train]
            right = GraphTensNodeClassifier(random_state=seed).fit(dataset.graphs[0], known).predict() == y
            found.append(100 * right[parts.test].mean())
        seconds = (time.process_time() - started) / splits
        print(
            f"{name}: {np.mean(found):.2f} ± {np.std(found, ddof=1):.2f} % over {splits} splits, {seconds:.1f} processor seconds per split"
        )


if __name__ == "__main__":
    main(*(int(sys.argv[1]),) if len(sys.argv) == 2 else (int(sys.argv[1]), sys.argv[2]) if len(sys.argv) > 2 else ())
