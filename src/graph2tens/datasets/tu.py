"""Graph classification data in the TU format: a folder of plain text files, node and graph numbers from 1.

NAME_A.txt                  one edge per line: i, j (undirected graphs list both directions)
NAME_graph_indicator.txt    line v: the graph of node v
NAME_graph_labels.txt       line g: the class of graph g, any integers
NAME_node_labels.txt        optional, one or several integers per node   -> indicator columns of x
NAME_node_attributes.txt    optional, numbers                            -> the first columns of x
NAME_edge_labels.txt, NAME_edge_attributes.txt     optional, in the order of NAME_A.txt -> edge_attr
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from .dataset import DataError, Encoding, GraphDataset, Integers
from .edge_nodes import edges_as_nodes
from .indicators import degree_attributes, indicators
from .tables import Table, read_table

REQUIRED = ("A", "graph_indicator", "graph_labels")
OPTIONAL = ("node_labels", "node_attributes", "edge_labels", "edge_attributes")
MAX_LABEL_VALUES = 1000  # of a label, the most frequent ones: DBLP_v1 has 41,325, which as indicators would fill 30 GB
ONE_WAY = 7  # edges; fewer may point one way by chance

Floats = NDArray[np.float32]


def find_prefix(folder: Path) -> str | None:
    """NAME of the files NAME_A.txt, ... in a folder; None if there are no such files."""
    for kind in (*REQUIRED, *OPTIONAL):
        names = sorted(path.name[: -len(f"_{kind}.txt")] for path in folder.glob(f"*_{kind}.txt"))
        if len(names) > 1 and folder.name not in names:
            raise DataError(f"{folder}: holds files of several data sets ({', '.join(names)}); name the folder after the one that is meant")
        if names:
            return folder.name if folder.name in names else names[0]
    return None


def read_tu_folder(folder: Path, name: str | None = None, encoding: Encoding | None = None) -> GraphDataset:
    """Read the TU files of a folder, which is not written to.

    Edges come sorted by (row, column); duplicates are merged and self-loops dropped, as PyG's and the authors' loaders do.

    Args:
        folder: holds the files listed at the top of this module.
        name: NAME in their names; by default what stands before ``_A.txt``.
        encoding: that of the data a model was trained on. Columns and classes then follow it: labels it does not know have no
            indicator, and the file of graph labels may be missing.
    """
    prefix = name or find_prefix(folder) or folder.name
    files = {kind: folder / f"{prefix}_{kind}.txt" for kind in (*REQUIRED, *OPTIONAL)}
    for kind in REQUIRED:
        if not files[kind].is_file() and not (kind == "graph_labels" and encoding is not None):
            raise DataError(f"{files[kind]}: no such file; the TU format needs {', '.join(f'{prefix}_{k}.txt' for k in REQUIRED)}")

    indicator = read_table(files["graph_indicator"], columns=1)
    labels = read_table(files["graph_labels"], columns=1) if files["graph_labels"].is_file() else None
    graph_of = _graph_of_nodes(indicator, labels)
    order = np.argsort(graph_of, kind="stable")  # nodes of a graph may be scattered over the file
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    num_graphs = int(graph_of.max()) + 1
    node_ptr = np.concatenate([[0], np.bincount(graph_of, minlength=num_graphs).cumsum()])

    adjacency = read_table(files["A"], columns=2)
    edges = _edges(adjacency, indicator, graph_of)
    _check_not_truncated(adjacency, edges, graph_of, num_graphs)
    _warn_if_listed_once(adjacency, edges)
    row, col, kept = _sort_edges(rank[edges[:, 0]], rank[edges[:, 1]], order.size)
    graph_of_edge = graph_of[order][row]
    edge_ptr = np.searchsorted(graph_of_edge, np.arange(num_graphs + 1))

    node_columns, node_values, num_attributes = _columns(files, "node", indicator, order, encoding)
    edge_columns, edge_values, num_edge_attributes = _columns(files, "edge", adjacency, kept, encoding)
    degrees = not node_columns if encoding is None else encoding.degrees
    if degrees:
        node_columns = [degree_attributes(np.bincount(row, minlength=order.size))]
    x = torch.from_numpy(np.concatenate(node_columns, axis=1))
    edge_attr = torch.from_numpy(np.concatenate(edge_columns, axis=1)) if edge_columns else None

    classes, y = _classes(labels, encoding)
    encoding = encoding or Encoding(num_attributes, node_values, edge_values, classes, degrees, num_edge_attributes=num_edge_attributes)
    offset = node_ptr[graph_of_edge]
    edge_index = torch.from_numpy(np.stack([row - offset, col - offset]))
    graphs = []
    for g in range(num_graphs):
        nodes, entries = slice(node_ptr[g], node_ptr[g + 1]), slice(edge_ptr[g], edge_ptr[g + 1])
        graph = Data(x=x[nodes], edge_index=edge_index[:, entries].contiguous())
        if edge_attr is not None:
            graph.edge_attr = edge_attr[entries]
        if y is not None:
            graph.y = y[g : g + 1]
        graphs.append(graph)
    names = tuple(str(value) for value in encoding.classes)
    read = GraphDataset(prefix, graphs, len(names), x.size(1), "graph", names, encoding, str(folder))
    return edges_as_nodes(read, encoding.edges) if encoding.edges else read


def _graph_of_nodes(indicator: Table, labels: Table | None) -> Integers:
    """The graph of each node from 0; every graph must have a node."""
    if not len(indicator):
        raise DataError(f"{indicator.path}: lists no nodes; is the file truncated?")
    graph = indicator.integers()[:, 0]
    num_graphs = int(graph.max()) if labels is None else len(labels)
    if (row := _first((graph < 1) | (graph > num_graphs))) is not None:
        slip = " (graphs are numbered from 1)" if graph[row] < 1 else f", but {labels.path.name if labels else ''} has {num_graphs} lines"
        raise indicator.error(row, f"node {row + 1} belongs to graph {graph[row]}{slip}; is a file truncated?")
    if (empty := _first(np.bincount(graph, minlength=num_graphs + 1)[1:] == 0)) is not None:
        raise DataError(f"{indicator.path}: graph {empty + 1} has no nodes; is the file truncated?")
    return graph - 1


def _edges(adjacency: Table, indicator: Table, graph_of: Integers) -> Integers:
    """(E, 2) end points from 0, each edge inside one graph."""
    edges = adjacency.integers()
    n = graph_of.size
    if not len(edges) and n > np.unique(graph_of).size:  # it may be meant: a walk then stays put
        warnings.warn(f"{adjacency.path}: lists no edges for {n} nodes; is the file truncated?", stacklevel=2)
    outside = (edges < 1) | (edges > n)
    if (row := _first(outside.any(axis=1))) is not None:
        node = edges[row][outside[row]][0]
        slip = "nodes are numbered from 1" if node < 1 else f"{indicator.path.name} lists {n} nodes"
        raise adjacency.error(row, f"edge to node {node}, which does not exist: {slip}")
    ends = graph_of[edges - 1]
    if (row := _first(ends[:, 0] != ends[:, 1])) is not None:
        (a, b), (g, h) = edges[row], ends[row] + 1
        raise adjacency.error(row, f"edge from node {a} of graph {g} to node {b} of graph {h}; edges must stay inside a graph")
    return edges - 1


def _check_not_truncated(adjacency: Table, edges: Integers, graph_of: Integers, num_graphs: int) -> None:
    """Nothing says how many edges there should be, but a cut leaves its marks in a list of undirected edges.

    If all graphs list both directions of every edge except the graph the file ends in, its end is missing.
    """
    edges = edges[edges[:, 0] != edges[:, 1]]
    if not len(edges):
        return
    keys = edges[:, 0] * graph_of.size + edges[:, 1]
    one_way = edges[~np.isin(edges[:, 1] * graph_of.size + edges[:, 0], keys)]
    last = graph_of[edges[-1, 0]]
    with_edges = np.unique(graph_of[edges[:, 0]])
    if len(one_way) and with_edges.size > 3 and (graph_of[one_way[:, 0]] == last).all():
        raise adjacency.error(
            len(adjacency) - 1,
            f"the file ends inside graph {last + 1}: it alone has edges in one direction only; is the file truncated?",
        )
    several = np.bincount(graph_of) > 1
    tail = num_graphs - 1 - int(with_edges.max())
    if not len(one_way) and tail >= 3 and several[last + 1 :].all() and np.isin(np.flatnonzero(several[:last]), with_edges).all():
        warnings.warn(f"{adjacency.path}: the last {tail} graphs have no edges; is the file truncated?", stacklevel=2)


def _warn_if_listed_once(adjacency: Table, edges: Integers) -> None:
    """Arrows that all point to higher numbers, or all to lower ones, are most likely undirected edges that were listed once."""
    ahead = edges[:, 1] > edges[:, 0]
    if len(edges) >= ONE_WAY and (ahead.all() or not ahead.any()):
        warnings.warn(
            f"{adjacency.path}: all edges lead to {'higher' if ahead.all() else 'lower'} numbers, and walkers go no other way; "
            "list both directions where edges have none",
            stacklevel=2,
        )


def _sort_edges(row: Integers, col: Integers, n: int) -> tuple[Integers, Integers, Integers]:
    """Edges sorted by (row, column) without self-loops and duplicates, and the line each was taken from."""
    key, first = np.unique(row * n + col, return_index=True)
    row, col = key // n, key % n
    return row[row != col], col[row != col], first[row != col]


def _columns(
    files: dict[str, Path], what: str, reference: Table, order: Integers, encoding: Encoding | None
) -> tuple[list[Floats], tuple[tuple[int, ...], ...], int]:
    """Attribute columns, then indicator columns of labels, of nodes or edges; with the label values and the number of the former."""
    columns: list[Floats] = []
    values: tuple[tuple[int, ...], ...] = ()
    num_attributes = 0
    known = None
    if encoding is not None:
        known = encoding.node_labels if what == "node" else encoding.edge_labels
    attributes = files[f"{what}_attributes"]
    if attributes.is_file():
        table = read_table(attributes)
        _check_rows(table, reference, what)
        num_attributes = table.values.shape[1]
        columns.append(table.finite()[order].astype(np.float32))
    labels = files[f"{what}_labels"]
    if labels.is_file():
        table = read_table(labels)
        _check_rows(table, reference, what)
        label = table.integers()[order]
        values = tuple(_label_values(column, table) for column in label.T)
        if known is not None:
            _warn_of_unknown(table, values, known)
            values = known
        columns += [indicators(column, of) for column, of in zip(label.T, values, strict=False)]
    if encoding is not None and ((what == "node" and not encoding.degrees) or (what == "edge" and encoding.edges)):
        _check_fits(files, what, encoding, num_attributes, len(values))
    return columns, values, num_attributes


def _label_values(label: Integers, table: Table) -> tuple[int, ...]:
    """The values that get an indicator column, ascending."""
    values, counts = np.unique(label, return_counts=True)
    if values.size > MAX_LABEL_VALUES:
        warnings.warn(f"{table.path}: of {values.size} labels the {MAX_LABEL_VALUES} most frequent ones are used", stacklevel=2)
        values = np.sort(values[np.argsort(-counts, kind="stable")[:MAX_LABEL_VALUES]])
    return tuple(values.tolist())


def _check_rows(table: Table, reference: Table, what: str) -> None:
    if len(table) != len(reference):
        cause = "is the file truncated?" if len(table) < len(reference) else "there are too many"
        raise DataError(f"{table.path}: {len(table)} lines for the {len(reference)} {what}s of {reference.path.name}; {cause}")


def _check_fits(files: dict[str, Path], what: str, encoding: Encoding, num_attributes: int, num_labels: int) -> None:
    """Both files must give as many columns as the model was trained with."""
    of_nodes = (encoding.num_attributes, len(encoding.node_labels))
    wanted = of_nodes if what == "node" else (encoding.num_edge_attributes, len(encoding.edge_labels))
    for kind, expected, got in zip(("attributes", "labels"), wanted, (num_attributes, num_labels), strict=True):
        if got != expected:
            raise DataError(f"{files[f'{what}_{kind}']}: {expected} {kind} per {what} expected, as in the training data (got {got})")


def _warn_of_unknown(table: Table, values: tuple[tuple[int, ...], ...], known: tuple[tuple[int, ...], ...]) -> None:
    new = sorted({v for column, of in zip(values, known, strict=False) for v in column if v not in of})
    if new:
        shown = ", ".join(map(str, new[:5])) + (", ..." if len(new) > 5 else "")
        warnings.warn(f"{table.path}: labels {shown} do not occur in the training data; they are ignored", stacklevel=2)


def _classes(labels: Table | None, encoding: Encoding | None) -> tuple[tuple[int, ...], torch.Tensor | None]:
    """Classes in ascending order, and the number of each graph's class."""
    if labels is None:
        return (), None
    label = labels.integers()[:, 0]
    classes = tuple(np.unique(label).tolist()) if encoding is None else encoding.classes
    place = np.searchsorted(np.sort(classes), label).clip(max=max(len(classes) - 1, 0))
    if (row := _first(np.asarray(classes)[place] != label)) is not None:
        raise labels.error(row, f"class {label[row]} is not one of the classes the model knows ({', '.join(map(str, classes))})")
    return classes, torch.from_numpy(place.astype(np.int64))


def _first(mask: NDArray[np.bool_] | np.bool_) -> int | None:
    """Where the first True is."""
    return int(mask.argmax()) if mask.any() else None
