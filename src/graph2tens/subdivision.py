r"""A node on every edge, so that a walk reads the edges' attributes too: node, edge, node, edge, in the order in which it meets them.

Features of walks are made of attributes of nodes. :func:`subdivide` makes nodes of edges; nothing else changes, so that everything that
holds for walks on graphs (Theorems 1 to 3 of the paper, every backend, every layer) holds for walks that see edges. What an edge means
decides which steps lead off its node:

===============  ====================================================================================================================
directed edge    :math:`i \to e \to j`. From node i the walker takes edge e with probability :math:`w_e / \sum w`, as before; the next
                 step leads to j. Walks of 2k steps from a node are exactly the walks of k steps on the graph, with their edges between.
undirected edge  listed in both directions, it has one node with steps to and from both ends. On it, the walker goes on or turns back
                 with probability 1/2 each: the edge is a place like any other.
weights          decide which edge is taken, and nothing on the edge's own node.
self-loop        :math:`i \to e \to i`: a round trip that sees the loop's attributes. Listed once, with or without directions.
parallel edges   each has its own node and attributes; weights of a pair of nodes still add up to the probability of going there.
no out-edge      the walker stays put, as on every graph.
===============  ====================================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .checks import check_edges, check_finite, check_tensor, check_weight


@dataclass(frozen=True, eq=False)
class Subdivision:
    """A graph with a node on every edge.

    Attributes:
        edge_index: (2, 2 E): for each edge e of the graph the step onto its node and the step off it.
        edge_weight: (2 E,), or None where the graph has none.
        num_nodes: nodes of the graph, which come first and keep their numbers, and nodes of edges, which follow.
        num_original: nodes of the graph.
        edge_node: (E,) the node of each edge of the graph; both directions of an undirected edge have the same.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    num_nodes: int
    num_original: int
    edge_node: Tensor

    def attributes(self, x: Tensor | None, edge_attr: Tensor | None) -> Tensor:
        """(num_nodes, d + e): attributes of nodes first, of edges last, and zeros where a row has no such thing.

        Args:
            x: (n, d) or (n,), attributes of nodes, or None.
            edge_attr: (E, e) or (E,), attributes of edges, or None.
        """
        table = self._table(x, "x", self.num_original, "nodes")
        edges = self._table(edge_attr, "edge_attr", self.edge_node.numel(), "edges")
        dtype = torch.promote_types(table.dtype, edges.dtype)
        out = torch.zeros(self.num_nodes, table.size(1) + edges.size(1), dtype=dtype, device=self.edge_index.device)
        out[: self.num_original, : table.size(1)] = table.to(dtype)
        return out.index_put((self.edge_node[:, None], torch.arange(table.size(1), out.size(1), device=out.device)[None]), edges.to(dtype))

    def _table(self, values: Tensor | None, name: str, rows: int, what: str) -> Tensor:
        if values is None:
            return torch.zeros(rows, 0, device=self.edge_index.device)
        check_tensor(values, name, f" with a row for each of the {rows} {what}")
        if values.dim() not in (1, 2) or values.size(0) != rows:
            raise ValueError(f"`{name}` must have one row for each of the {rows} {what} (got shape {tuple(values.shape)}).")
        return values.unsqueeze(1) if values.dim() == 1 else values


def subdivide(
    edge_index: Tensor,
    num_nodes: int | None = None,
    edge_attr: Tensor | None = None,
    edge_weight: Tensor | None = None,
    *,
    directed: bool = False,
) -> Subdivision:
    """Put a node on every edge; see :mod:`graph2tens.subdivision` for what that means for each kind of edge.

    Args:
        edge_index: (2, E); undirected graphs list both directions, as in PyG.
        num_nodes: n; by default the highest index plus one, which misses isolated nodes at the end.
        edge_attr: (E, e) or (E,), to tell which directions belong together where several edges join the same two nodes.
        edge_weight: (E,), or None.
        directed: give every listed edge a node of its own. Otherwise two listed edges of opposite direction with equal weights and
            attributes are one undirected edge, and each must have its opposite.

    Shapes:
        - **output:** :class:`Subdivision`, with n + E nodes for a directed graph, n + E/2 for an undirected one without self-loops

    Example:
        >>> edge_index = torch.tensor([[0, 1], [1, 0]])  # one bond
        >>> divided = subdivide(edge_index, 2)
        >>> divided.num_nodes, divided.edge_node.tolist()
        (3, [2, 2])
        >>> divided.attributes(torch.tensor([[1.0], [5.0]]), torch.tensor([[7.0], [7.0]])).tolist()
        [[1.0, 0.0], [5.0, 0.0], [0.0, 7.0]]
    """
    n = check_edges(edge_index, num_nodes)
    weight = None if edge_weight is None else check_weight(edge_weight, edge_index)
    row, col = edge_index.long()
    count = row.numel()
    if edge_attr is not None:
        check_tensor(edge_attr, "edge_attr", f" with a row for each of the {count} edges")
        if edge_attr.dim() not in (1, 2) or edge_attr.size(0) != count:
            raise ValueError(f"`edge_attr` must have one row for each of the {count} edges (got shape {tuple(edge_attr.shape)}).")
        check_finite(edge_attr, "edge_attr", "edge")
    group = torch.arange(count, device=row.device) if directed else _undirected(row, col, weight, edge_attr)
    edge_node = n + group
    steps = torch.stack([torch.cat([row, edge_node]), torch.cat([edge_node, col])])
    nodes = n + (int(group.max()) + 1 if count else 0)
    return Subdivision(steps, None if weight is None else torch.cat([weight, weight]), nodes, n, edge_node)


def _undirected(row: Tensor, col: Tensor, weight: Tensor | None, edge_attr: Tensor | None) -> Tensor:
    """(E,) the number of the undirected edge that each listed edge belongs to, in order of first appearance."""
    count = row.numel()
    if not count:
        return row
    known = [values.detach().double().reshape(count, -1) for values in (weight, edge_attr) if values is not None]
    told = torch.cat([*known, torch.zeros(count, 0, device=row.device)], dim=1)
    both = torch.cat([torch.stack([row, col], dim=1), told], dim=1)
    back = torch.cat([torch.stack([col, row], dim=1), told], dim=1)
    if count % 2 == 0 and bool((row != col).all()) and torch.equal(both[::2], back[1::2]):
        return torch.arange(count, device=row.device) // 2  # each edge and its opposite one after the other, as most readers list them
    ends = torch.stack([torch.minimum(row, col), torch.maximum(row, col)], dim=1).double()
    _, alike = torch.unique(torch.cat([ends, told], dim=1), dim=0, return_inverse=True)
    way = torch.where(row == col, 2, (row > col).long())  # forwards, backwards, self-loop
    # Among edges that are alike, the k-th forwards is paired with the k-th backwards: which with which makes no difference.
    key = 3 * alike + way
    order = torch.argsort(key, stable=True)
    sorted_key = key[order]
    first = torch.searchsorted(sorted_key, sorted_key)
    rank = torch.empty_like(key)
    rank[order] = torch.arange(count, device=row.device) - first
    mate = torch.stack([alike, (way == 2).long(), rank], dim=1)
    _, pair, size = torch.unique(mate, dim=0, return_inverse=True, return_counts=True)
    lonely = (size[pair] < 2) & (way != 2)
    if bool(lonely.any()):
        place = int(lonely.nonzero()[0])
        raise ValueError(
            f"`edge_index` must list each edge in both directions, with equal weights and attributes (got edge {place} from "
            f"{int(row[place])} to {int(col[place])} without its opposite). Is the graph directed? Then say directed=True."
        )
    appearance = torch.full((size.numel(),), count, device=row.device).scatter_reduce(
        0, pair, torch.arange(count, device=row.device), reduce="amin"
    )
    number = torch.empty_like(appearance)
    number[torch.argsort(appearance)] = torch.arange(size.numel(), device=row.device)
    return number[pair]
