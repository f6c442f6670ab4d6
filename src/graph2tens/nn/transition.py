r"""What users call a graph -> `RandomWalk`.

There is one difference from PyG's message passing: **node i reads from the nodes its out-edges point to**, because the walker steps from
``edge_index[0]`` to ``edge_index[1]``; PyG's default flow lets a node read from its in-neighbours. For undirected graphs, which list both
directions, the two are the same. For directed graphs give ``edge_index.flip(0)`` to turn our layers around.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from ..walks import RandomWalk, plain, random_walk

exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)  # PyTorch 2.6 has only the latter


def _flatten(walk: RandomWalk) -> tuple[list[Any], tuple[int, bool]]:
    return [getattr(walk, name) for name in _TENSORS], (walk.num_nodes, walk.stochastic)


def _flatten_with_keys(walk: RandomWalk) -> tuple[list[tuple[Any, Any]], tuple[int, bool]]:
    return [(pytree.GetAttrKey(name), getattr(walk, name)) for name in _TENSORS], (walk.num_nodes, walk.stochastic)


def _unflatten(tensors: Iterable[Any], context: Any) -> RandomWalk:
    return RandomWalk(num_nodes=context[0], stochastic=context[1], **dict(zip(_TENSORS, tensors, strict=True)))


# Walks can be arguments of exported programs and be saved with them; what backends derived from a walk stays behind.
_TENSORS = ("row_ptr", "col", "probabilities", "edge_position", "batch")
pytree.register_pytree_node(
    RandomWalk,
    _flatten,
    _unflatten,
    serialized_type_name="graph2tens.RandomWalk",
    to_dumpable_context=list,
    from_dumpable_context=tuple,
    flatten_with_keys_fn=_flatten_with_keys,
)


def as_walk(
    edge_index: Tensor | RandomWalk,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    self_loops: bool = False,
    laziness: float = 0.0,
    batch: Tensor | None = None,
) -> RandomWalk:
    r"""The random walk on a graph in any of the forms that PyG users have.

    Args:
        edge_index: (2, E) integers, PyG's `EdgeIndex`, a sparse torch matrix A (COO, CSR or CSC), whose entry ``A[i, j]`` is the weight
            of the **step from i to j** (PyG's own convs want the transpose here), or a `RandomWalk`, which is returned as it is: the
            options below then do nothing.
        num_nodes: n.
        edge_weight: (E,), not with a sparse matrix, which has its own.
        self_loops: add an edge of weight 1 from every node without a self-loop to itself.
        laziness: probability to stay put.
        batch: (n,) graph of each node.
    """
    if isinstance(edge_index, RandomWalk):
        if edge_weight is not None:
            raise ValueError("`edge_weight` must be None with a RandomWalk, which has its probabilities (got a tensor).")
        if edge_index.num_nodes != num_nodes:
            raise ValueError(f"the walk must have one node for each row of `x`, {num_nodes} (got {edge_index.num_nodes}).")
        return edge_index
    if exporting():
        raise TypeError(
            "`edge_index` must be a RandomWalk in torch.export (got edges), since how many steps a walk has depends on the data. "
            "Export with model.walk(edge_index, num_nodes) in the place of edge_index."
        )
    # For the same reason torch.compile gets one break of the graph here, and not one for each check.
    walk: RandomWalk = torch.compiler.disable(_build)(edge_index, num_nodes, edge_weight, self_loops, laziness, batch)
    return walk


def _build(
    edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None, self_loops: bool, laziness: float, batch: Tensor | None
) -> RandomWalk:
    edge_index, edge_weight = _edges(edge_index, num_nodes, edge_weight)
    given = edge_index.size(1)
    if self_loops:
        edge_index, edge_weight = _with_self_loops(edge_index, num_nodes, edge_weight)
    walk = random_walk(edge_index, num_nodes=num_nodes, edge_weight=edge_weight, laziness=laziness, batch=batch)
    _ = walk.row  # cached properties take a lock, which torch.compile cannot trace: compute this one now
    return walk if edge_index.size(1) == given else replace(walk, edge_position=walk.edge_position[:given])


def edge_attributes(walk: RandomWalk, edge_attr: Tensor) -> Tensor:
    """Attributes (E, c) of the given edges -> of the walk's steps: parallel edges give their mean, added self-loops zeros."""
    given = walk.edge_position.numel()
    edge_attr = edge_attr.unsqueeze(1) if edge_attr.dim() == 1 else edge_attr
    if edge_attr.dim() != 2 or edge_attr.size(0) != given:
        raise ValueError(f"`edge_attr` must have one row for each of the {given} edges (got {tuple(edge_attr.shape)}).")
    total = edge_attr.new_zeros(walk.num_edges, edge_attr.size(1)).index_add(0, walk.edge_position, edge_attr)
    count = edge_attr.new_zeros(walk.num_edges).index_add(0, walk.edge_position, edge_attr.new_ones(given))
    return total / count.clamp(min=1).unsqueeze(1)


def _edges(edge_index: Any, num_nodes: int, edge_weight: Tensor | None) -> tuple[Tensor, Tensor | None]:
    if not isinstance(edge_index, Tensor):
        kind = type(edge_index).__name__
        raise TypeError(
            f"`edge_index` must be a tensor of shape (2, E), a PyG EdgeIndex, a sparse torch matrix or a RandomWalk (got {kind}). "
            "Convert other sparse matrices with torch.sparse_coo_tensor or torch_geometric.utils.from_scipy_sparse_matrix."
        )
    if edge_index.layout == torch.strided:
        if edge_weight is not None and edge_weight.dim() != 1:
            raise ValueError(
                f"`edge_weight` must have shape (E,), one weight for each edge (got {tuple(edge_weight.shape)}). "
                "Did you mean edge_attr=? PyG's attention convs have it in this place."
            )
        return plain(edge_index), edge_weight
    if edge_weight is not None:
        raise ValueError("`edge_weight` must be None with a sparse matrix, whose entries are the weights (got a tensor).")
    if tuple(edge_index.shape) != (num_nodes, num_nodes):
        raise ValueError(f"a sparse `edge_index` must have shape ({num_nodes}, {num_nodes}) (got {tuple(edge_index.shape)}).")
    matrix = edge_index.to_sparse_coo() if edge_index.layout != torch.sparse_coo else edge_index
    matrix = matrix.coalesce()
    return matrix.indices(), matrix.values()


def _with_self_loops(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None) -> tuple[Tensor, Tensor | None]:
    missing = torch.ones(num_nodes, dtype=torch.bool, device=edge_index.device)
    loops = edge_index[0] == edge_index[1]
    missing[edge_index[0, loops]] = False
    nodes = missing.nonzero().squeeze(1)
    added = torch.cat([edge_index, nodes.expand(2, -1)], dim=1)
    return added, None if edge_weight is None else torch.cat([edge_weight, edge_weight.new_ones(nodes.numel())])
