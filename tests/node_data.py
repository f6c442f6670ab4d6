"""A random graph with classes of nodes, for tests of splits."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from graph2tens.datasets import GraphDataset


def node_dataset(n: int = 600, seed: int = 0, num_classes: int = 3, shares: tuple[float, ...] = (0.5, 0.3, 0.2)) -> GraphDataset:
    """A sparse random graph with classes; every tenth node is cut off."""
    graph = nx.gnp_random_graph(n, 2.2 / n, seed=seed)
    edges = np.array([edge for edge in graph.edges if edge[0] % 10 and edge[1] % 10]).T
    y = np.random.default_rng(seed).choice(num_classes, size=n, p=shares)
    data = Data(x=torch.ones(n, 1), edge_index=to_undirected(torch.tensor(edges), num_nodes=n), y=torch.tensor(y))
    return GraphDataset("random", [data], num_classes, 1, "node", tuple("abc"[:num_classes]))


def assert_disjoint(parts, universe) -> None:
    together = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(together) == sorted(universe)
