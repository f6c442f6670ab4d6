"""Mini-batches of a huge graph for training: the nodes that walks from some seeds can meet, at most so many per step.

PyG's `NodeLoader` with a sampler in plain torch: PyG's own samplers need compiled packages that lag behind torch. Edges have the direction
of `walks.py`: a node reads from where its edges point to, which PyG's `NeighborLoader` would turn around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput

from ...checks import check_integer
from .graph import GraphOnDisk


class WalkSampler(BaseSampler):  # type: ignore[misc]
    """Neighbourhoods of seeds, for `torch_geometric.loader.NodeLoader`.

    Every node that is first met after t steps gets at most ``fanouts[t]`` of its out-neighbours, drawn without replacement. Where the steps
    of a node are alike, a step of the sample has the expectation of a step on the full graph. Where they differ, likely ones are drawn
    rather, and all that are drawn count alike, which is an approximation. A layer with ``walk_length=k`` reads k steps, so `fanouts` has
    the steps of all layers together; -1 takes all neighbours: for a graph without weights, seeds are then exact.

    Args:
        graph: on disk.
        fanouts: neighbours per node, for each step.
        seed: of the drawing. Workers of a loader and processes of a training run get different draws through torch's own seeds.

    Example::

        sampler = WalkSampler(graph, [10, 10, 5])
        loader = NodeLoader(Data(x=x, y=y, edge_index=sampler.edge_index), sampler, input_nodes=train_nodes, batch_size=1024)
        for batch in loader:
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
    """

    edge_index = torch.zeros(2, 0, dtype=torch.long)
    """What to give PyG's ``Data`` in the place of all edges: the graph stays on disk."""

    def __init__(self, graph: GraphOnDisk | str, fanouts: Sequence[int], seed: int | None = None) -> None:
        self.graph = graph if isinstance(graph, GraphOnDisk) else GraphOnDisk(graph)
        if not fanouts:
            raise ValueError("`fanouts` must have a number for each step (got none).")
        self.fanouts = [fanout if fanout == -1 else check_integer(fanout, "fanouts", 1, ", or -1 for all neighbours") for fanout in fanouts]
        self._generator = None if seed is None else torch.Generator().manual_seed(seed)

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        """Seeds first, then the others in the order in which they are met."""
        seeds = index.node.to(torch.long)
        place, frontier = _Places(seeds), seeds
        rows, cols, counts = [], [], [seeds.numel()]
        for fanout in self.fanouts:
            row, entry = self._steps(frontier, fanout)
            target = torch.from_numpy(self.graph.col[entry.numpy()].astype(np.int64))
            source = place.of(row)
            frontier = place.add(target)
            rows.append(source)
            cols.append(place.of(target))
            counts.append(frontier.numel())
        # Edges of a batch are read as edge_index: the walker steps from the first row to the second.
        return SamplerOutput(
            node=place.nodes(),
            row=torch.cat(rows),
            col=torch.cat(cols),
            edge=None,
            num_sampled_nodes=counts,
            num_sampled_edges=[row.numel() for row in rows],
            metadata=(index.input_id, index.time),
        )

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> Any:
        raise NotImplementedError("WalkSampler draws neighbourhoods of nodes, not of edges.")

    def _steps(self, nodes: Tensor, fanout: int) -> tuple[Tensor, Tensor]:
        """Entries of the graph that leave `nodes`, at most `fanout` for each, and the node that each leaves."""
        numbers = nodes.numpy()
        begin = torch.from_numpy(self.graph.row_ptr[numbers])
        degree = torch.from_numpy(self.graph.row_ptr[numbers + 1]) - begin
        owner = torch.repeat_interleave(torch.arange(nodes.numel()), degree)
        first = degree.cumsum(0) - degree
        entry = begin[owner] + torch.arange(owner.numel()) - first[owner]
        if fanout != -1 and bool((degree > fanout).any()):
            keys = torch.rand(owner.numel(), generator=self._generator)
            if self.graph.probabilities is not None:
                # Of exponential clocks with these rates the first to ring are a draw without replacement (Efraimidis and Spirakis).
                rate = torch.from_numpy(self.graph.probabilities[entry.numpy()]).clamp(min=1e-30)
                keys = -torch.log(keys.clamp(min=1e-30)) / rate
            order = torch.argsort(keys, stable=True)
            order = order[torch.argsort(owner[order], stable=True)]  # by node, then by key
            rank = torch.arange(owner.numel()) - first[owner[order]]
            kept = order[rank < fanout].sort().values
            owner, entry = owner[kept], entry[kept]
        return nodes[owner], entry


class _Places:
    """Where a node stands among those that were met, in the order of their first meeting."""

    def __init__(self, seeds: Tensor) -> None:
        self._found = [seeds]
        self._sorted, self._where = torch.sort(seeds, stable=True)
        if bool((self._sorted.diff() == 0).any()):
            raise ValueError("seeds of a batch must differ (got one twice).")

    def of(self, nodes: Tensor) -> Tensor:
        where: Tensor = self._where[torch.searchsorted(self._sorted, nodes)]
        return where

    def add(self, nodes: Tensor) -> Tensor:
        """Those of `nodes` that are new, each once."""
        unique = torch.unique(nodes)
        at = torch.searchsorted(self._sorted, unique).clamp(max=self._sorted.numel() - 1)
        new: Tensor = unique[self._sorted[at] != unique]
        total = self._sorted.numel()
        self._found.append(new)
        merged, order = torch.sort(torch.cat([self._sorted, new]), stable=True)
        self._where = torch.cat([self._where, total + torch.arange(new.numel())])[order]
        self._sorted = merged
        return new

    def nodes(self) -> Tensor:
        return torch.cat(self._found)
