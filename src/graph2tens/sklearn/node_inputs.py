"""One graph and what is known of its nodes: the walk, names, classes, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from .heads.gaussian_process import Matrix
from .inputs import OneGraph


def walk_matrix(graph: OneGraph) -> Any:
    """P of the walk that may stay where it is: a self-loop as heavy as a mean edge is added to every node."""
    n = graph.num_nodes
    own = graph.weights.mean() if graph.weights.size else 1.0
    A = scipy.sparse.csr_array((graph.weights, (graph.edges[0], graph.edges[1])), shape=(n, n)) + own * scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / A.sum(axis=1)) @ A)


def node_names(graph: Any, count: int) -> list[Any]:
    """Names of networkx nodes, numbers otherwise."""
    return list(graph.nodes) if hasattr(graph, "nodes") and hasattr(graph, "adj") else list(range(count))


def known_labels(y: Any, nodes: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Classes of the nodes that have one, and which nodes these are."""
    if isinstance(y, Mapping):
        values = _by_name(y, nodes)
    else:
        values = list(y.tolist() if hasattr(y, "tolist") else y)
        if len(values) != len(nodes):
            raise ValueError(f"`y` must hold one class for each of the {len(nodes)} nodes, -1 where unknown (got {len(values)}).")
    known = [place for place, value in enumerate(values) if not _is_unknown(value)]
    if not known:
        raise ValueError("`y` must hold the class of some nodes (got none: all are -1).")
    classes = np.array([values[place] for place in known])
    if np.unique(classes).size < 2:
        raise ValueError(f"`y` must hold nodes of at least 2 classes (got 1 class: {classes[0]!r}).")
    return classes, np.array(known)


def numbers_of(y: Any, nodes: Sequence[Any]) -> Matrix:
    """A number for each node, NaN where unknown."""
    values = [np.nan if value is _UNKNOWN else value for value in _by_name(y, nodes)] if isinstance(y, Mapping) else y
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (len(nodes),):
        raise ValueError(f"`y` must hold one number for each of the {len(nodes)} nodes, NaN where unknown (got shape {numbers.shape}).")
    if np.isinf(numbers).any() or (~np.isnan(numbers)).sum() < 2:
        raise ValueError(f"`y` must hold finite numbers of at least 2 nodes (got {int(np.isfinite(numbers).sum())}).")
    return numbers


_UNKNOWN = object()


def _is_unknown(value: Any) -> bool:
    return value is None or value is _UNKNOWN or (not isinstance(value, str) and value == -1)


def _by_name(y: Mapping[Any, Any], nodes: Sequence[Any]) -> list[Any]:
    strangers = [name for name in y if name not in set(nodes)]
    if strangers:
        raise ValueError(f"`y` must name nodes of the graph (got {strangers[0]!r}, which is none).")
    return [y.get(name, _UNKNOWN) for name in nodes]
