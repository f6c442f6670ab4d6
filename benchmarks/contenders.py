"""What `low_rank_features` is measured against, and the graphs it is measured on. Honest code: projections first, then Horner chains."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, MessagePassing

import graph2tens as g2t


def molecules(graphs: int = 128, nodes: int = 25, rings: int = 3) -> tuple[Tensor, Tensor]:
    """Edges and batch of graphs like a batch of NCI1: trees with a few rings, 3,200 nodes and about 6,900 directed edges."""
    generator = torch.Generator().manual_seed(0)
    child = torch.arange(1, nodes).repeat(graphs)
    back = 1 + (torch.rand(child.numel(), generator=generator) * child.clamp(max=4)).long()
    ends = torch.randint(0, nodes, (2, graphs * rings), generator=generator)
    offset = torch.cat([torch.arange(graphs).repeat_interleave(nodes - 1), torch.arange(graphs).repeat_interleave(rings)]) * nodes
    edges = torch.cat([torch.stack([child, child - back]), ends], dim=1) + offset
    edges = edges[:, edges[0] != edges[1]]
    return torch.cat([edges, edges.flip(0)], dim=1), torch.arange(graphs).repeat_interleave(nodes)


def random_graph(nodes: int, edges: int) -> Tensor:
    """Directed edges between nodes drawn at random."""
    return torch.randint(0, nodes, (2, edges), generator=torch.Generator().manual_seed(0))


def project(x: Tensor, components: Tensor) -> Tensor:
    """(n, M, R) projections by one matrix product."""
    M, d, R = components.shape
    return (x @ components.permute(1, 0, 2).reshape(d, M * R)).view(-1, M, R)


def with_start(a: Tensor, f1: Tensor, f2: Tensor) -> Tensor:
    """The start factor of degree 2."""
    return torch.stack([f1 + a[:, 1], f2 + a[:, 0] * (f1 + 0.5 * a[:, 1])], dim=1)


def gather_index_add(x: Tensor, walk: g2t.RandomWalk, components: Tensor, length: int) -> Tensor:
    """The recursion for any degree with gather and index_add, differentiated by PyTorch; what one would write first."""
    a, R = project(x, components), components.size(2)
    p = walk.probabilities
    p = p.view(-1, 1, 1) if p.dim() == 1 else p.repeat_interleave(R // p.size(1), dim=1).unsqueeze(1)
    c, f = a[walk.col] - a[walk.row], torch.zeros_like(a)
    for _ in range(length):
        f = torch.zeros_like(a).index_add(0, walk.row, p * levels(c, f[walk.col]))
    return levels(a, f)


def levels(c: Tensor, f: Tensor) -> Tensor:
    """All degrees of one step: a Horner chain for each, c and f are (*, M, R) and level 0 is 1."""
    M = c.size(1)
    result = []
    for m in range(1, M + 1):
        inner: Tensor | float = 1 / math.factorial(m)
        for r in range(m - 1, -1, -1):
            inner = f[:, m - r - 1] / math.factorial(r) + c[:, M - m + r] * inner
        result.append(inner)
    return torch.stack(result, dim=1)  # type: ignore[arg-type]


def gather_by_hand(x: Tensor, walk: g2t.RandomWalk, components: Tensor, length: int) -> Tensor:
    """The same unrolled for degree 2, which spares what the general chain copies."""
    a, row, col, n, R = project(x, components), walk.row, walk.col, walk.num_nodes, components.size(2)
    p = walk.probabilities
    p = p.unsqueeze(1) if p.dim() == 1 else p.repeat_interleave(R // p.size(1), dim=1)
    c = a[col] - a[row]
    c1, c2 = c[:, 0], c[:, 1]
    f1, f2 = x.new_zeros(n, R), x.new_zeros(n, R)
    for _ in range(length):
        g1, g2 = f1[col], f2[col]
        f1 = x.new_zeros(n, R).index_add(0, row, p * (g1 + c2))
        f2 = x.new_zeros(n, R).index_add(0, row, p * (g2 + c1 * (g1 + 0.5 * c2)))
    return with_start(a, f1, f2)


class WalkMessages(MessagePassing):
    """The same recursion as PyG's users write it: one message passing a step."""

    def __init__(self) -> None:
        super().__init__(aggr="sum", flow="target_to_source")  # a node reads from where its out-edges point

    def forward(self, x: Tensor, walk: g2t.RandomWalk, components: Tensor, length: int) -> Tensor:
        a, R = project(x, components), components.size(2)
        p = walk.probabilities
        p = p.unsqueeze(1) if p.dim() == 1 else p.repeat_interleave(R // p.size(1), dim=1)
        edges = torch.stack([walk.row, walk.col])
        f = x.new_zeros(walk.num_nodes, 2, R)
        for _ in range(length):
            f = self.propagate(edges, a=a.flatten(1), f=f.flatten(1), p=p, R=R).view(-1, 2, R)
        return with_start(a, f[:, 0], f[:, 1])

    def message(self, a_i: Tensor, a_j: Tensor, f_j: Tensor, p: Tensor, R: int) -> Tensor:
        c = a_j - a_i
        c1, c2, g1, g2 = c[:, :R], c[:, R:], f_j[:, :R], f_j[:, R:]
        return torch.cat([p * (g1 + c2), p * (g2 + c1 * (g1 + 0.5 * c2))], dim=1)


def repeated(conv: GCNConv | GATConv, edge_index: Tensor, length: int) -> Callable[[Tensor], Tensor]:
    """`length` applications of one conv of PyG: the same reach by the usual means."""

    def apply(h: Tensor) -> Tensor:
        for _ in range(length):
            h = conv(h, edge_index)
        return h

    return apply
