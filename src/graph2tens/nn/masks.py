"""PyG's explainers and our layers.

An explainer of PyG looks for message-passing layers, counts them to know how far a node sees, and hands each of them a mask over the edges.
Our layers take part: they are message-passing layers by name, one `Hop` for each further step of the walk makes the count right, and the
mask weighs the steps that a walker takes, as PyG's own layers weigh their messages.
"""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.nn import MessagePassing

from ..walks import RandomWalk

MOST_HOPS = 100  # of a layer; explainers look no farther


class Hop(MessagePassing):  # type: ignore[misc]
    """A further step of a layer's walk, for explainers that count layers. It computes nothing and takes no masks."""

    explain = False
    flow = "target_to_source"

    def __init__(self) -> None:
        torch.nn.Module.__init__(self)  # without the templates of code that a layer which computes something has

    def __setstate__(self, state: dict[str, Any]) -> None:
        torch.nn.Module.__setstate__(self, state)

    def __repr__(self) -> str:
        return "Hop()"


def further_hops(walk_length: int) -> torch.nn.ModuleList:
    """The layer itself is counted as one hop."""
    return torch.nn.ModuleList(Hop() for _ in range(min(walk_length, MOST_HOPS) - 1))


def masked(walk: RandomWalk, layer: MessagePassing) -> RandomWalk:
    """The walk whose steps weigh what an explainer's mask says, if one is set; rows then sum to less than 1.

    Parallel edges are one step, which weighs their mean. Steps that are no edges (added self-loops, lazy steps) keep their weight.
    """
    mask = layer._edge_mask
    if not layer.explain or mask is None:
        return walk
    given = walk.edge_position.numel()
    if mask.dim() != 1 or mask.numel() != given:
        raise ValueError(f"the explainer's edge mask must have one entry for each of the {given} edges (got {tuple(mask.shape)}).")
    mask = mask.sigmoid() if layer._apply_sigmoid else mask
    total = mask.new_zeros(walk.num_edges).index_add(0, walk.edge_position, mask)
    count = mask.new_zeros(walk.num_edges).index_add(0, walk.edge_position, mask.new_ones(given))
    weight = (total / count.clamp(min=1)).where(count > 0, 1)
    p = walk.probabilities
    weight = weight.to(p.dtype)
    return walk.with_probabilities(p * (weight if p.dim() == 1 else weight.unsqueeze(1)), stochastic=False)
