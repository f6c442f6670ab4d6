"""Made graphs like molecules, as many as one likes, and a class that depends on which atoms are neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graph2tens.sklearn.inputs import OneGraph

NODES = 25
SHARES = (0.55, 0.2, 0.15, 0.06, 0.04)  # of the labels, like carbon, oxygen, nitrogen and two rare ones


def made_molecules(count: int, seed: int = 0) -> tuple[list[OneGraph], NDArray[np.int64]]:
    """Trees of 20 to 30 nodes with two rings of 5 or 6; the class is 1 if more than one edge joins the labels 1 and 2."""
    rng = np.random.default_rng(seed)
    graphs, classes = [], np.empty(count, dtype=np.int64)
    for place in range(count):
        n = int(rng.integers(NODES - 5, NODES + 6))
        parents = np.maximum(np.arange(n - 1) - rng.integers(3, size=n - 1), 0)
        rings = np.array([(n - 1, n - 1 - rng.integers(4, 6)), (n // 2, n // 2 - rng.integers(4, 6))])
        pairs = np.concatenate([np.stack([np.arange(1, n), parents], axis=1), rings])
        edges = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0).T
        labels = rng.choice(len(SHARES), size=n, p=SHARES)
        classes[place] = ((labels[edges[0]] == 1) & (labels[edges[1]] == 2)).sum() > 1
        graphs.append(OneGraph(n, edges, np.ones(edges.shape[1]), None, labels.tolist()))
    return graphs, classes
