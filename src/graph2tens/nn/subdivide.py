"""`Subdivide`: the PyG transform that puts a node on every edge."""

from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from ..subdivision import subdivide


class Subdivide(BaseTransform):  # type: ignore[misc]
    """Attributes of edges become attributes of nodes on them, for layers that read nodes alone; see :mod:`graph2tens.subdivision`.

    ``x`` gets the edges' columns after the nodes', ``edge_attr`` goes, ``on_edge`` (num_nodes,) is True for the nodes of edges, which
    follow the others: use it to mask out labels and outputs of edges.

    Args:
        directed: give both directions of an edge a node each, as directed graphs need it.
    """

    def __init__(self, directed: bool = False) -> None:
        self.directed = directed

    def forward(self, data: Data) -> Data:
        """`data` itself is changed; PyG's transforms hand a copy to this method."""
        if data.edge_index is None or data.num_nodes is None:
            raise ValueError("`data` must have `edge_index`, and `x` or `num_nodes` (got neither or one of them).")
        edge_weight, edge_attr = getattr(data, "edge_weight", None), data.edge_attr
        divided = subdivide(data.edge_index, data.num_nodes, edge_attr, edge_weight, directed=self.directed)
        data.x = divided.attributes(data.x, edge_attr)
        data.edge_index = divided.edge_index
        if edge_weight is not None:
            data.edge_weight = divided.edge_weight
        if edge_attr is not None:
            del data.edge_attr
        data.num_nodes = divided.num_nodes
        data.on_edge = torch.arange(divided.num_nodes, device=divided.edge_index.device) >= divided.num_original
        return data

    def __repr__(self) -> str:
        return f"Subdivide({'directed=True' if self.directed else ''})"
