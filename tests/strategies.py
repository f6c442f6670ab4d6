"""Graphs for property-based tests, with every corner, and the corners by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

# name -> (number of nodes, directed edges (i, j): the walker steps from i to j)
CORNER_GRAPHS: dict[str, tuple[int, list[tuple[int, int]]]] = {
    "one_node": (1, []),
    "one_node_loop": (1, [(0, 0)]),
    "no_edges": (3, []),
    "one_edge": (2, [(0, 1), (1, 0)]),
    "path": (3, [(0, 1), (1, 0), (1, 2), (2, 1)]),
    "triangle": (3, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)]),
    "star": (4, [(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)]),
    "isolated": (4, [(0, 1), (1, 0), (1, 3), (3, 1)]),
    "dangling": (4, [(0, 1), (1, 2), (2, 0), (1, 3)]),
    "self_loop": (3, [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]),
    "two_components": (5, [(0, 1), (1, 0), (2, 3), (3, 2), (3, 4), (4, 3)]),
    "directed": (4, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 1)]),
    "parallel": (3, [(0, 1), (0, 1), (1, 0), (1, 2), (2, 0), (0, 1)]),
    "unsorted": (4, [(3, 0), (1, 2), (0, 3), (2, 1), (0, 1), (1, 0)]),
}


class Graph(NamedTuple):
    """n nodes, `edges` (E, 2) and `weights` (E,) or None."""

    n: int
    edges: NDArray[np.int64]
    weights: NDArray[np.float64] | None


def corner(name: str) -> Graph:
    """A corner graph by name, as a `Graph` without weights."""
    n, edges = CORNER_GRAPHS[name]
    return Graph(n, np.array(edges, dtype=np.int64).reshape(-1, 2), None)


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 5, max_edges: int = 8, weighted: bool = True) -> Graph:
    """Directed and undirected graphs; self-loops, parallel edges, isolated and dangling nodes, weights or none."""
    if draw(st.integers(0, 3)) == 0:
        graph = corner(draw(st.sampled_from([name for name, (n, _) in CORNER_GRAPHS.items() if n <= max_nodes])))
        n, edges = graph.n, [tuple(edge) for edge in graph.edges.tolist()]
    else:
        n = draw(st.integers(1, max_nodes))
        node = st.integers(0, n - 1)
        undirected = draw(st.booleans())
        edges = draw(st.lists(st.tuples(node, node), max_size=max_edges // 2 if undirected else max_edges))
        if undirected:
            edges = edges + [(j, i) for i, j in edges if i != j]
    weights = None
    if weighted and edges and draw(st.booleans()):
        weights = np.array(draw(st.lists(st.floats(0.1, 5.0), min_size=len(edges), max_size=len(edges))))
    return Graph(n, np.array(edges, dtype=np.int64).reshape(-1, 2), weights)


def seeds() -> st.SearchStrategy[np.random.Generator]:
    """A generator of attributes and components: their values need no shrinking, the graph does."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def variants() -> st.SearchStrategy[dict[str, bool]]:
    """Every combination of increments, zero start and time."""
    return st.fixed_dictionaries({"increments": st.booleans(), "zero_start": st.booleans(), "time": st.booleans()})


def laziness() -> st.SearchStrategy[float]:
    return st.sampled_from([0.0, 0.0, 0.3, 0.9])
