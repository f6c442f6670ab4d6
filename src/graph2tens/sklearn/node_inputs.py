"""One graph and what is known of its nodes: the walk, names, classes, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .heads.gaussian_process import Matrix
from .inputs import OneGraph
from .targets import LARGEST, is_missing


def walk_matrix(graph: OneGraph) -> Any:
    """P of the walk that may stay where it is: a self-loop as heavy as a mean edge is added to every node."""
    n = graph.num_nodes
    own = graph.weights.mean() if graph.weights.size else 1.0
    A = scipy.sparse.csr_array((graph.weights, (graph.edges[0], graph.edges[1])), shape=(n, n)) + own * scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / A.sum(axis=1)) @ A)


def node_names(graph: Any, count: int) -> list[Any]:
    """Names of networkx nodes, numbers otherwise."""
    return list(graph.nodes) if hasattr(graph, "nodes") and hasattr(graph, "adj") else list(range(count))


def known_labels(y: Any, nodes: Sequence[Any], *, least: int = 2) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Classes, at least so many, of the nodes that have one, and which nodes these are."""
    values = _by_name(y, nodes) if isinstance(y, Mapping) else _in_order(y, nodes, "class", "-1")
    known = [place for place, value in enumerate(values) if not _is_unknown(value)]
    if not known:
        raise ValueError("`y` must hold the class of some nodes (got none: all are -1, None or NaN).")
    named = [values[place] for place in known]
    if "-1" in named or len({isinstance(value, str) for value in named}) > 1:
        odd = "-1" if "-1" in named else named[0]
        raise ValueError(
            f"`y` must hold classes that are all texts or all numbers, -1 or None where unknown (got {odd!r} among others). "
            f"NumPy makes texts of numbers beside texts: did you mean a list, or dtype=object?"
        )
    classes = np.array(named)
    if np.unique(classes).size < least:
        raise ValueError(f"`y` must hold nodes of at least 2 classes (got 1 class: {named[0]!r}).")
    return classes, np.array(known)


def numbers_of(y: Any, nodes: Sequence[Any]) -> Matrix:
    """A number for each node, NaN where unknown."""
    numbers = np.empty(len(nodes))
    for place, value in enumerate(_by_name(y, nodes) if isinstance(y, Mapping) else _in_order(y, nodes, "number", "NaN")):
        try:
            numbers[place] = np.nan if is_missing(value) else value
        except (TypeError, ValueError):
            raise ValueError(f"`y` must hold numbers (got {value!r} for node {nodes[place]!r}).") from None
    too_large = np.flatnonzero(np.abs(numbers) > LARGEST)
    if too_large.size:
        place = int(too_large[0])
        raise ValueError(f"`y` must hold numbers of at most {LARGEST:g} (got {numbers[place]:g} for node {nodes[place]!r}).")
    if (known := int((~np.isnan(numbers)).sum())) < 2:
        raise ValueError(f"`y` must hold numbers of at least 2 nodes (got {known}).")
    return numbers


def _is_unknown(value: Any) -> bool:
    return is_missing(value) or (not isinstance(value, str) and value == -1)


def _in_order(y: Any, nodes: Sequence[Any], what: str, unknown: str) -> list[Any]:
    """An answer for each node."""
    shape = tuple(y.shape) if hasattr(y, "shape") else np.array(y, dtype=object).shape
    if len(shape) != 1 or shape[0] != len(nodes):
        raise ValueError(
            f"`y` must hold one {what} for each of the {len(nodes)} nodes, {unknown} where unknown, or be a dictionary of the known nodes "
            f"(got {'None' if y is None else f'shape {shape}'})."
        )
    return list(y.tolist() if hasattr(y, "tolist") else y)


def _by_name(y: Mapping[Any, Any], nodes: Sequence[Any]) -> list[Any]:
    there = set(nodes)
    for name in y:
        if name not in there:
            raise ValueError(f"`y` must name nodes of the graph (got {name!r}, which is none).")
    return [y.get(name) for name in nodes]
