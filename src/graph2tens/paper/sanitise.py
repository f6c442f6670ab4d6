"""Connected components and random maximal independent sets, by breadth-first search over CSR rows; nothing is dense."""

from __future__ import annotations

import itertools
import random

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from ..datasets.dataset import Integers


def largest_component(edge_index: Tensor, num_nodes: int) -> Integers:
    """Nodes, ascending, of the largest connected component (directions ignored; of equal ones the first)."""
    _, component = sp.csgraph.connected_components(_adjacency(edge_index, num_nodes), directed=False)
    return np.flatnonzero(component == np.bincount(component).argmax()).astype(np.int64)


def independent_set(edge_index: Tensor, num_nodes: int, hops: int, seed: int) -> Integers:
    """A random maximal set of nodes no two of which are joined by a path of at most `hops` edges.

    In words: draw a node uniformly from those still available, strike it and all nodes within `hops` of it off, until none is
    left. This is ``networkx.maximal_independent_set`` of the graph of :math:`(A + I)^{hops} > 0` with ``random.Random(seed)``, draw
    for draw, and so what the authors' code does with a dense matrix: the sizes of all their sets agree (docs/data.md). The one
    peculiarity that follows is the order in which a Python set of integers lists the available nodes.

    Cost: the balls of radius `hops` around the chosen nodes, and one pass over the available nodes for each of them.

    Args:
        edge_index: (2, E), taken as undirected.
        num_nodes: n.
        hops: at least 1.
        seed: of the draws.

    Returns:
        The nodes in the order in which they were drawn, which matters to the split that follows.
    """
    if isinstance(hops, bool) or not isinstance(hops, int) or hops < 1:
        raise ValueError(f"`hops` must be a whole number, at least 1 (got {hops!r}).")
    adjacency = _adjacency(edge_index, num_nodes)
    pointer, neighbours = adjacency.indptr.tolist(), adjacency.indices.tolist()

    def ball(centre: int) -> set[int]:
        reached, front = {centre}, [centre]
        for _ in range(hops):
            front = [v for u in front for v in neighbours[pointer[u] : pointer[u + 1]]]
            reached.update(front)
        return reached

    generator = random.Random(seed)
    chosen = [generator.choice(range(num_nodes))]
    available = set(range(num_nodes)).difference(ball(chosen[0]))
    while available:
        position = generator.choice(range(len(available)))  # the draw of random.choice(list(available)), without the list
        node = next(itertools.islice(available, position, None))
        chosen.append(node)
        available.difference_update(sorted(ball(node)))
    return np.array(chosen, dtype=np.int64)


def _adjacency(edge_index: Tensor, num_nodes: int) -> sp.csr_matrix:
    """The pattern of A + A^T in CSR with sorted columns."""
    row, col = edge_index.numpy()
    ends = np.concatenate([row, col]), np.concatenate([col, row])
    adjacency = sp.csr_matrix((np.ones(ends[0].size, dtype=np.int8), ends), shape=(num_nodes, num_nodes))
    adjacency.sum_duplicates()
    return adjacency
