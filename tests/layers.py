"""Layers of all kinds with random parameters, for the tests of layers: ours, and those of the paper's authors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from strategies import Graph
from torch import Tensor

from graph2tens import RandomWalk
from graph2tens.nn import G2TANConv, G2TNConv, WalkConv
from graph2tens.paper.authors import AuthorsG2TANConv, AuthorsG2TNConv


def named(sizes: tuple[int, ...]) -> dict[str, int]:
    """Steps and degree by name, since the third argument of an attention conv is `heads`."""
    return dict(zip(("walk_length", "degree"), sizes[2:], strict=False))


KINDS: dict[str, Callable[..., WalkConv]] = {
    "G2TN": lambda *sizes, **options: G2TNConv(*sizes, **options),
    "G2TAN": lambda *sizes, **options: G2TANConv(*sizes[:2], 2, **named(sizes), **options),
    "authors' G2TN": lambda *sizes, **options: AuthorsG2TNConv(*sizes, **options),
    "authors' G2TAN": lambda *sizes, **options: AuthorsG2TANConv(*sizes[:2], 2, stay_put=True, **named(sizes), **options),
}
both = pytest.mark.parametrize("kind", ["G2TN", "G2TAN"])
all_kinds = pytest.mark.parametrize("kind", KINDS)


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


def dense(walk: RandomWalk) -> np.ndarray:
    """The walk's probabilities as (n, n, H), read out for the oracle."""
    p = walk.probabilities.detach().double()
    P = np.zeros((walk.num_nodes, walk.num_nodes, 1 if p.dim() == 1 else p.size(1)))
    P[walk.row.numpy(), walk.col.numpy()] = p.reshape(walk.num_edges, -1).numpy()
    return P


def from_oracle(conv: WalkConv, x: Tensor, P: np.ndarray) -> np.ndarray:
    read = {name: None if value is None else value.detach().numpy() for name, value in conv.named_parameters()}
    return oracles.low_rank_features(
        x.numpy(),
        P,
        read["components"],
        conv.walk_length,
        coefficients=read.get("coefficients"),
        bias=read.get("projection_bias"),
        increments=conv.increments,
        zero_start=conv.zero_start,
        time=conv.time,
    )
