"""Features of the graphs in an Arrow record batch: what every engine calls, ours or the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...sklearn import GraphTensFeatures
from ...sklearn.inputs import OneGraph
from .rows import graphs_of_rows

DTYPES = {"float32": pa.float32(), "float16": pa.float16()}


@dataclass(frozen=True)
class Failure:
    """A row that has no features: its place in the batch, its id as text, and what is wrong."""

    row: int
    id: str
    message: str


def transform_arrow(features: GraphTensFeatures, batch: pa.RecordBatch, dtype: str = "float32") -> pa.RecordBatch:
    """The columns ``id``, ``y`` (where there is one) and ``features`` (a fixed-size list) for a batch of graphs; see
    :mod:`graph2tens.scale.many.rows` for their columns.

    For Ray Data ``map_batches(batch_format="pyarrow")``, Spark ``mapInArrow``, Dask ``map_partitions``. A graph's features depend
    on the graph and the fitted estimator alone, bit for bit, so any batches will do.

    Raises:
        ValueError: for the first row that is not a graph.
    """
    if isinstance(batch, pa.Table):  # Ray Data hands out tables of one or more chunks
        batches = [transform_arrow(features, part, dtype) for part in batch.to_batches()]
        return pa.Table.from_batches(batches, output_schema(features, batch.schema, dtype))
    made, failures = transform_rows(features, batch, dtype)
    if failures:
        first = failures[0]
        raise ValueError(f"row {first.row} (id {first.id}): {first.message}")
    return made


def transform_rows(features: GraphTensFeatures, batch: pa.RecordBatch, dtype: str = "float32") -> tuple[pa.RecordBatch, list[Failure]]:
    """The same for the rows that are graphs, and the others."""
    schema = output_schema(features, batch.schema, dtype)
    found = graphs_of_rows(batch)
    problems = {row: graph for row, graph in enumerate(found) if isinstance(graph, str)}
    rows = [row for row in range(len(found)) if row not in problems]
    table, wrong = _transform(features, [graph for graph in found if not isinstance(graph, str)])
    problems.update({rows[place]: message for place, message in wrong.items()})
    rows = [row for place, row in enumerate(rows) if place not in wrong]
    with np.errstate(over="ignore"):
        numbers = table.astype(dtype, copy=False)
    fits = np.isfinite(numbers).all(axis=1)
    problems.update({rows[place]: f"its features are too large for {dtype}" for place in np.flatnonzero(~fits)})
    kept, numbers = np.array(rows, dtype=np.int64)[fits], numbers[fits].reshape(-1)
    columns = {name: batch.column(name).take(kept) for name in ("id", "y") if name in schema.names}
    columns["features"] = pa.FixedSizeListArray.from_arrays(pa.array(numbers, DTYPES[dtype]), type=schema.field("features").type)
    ids = batch.column("id")
    failures = [Failure(row, str(ids[row].as_py()), message) for row, message in sorted(problems.items())]
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema), failures


def output_schema(features: GraphTensFeatures, given: pa.Schema, dtype: str) -> pa.Schema:
    """The columns of features made of a table with the columns `given`."""
    if dtype not in DTYPES:
        raise ValueError(f"`dtype` must be one of {', '.join(map(repr, DTYPES))} (got {dtype!r}).")
    if features.settings_["pooling"] is None:
        raise ValueError("`features` must pool the nodes of a graph into one row (got pooling=None, a row for every node).")
    if "id" not in given.names:
        raise ValueError(f"a table of graphs must have the column id (got {', '.join(given.names)}).")
    carried = [pa.field(name, given.field(name).type) for name in ("id", "y") if name in given.names]
    item = pa.field("element", DTYPES[dtype], nullable=False)
    return pa.schema([*carried, pa.field("features", pa.list_(item, int(features.n_features_out_)), nullable=False)])


def _transform(features: GraphTensFeatures, graphs: list[OneGraph]) -> tuple[Any, dict[int, str]]:
    """The features of all graphs that have some, and for the others, by their place, why not."""
    empty = np.zeros((0, features.n_features_out_), dtype=np.float32)
    if not graphs:
        return empty, {}
    try:
        return features.transform(graphs), {}
    except (ValueError, TypeError):  # of one graph or of some; the features of a graph do not depend on the others, so ask each
        tables, wrong = [empty], {}
        for place, graph in enumerate(graphs):
            try:
                tables.append(features.transform([graph]))
            except (ValueError, TypeError) as error:
                wrong[place] = str(error).removeprefix("graph 0 of `X` ").strip()
        return np.concatenate(tables), wrong
