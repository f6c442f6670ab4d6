r"""Graph -> random walk: transition probabilities in CSR.

Direction, stated once: **the walker steps from** ``edge_index[0]`` **to** ``edge_index[1]``, so node i reads from the nodes j that
its out-edges point to. A node without out-edges stays put (:math:`P_{ii} = 1`), so rows of P always sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from .checks import (
    check_batch,
    check_edges,
    check_floating,
    check_laziness,
    check_walk,
    check_weight,
    transformed,
)


def outside_inference_mode() -> AbstractContextManager[Any]:
    """For tensors that a walk keeps: they may be needed for training later, and tensors made in inference mode refuse that."""
    if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
        return nullcontext()
    return torch.inference_mode(False)


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """Transition probabilities of a walk, row by row (CSR). Build it with :func:`random_walk`.

    Attributes:
        num_nodes: number of nodes n.
        row_ptr: (n + 1,), entries ``row_ptr[i]`` to ``row_ptr[i + 1]`` are the steps out of node i.
        col: (E,), the node each entry steps to, ascending in a row; no pair (i, j) occurs twice.
        probabilities: (E,), or (E, H) when H attention heads walk independently.
        edge_position: (number of input edges,), the entry that each column of the given `edge_index` went into.
        batch: (n,) graph of each node in a disjoint union, or None for one graph.
        stochastic: every row sums to 1, so level 0 of all features is constantly 1 and need not be carried along. Not so after
            edges were dropped, or for probabilities that are free parameters.
        derived: what was computed from the pattern and the batch alone. Walks that :meth:`with_probabilities` makes share it; it is not
            saved, and not taken over by ``dataclasses.replace``.

    Arrays are checked wherever a walk is made, also when it is loaded from a file: compiled code trusts their indices.
    """

    num_nodes: int
    row_ptr: Tensor
    col: Tensor
    probabilities: Tensor
    edge_position: Tensor
    batch: Tensor | None = None
    stochastic: bool = True
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        tensors = (self.row_ptr, self.col, self.probabilities, self.edge_position)
        if torch.compiler.is_compiling() or transformed() or not all(type(tensor) is Tensor for tensor in tensors):
            return  # a program is being traced: there are no numbers yet
        check_walk(self.num_nodes, *tensors, self.batch)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        names = {one.name for one in fields(self) if one.init}
        if not isinstance(state, dict) or not names <= state.keys():
            raise ValueError(f"a saved RandomWalk must have {', '.join(sorted(names))} (got {sorted(state)}). Is the file damaged?")
        self.__init__(**{name: state[name] for name in names})  # type: ignore[misc]

    @property
    def num_edges(self) -> int:
        """Entries of P, those of added self-loops included."""
        return self.col.numel()

    @property
    def device(self) -> torch.device:
        return self.col.device

    @property
    def row(self) -> Tensor:
        """(E,), the node each entry steps from."""
        return self.known("row", lambda: _rows(self.row_ptr, self.num_edges))

    @property
    def transpose(self) -> tuple[Tensor, Tensor, Tensor]:
        """CSR of the transposed pattern: (pointer, the node an entry comes from, its position in this walk's entries)."""
        return self.known("transpose", self._transpose)

    @property
    def graphs(self) -> tuple[Tensor, int]:
        """The graph of each node (n,) and the number of graphs; all nodes are one graph where there is no `batch`."""
        return self.known("graphs", self._graphs)

    def known(self, name: str, compute: Callable[[], Any]) -> Any:
        """A value that depends on pattern and batch alone, computed at its first use and kept with the walk."""
        if torch.compiler.is_compiling():
            return self.derived[name] if name in self.derived else compute()
        if name not in self.derived:
            with outside_inference_mode():
                self.derived[name] = compute()
        return self.derived[name]

    def _transpose(self) -> tuple[Tensor, Tensor, Tensor]:
        order = torch.argsort(self.col, stable=True)
        return row_pointer(torch.bincount(self.col, minlength=self.num_nodes)), self.row[order], order

    def _graphs(self) -> tuple[Tensor, int]:
        if self.batch is None or self.batch.numel() == 0:
            return torch.zeros(self.num_nodes, dtype=torch.int64, device=self.device), 1
        batch = self.batch.contiguous()
        across = batch[self.row] != batch[self.col]
        if bool(across.any()):
            i, j = (int(end[int(across.nonzero()[0])]) for end in (self.row, self.col))
            raise ValueError(
                f"`batch` must give both ends of an edge the same graph (got {int(batch[i])} and {int(batch[j])} for nodes {i} and {j})."
            )
        return batch, int(batch.max()) + 1

    @classmethod
    def union(cls, walks: Sequence[RandomWalk]) -> RandomWalk:
        """The walk on the disjoint union of graphs, numbered one after the other; a walker never leaves its graph.

        `batch` counts graphs: each walk is one, or as many as its own batch has.
        """
        if not walks:
            raise ValueError("`walks` must have at least one walk (got none).")
        heads = {tuple(walk.probabilities.shape[1:]) for walk in walks}
        if len(heads) > 1:
            raise ValueError(f"`walks` must have the same number of heads (got {sorted(heads)}).")
        row_ptr, col, position, batch = [walks[0].row_ptr[:1]], list[Tensor](), list[Tensor](), list[Tensor]()
        nodes = edges = graphs = 0
        for walk in walks:
            row_ptr.append(walk.row_ptr[1:] + edges)
            col.append(walk.col + nodes)
            position.append(walk.edge_position + edges)
            batch.append(walk.graphs[0] + graphs)
            nodes, edges, graphs = nodes + walk.num_nodes, edges + walk.num_edges, graphs + walk.graphs[1]
        probabilities = torch.cat([walk.probabilities for walk in walks])
        stochastic = all(walk.stochastic for walk in walks)
        return cls(nodes, torch.cat(row_ptr), torch.cat(col), probabilities, torch.cat(position), torch.cat(batch), stochastic)

    def with_probabilities(self, probabilities: Tensor, stochastic: bool = False) -> RandomWalk:
        """The same steps with other probabilities, (E,) or (E, H), which are not normalised again.

        Say ``stochastic=True`` if every row sums to 1 by construction (a softmax): level 0 is then taken for the constant 1,
        which is faster, and gradients are right along all directions that keep the rows' sums.
        """
        check_floating(probabilities, "probabilities", f" of shape ({self.num_edges},)")
        if probabilities.dim() not in (1, 2) or probabilities.size(0) != self.num_edges:
            raise ValueError(
                f"`probabilities` must have shape ({self.num_edges},) or ({self.num_edges}, heads), one row for each entry of "
                f"the walk, added self-loops included (got {tuple(probabilities.shape)})."
            )
        other = object.__new__(RandomWalk)  # the pattern was checked before, and what was derived from it can be shared
        for one in fields(self):
            object.__setattr__(other, one.name, getattr(self, one.name))
        object.__setattr__(other, "probabilities", probabilities)
        object.__setattr__(other, "stochastic", stochastic)
        return other

    def to(self, target: torch.device | str | torch.dtype) -> RandomWalk:
        """The walk on another device, or with probabilities of another floating type."""
        if isinstance(target, torch.dtype):
            if self.probabilities.dtype == target:
                return self
            return self.with_probabilities(self.probabilities.to(target), self.stochastic)
        if torch.device(target) == self.device:
            return self
        batch = None if self.batch is None else self.batch.to(target)
        row_ptr, col, position = self.row_ptr.to(target), self.col.to(target), self.edge_position.to(target)
        return RandomWalk(self.num_nodes, row_ptr, col, self.probabilities.to(target), position, batch, self.stochastic)

    def matrix(self) -> Tensor:
        """P as a sparse tensor (n, n), differentiable in the probabilities; one head only."""
        check_one_head(self)
        index = torch.stack([self.row, self.col])  # COO: torch warns that its CSR layout is in beta
        size = (self.num_nodes, self.num_nodes)
        return torch.sparse_coo_tensor(index, self.probabilities, size, is_coalesced=True, check_invariants=False)

    def __repr__(self) -> str:
        heads = f", heads={self.probabilities.size(1)}" if self.probabilities.dim() == 2 else ""
        return f"RandomWalk(num_nodes={self.num_nodes}, num_edges={self.num_edges}{heads})"


def random_walk(
    edge_index: Tensor,
    num_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    laziness: float = 0.0,
    batch: Tensor | None = None,
) -> RandomWalk:
    r"""The walk with :math:`P_{ij} = w_{ij} / \sum_j w_{ij}`, made lazy by :math:`P \leftarrow a I + (1 - a) P`.

    Weights of parallel edges add. A node without out-edges stays put. Differentiable in `edge_weight`. Cost: one sort of the
    edges (none if they come sorted).

    Args:
        edge_index: (2, E) integers; the walker steps from ``edge_index[0]`` to ``edge_index[1]``. Undirected graphs list
            both directions, as in PyG.
        num_nodes: n; by default the highest index plus one, which misses isolated nodes at the end.
        edge_weight: (E,) weights >= 0 with a positive sum at every node that has out-edges; 1 by default.
        laziness: a in [0, 1), the probability to stay put.
        batch: (n,) graph of each node in a disjoint union, as PyG batches have it. The walk does not depend on it;
            :func:`graph_features` pools by it, and fast backends centre attributes graph by graph for precision.

    Shapes:
        - **output:** :class:`RandomWalk` with at most E + n entries. Probabilities are float64 where no weights are given and
          have the type of the weights otherwise.
    """
    edge_index = plain(edge_index)
    n = check_edges(edge_index, num_nodes)
    laziness = check_laziness(laziness)
    weight = None if edge_weight is None else check_weight(edge_weight, edge_index)
    batch = None if batch is None else check_batch(batch, n)
    with outside_inference_mode():  # a walk made in inference mode may be trained with later
        walk = _walk(edge_index, n, weight, laziness, None if batch is None else batch.clone())
    if batch is not None:
        _ = walk.graphs  # a batch that cuts through an edge is better refused here than where it is used
    return walk


def plain(edge_index: Any) -> Any:
    """The bare numbers of PyG's `EdgeIndex`, a wrapper whose own operators refuse few edges and arithmetic; anything else as it is."""
    return edge_index.as_tensor() if isinstance(edge_index, Tensor) and hasattr(edge_index, "as_tensor") else edge_index


def _walk(edge_index: Tensor, n: int, weight: Tensor | None, laziness: float, batch: Tensor | None) -> RandomWalk:
    edges, (source, target) = edge_index.size(1), edge_index.long()  # no copy where they are 64-bit integers already
    degree = torch.bincount(source, minlength=n)
    loops = torch.arange(n, device=degree.device) if laziness else (degree == 0).nonzero().squeeze(1)  # who stays put
    key, position, times = _sorted(_keys(source, target, n, loops))  # in one line: no name here keeps the unsorted ones alive
    row = key.div(max(n, 1), rounding_mode="floor")
    col = key.sub_(row * n)
    if weight is None:
        minus = torch.full_like(loops, -1, dtype=torch.float64)  # staying put is no edge
        weight = times = times.double().index_add_(0, position[edges:], minus)
    else:
        weight = weight.new_zeros(row.numel()).index_add(0, position[:edges], weight)
    total = weight.new_zeros(n).index_add(0, row, weight)
    _check_total(total, degree)
    probability = weight / total.masked_fill(degree == 0, 1.0)[row]
    if loops.numel():
        staying = torch.full_like(total, laziness).masked_fill(degree == 0, 1.0)[loops]
        probability = (probability * (1 - laziness) if laziness else probability).index_add_(0, position[edges:], staying)
        position = position[:edges].clone()
    return RandomWalk(n, row_pointer(torch.bincount(row, minlength=n)), col, probability, position, batch)


def _rows(row_ptr: Tensor, num_edges: int) -> Tensor:
    nodes = torch.arange(row_ptr.numel() - 1, device=row_ptr.device)
    return torch.repeat_interleave(nodes, row_ptr.diff(), output_size=num_edges)


def row_pointer(counts: Tensor) -> Tensor:
    """(n + 1,) where each row of a CSR matrix starts, from the numbers of entries (n,)."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _keys(source: Tensor, target: Tensor, n: int, loops: Tensor) -> Tensor:
    """A number for each step, ascending with its row and then its column; nodes that stay put come last, so that all are sorted at once."""
    key = source * n
    key += target
    return torch.cat([key, loops * (n + 1)]) if loops.numel() else key


def _sorted(key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The different numbers of `key` in ascending order, the place of each of `key` among them, and how often each occurs."""
    if bool((key[1:] > key[:-1]).all()):  # what PyG's loaders give
        return key, torch.arange(key.numel(), device=key.device), torch.ones_like(key)
    key, order = key.sort(stable=True)
    fresh = torch.cat([key.new_ones(1, dtype=torch.bool), key[1:] != key[:-1]])
    position = torch.empty_like(order).scatter_(0, order, fresh.cumsum(0).sub_(1))
    del order  # every array of this length counts: of 1e7 edges it takes 80 MB
    first = fresh.nonzero().squeeze(1)
    times = first.diff(append=first.new_tensor([key.numel()]))
    return key[first], position, times


def _check_total(total: Tensor, degree: Tensor) -> None:
    if not bool(torch.isfinite(total).all()):
        node = int((~torch.isfinite(total)).nonzero()[0])
        raise ValueError(f"`edge_weight` must have a finite sum at every node (got an overflow at node {node}). Scale the weights down.")
    empty = (degree > 0) & (total <= 0)
    if bool(empty.any()):
        node = int(empty.nonzero()[0])
        raise ValueError(
            f"`edge_weight` must have a positive sum at every node that has out-edges (got 0 at node {node}). "
            "Drop edges of weight 0; a node without out-edges stays put."
        )


def check_one_head(walk: RandomWalk) -> None:
    if not isinstance(walk, RandomWalk):
        raise TypeError(f"`walk` must be a RandomWalk, as `random_walk(edge_index, num_nodes=...)` gives (got {type(walk).__name__}).")
    if walk.probabilities.dim() != 1:
        raise ValueError(f"`walk` must have one probability for each step (got {walk.probabilities.size(1)} heads).")


torch.serialization.add_safe_globals([RandomWalk])  # torch.load(weights_only=True) reads saved walks, whose arrays are checked
