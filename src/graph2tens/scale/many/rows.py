"""Rows of an Arrow table <-> graphs.

One row is one graph:

``id``          any type, unique; carried to the features
``num_nodes``   integer
``src, dst``    lists of integers, one pair for each edge; the walker steps from src to dst, undirected edges are listed twice
``label``       list of integers or strings, one for each node (optional)
``x``           list of lists of numbers, one for each node; or a list of numbers, one attribute (optional)
``edge_label``  as ``label``, one for each edge (optional)
``edge_attr``   as ``x``, one for each edge (optional)
``weight``      list of numbers, one for each edge (optional)
``y``           a target of any type; carried to the features (optional)

or ``id``, ``smiles`` (a molecule, which needs the extra `molecules`) and ``y``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...sklearn.inputs import OneGraph, as_graphs, checked

REQUIRED = ("num_nodes", "src", "dst")
OPTIONAL = ("label", "x", "edge_label", "edge_attr", "weight")


def graphs_of_rows(batch: pa.RecordBatch) -> list[OneGraph | str]:
    """The graph of every row, or what is wrong with it.

    Raises:
        ValueError: if the columns are not those of graphs; rows are not looked at then.
    """
    if "smiles" in batch.schema.names and "src" not in batch.schema.names:
        return _molecules(batch.column("smiles").to_pylist())
    missing = [name for name in REQUIRED if name not in batch.schema.names]
    if missing:
        raise ValueError(f"a table of graphs must have the columns {', '.join(REQUIRED)} (got {', '.join(batch.schema.names)}).")
    columns = {name: _Column(name, batch.column(name)) for name in (*REQUIRED, *OPTIONAL) if name in batch.schema.names}
    found: list[OneGraph | str] = []
    for row in range(batch.num_rows):
        try:
            found.append(checked(_graph(columns, row), "the graph"))
        except (ValueError, TypeError, OverflowError) as error:
            found.append(str(error))
    return found


def rows_of_graphs(graphs: Iterable[Any], ids: Sequence[Any] | None = None, y: Sequence[Any] | None = None) -> pa.Table:
    """The table of graphs in any of the forms that the estimators read; ids count from 0 where none are given."""
    known = as_graphs(graphs)
    columns: dict[str, Any] = {
        "id": list(range(len(known))) if ids is None else list(ids),
        "num_nodes": pa.array([graph.num_nodes for graph in known], pa.int32()),
        "src": pa.array([graph.edges[0] for graph in known], pa.list_(pa.int32())),
        "dst": pa.array([graph.edges[1] for graph in known], pa.list_(pa.int32())),
    }
    for name, values in (("label", [graph.labels for graph in known]), ("edge_label", [graph.edge_labels for graph in known])):
        if any(labels is not None for labels in values):
            columns[name] = values
    for name, tables in (("x", [graph.attributes for graph in known]), ("edge_attr", [graph.edge_attributes for graph in known])):
        if any(table is not None for table in tables):
            columns[name] = pa.array([None if table is None else list(table) for table in tables], pa.list_(pa.list_(pa.float64())))
    if any((graph.weights != 1).any() for graph in known):
        columns["weight"] = pa.array([graph.weights for graph in known], pa.list_(pa.float64()))
    if y is not None:
        columns["y"] = pa.array(np.asarray(y)) if not isinstance(y, pa.Array) else y
    return pa.table(columns)


def _molecules(smiles: list[Any]) -> list[OneGraph | str]:
    try:
        from ...molecules import parse
    except ImportError:
        raise ImportError("the column `smiles` is read with RDKit: pip install 'graph2tens[molecules]'.") from None
    molecules = parse(smiles)
    found: dict[int, OneGraph | str] = {row: f"its SMILES cannot be read: {why}." for row, _, why in molecules.problems}
    if molecules.graphs:
        found.update(zip(molecules.rows, as_graphs(molecules.graphs), strict=True))
    return [found[row] for row in range(len(smiles))]


def _graph(columns: dict[str, _Column], row: int) -> OneGraph:
    n = columns["num_nodes"].number(row)
    src, dst = columns["src"].integers(row), columns["dst"].integers(row)
    if src.size != dst.size:
        raise ValueError(f"the graph must have as many `src` as `dst` (got {src.size} and {dst.size}).")
    count = src.size
    weights = columns["weight"].table(row, count) if "weight" in columns else None
    return OneGraph(
        n,
        np.stack([src, dst]),
        np.ones(count) if weights is None else weights[:, 0],
        columns["x"].table(row, n) if "x" in columns else None,
        columns["label"].labels(row, n) if "label" in columns else None,
        columns["edge_attr"].table(row, count) if "edge_attr" in columns else None,
        columns["edge_label"].labels(row, count) if "edge_label" in columns else None,
    )


class _Column:
    """One column of a batch as plain arrays: offsets of the rows, and all values one after the other."""

    def __init__(self, name: str, column: pa.Array) -> None:
        self.name = name
        self.absent = column.is_null().to_numpy(zero_copy_only=False)
        self.inner: NDArray[np.int64] | None = None
        if name == "num_nodes":
            if not pa.types.is_integer(column.type):
                raise ValueError(f"the column `num_nodes` must hold integers (got {column.type}).")
            self.values = column.fill_null(0).to_numpy(zero_copy_only=False)
            return
        if pa.types.is_null(column.type):  # a column that has no value in any row of the table
            column = column.cast(pa.list_(pa.int64()))
        self.offsets, values = self._lists(column)
        if _is_list(values.type):
            if name not in ("x", "edge_attr"):
                raise ValueError(f"the column `{name}` must hold one list for each graph (got {column.type}).")
            if values.null_count:
                raise ValueError(f"the column `{name}` must have no missing rows inside its lists.")
            self.inner, values = self._lists(values)
        if pa.types.is_null(values.type):  # lists, all of them empty
            values = values.cast(pa.int64())
        self.text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_dictionary(values.type)
        if not self.text and not pa.types.is_integer(values.type) and not pa.types.is_floating(values.type):
            raise ValueError(f"the column `{name}` must hold numbers{' or strings' * name.endswith('label')} (got {column.type}).")
        if self.text and not name.endswith("label"):
            raise ValueError(f"the column `{name}` must hold numbers (got {column.type}).")
        # Where a number is missing the rows that have it are refused, and no others.
        self.holes = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
        self.values = values.to_numpy(zero_copy_only=False) if not values.null_count else _filled(values)

    def _lists(self, column: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
        if pa.types.is_fixed_size_list(column.type):
            size = column.type.list_size
            return (np.arange(len(column) + 1) + column.offset) * size, column.values
        if not _is_list(column.type):
            raise ValueError(f"the column `{self.name}` must hold lists (got {column.type}).")
        return column.offsets.to_numpy(zero_copy_only=False).astype(np.int64), column.values

    def number(self, row: int) -> int:
        if self.absent[row]:
            raise ValueError(f"the graph must have `{self.name}` (got none).")
        return int(self.values[row])

    def integers(self, row: int) -> NDArray[np.int64]:
        if self.absent[row]:
            raise ValueError(f"the graph must have `{self.name}` (got none).")
        values = self._row(self.offsets[row], self.offsets[row + 1])
        if values.dtype.kind not in "iu":
            raise ValueError(f"the graph must have integers in `{self.name}` (got {values.dtype}).")
        return values.astype(np.int64)

    def labels(self, row: int, count: int) -> list[Any] | None:
        if self.absent[row]:
            return None
        self._expect(row, count)
        labels: list[Any] = self._row(self.offsets[row], self.offsets[row + 1]).tolist()
        return labels

    def table(self, row: int, count: int) -> NDArray[np.float64] | None:
        if self.absent[row]:
            return None
        self._expect(row, count)
        first, last = self.offsets[row], self.offsets[row + 1]
        if self.inner is None:
            return self._row(first, last).astype(np.float64)[:, None]
        widths = np.diff(self.inner[first : last + 1])
        if widths.size and (widths != widths[0]).any():
            raise ValueError(f"the graph must have lists of one length in `{self.name}` (got {widths.min()} to {widths.max()} numbers).")
        width = int(widths[0]) if widths.size else 0
        return self._row(self.inner[first], self.inner[last]).astype(np.float64).reshape(count, width)

    def _expect(self, row: int, count: int) -> None:
        size = int(self.offsets[row + 1] - self.offsets[row])
        if size != count:
            raise ValueError(f"the graph must have one entry of `{self.name}` for each of its {count} nodes or edges (got {size}).")

    def _row(self, first: np.int64, last: np.int64) -> NDArray[Any]:
        if self.holes is not None and self.holes[first:last].any():
            raise ValueError(f"the graph must have a value for each entry of `{self.name}` (got a missing one).")
        row: NDArray[Any] = self.values[first:last]
        return row


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _filled(values: pa.Array) -> NDArray[Any]:
    """With anything at all in the place of missing values."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    filled: NDArray[Any] = values.fill_null(0 if number else "").to_numpy(zero_copy_only=False)
    return filled
