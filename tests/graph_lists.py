"""Small lists of graphs of every kind for the tests of the estimators."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data


def rings_and_paths(count: int = 24, seed: int = 0) -> tuple[list[nx.Graph], list[str]]:
    """networkx graphs with odd node names and labels of atoms; whether a graph is closed decides its class."""
    rng = np.random.default_rng(seed)
    graphs, classes = [], []
    for place in range(count):
        n = int(rng.integers(4, 9))
        graph = nx.cycle_graph(n) if place % 2 else nx.path_graph(n)
        graph = nx.relabel_nodes(graph, {i: (f"node {i}", i) for i in range(n)})
        nx.set_node_attributes(graph, {node: "CNO"[int(rng.integers(3))] for node in graph}, "label")
        graphs.append(graph)
        classes.append("ring" if place % 2 else "path")
    return graphs, classes


def corner_data(attributes: int | None = 2, seed: int = 0) -> list[Data]:
    """PyG graphs of every awkward shape."""
    from strategies import CORNER_GRAPHS

    rng = np.random.default_rng(seed)
    graphs = []
    for n, edges in CORNER_GRAPHS.values():
        data = Data(edge_index=torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T.contiguous(), num_nodes=n)
        if attributes is not None:
            data.x = torch.from_numpy(rng.normal(size=(n, attributes))).float()
        graphs.append(data)
    return graphs
