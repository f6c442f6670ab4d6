"""Edges become nodes that carry the edges' labels and attributes, so that a network that reads only nodes reads them too."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from torch_geometric.data import Data

from ..subdivision import subdivide
from .dataset import DataError, GraphDataset

Kind = Literal["", "undirected", "directed"]


def has_edge_attributes(dataset: GraphDataset) -> bool:
    """Whether the data says anything about edges besides where they are."""
    return dataset.task == "graph" and any(graph.edge_attr is not None and graph.edge_index.numel() for graph in dataset.graphs)


def edges_as_nodes(dataset: GraphDataset, kind: Kind = "") -> GraphDataset:
    """The same graphs with a node on every edge (:mod:`graph2tens.subdivision`), whose attributes follow those of the nodes.

    Args:
        dataset: whose graphs have `edge_attr`.
        kind: ``undirected``, where both directions of an edge share a node, or ``directed``; by default what the data is.
    """
    if not kind and not has_edge_attributes(dataset):
        raise DataError(f"{dataset.name}: has no file of edge labels or edge attributes, which edges on nodes of their own would carry")
    kind = kind or ("undirected" if all(map(_lists_both_ways, dataset.graphs)) else "directed")
    graphs = []
    for number, graph in enumerate(dataset.graphs, 1):
        try:
            divided = subdivide(graph.edge_index, graph.num_nodes, graph.edge_attr, directed=kind == "directed")
        except ValueError as error:
            raise DataError(f"{dataset.name}: graph {number} must be undirected, as the training graphs are ({error})") from None
        made = Data(x=divided.attributes(graph.x, graph.edge_attr), edge_index=divided.edge_index)
        if graph.y is not None:
            made.y = graph.y
        graphs.append(made)
    encoding, origin = replace(dataset.encoding, edges=kind), dataset.origin or dataset.fingerprint()
    return replace(dataset, graphs=graphs, num_features=graphs[0].x.size(1), encoding=encoding, origin=origin)


def _lists_both_ways(graph: Data) -> bool:
    try:
        subdivide(graph.edge_index, graph.num_nodes, graph.edge_attr)
    except ValueError:  # an edge without its opposite: nothing else can be wrong with a graph that was read
        return False
    return True
