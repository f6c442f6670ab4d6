"""Graphs like molecules, and folders of them, for the tests of `scale`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from graph2tens.scale import rows_of_graphs
from graph2tens.sklearn import GraphTensFeatures
from graph2tens.sklearn.inputs import OneGraph


def molecules(count: int, seed: int = 0) -> list[OneGraph]:
    """Trees with some rings and labels of nodes and edges."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(3, 20))
        child = np.arange(1, n)
        parent = np.array([int(rng.integers(max(0, i - 4), i)) for i in child])
        ends = np.stack([np.concatenate([child, parent]), np.concatenate([parent, child])])
        bonds = rng.integers(1, 3, n - 1)
        labels = [str(label) for label in rng.choice(list("CNOS"), n)]
        graphs.append(OneGraph(n, ends, np.ones(2 * n - 2), labels=labels, edge_labels=np.tile(bonds, 2).tolist()))
    return graphs


def fitted(graphs: list[OneGraph], **options: object) -> GraphTensFeatures:
    """Small features."""
    return GraphTensFeatures(**{"n_layers": 2, "n_functionals": 8, "n_waves": 8, "random_state": 0, **options}).fit(graphs)


def write_files(folder: Path, graphs: list[OneGraph], per_file: int) -> Path:
    """Parquet files of graphs with ids and targets."""
    folder.mkdir(parents=True)
    for start in range(0, len(graphs), per_file):
        part = graphs[start : start + per_file]
        ids = [f"g{start + place}" for place in range(len(part))]
        table = rows_of_graphs(part, ids=ids, y=np.array([graph.num_nodes % 2 for graph in part]))
        pq.write_table(table, folder / f"part{start:05d}.parquet")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, hidden ones too, byte by byte."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
