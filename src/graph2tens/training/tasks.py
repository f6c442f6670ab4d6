"""A data set as the training loop sees it: graphs in shuffled mini-batches, or one graph with labelled nodes.

A network is called with ``(x, edge_index, batch, batch_size=graphs)`` for graphs and ``(x, edge_index)`` for nodes. One that has
``walk_options`` (:class:`graph2tens.nn.GraphTensNet`) gets a :class:`~graph2tens.RandomWalk` in the place of ``edge_index``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..datasets import AttributeScaler, CollatedGraphs, GraphBatch, GraphDataset, Split
from ..nn.transition import as_walk
from .objectives import Classification, Objective
from .records import PARTS

SPARSE = 0.2  # share of entries that are not 0 below which attributes are kept sparse


@dataclass(frozen=True)
class Batch:
    """What a model is called with, and what it should have said.

    Attributes:
        inputs: positional arguments of the model.
        y: the truth, a row for each row of the output that counts.
        rows: those rows of the model's output: the labelled nodes of a node task; None for all.
        weight: of this process' share of a batch: its size over the average share. 1 for a single process.
        keywords: keyword arguments of the model.
    """

    inputs: tuple[Any, ...]
    y: Tensor
    rows: Tensor | None = None
    weight: float = 1.0
    keywords: Mapping[str, Any] = field(default_factory=dict)


class Task(Protocol):
    """Data as the loop needs it: shuffled batches to learn from, fixed ones to be judged by, and the objective."""

    @property
    def objective(self) -> Objective: ...

    @property
    def steps_per_epoch(self) -> int: ...

    def training_batches(self, generator: torch.Generator, rank: int = 0, world_size: int = 1) -> Iterable[Batch]: ...

    def batches(self, part: str) -> Iterable[Batch]:
        """The batches of ``train``, ``validation`` or ``test``, in fixed order."""
        ...


class GraphTask:
    """Learn about graphs. They are joined once; a batch is cut out of the union, and the batches for evaluation are kept.

    Args:
        dataset: with a target for each graph.
        split: which graphs are for what.
        scaler: of the attributes, fitted on training graphs.
        batch_size: graphs in a batch; the last batch of an epoch may be smaller.
        network: for which batches are prepared.
        device: where batches go.
        objective: what is learnt.
    """

    def __init__(
        self,
        dataset: GraphDataset,
        split: Split,
        scaler: AttributeScaler,
        batch_size: int,
        network: nn.Module,
        device: torch.device | str = "cpu",
        objective: Objective | None = None,
    ) -> None:
        self._walks = walk_options(network)
        self._graphs = CollatedGraphs(dataset.graphs, scaler=scaler, **(self._walks or {}))
        self._split, self._batch_size, self._device = split, batch_size, device
        self.objective = objective or Classification()
        self._kept: dict[str, list[Batch]] = {}

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self._split.train) // self._batch_size)

    def training_batches(self, generator: torch.Generator, rank: int = 0, world_size: int = 1) -> Iterator[Batch]:
        """A new order every epoch. Of several processes each takes its part of every batch, so the batch size means the same."""
        order = torch.randperm(len(self._split.train), generator=generator).numpy()
        for start in range(0, order.size, self._batch_size):
            whole = self._split.train[order[start : start + self._batch_size]]
            mine = whole if world_size == 1 else self._share(whole, rank, world_size)
            # A last batch smaller than the number of processes: those left without a graph take part with weight 0.
            yield self._batch(mine if mine.size else whole[:1], mine.size * world_size / whole.size)

    def _share(self, whole: NDArray[np.int64], rank: int, world_size: int) -> NDArray[np.int64]:
        """As many graphs for each process, and about as many nodes and steps, since in every step all wait for the last one.

        The largest go to processes 0, 1, 2, the next ones to 2, 1, 0, and so on.
        """
        place = np.arange(whole.size)
        turn = place % world_size
        owner = np.where(place // world_size % 2, world_size - 1 - turn, turn)
        mine: NDArray[np.int64] = whole[np.argsort(-self._graphs.sizes[whole], kind="stable")][owner == rank]
        return mine

    def batches(self, part: str) -> list[Batch]:
        """The batches of ``train``, ``validation`` or ``test``; made once, but those of the large training part are not kept."""
        if part not in self._kept:
            index, size = getattr(self._split, part), 2 * self._batch_size
            made = [self._batch(index[start : start + size]) for start in range(0, index.size, size)]
            if part == "train":
                return made
            self._kept[part] = made
        return self._kept[part]

    def _batch(self, index: np.ndarray, weight: float = 1.0) -> Batch:
        batch = self._graphs.batch(index)
        batch = batch.to(self._device) if torch.device(self._device).type != "cpu" else batch
        return as_batch(batch, self._walks is not None, weight)


class NodeTask:
    """Learn about the nodes of one graph: every step sees the whole graph, and the loss the labelled nodes of its part.

    Args:
        dataset: of one graph with a class for each node.
        split: which nodes are for what.
        scaler: of the attributes.
        network: for which the graph is prepared.
        device: where the graph goes.
        objective: what is learnt.
    """

    def __init__(
        self,
        dataset: GraphDataset,
        split: Split,
        scaler: AttributeScaler,
        network: nn.Module,
        device: torch.device | str = "cpu",
        objective: Objective | None = None,
    ) -> None:
        inputs = graph_inputs(dataset, scaler, network, device)
        y = torch.from_numpy(dataset.labels).to(device)
        parts: Mapping[str, Tensor] = {part: torch.from_numpy(getattr(split, part)).to(device) for part in PARTS}
        self._batches = {part: [Batch(inputs, y[nodes], nodes)] for part, nodes in parts.items()}
        remember: Any = getattr(network, "remember", None)
        if remember is not None:
            remember(y[parts["train"]], parts["train"], y.numel())
        self.objective = objective or Classification()

    steps_per_epoch = 1

    def training_batches(self, generator: torch.Generator, rank: int = 0, world_size: int = 1) -> Iterable[Batch]:
        """The graph itself."""
        if world_size > 1:
            raise ValueError(f"one graph cannot be shared among processes: train on node labels with one device (got {world_size}).")
        return self._batches["train"]

    def batches(self, part: str) -> list[Batch]:
        """The graph, and the nodes of ``train``, ``validation`` or ``test``."""
        return self._batches[part]


def walk_options(network: nn.Module) -> Mapping[str, Any] | None:
    """What a network's walks do besides following edges; None for a network that reads edges."""
    return getattr(network, "walk_options", None)


def wants_raw_attributes(network: nn.Module) -> bool:
    """Whether a network is given attributes as they are in the data, not scaled."""
    return bool(getattr(network, "raw_attributes", False))


def as_batch(batch: GraphBatch, walks: bool = True, weight: float = 1.0) -> Batch:
    """Graphs as arguments of a network; graphs without labels get class 0."""
    y = batch.x.new_zeros(batch.num_graphs, dtype=torch.long) if batch.y is None else batch.y
    inputs = (batch.x, batch.walk if walks else batch.edge_index, batch.batch)
    return Batch(inputs, y, weight=weight, keywords={"batch_size": batch.num_graphs})


def graph_inputs(dataset: GraphDataset, scaler: AttributeScaler, network: nn.Module, device: Any = "cpu") -> tuple[Any, Any]:
    """The one graph of a node task as arguments of a network."""
    graph, options = dataset.graphs[0], walk_options(network)
    x = scaler.transform(graph.x)
    if options is None and not wants_raw_attributes(network):
        return x.to(device), graph.edge_index.to(device)
    if int(x.count_nonzero()) < SPARSE * x.numel():
        with warnings.catch_warnings():  # CSR tensors are in beta state: nothing that a user could act on
            warnings.simplefilter("ignore")
            x = x.to_sparse_csr()  # words of articles: products with 1 % of the entries are that much cheaper
    if options is None:
        return x.to(device), graph.edge_index.to(device)
    return x.to(device), as_walk(graph.edge_index, x.size(0), **options).to(x.dtype).to(device)
