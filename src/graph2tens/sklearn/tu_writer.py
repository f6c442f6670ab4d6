"""Graphs of networkx, PyG, NumPy or SciPy -> a folder in the TU format, which `graph2tens train` and many other programs read."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import write_text
from .inputs import OneGraph, as_graphs
from .targets import check_targets


def write_tu(folder: str | os.PathLike[str], graphs: Any, classes: Any = None, *, like: str | os.PathLike[str] | None = None) -> Path:
    """Write graphs, and their classes if they are known, as the files that :mod:`graph2tens.datasets.tu` lists.

    Labels and classes that are not integers are numbered in their order; ``NAME_readme.txt`` says which number is what, to people, and
    ``NAME_numbers.json`` to programs. Self-loops and weights of edges
    have no place in the format: such graphs are refused, and weights become attributes of edges.

    Args:
        folder: its last part is the NAME of the data set; files of that name are replaced, others stay.
        graphs: a list of graphs, as the estimators take them; attributes of other names than ``x`` and ``label`` are named with
            :func:`graph2tens.sklearn.read_networkx`.
        classes: one for each graph, or None for graphs to predict.
        like: a folder that this function has written, whose numbers are kept, so that a network trained there can read these graphs;
            labels that it does not have get further numbers.

    Returns:
        the folder, for :func:`graph2tens.datasets.load` and ``graph2tens train``.
    """
    read, home, numbers = as_graphs(graphs), Path(folder), Numbers({} if like is None else _numbers_of(Path(like)))
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
        files["graph_labels"] = numbers.give(check_targets(classes, len(read), "classes").tolist(), "Classes")
    files |= _about("node", read, [(graph.attributes, graph.labels, graph.num_nodes) for graph in read], numbers)
    weighted = any((graph.weights != 1).any() for graph in read)
    of_edges = [(_with_weights(graph) if weighted else graph.edge_attributes, graph.edge_labels, graph.edges.shape[1]) for graph in read]
    notes += ["The last attribute of an edge is its weight."] * weighted
    files |= _about("edge", read, of_edges, numbers)
    notes += [f"{what}: " + ", ".join(f"{place} is {value}" for place, value in enumerate(known)) for what, known in numbers.known.items()]
    home.mkdir(parents=True, exist_ok=True)
    for kind in ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes", "edge_labels", "edge_attributes"):
        if kind in files:
            write_text(home / f"{name}_{kind}.txt", "".join(line + "\n" for line in files[kind]))
        else:
            (home / f"{name}_{kind}.txt").unlink(missing_ok=True)  # of an earlier data set of this name
    write_text(home / f"{name}_numbers.json", json.dumps(numbers.known, indent=1, ensure_ascii=False) + "\n")
    write_text(home / f"{name}_readme.txt", "".join(line + "\n" for line in notes))
    return home


Described = tuple[NDArray[np.floating[Any]] | None, "list[Hashable] | None", int]


def _about(what: str, graphs: Sequence[OneGraph], parts: Sequence[Described], numbers: Numbers) -> dict[str, list[str]]:
    """The files of attributes and labels; what one graph has, all must have, but for graphs without such things."""
    files: dict[str, list[str]] = {}
    for kind, column in (("attributes", 0), ("labels", 1)):
        if all(part[column] is None for part in parts):
            continue
        if (lacking := next((place for place, part in enumerate(parts) if part[column] is None and part[2]), None)) is not None:
            raise ValueError(f"graph {lacking} of `graphs` must have {kind} of its {what}s, as others have (got none).")
        values: list[Any] = [value for part in parts if part[column] is not None for value in part[column]]  # type: ignore[union-attr]
        if kind == "labels":
            files[f"{what}_labels"] = numbers.give(values, f"Labels of {what}s")
        else:
            files[f"{what}_attributes"] = [", ".join(repr(float(number)) for number in row) for row in values]
    return files


class Numbers:
    """Numbers of values that are not integers: the place of their text in ``known[what]``."""

    def __init__(self, known: dict[str, list[str]]) -> None:
        self.known = known

    def give(self, values: list[Any], what: str) -> list[str]:
        """Integers stay as they are, unless `what` has had numbers before; new values come after the known ones, in their order."""
        known = self.known.get(what)
        if known is None:
            if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
                return [str(value) for value in values]
            known = self.known[what] = []
        order = sorted(set(values), key=lambda value: (str(type(value)), value if isinstance(value, (int, float, str)) else str(value)))
        texts = [str(value) for value in order]
        if len(set(texts)) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise ValueError(f"{what.lower()} must differ as texts, which is how they are written down (got {twice!r} of two types).")
        known += [text for text in texts if text not in known]
        place = {text: str(number) for number, text in enumerate(known)}
        return [place[str(value)] for value in values]


def _numbers_of(folder: Path) -> dict[str, list[str]]:
    path = folder / f"{folder.name}_numbers.json"
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"`like` must be a folder that write_tu has written (got {os.fspath(folder)!r}: {error}).") from None
    lists = found.values() if isinstance(found, dict) else [None]
    if not all(isinstance(known, list) and all(isinstance(text, str) for text in known) for known in lists):
        raise ValueError(f"`like` must be a folder that write_tu has written (got {os.fspath(path)!r}, which has no lists of texts).")
    return dict(found)


def _with_weights(graph: OneGraph) -> NDArray[np.floating[Any]]:
    known = np.zeros((graph.edges.shape[1], 0)) if graph.edge_attributes is None else graph.edge_attributes
    return np.concatenate([known, graph.weights[:, None]], axis=1)
