"""Mini-batches cut out of one big disjoint union: collate and sort once, then copy ranges.

Collating PyG ``Data`` objects and sorting their edges costs more than an epoch's arithmetic on small graphs. Here the graphs are
joined once, the random walk of the union is computed once, and since its blocks do not touch, the walk of any batch consists of ranges
of rows with their numbers shifted: no sort, for the transposed walk that backward passes need neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from ..nn.transition import as_walk
from ..walks import RandomWalk, row_pointer
from .dataset import DataError, Integers
from .scaling import AttributeScaler


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """A disjoint union of B graphs with n nodes, as PyG's ``Batch`` numbers them.

    Attributes:
        x: (n, d).
        edge_index: (2, E), the graphs' own edges.
        batch: (n,) graph of each node.
        y: (B,), or (n,) for labels of nodes, or None.
        walk: the random walk, with the loops and laziness that were asked for.
        num_graphs: B.
    """

    x: Tensor
    edge_index: Tensor
    batch: Tensor
    y: Tensor | None
    walk: RandomWalk
    num_graphs: int

    def to(self, device: torch.device | str) -> GraphBatch:
        """The batch on another device."""
        y = None if self.y is None else self.y.to(device)
        return GraphBatch(
            self.x.to(device), self.edge_index.to(device), self.batch.to(device), y, self.walk.to(torch.device(device)), self.num_graphs
        )


class CollatedGraphs:
    """All graphs of a data set, joined once; :meth:`batch` cuts any of them out.

    Args:
        graphs: with x of one width and edge_index; y of all or of none. Edges without ``edge_weight`` have weight 1.
        self_loops: give every node a loop before the walk is normalised.
        laziness: probability to stay put.
        scaler: scales x, once.
    """

    def __init__(
        self, graphs: Sequence[Data], *, self_loops: bool = False, laziness: float = 0.0, scaler: AttributeScaler | None = None
    ) -> None:
        _check_graphs(graphs)
        sizes = torch.tensor([graph.x.size(0) for graph in graphs])
        self.num_graphs, num_nodes = len(graphs), int(sizes.sum())
        node_ptr = row_pointer(sizes)
        graph_of = torch.repeat_interleave(torch.arange(len(graphs)), sizes)
        edge_index = torch.cat([graph.edge_index + start for graph, start in zip(graphs, node_ptr.tolist(), strict=False)], dim=1)
        x = torch.cat([graph.x for graph in graphs])
        x = x if scaler is None else scaler.transform(x)
        y = None if graphs[0].y is None else torch.cat([graph.y.reshape(-1) for graph in graphs])
        self._y_of_nodes = y is not None and y.numel() == num_nodes != self.num_graphs
        walk = as_walk(edge_index, num_nodes, _edge_weights(graphs), self_loops=self_loops, laziness=laziness, batch=graph_of).to(x.dtype)

        # NumPy copies on one thread. PyTorch would split these small copies over all cores, and wait for them on a busy machine.
        self.x, self.y = x.numpy(), None if y is None else y.numpy()
        self._node_ptr, self._entry_ptr = node_ptr.numpy(), walk.row_ptr[node_ptr].numpy()
        self._edge_ptr = row_pointer(torch.tensor([graph.edge_index.size(1) for graph in graphs])).numpy()
        self._row_start = walk.row_ptr[:-1].numpy()
        self._col, self._probabilities = walk.col.numpy(), walk.probabilities.numpy()
        self._edge_from, self._edge_to = edge_index.numpy()
        self._edge_position = walk.edge_position.numpy()

    def batch(self, index: Sequence[int] | Integers | Tensor) -> GraphBatch:
        """The graphs at `index`, in that order; a graph may occur several times."""
        chosen = np.asarray(index).reshape(-1)
        if not chosen.size:
            raise ValueError("`index` must name at least one graph (got none).")
        if chosen.min() < 0 or chosen.max() >= self.num_graphs:
            raise ValueError(f"`index` must hold graphs in [0, {self.num_graphs}) (got {chosen.min()} to {chosen.max()}).")
        nodes, graph_of, node_shift = _ranges(self._node_ptr, chosen)
        entries, entry_graph, entry_shift = _ranges(self._entry_ptr, chosen)
        edges, edge_graph, _ = _ranges(self._edge_ptr, chosen)
        node_shift_of_entry, entry_shift_of_node = node_shift.take(entry_graph), entry_shift.take(graph_of)
        edge_index = np.stack([self._edge_from.take(edges), self._edge_to.take(edges)])
        edge_index -= node_shift[edge_graph]
        batch = torch.from_numpy(graph_of)
        walk = RandomWalk(
            num_nodes=nodes.size,
            row_ptr=torch.from_numpy(np.append(self._row_start.take(nodes) - entry_shift_of_node, entries.size)),
            col=torch.from_numpy(self._col.take(entries) - node_shift_of_entry),
            probabilities=torch.from_numpy(self._probabilities.take(entries)),
            edge_position=torch.from_numpy(self._edge_position.take(edges) - entry_shift[edge_graph]),
            batch=batch,
        )
        y = None if self.y is None else torch.from_numpy(self.y[nodes if self._y_of_nodes else chosen])
        return GraphBatch(torch.from_numpy(self.x.take(nodes, axis=0)), torch.from_numpy(edge_index), batch, y, walk, chosen.size)

    @property
    def sizes(self) -> Integers:
        """Nodes and steps of each graph, together: what work on it takes, about."""
        return np.diff(self._node_ptr) + np.diff(self._entry_ptr)

    def batches(self, index: Sequence[int] | Integers | Tensor, batch_size: int) -> Iterator[GraphBatch]:
        """The graphs at `index` in order, `batch_size` at a time; the last batch may be smaller."""
        chosen = np.asarray(index).reshape(-1)
        for start in range(0, chosen.size, batch_size):
            yield self.batch(chosen[start : start + batch_size])

    def __len__(self) -> int:
        return self.num_graphs

    def __repr__(self) -> str:
        return f"CollatedGraphs({self.num_graphs} graphs, {len(self.x)} nodes, {self._probabilities.size} steps)"


def _edge_weights(graphs: Sequence[Data]) -> Tensor | None:
    """Weights of all edges, or None if no graph has any."""
    if all(graph.edge_weight is None for graph in graphs):
        return None
    return torch.cat([torch.ones(graph.edge_index.size(1)) if graph.edge_weight is None else graph.edge_weight for graph in graphs])


def _ranges(pointer: Integers, index: Integers) -> tuple[Integers, Integers, Integers]:
    """The ranges ``pointer[g]..pointer[g + 1]`` of all g in `index`, one after the other.

    Returns the positions, the place in `index` each belongs to, and for each place how far its range moved: old minus new position.
    """
    start = pointer[index]
    counts = pointer[index + 1] - start
    end = counts.cumsum()
    shift = start - (end - counts)
    owner = np.repeat(np.arange(index.size), counts)
    return np.arange(end[-1]) + shift[owner], owner, shift


def _check_graphs(graphs: Sequence[Data]) -> None:
    if not graphs:
        raise DataError("there are no graphs to collate")
    for place, graph in enumerate(graphs):
        if graph.x is None or graph.x.dim() != 2:
            raise DataError(f"graph {place}: x must be given, of shape (nodes, attributes)")
        if graph.x.size(1) != graphs[0].x.size(1):
            raise DataError(f"graph {place}: x must have shape (nodes, {graphs[0].x.size(1)}) as in graph 0 (got {tuple(graph.x.shape)})")
        if not graph.x.size(0):
            raise DataError(f"graph {place}: has no nodes")
        weight = graph.edge_weight
        if weight is not None and weight.shape != graph.edge_index.shape[1:]:
            edges = graph.edge_index.size(1)
            raise DataError(f"graph {place}: edge_weight must have shape ({edges},), one for each edge (got {tuple(weight.shape)})")
        if (graph.y is None) != (graphs[0].y is None):
            raise DataError(f"graph {place}: all graphs must have a label y, or none of them")
