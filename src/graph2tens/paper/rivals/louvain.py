"""Louvain communities of small graphs, level upon level, found once per graph and remembered: they depend on edges alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class Level(NamedTuple):
    """How one level of a graph is merged into the next."""

    cluster: NDArray[np.int64]  # community of each node below
    edges: NDArray[np.int64]  # (2, E) between communities, both directions
    weights: NDArray[np.float32]  # how many edges below each stands for


class LouvainPooling(nn.Module):
    """The communities of every graph in a batch, of their graph, and so on: the first pass of Louvain's method at each level.

    Args:
        depth: levels.
        resolution: below 1 for larger communities.
    """

    def __init__(self, depth: int, resolution: float) -> None:
        super().__init__()
        self.depth, self.resolution = depth, resolution
        self._known: dict[bytes, list[Level]] = {}

    def forward(self, edge_index: Tensor, batch: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """For each level the community of each node, the edges between communities, and their weights.

        Nodes must be sorted by graph. An edge belongs to the graph of its first node.
        """
        sizes = torch.bincount(batch).cpu().numpy()
        edges = edge_index.cpu().numpy()
        owner = batch.cpu().numpy()[edges[0]]
        order = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[order], np.arange(1, sizes.size))
        first = np.concatenate([[0], sizes.cumsum()[:-1]])
        parts = np.split(edges[:, order], cuts, axis=1)
        graphs = [self._levels(part - start, size) for part, start, size in zip(parts, first.tolist(), sizes.tolist(), strict=True)]
        for level in range(self.depth):
            steps = [levels[level] for levels in graphs]
            counts = np.array([0, *(step.cluster.max(initial=-1) + 1 for step in steps)])
            starts = counts.cumsum()[:-1].tolist()
            cluster = np.concatenate([step.cluster + start for step, start in zip(steps, starts, strict=True)])
            between = np.concatenate([step.edges + start for step, start in zip(steps, starts, strict=True)], axis=1)
            weights = np.concatenate([step.weights for step in steps])
            yield tuple(torch.from_numpy(array).to(edge_index.device) for array in (cluster, between, weights))  # type: ignore[misc]

    def _levels(self, edges: NDArray[np.int64], num_nodes: int) -> list[Level]:
        key = num_nodes.to_bytes(8, "little") + np.ascontiguousarray(edges).tobytes()
        if key not in self._known:
            self._known[key] = list(_levels(edges, num_nodes, self.depth, self.resolution))
        return self._known[key]


def _levels(edges: NDArray[np.int64], num_nodes: int, depth: int, resolution: float) -> Iterator[Level]:
    weights = np.ones(edges.shape[1], dtype=np.float32)
    for _ in range(depth):
        graph = nx.Graph()
        graph.add_nodes_from(range(num_nodes))
        graph.add_edges_from(edges.T.tolist())  # unweighted at every level, as in the source
        communities = next(iter(nx.community.louvain_partitions(graph, seed=1, resolution=resolution)))
        cluster = np.empty(num_nodes, dtype=np.int64)
        for number, members in enumerate(sorted(communities, key=min)):
            cluster[list(members)] = number
        num_nodes = len(communities)
        merged = cluster[edges]
        apart = merged[0] != merged[1]
        keys, place = np.unique(merged[0, apart] * num_nodes + merged[1, apart], return_inverse=True)
        weights = np.bincount(place, weights[apart], minlength=keys.size).astype(np.float32)
        edges = np.stack([keys // num_nodes, keys % num_nodes])
        yield Level(cluster, edges, weights)
