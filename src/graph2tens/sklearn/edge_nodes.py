"""Edges that carry attributes or labels become nodes of their own, so that walks read them in the order in which they meet them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..subdivision import subdivide
from .inputs import OneGraph

EDGES = ("auto", "nodes", "mean")
NODE, EDGE = "node", "edge"  # what stands for a label where there is none; (EDGE, label) for the label of an edge


@dataclass(frozen=True, eq=False)
class EdgeNodes:
    """What the training graphs' edges are like, see :func:`graph2tens.subdivide`.

    Attributes:
        directed: some edge of theirs has no opposite with equal weight, attributes and label.
        columns: number of attributes of edges.
        labelled: edges or nodes have labels; edges' labels are told apart from nodes', and what has no label is "node" or "edge".
    """

    directed: bool
    columns: int
    labelled: bool

    @classmethod
    def fit(cls, graphs: Sequence[OneGraph]) -> EdgeNodes:
        _agree([graph.labels is not None for graph in graphs], "labels of nodes")
        _agree([graph.edge_labels is not None if graph.edges.size else None for graph in graphs], "labels of edges")
        columns = next((graph.edge_attributes.shape[1] for graph in graphs if graph.edge_attributes is not None and graph.edges.size), 0)
        labelled = any(graph.labels is not None or (graph.edge_labels is not None and graph.edges.size) for graph in graphs)
        return cls(any(_is_directed(graph) for graph in graphs), columns, labelled)

    def transform(self, graphs: Sequence[OneGraph], first: int = 0, known: Collection[Hashable] | None = None) -> list[OneGraph]:
        """Each graph with a node on every edge; `first` is the number of the first in `X`, `known` are the training graphs' labels."""
        divided = [self._one(graph, f"graph {place} of `X`") for place, graph in enumerate(graphs, first)]
        if known is not None and self.labelled:
            for place, graph in enumerate(graphs, first):
                for what, missing in ((NODE, graph.labels is None), (EDGE, graph.edge_labels is None and graph.edges.size > 0)):
                    if missing and what not in known:
                        raise ValueError(f"graph {place} of `X` must have a label on every {what}, as the training graphs have (got none).")
        return divided

    def _one(self, graph: OneGraph, where: str) -> OneGraph:
        count, known = graph.edges.shape[1], graph.edge_attributes
        if known is not None and count and known.shape[1] != self.columns:
            raise ValueError(f"{where} must have {self.columns} edge attributes, as the training graphs have (got {known.shape[1]}).")
        if known is None and count and self.columns:
            raise ValueError(f"{where} must have {self.columns} edge attributes, as the training graphs have (got none).")
        edge_attributes = known if known is not None and count else np.zeros((count, self.columns))
        try:
            divided = subdivide(*_tensors(graph), directed=self.directed)
        except ValueError as error:
            raise ValueError(f"{where} must be undirected, as the training graphs are: {error}") from None
        nodes = np.zeros((graph.num_nodes, 0)) if graph.attributes is None else graph.attributes
        attributes = divided.attributes(torch.from_numpy(nodes), torch.from_numpy(edge_attributes)).numpy()
        weights = np.concatenate([graph.weights, graph.weights])
        labels: list[Hashable] | None = None
        if self.labelled:
            labels = list(graph.labels) if graph.labels is not None else [NODE] * graph.num_nodes
            labels += [EDGE] * (divided.num_nodes - graph.num_nodes)
            if graph.edge_labels is not None:
                for node, label in zip(divided.edge_node.tolist(), graph.edge_labels, strict=True):
                    labels[node] = (EDGE, label)
        return OneGraph(divided.num_nodes, divided.edge_index.numpy(), weights, attributes if attributes.shape[1] else None, labels)


def _agree(present: list[bool | None], name: str) -> None:
    """All graphs have it or none; None for those that have nothing that could."""
    if True in present and False in present:
        raise ValueError(f"all graphs must have {name}, or none (graph {present.index(False)} has none).")


def carry_something(graphs: Sequence[OneGraph]) -> bool:
    """Whether edges have attributes or labels."""
    return any(graph.edges.size and (graph.edge_attributes is not None or graph.edge_labels is not None) for graph in graphs)


def _is_directed(graph: OneGraph) -> bool:
    try:
        subdivide(*_tensors(graph))
    except ValueError:  # the only thing that can be wrong with a graph that was read
        return True
    return False


def _tensors(graph: OneGraph) -> tuple[torch.Tensor, int, torch.Tensor, torch.Tensor]:
    """edge_index, number of nodes, all that tells edges apart, weights."""
    told = np.zeros((graph.edges.shape[1], 0)) if graph.edge_attributes is None else graph.edge_attributes
    if graph.edge_labels is not None:
        number: dict[Hashable, int] = {}
        column = [number.setdefault(label, len(number)) for label in graph.edge_labels]
        told = np.concatenate([told, np.array(column, dtype=np.float64)[:, None]], axis=1)
    return torch.from_numpy(graph.edges), graph.num_nodes, torch.from_numpy(told), torch.from_numpy(graph.weights)
