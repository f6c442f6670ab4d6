"""Features of many graphs, from Parquet files to Parquet files, and a classifier that never sees them all at once.

    python examples/many_graphs.py                       # processes of this machine
    python examples/many_graphs.py --engine dask         # a Dask cluster: --address tcp://scheduler:8786, or a local one
    python examples/many_graphs.py --engine ray          # a Ray cluster: --address auto, or a local one

Killed and started again with the same --folder, it goes on where it was.
"""

import argparse
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
from sklearn.linear_model import SGDClassifier

from graph2tens.scale import apply_features, check_features, fit_features, read_features, rows_of_graphs
from graph2tens.sklearn import GraphTensFeatures


def write_graphs(folder: Path, files: int, per_file: int) -> None:
    """Your own data would be here already: rings and random trees of equal size."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        y = np.arange(per_file) % 2
        graphs = [nx.cycle_graph(8 + i % 5) if ring else nx.random_labeled_tree(8 + i % 5, seed=i) for i, ring in enumerate(y)]
        ids = [f"{number}-{i}" for i in range(per_file)]
        pq.write_table(rows_of_graphs(graphs, ids=ids, y=y), folder / f"graphs{number:04d}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="local", choices=["local", "dask", "ray"])
    parser.add_argument("--address")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--per-file", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())

    if not (folder / "graphs").exists():
        write_graphs(folder / "graphs", given.files, given.per_file)
    # Columns and functionals are fixed once, on a sample; from then on every graph is on its own.
    features = fit_features(
        folder / "graphs", sample=500, features=GraphTensFeatures(n_layers=2, n_functionals=16, n_waves=32, random_state=0)
    )
    summary = apply_features(
        features, folder / "graphs", folder / "table", engine=given.engine, workers=given.workers, address=given.address
    )
    print(f"{summary.graphs} graphs, {summary.errors} errors, {summary.found} of {summary.files} files were there already")
    assert not check_features(folder / "table", folder / "graphs").problems

    classifier = SGDClassifier(loss="log_loss", random_state=0)
    for epoch in range(3):
        for _, X, y in read_features(folder / "table", rows=256, random_state=epoch):
            classifier.partial_fit(X, y, classes=[0, 1])
    right = [(classifier.predict(X) == y).mean() for _, X, y in read_features(folder / "table")]
    print(f"rings told from trees: {np.mean(right):.1%} (of the graphs it learned from)")


# Engines start processes, which load this file: without the condition each would start the job again.
if __name__ == "__main__":
    main()
