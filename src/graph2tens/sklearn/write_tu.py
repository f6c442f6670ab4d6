"""Graphs of networkx, PyG, NumPy or SciPy -> a folder in the TU format, which `graph2tens train` and many other programs read."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import write_text
from .inputs import OneGraph, as_graphs
from .targets import check_targets


def write_tu(folder: str | os.PathLike[str], graphs: Any, classes: Any = None) -> Path:
    """Write graphs, and their classes if they are known, as the files that :mod:`graph2tens.datasets.tu` lists.

    Labels and classes that are no integers are numbered in their order, and ``NAME_readme.txt`` says which number is what. Self-loops and
    weights of edges have no place in the format: such graphs are refused, and weights become attributes of edges.

    Args:
        folder: its last part is the NAME of the data set; files of that name are replaced, others stay.
        graphs: a list of graphs, as the estimators take them; attributes of other names than ``x`` and ``label`` are named with
            :func:`graph2tens.sklearn.read_networkx`.
        classes: one for each graph, or None for graphs to predict.

    Returns:
        the folder, for :func:`graph2tens.datasets.load` and ``graph2tens train``.
    """
    read, home = as_graphs(graphs), Path(folder)
    name, notes = home.name, [f"Written by graph2tens.sklearn.write_tu: {len(read)} graphs."]
    if not name:
        raise ValueError(f"`folder` must end in the name of the data set (got {os.fspath(folder)!r}).")
    for place, graph in enumerate(read):
        if (graph.edges[0] == graph.edges[1]).any():
            raise ValueError(f"graph {place} of `graphs` must have no self-loops, which readers of the TU format drop (got one).")
    first = np.cumsum([1, *(graph.num_nodes for graph in read)])
    files: dict[str, list[str]] = {
        "A": [f"{i}, {j}" for graph, start in zip(read, first, strict=False) for i, j in (graph.edges + start).T.tolist()],
        "graph_indicator": [str(number) for number, graph in enumerate(read, 1) for _ in range(graph.num_nodes)],
    }
    if classes is not None:
        files["graph_labels"] = _numbered(check_targets(classes, len(read), "classes").tolist(), "Classes", notes)
    files |= _about("node", read, [(graph.attributes, graph.labels, graph.num_nodes) for graph in read], notes)
    weighted = any((graph.weights != 1).any() for graph in read)
    of_edges = [(_with_weights(graph) if weighted else graph.edge_attributes, graph.edge_labels, graph.edges.shape[1]) for graph in read]
    notes += ["The last attribute of an edge is its weight."] * weighted
    files |= _about("edge", read, of_edges, notes)
    home.mkdir(parents=True, exist_ok=True)
    for kind in ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes", "edge_labels", "edge_attributes"):
        if kind in files:
            write_text(home / f"{name}_{kind}.txt", "".join(line + "\n" for line in files[kind]))
        else:
            (home / f"{name}_{kind}.txt").unlink(missing_ok=True)  # of an earlier data set of this name
    write_text(home / f"{name}_readme.txt", "".join(line + "\n" for line in notes))
    return home


Described = tuple[NDArray[np.floating[Any]] | None, "list[Hashable] | None", int]


def _about(what: str, graphs: Sequence[OneGraph], parts: Sequence[Described], notes: list[str]) -> dict[str, list[str]]:
    """The files of attributes and labels; what one graph has, all must have, but for graphs without such things."""
    files: dict[str, list[str]] = {}
    for kind, column in (("attributes", 0), ("labels", 1)):
        if all(part[column] is None for part in parts):
            continue
        if (lacking := next((place for place, part in enumerate(parts) if part[column] is None and part[2]), None)) is not None:
            raise ValueError(f"graph {lacking} of `graphs` must have {kind} of its {what}s, as others have (got none).")
        values: list[Any] = [value for part in parts if part[column] is not None for value in part[column]]  # type: ignore[union-attr]
        if kind == "labels":
            files[f"{what}_labels"] = _numbered(values, f"Labels of {what}s", notes)
        else:
            files[f"{what}_attributes"] = [", ".join(repr(float(number)) for number in row) for row in values]
    return files


def _numbered(values: list[Any], what: str, notes: list[str]) -> list[str]:
    """Integers as they are, anything else by its place among the values in order."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return [str(value) for value in values]
    known = sorted(set(values), key=lambda value: (str(type(value)), value if isinstance(value, (int, float, str)) else str(value)))
    number = {value: place for place, value in enumerate(known)}
    notes.append(f"{what}: " + ", ".join(f"{place} is {value}" for value, place in number.items()))
    return [str(number[value]) for value in values]


def _with_weights(graph: OneGraph) -> NDArray[np.floating[Any]]:
    known = np.zeros((graph.edges.shape[1], 0)) if graph.edge_attributes is None else graph.edge_attributes
    return np.concatenate([known, graph.weights[:, None]], axis=1)
