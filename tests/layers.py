"""Layers of both kinds with random parameters, for the tests of layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from strategies import Graph
from torch import Tensor

from graph2tens.nn import G2TANConv, G2TNConv, WalkConv

KINDS: dict[str, Callable[..., WalkConv]] = {
    "G2TN": lambda *sizes, **options: G2TNConv(*sizes, **options),
    "G2TAN": lambda *sizes, **options: G2TANConv(*sizes, heads=2, **options),
}
both = pytest.mark.parametrize("kind", KINDS)


def edge_index(graph: Graph) -> Tensor:
    return torch.tensor(graph.edges.T.copy())


def layer(kind: str, *sizes: int, seed: int = 0, **options: Any) -> WalkConv:
    """A layer in double precision whose every parameter is random, those too that start as constants."""
    torch.manual_seed(seed)
    conv = KINDS[kind](*sizes, **options).double().eval()
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return conv
