"""Graphs as users have them -> one internal form.

What counts as a graph, one element of the list X:

PyG ``Data``                ``edge_index`` or ``adj_t``; optional ``x``, ``edge_weight``, ``edge_attr``, ``label`` (n,) of nodes
networkx graph              any kind, any node names; optional: attributes ``label``, ``x`` of nodes, ``weight``, ``label``, ``x`` of edges
``(adjacency, attributes)`` NumPy or SciPy; entry (i, j) is the weight of the step from i to j; attributes may be None
adjacency                   a square matrix alone: a graph without attributes

Floating numbers are *attributes*: they have a size. Integers and strings, one for each node, are *labels*: they only differ. So a vector
``x`` (n,) or (n, 1) of integers is taken for labels unless there is a ``label`` as well, while a table of several columns is taken for
attributes whatever its type. networkx graphs whose attributes have other names are read by :func:`read_networkx`.
Labels may be Python, NumPy or 0-dimensional torch values alike. A PyG ``Batch`` stands for the list of its graphs.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

from .arrays import array, as_numpy, numbers
from .pyg_data import edges_of
from .pyg_data import unread as unread_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Names:
    """Which attributes of a networkx graph are read; the attributes of a node may be spread over several names."""

    node_label: str = "label"
    node_attributes: tuple[str, ...] = ("x",)
    edge_label: str = "label"
    edge_attributes: tuple[str, ...] = ("x",)
    edge_weight: str = "weight"


KINDS = "PyG Data, networkx graphs, adjacency matrices or (adjacency, attributes) pairs"


@dataclass(frozen=True, eq=False)
class OneGraph:
    """One graph in plain arrays.

    Attributes:
        num_nodes: n.
        edges: (2, E); the walker steps from the first row to the second. Undirected edges are listed twice.
        weights: (E,), positive.
        attributes: (n, d) or None.
        labels: n hashable labels or None.
        edge_attributes: (E, e) or None.
        edge_labels: E hashable labels or None.
    """

    num_nodes: int
    edges: Integers
    weights: Floats
    attributes: Floats | None = None
    labels: list[Hashable] | None = None
    edge_attributes: Floats | None = None
    edge_labels: list[Hashable] | None = None

    @property
    def out_degree(self) -> Integers:
        """Number of edges that leave each node, a self-loop counted once."""
        return np.bincount(self.edges[0], minlength=self.num_nodes).astype(np.int64)


def as_graphs(X: Any) -> list[OneGraph]:
    """Read every graph of X. Whatever is wrong is said with the number of the graph, from 0."""
    if isinstance(X, OneGraph) or (_is_pyg(X, "Data") and not _is_pyg(X, "Batch")) or _is_networkx(X) or scipy.sparse.issparse(X):
        raise TypeError(f"`X` must be a list of graphs (got one {type(X).__name__}). Did you mean [X]?")
    if _is_pyg(X, "Batch"):
        X = X.to_data_list()
    counted = hasattr(X, "__getitem__") and hasattr(X, "__len__")  # torch's Subset, which says neither that it is iterable nor how
    if isinstance(X, (str, bytes, dict)) or not (isinstance(X, Iterable) or counted):
        raise TypeError(f"`X` must be a list of graphs: {KINDS} (got {type(X).__name__}).")
    if hasattr(X, "columns") and hasattr(X, "shape"):
        name = next(iter(X.columns), "graph")
        raise TypeError(f"`X` must be a list of graphs, or one column of a table (got {type(X).__name__}). Did you mean X[{name!r}]?")
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim < 3:
        raise TypeError(
            f"`X` must be a list of graphs: {KINDS} (got an array of shape {X.shape}). Expected 2D array of features? This estimator "
            "reads graphs. Did you mean [X], one graph with this adjacency matrix?"
        )
    return _all((X[place] for place in range(len(X))) if not isinstance(X, Iterable) else X, Names())


def read_networkx(
    graphs: Iterable[Any],
    *,
    node_label: str = "label",
    node_attributes: Sequence[str] = ("x",),
    edge_label: str = "label",
    edge_attributes: Sequence[str] = ("x",),
    edge_weight: str = "weight",
) -> list[OneGraph]:
    """Graphs for all estimators from networkx graphs whose attributes have names of their own.

    Args:
        graphs: networkx graphs.
        node_label, edge_label: the attribute that is the label of nodes, of edges.
        node_attributes, edge_attributes: attributes that hold numbers; all of them together describe a node, an edge.
        edge_weight: the attribute that is the weight of edges.

    Example:
        >>> import networkx as nx
        >>> ether = nx.path_graph(3)
        >>> nx.set_node_attributes(ether, {0: "C", 1: "O", 2: "C"}, "element")
        >>> read_networkx([ether], node_label="element")[0].labels
        ['C', 'O', 'C']
    """
    for name, given in (("node_attributes", node_attributes), ("edge_attributes", edge_attributes)):
        if isinstance(given, str):
            raise TypeError(f"`{name}` must be a list of names (got {given!r}). Did you mean [{given!r}]?")
    if _is_networkx(graphs):
        raise TypeError(f"`graphs` must be a list of graphs (got one {type(graphs).__name__}). Did you mean [graphs]?")
    graphs = list(graphs)
    asked = {"node_label": [node_label], "node_attributes": node_attributes, "edge_label": [edge_label], "edge_attributes": edge_attributes}
    for option, names in {**asked, "edge_weight": [edge_weight]}.items():
        _check_names(graphs, option, names)
    return _all(graphs, Names(node_label, tuple(node_attributes), edge_label, tuple(edge_attributes), edge_weight))


def _check_names(graphs: list[Any], option: str, names: Sequence[str]) -> None:
    """A name that was asked for, other than the usual ones, must be that of an attribute: a slip would leave out what was meant."""
    what = option.partition("_")[0]
    about = [data for graph in graphs if _is_networkx(graph) for *_, data in getattr(graph, f"{what}s")(data=True)]
    there = {name for data in about for name in data}
    for name in names:
        if about and name not in there | {"label", "x", "weight"}:
            known = ", ".join(map(repr, sorted(map(str, there)))) or "none"
            raise ValueError(f"`{option}` must name attributes of {what}s; no graph has {name!r} (got {known}).")


def _all(X: Iterable[Any], names: Names) -> list[OneGraph]:
    unused: dict[str, None] = {}
    unread: list[set[str]] = []
    graphs = [_as_graph(graph, place, names, unused, unread) for place, graph in enumerate(X)]
    if not graphs:
        raise ValueError("`X` must hold at least one graph (got none: 0 sample(s)).")
    if unused:
        warnings.warn(
            f"attributes of networkx graphs are present and not used: {', '.join(unused)}. To use them, read the graphs with "
            "graph2tens.sklearn.read_networkx(graphs, node_label=.., node_attributes=[..], edge_label=.., edge_attributes=[..]).",
            stacklevel=3,
        )
    if everywhere := set.intersection(*unread) if unread else set():  # what is of nodes by its size in one graph may not be so in others
        warnings.warn(
            f"attributes of PyG graphs are present and not used: {', '.join(sorted(everywhere))}. To use them, put numbers into `x`, whole "
            "numbers or words that only differ into `label`, what edges have into `edge_attr` or `edge_weight`.",
            stacklevel=3,
        )
    return graphs


def _as_graph(graph: Any, place: int, names: Names, unused: dict[str, None], unread: list[set[str]]) -> OneGraph:
    where = f"graph {place} of `X`"
    if isinstance(graph, OneGraph):
        return graph
    if _is_pyg(graph, "Batch"):  # what a DataLoader gives
        raise TypeError(
            f"{where} must be one graph (got a Batch of {graph.num_graphs}). Did you mean "
            "[graph for batch in X for graph in batch.to_data_list()]? A loader that shuffles gives another order than that of `y`."
        )
    if _is_pyg(graph, "Data"):
        found = _from_pyg(graph, where)
        unread.append(set(unread_of(graph)))
    elif _is_networkx(graph):
        found = _from_networkx(graph, where, names, unused)
    elif isinstance(graph, (tuple, list)) and len(graph) == 2:
        found = _from_matrix(graph[0], graph[1], where)
    elif scipy.sparse.issparse(graph) or (isinstance(graph, np.ndarray) and graph.ndim == 2):
        found = _from_matrix(graph, None, where)
    else:
        raise TypeError(f"{where} must be one of {KINDS} (got {type(graph).__name__}).")
    return checked(found, where)


def checked(graph: OneGraph, where: str) -> OneGraph:
    """The graph without edges of weight 0, after a check of everything that later steps rely on; `where` begins the messages."""
    _check(graph, where)
    return _without_zero_weights(graph)


def _is_networkx(graph: Any) -> bool:
    # By duck, so that networkx need not be installed: nothing else here has nodes and adjacency.
    return hasattr(graph, "nodes") and hasattr(graph, "adj") and hasattr(graph, "is_directed")


def _is_pyg(graph: Any, kind: str) -> bool:
    """Whoever has a PyG graph has loaded PyG, which takes a second or two and is not loaded here for it."""
    pyg = sys.modules.get("torch_geometric.data")
    return pyg is not None and isinstance(graph, getattr(pyg, kind))


def _from_pyg(data: Any, where: str) -> OneGraph:
    n = data.num_nodes
    if n is None:
        raise ValueError(f"{where} must have `x` or `num_nodes` (got neither).")
    edge_index, edge_weight = edges_of(data, where)
    edges = edge_index.detach().cpu().numpy()
    weights = np.ones(edges.shape[-1]) if edge_weight is None else numbers(edge_weight).reshape(-1)
    attributes, labels = _attributes_or_labels(data.x, n, where)
    if getattr(data, "label", None) is not None:
        attributes, labels = _with_labels(_labels(data.label, n, where, "label"), attributes, labels)
    edge_attributes, edge_labels = _attributes_or_labels(getattr(data, "edge_attr", None), edges.shape[-1], where, "edge_attr")
    return OneGraph(int(n), edges, weights, attributes, labels, edge_attributes, edge_labels)


def _from_networkx(graph: Any, where: str, names: Names, unused: dict[str, None]) -> OneGraph:
    number = {node: place for place, node in enumerate(graph.nodes)}
    both = not graph.is_directed()
    ends, properties = [], []
    for one, other, values in graph.edges(data=True):
        ends.append((number[one], number[other]))
        properties.append(values)
        if both and one != other:  # a self-loop is its own way back
            ends.append((number[other], number[one]))
            properties.append(values)
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    weights = np.array([_weight(values.get(names.edge_weight), where) for values in properties], dtype=np.float64)
    nodes = list(graph.nodes.values())
    read_of_nodes, read_of_edges = (names.node_label, *names.node_attributes), (names.edge_label, *names.edge_attributes, names.edge_weight)
    for items, read, what in ((nodes, read_of_nodes, "nodes"), (properties, read_of_edges, "edges")):
        unused.update({f"{name!r} of {what}": None for item in items for name in item if name not in read})
    x = _columns(nodes, names.node_attributes, where, "nodes")
    attributes, labels = _attributes_or_labels(x, len(nodes), where)
    named = _of_all(nodes, names.node_label, where, "nodes")
    e = _columns(properties, names.edge_attributes, where, "edges")
    edge_attributes, edge_labels = _attributes_or_labels(e, len(properties), where, "x of edges")
    edge_named = _of_all(properties, names.edge_label, where, "edges")
    if named is not None:
        attributes, labels = _with_labels(_plain_labels(named, where), attributes, labels)
    if edge_named is not None:
        edge_attributes, edge_labels = _with_labels(_plain_labels(edge_named, where), edge_attributes, edge_labels)
    return OneGraph(len(nodes), edges, weights, attributes, labels, edge_attributes, edge_labels)


def _from_matrix(adjacency: Any, attributes: Any, where: str) -> OneGraph:
    if not (scipy.sparse.issparse(adjacency) or isinstance(adjacency, (np.ndarray, list))):
        raise TypeError(f"{where} must start with its adjacency, a NumPy or SciPy matrix (got {type(adjacency).__name__}).")
    matrix = adjacency if scipy.sparse.issparse(adjacency) else np.asarray(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{where} must have a square adjacency matrix (got shape {matrix.shape}).")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{where} must have real numbers in its adjacency matrix (got {matrix.dtype}).")
    entries = scipy.sparse.coo_array(matrix)
    entries.sum_duplicates()
    edges = np.stack(entries.coords).astype(np.int64)
    order = np.lexsort(edges[::-1])
    n = matrix.shape[0]
    x, labels = _attributes_or_labels(attributes, n, where, "attributes")
    return OneGraph(n, edges[:, order], entries.data[order].astype(np.float64), x, labels)


def _attributes_or_labels(values: Any, count: int, where: str, name: str = "x") -> tuple[Floats | None, list[Hashable] | None]:
    """Several columns or floating numbers are attributes; one integer or string for each node (edge) is a label."""
    if values is None:
        return None, None
    table = array(values, where, name)
    if table.ndim == 0 or table.shape[0] != count:
        raise ValueError(f"{where} must have one row of `{name}` for each of its {count} nodes or edges (got shape {table.shape}).")
    if table.ndim > 2:
        raise ValueError(f"{where} must have `{name}` of shape (n,) or (n, columns) (got {table.shape}).")
    column = table.ndim == 1 or table.shape[1] == 1
    if column and (table.dtype.kind in "iubUSO"):
        return None, _plain_labels(table.reshape(-1).tolist(), where)
    if table.dtype.kind not in "biuf":
        raise TypeError(f"{where} must have numbers in the columns of `{name}` (got {table.dtype}).")
    return (table[:, None] if table.ndim == 1 else table).astype(np.float64), None


def _with_labels(
    labels: list[Hashable], attributes: Floats | None, other: list[Hashable] | None
) -> tuple[Floats | None, list[Hashable] | None]:
    """`label` beside what was read from `x`: other integers there are attributes then, anything else makes the labels pairs."""
    if other is None or other == labels:
        return attributes, labels
    if all(isinstance(value, (bool, int)) for value in other):
        return np.array(other, dtype=np.float64)[:, None], labels
    return attributes, list(zip(labels, other, strict=True))


def _labels(values: Any, count: int, where: str, name: str) -> list[Hashable]:
    found = array(values, where, name).reshape(-1)
    if found.size != count:
        raise ValueError(f"{where} must have one `{name}` for each of its {count} nodes (got {found.size}).")
    return _plain_labels(found.tolist(), where)


def _plain_labels(labels: Sequence[Any], where: str) -> list[Hashable]:
    """Labels that compare by value: tensors hash by identity, so each would be a label of its own; NaN differs from itself."""
    plain = []
    for label in labels:
        if isinstance(label, (torch.Tensor, np.ndarray, np.generic)):
            if label.ndim:
                raise TypeError(f"{where} must have single values for labels (got {type(label).__name__} of shape {tuple(label.shape)}).")
            label = label.item()
        try:
            hash(label)
        except TypeError:
            raise TypeError(f"{where} must have numbers, strings or other hashable values for labels (got {label!r}).") from None
        if label is None or (isinstance(label, float) and math.isnan(label)):
            raise ValueError(f"{where} must have a label wherever others have one (got {'NaN' if label is not None else None}).")
        plain.append(label)
    return plain


def _weight(value: Any, where: str) -> float:
    if value is None:
        return 1.0
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{where} must have numbers for the edge attribute `weight` (got {value!r}).") from None


def _of_all(items: Sequence[dict[str, Any]], name: str, where: str, what: str) -> list[Any] | None:
    """The attribute `name` of all items; None if no item has it."""
    present = [name in item for item in items]
    if not any(present):
        return None
    if not all(present):
        raise ValueError(f"{where} must have the attribute {name!r} on all of its {what} or on none (got {sum(present)} of {len(items)}).")
    return [item[name] for item in items]


def _columns(items: Sequence[dict[str, Any]], names: Sequence[str], where: str, what: str) -> NDArray[Any] | None:
    """The attributes of these names side by side, of all items; None if there are none."""
    found = [_stack(values, where) for name in names if (values := _of_all(items, name, where, what)) is not None]
    if len(found) < 2:
        return found[0] if found else None
    return np.concatenate([table.reshape(len(items), -1) for table in found], axis=1)


def _stack(values: list[Any], where: str) -> NDArray[Any]:
    rows = [as_numpy(value) if isinstance(value, torch.Tensor) else np.asarray(value) for value in values]
    if any(row.shape != rows[0].shape for row in rows):
        raise ValueError(f"{where} must have attributes `x` of one length (got {sorted({row.shape for row in rows})}).")
    number = next((value for value, row in zip(values, rows, strict=True) if row.dtype.kind == "f"), None)
    word = next((value for value, row in zip(values, rows, strict=True) if row.dtype.kind not in "biuf"), ())
    if number is not None and word != ():  # NumPy would make words of the numbers
        raise TypeError(f"{where} must have numbers or words in `x`, not both (got {number!r} and {word!r}).")
    return np.stack(rows)


def _without_zero_weights(graph: OneGraph) -> OneGraph:
    """An edge of weight 0 is no edge: sparse matrices may store such entries."""
    kept = graph.weights > 0
    if kept.all():
        return graph
    features = None if graph.edge_attributes is None else graph.edge_attributes[kept]
    named = None if graph.edge_labels is None else [label for label, keep in zip(graph.edge_labels, kept, strict=True) if keep]
    return replace(graph, edges=graph.edges[:, kept], weights=graph.weights[kept], edge_attributes=features, edge_labels=named)


def _check(graph: OneGraph, where: str) -> None:
    n, edges = graph.num_nodes, graph.edges
    if n == 0:
        raise ValueError(f"{where} must have at least one node (got none).")
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"{where} must have an integer edge_index of shape (2, E) (got {edges.dtype} of shape {edges.shape}).")
    if edges.size and not (edges.min() >= 0 and edges.max() < n):
        raise ValueError(
            f"{where} must have edges between its nodes 0..{n - 1} (got node {edges.max() if edges.max() >= n else edges.min()})."
        )
    if graph.weights.shape != (edges.shape[1],):
        raise ValueError(f"{where} must have one weight for each of its {edges.shape[1]} edges (got {graph.weights.shape[0]}).")
    bad = ~(np.isfinite(graph.weights) & (graph.weights >= 0))
    if bad.any():
        raise ValueError(f"{where} must have edge weights that are finite and not negative (got {graph.weights[bad][0]}).")
    for values, name in ((graph.attributes, "attributes"), (graph.edge_attributes, "edge attributes")):
        if values is not None and not np.isfinite(values).all():
            raise ValueError(
                f"{where} must have finite {name} (got NaN or infinity at row {int(np.argwhere(~np.isfinite(values))[0, 0])})."
            )
