"""How the nodes of a PyG ``Data`` are connected, and what it holds that nobody reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

READ = ("x", "y", "label", "edge_index", "edge_weight", "edge_attr", "adj_t")
BOOKS = ("batch", "ptr", "n_id", "e_id", "input_id", "num_nodes")  # what loaders write down; so are masks


def edges_of(data: Any, where: str) -> tuple[Tensor, Tensor | None]:
    """Edges (2, E) and weights (E,) or None; from ``adj_t``, the transposed matrix that ``ToSparseTensor`` puts in their place, too."""
    transposed = getattr(data, "adj_t", None)
    if data.edge_index is not None or transposed is None:
        edges = data.edge_index
        return torch.zeros(2, 0, dtype=torch.long) if edges is None else edges, getattr(data, "edge_weight", None)
    if isinstance(transposed, Tensor):
        matrix = (transposed if transposed.layout == torch.sparse_coo else transposed.to_sparse_coo()).coalesce()
        (end, start), weights = matrix.indices(), matrix.values()
    else:  # the SparseTensor of torch_sparse
        end, start, weights = transposed.coo()
    if weights is not None and weights.dim() > 1:
        raise ValueError(f"{where} must have numbers in `adj_t` (got rows of shape {tuple(weights.shape[1:])}). Did you mean `edge_attr`?")
    return torch.stack([start, end]), weights


def unread(data: Any) -> list[str]:
    """Attributes of nodes and edges, by their sizes, that are none of those that are read."""
    names = [name for name in data.to_dict() if name not in (*READ, *BOOKS) and not name.endswith("mask")]
    of_nodes = [f"{name!r} of nodes" for name in names if data.is_node_attr(name)]
    return of_nodes + [f"{name!r} of edges" for name in names if data.is_edge_attr(name)]
