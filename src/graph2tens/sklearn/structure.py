"""What walks average away, as attributes of nodes: the rings they lie on, and how soon a walk comes back to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.compiling import compiled
from ..checks import check_fits
from .inputs import Floats, OneGraph

LARGEST = 8  # ring that has a column of its own
FARTHEST = 16  # ring that is looked for; those above LARGEST share a column
STEPS = 10
COLUMNS = {
    "rings": [*(f"ring{size}" for size in range(3, LARGEST + 1)), "larger_ring"],
    "returns": [f"return{step}" for step in range(1, STEPS + 1)],
}


def parse_structure(given: object) -> tuple[str, ...]:
    """``"rings,returns"`` -> ("rings", "returns"); "" is none."""
    names = tuple(name.strip() for name in given.split(",") if name.strip()) if isinstance(given, str) else (None,)
    if not set(names) <= set(COLUMNS):
        raise ValueError(f"`structure` must be '', 'rings', 'returns' or 'rings,returns' (got {given!r}).")
    return tuple(name for name in COLUMNS if name in names)


def structure_names(structure: str) -> list[str]:
    """Names of the columns that :func:`with_structure` adds."""
    return [column for name in parse_structure(structure) for column in COLUMNS[name]]


def with_structure(graphs: Sequence[OneGraph], structure: str) -> list[OneGraph]:
    """The graphs with further attributes, after their own."""
    names = parse_structure(structure)
    if not names:
        return list(graphs)
    found = []
    for graph in graphs:
        own = [] if graph.attributes is None else [graph.attributes]
        found.append(replace(graph, attributes=np.concatenate([*own, structure_table(graph, names)], axis=1)))
    return found


def structure_table(graph: OneGraph, names: Sequence[str]) -> Floats:
    """(n, columns) of these kinds of structure."""
    makers = {"rings": ring_sizes, "returns": return_probabilities}
    return np.concatenate([makers[name](graph) for name in names], axis=1)


def ring_sizes(graph: OneGraph) -> Floats:
    """(n, 7) of 0 and 1: whether a node lies on a smallest ring of 3, .., 8 or more nodes.

    The smallest rings are those through each edge, whatever its direction; unlike a cycle basis they do not depend on the numbering of
    nodes. Rings of more than 16 nodes are not looked for.
    """
    forth = graph.edges[:, graph.edges[0] != graph.edges[1]]
    both = np.unique(np.concatenate([forth, forth[::-1]], axis=1), axis=1)
    row_ptr = np.concatenate([[0], np.bincount(both[0], minlength=graph.num_nodes).cumsum()]).astype(np.int64)
    sizes = np.zeros((graph.num_nodes, FARTHEST + 1))
    smallest_rings(row_ptr, np.ascontiguousarray(both[1], dtype=np.int64), sizes)
    return np.concatenate([sizes[:, 3 : LARGEST + 1], sizes[:, LARGEST + 1 :].max(axis=1, keepdims=True)], axis=1)


def return_probabilities(graph: OneGraph) -> Floats:
    """(n, 10): the probability that a walk is back where it started after 1, .., 10 steps."""
    n = graph.num_nodes
    check_fits(3 * n * n, f"return probabilities of a graph of {n} nodes", "structure='rings' needs no matrix.")
    P = np.zeros((n, n))
    np.add.at(P, (graph.edges[0], graph.edges[1]), graph.weights)
    total = P.sum(axis=1)
    P[total == 0, total == 0] = 1  # a walk that cannot leave stays
    P /= np.where(total > 0, total, 1)[:, None]
    power, found = np.eye(n), []
    for _ in range(STEPS):
        power = power @ P
        found.append(np.diagonal(power))
    return np.stack(found, axis=1)


def _smallest_rings(row_ptr, col, sizes):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Mark sizes[i, s] = 1 where an edge of node i has s nodes on the smallest ring through it: a breadth-first search for each edge."""
    n = sizes.shape[0]
    depth, stamp, queue = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i in range(n):
        for entry in range(row_ptr[i], row_ptr[i + 1]):
            j = col[entry]
            if j < i:
                continue
            queue[0], depth[i], stamp[i] = i, 0, entry
            head, tail, found = 0, 1, 0
            while head < tail and found == 0:
                a = queue[head]
                head += 1
                if depth[a] + 2 > sizes.shape[1] - 1:
                    break
                for other in range(row_ptr[a], row_ptr[a + 1]):
                    b = col[other]
                    if a == i and b == j:  # the edge itself
                        continue
                    if b == j:
                        found = depth[a] + 2
                        break
                    if stamp[b] != entry:
                        stamp[b], depth[b] = entry, depth[a] + 1
                        queue[tail] = b
                        tail += 1
            if found:
                sizes[i, found], sizes[j, found] = 1, 1


smallest_rings: Any = compiled(_smallest_rings, "structure")


def structure_colours(graph: OneGraph, structure: str) -> list[bytes]:
    """Structure as a discrete label of each node, for methods that know labels only."""
    table: NDArray[Any] = structure_table(graph, parse_structure(structure)).round(9) + 0.0  # no negative zeros
    return [row.tobytes() for row in table]
