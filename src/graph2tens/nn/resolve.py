"""Convs by name, class or function: ours, and all of PyG's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch_geometric.nn as pyg
from torch_geometric.resolver import normalize_string

from .conv import G2TANConv, G2TNConv
from .walk_conv import WalkConv

Conv = str | Callable[..., torch.nn.Module]


def conv_class(name: str) -> type[torch.nn.Module]:
    """``"G2TN"``, ``"gcn"``, ``"GATv2Conv"``, .. -> the class, as PyG's resolvers read names."""
    classes = [G2TNConv, G2TANConv, *(kind for kind in vars(pyg.conv).values() if isinstance(kind, type))]
    by_name: dict[str, type[torch.nn.Module]] = {}
    for kind in classes:
        for key in (normalize_string(kind.__name__), normalize_string(kind.__name__).removesuffix("conv")):
            by_name.setdefault(key, kind)
    if normalize_string(name) not in by_name:
        raise ValueError(f"`conv` must be 'G2TN', 'G2TAN' or the name of a PyG conv (got {name!r}); PyG has {', '.join(pyg.conv.__all__)}.")
    return by_name[normalize_string(name)]


def make_conv(
    conv: Conv, in_channels: int, channels: int, own: dict[str, Any], theirs: dict[str, Any], options: dict[str, Any]
) -> tuple[torch.nn.Module, int]:
    """One conv and the width of its output, which is `channels` but for our convs without mixing: these have `channels` functionals.

    Args:
        own: options of our convs alone, `mix` among them.
        theirs: options of PyG's convs alone.
        options: options of any conv; they win.
    """
    kind: Any = conv_class(conv) if isinstance(conv, str) else conv
    if isinstance(kind, type) and issubclass(kind, WalkConv):
        options = own | options
        width = channels if options["mix"] else channels * options.get("degree", 2)
        layer = kind(in_channels, width, **options)
        return layer, layer.out_channels
    options = theirs | options
    if kind is pyg.GINConv and "nn" not in options:
        return pyg.GINConv(pyg.MLP([in_channels, channels, channels], norm=None), **options), channels
    heads = options.get("heads", 1) if options.get("concat", True) else 1  # PyG's attention convs put their heads side by side
    if channels % heads:
        raise ValueError(f"`heads` must divide the width {channels}, of which each head has a part (got {heads}).")
    layer = kind(in_channels, channels // heads if isinstance(kind, type) else channels, **options)
    return layer, layer.out_channels if isinstance(layer, WalkConv) else channels
