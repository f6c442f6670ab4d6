"""Fitting on a sample of the graphs in files: what fixes the columns of features needs to see some graphs, not all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ...checks import check_integer
from ...sklearn import GraphTensFeatures
from ...sklearn.inputs import OneGraph
from .job import input_files
from .rows import graphs_of_rows


def fit_features(
    inputs: str | Path | Sequence[str | Path], sample: int = 10_000, features: GraphTensFeatures | None = None, seed: int = 0
) -> GraphTensFeatures:
    """Fit `features` (by default ``GraphTensFeatures(random_state=seed)``) to graphs drawn at random from Parquet files.

    Rows that are no graphs are left out. A label that no drawn graph has gets no column, so draw enough for the rare ones.
    """
    check_integer(sample, "sample", 1)
    files = input_files(inputs)
    counts = [pq.read_metadata(path).num_rows for path, _ in files]
    total = sum(counts)
    drawn = np.sort(np.random.default_rng(seed).choice(total, min(sample, total), replace=False))
    graphs: list[OneGraph] = []
    first = 0
    for (path, _), count in zip(files, counts, strict=True):
        rows = drawn[(drawn >= first) & (drawn < first + count)] - first
        first += count
        if rows.size:
            found: list[Any] = []
            for batch in pq.read_table(path).take(rows).combine_chunks().to_batches():
                found += graphs_of_rows(batch)
            graphs += [graph for graph in found if isinstance(graph, OneGraph)]
    if not graphs:
        raise ValueError(f"none of the {drawn.size} rows that were drawn is a graph.")
    return (GraphTensFeatures(random_state=seed) if features is None else features).fit(graphs)
