"""A data set as the training loop sees it: graphs in shuffled mini-batches, or one graph with labelled nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..datasets import AttributeScaler, CollatedGraphs, GraphBatch, GraphDataset, Split
from ..nn import GraphTensNet, WalkConv
from .loop import Batch

PARTS = ("train", "validation", "test")
SPARSE = 0.2  # share of entries that are not 0 below which attributes are kept sparse


class GraphTask:
    """Classify graphs. Graphs are joined once; a batch is cut out of the union, and the batches for evaluation are kept.

    Args:
        dataset: with a class for each graph.
        split: which graphs are for what.
        scaler: of the attributes, fitted on training graphs.
        batch_size: graphs in a batch; the last batch of an epoch may be smaller.
        network: whose walks are prepared.
        device: where batches go.
    """

    def __init__(
        self,
        dataset: GraphDataset,
        split: Split,
        scaler: AttributeScaler,
        batch_size: int,
        network: GraphTensNet,
        device: torch.device | str = "cpu",
    ) -> None:
        self._graphs = CollatedGraphs(dataset.graphs, scaler=scaler, **walk_options(network))
        self._split, self._batch_size, self._device = split, batch_size, device
        self._kept: dict[str, list[Batch]] = {}

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self._split.train) // self._batch_size)

    def training_batches(self, generator: torch.Generator, rank: int = 0, world_size: int = 1) -> Iterator[Batch]:
        """A new order every epoch. Of several processes each takes its part of every batch, so the batch size means the same."""
        order = torch.randperm(len(self._split.train), generator=generator).numpy()
        for start in range(0, order.size, self._batch_size):
            whole = order[start : start + self._batch_size]
            mine = whole[rank::world_size]
            # A last batch smaller than the number of processes: those left without a graph take part with weight 0.
            share = mine.size / whole.size
            yield self._batch(self._split.train[mine if mine.size else whole[:1]], share * world_size)

    def batches(self, part: str) -> list[Batch]:
        """The batches of ``train``, ``validation`` or ``test``; made once, but those of the large training part are not kept."""
        if part not in self._kept:
            made = [self._batch(batch) for batch in _chunks(getattr(self._split, part), 2 * self._batch_size)]
            if part == "train":
                return made
            self._kept[part] = made
        return self._kept[part]

    def _batch(self, index: np.ndarray, weight: float = 1.0) -> Batch:
        batch = self._graphs.batch(index)
        return as_batch(batch.to(self._device) if torch.device(self._device).type != "cpu" else batch, weight)


class NodeTask:
    """Classify the nodes of one graph: every step sees the whole graph, and the loss the labelled nodes of its part.

    Args:
        dataset: of one graph with a class for each node.
        split: which nodes are for what.
        scaler: of the attributes.
        network: whose walk is prepared.
        device: where the graph goes.
    """

    def __init__(
        self, dataset: GraphDataset, split: Split, scaler: AttributeScaler, network: GraphTensNet, device: torch.device | str = "cpu"
    ) -> None:
        graph = dataset.graphs[0]
        x = scaler.transform(graph.x)
        if int(x.count_nonzero()) < SPARSE * x.numel():
            x = x.to_sparse_csr()  # words of articles: products with 1 % of the entries are that much cheaper
        walk = network.walk(graph.edge_index, x.size(0)).to(x.dtype).to(device)
        y = torch.from_numpy(dataset.labels).to(device)
        parts: Mapping[str, Tensor] = {part: torch.from_numpy(getattr(split, part)).to(device) for part in PARTS}
        self._batches = {part: [Batch((x.to(device), walk), y[nodes], nodes)] for part, nodes in parts.items()}

    steps_per_epoch = 1

    def training_batches(self, generator: torch.Generator, rank: int = 0, world_size: int = 1) -> Iterable[Batch]:
        """The graph itself."""
        if world_size > 1:
            raise ValueError(f"one graph cannot be shared among processes: train on node labels with one device (got {world_size}).")
        return self._batches["train"]

    def batches(self, part: str) -> list[Batch]:
        """The graph, and the nodes of ``train``, ``validation`` or ``test``."""
        return self._batches[part]


def walk_options(network: GraphTensNet) -> dict[str, Any]:
    """What a network's walk does besides following edges."""
    for layer in network.convs:
        if isinstance(layer, WalkConv):
            return {"self_loops": layer.self_loops, "laziness": layer.laziness}
    return {}


def as_batch(batch: GraphBatch, weight: float = 1.0) -> Batch:
    """Graphs as arguments of the network; graphs without labels get class 0."""
    y = batch.x.new_zeros(batch.num_graphs, dtype=torch.long) if batch.y is None else batch.y
    return Batch((batch.x, batch.walk, batch.batch, None, None, batch.num_graphs), y, weight=weight)


def _chunks(index: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for start in range(0, index.size, size):
        yield index[start : start + size]
