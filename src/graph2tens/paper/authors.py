"""The layers as the authors' code has them, where it departs from their text; `docs/authors_code.md` lists all such points.

The library's layers follow the text. What differs here is a handful of hooks: a bias on every projection, lift coefficients for each
functional, a norm that is scaled by 1/M, the order of components in initialisation and penalty, and (G2TAN) features 0 where the walk
cannot go anywhere. Self-loops, mixing, and attention dropout that never acts are arguments of the library's own classes: see
:mod:`graph2tens.paper.protocols`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import layer_norm

from .. import training
from ..nn import G2TANConv, G2TNConv, GraphTensNet, WalkConv
from ..training.run import Networks
from ..walks import RandomWalk
from .rivals import RIVALS


class AuthorsConv(WalkConv):
    """What the authors' two layers share.

    Args:
        prefixes: initialisation and penalty take the first m components for degree m, although the functional consists of the last m.
        options: of the library's layer.
    """

    def __init__(self, *sizes: int, prefixes: bool = True, **options: Any) -> None:
        self.prefixes = prefixes  # read by a hook while the layer is made
        super().__init__(*sizes, **{"mix": True, "root_weight": False, **options})
        acts = self.zero_start or not self.increments  # in increments alone it would cancel
        self.projection_bias = Parameter(torch.zeros(self.degree, self.rank)) if acts else None

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.projection_bias is not None:
            torch.nn.init.zeros_(self.projection_bias)

    def _pair(self, x: Tensor, walk: RandomWalk, bias: Tensor | None = None) -> Tensor:
        return super()._pair(x, walk, self.projection_bias)

    def _lift(self) -> Tensor:
        return super()._lift().unsqueeze(1).repeat(1, self.rank)

    def _norm(self, z: Tensor) -> Tensor:
        return layer_norm(z, (self.rank,), z.new_full((self.rank,), 1 / self.degree), eps=self.norm_eps)

    def _taken_up(self) -> list[int]:
        return list(range(self.degree)) if self.prefixes else super()._taken_up()


class AuthorsG2TNConv(AuthorsConv, G2TNConv):
    """G2TN as in the authors' code."""


class AuthorsG2TANConv(AuthorsConv, G2TANConv):
    """G2TAN as in the authors' code.

    Args:
        stay_put: without increments, the walker stays at a node that it cannot leave, as the text has it; if not, the functionals are 0
            there, the sum over no neighbours.
    """

    def __init__(self, *sizes: int, stay_put: bool = False, **options: Any) -> None:
        self.stay_put = stay_put
        super().__init__(*sizes, **options)

    def _pair(self, x: Tensor, walk: RandomWalk, bias: Tensor | None = None) -> Tensor:
        z = super()._pair(x, walk, bias)
        return z if self.stay_put or self.increments else z.where(_can_leave(walk)[:, None, None], 0)


def _can_leave(walk: RandomWalk) -> Tensor:
    """(n,) whether the walk has a step from the node to another one."""
    others = walk.col != walk.row
    return others.new_zeros(walk.num_nodes).index_put((walk.row,), others, accumulate=True)


def authors_net(in_channels: int, out_channels: int, *, conv: str, **options: Any) -> GraphTensNet:
    """:class:`~graph2tens.nn.GraphTensNet` made of the authors' layers."""
    convs = {"G2TN": AuthorsG2TNConv, "G2TAN": AuthorsG2TANConv}
    return GraphTensNet(in_channels, out_channels, conv=convs[conv], **options)


NETWORKS: Networks = MappingProxyType(
    {**training.NETWORKS, "authors": authors_net, **{name: rival.network for name, rival in RIVALS.items()}}
)
"""Everything that a run of the paper's tables may train, by the name of its builder."""
