"""Rows of nodes become rows of graphs, a batch of graphs at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .inputs import OneGraph

POOLINGS = ("sqrt", "sum", "mean", "both", None)


@dataclass(frozen=True, eq=False)
class Pooling:
    """Over the nodes of each graph of a union.

    Attributes:
        kind: one of POOLINGS; None keeps a row for every node.
        node_ptr: (graphs + 1,) where each graph's nodes start.
    """

    kind: str | None
    node_ptr: NDArray[np.int64]

    @classmethod
    def of(cls, graphs: Sequence[OneGraph], kind: str | None) -> Pooling:
        return cls(kind, np.concatenate([[0], np.cumsum([graph.num_nodes for graph in graphs])]))

    def sums(self, x: NDArray[Any]) -> NDArray[Any]:
        """(graphs, columns) in double precision, of (nodes, columns)."""
        from .feature_loops import plain, pool

        if self.kind is None:
            return x
        out = np.zeros((self.node_ptr.size - 1, x.shape[1]))
        pool(plain(x), self.node_ptr, out)
        return out

    def finish(self, sums: NDArray[Any]) -> NDArray[np.float32]:
        """What the kind makes of sums."""
        if self.kind is None:
            return sums
        count = np.diff(self.node_ptr).astype(np.float64)[:, None]
        if self.kind == "both":
            return np.concatenate([sums, sums / count], axis=1).astype(np.float32)
        return (sums / {"sum": np.ones_like(count), "mean": count, "sqrt": np.sqrt(count)}[self.kind]).astype(np.float32)


def batches(graphs: Sequence[OneGraph], nodes: int) -> Iterator[slice]:
    """Ranges of graphs that have about `nodes` nodes together."""
    start, total = 0, 0
    for place, graph in enumerate(graphs):
        if total and total + graph.num_nodes > nodes:
            yield slice(start, place)
            start, total = place, 0
        total += graph.num_nodes
    yield slice(start, len(graphs))
