r"""Sequence -> H: what a walk has seen, as one element of the tensor algebra, in every variant of the paper.

A sequence :math:`x_0, \dots, x_k` is turned into a product of lifted factors, one per step. The `Variant` says which factors:

==============  ==========================================================================================
increments      :math:`\varphi(x_1 - x_0) \cdots \varphi(x_k - x_{k-1})`
zero start      one more factor :math:`\varphi(x_0)` on the left, as if the path began at 0
no increments   :math:`\varphi(x_0) \cdots \varphi(x_k)`; zero start changes nothing
time            :math:`x_t` becomes :math:`(t, x_t)`, time first, so increments are :math:`(1, x_t - x_{t-1})`
coefficients    the lift :math:`\varphi`, by default the tensor exponential
==============  ==========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .algebra import TensorAlgebra
from .checks import check_coefficients, check_fits, check_floating, check_integer


@dataclass(frozen=True, eq=False)
class Variant:
    """Which factors a walk is turned into; the paper's Diff, ZeroStart, time parametrisation and AlgOpt."""

    degree: int
    increments: bool = True
    zero_start: bool = True
    time: bool = False
    coefficients: Tensor | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_integer(self.degree, "degree", 0, " (the highest tensor level)"))
        for name in ("increments", "zero_start", "time"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"`{name}` must be True or False (got {getattr(self, name)!r}).")

    @property
    def has_start(self) -> bool:
        """Whether the attribute a walk starts from contributes a factor of its own, on the left."""
        return self.zero_start or not self.increments

    def algebra(self, attributes: int) -> TensorAlgebra:
        """The algebra of the features of `attributes`-dimensional sequences."""
        return TensorAlgebra(attributes + self.time, self.degree)

    def start(self, x: Tensor) -> Tensor:
        """The vectors that are lifted for the start factor, for attributes (*, d)."""
        return with_time(x, 0) if self.time else x

    def step(self, origin: Tensor, target: Tensor, t: int) -> Tensor:
        """The vectors that are lifted for step t from attributes `origin` to `target`, both (*, d)."""
        vector = target - origin if self.increments else target
        if not self.time:
            return vector
        return with_time(vector, 1 if self.increments else t)


def sequence_features(
    sequences: Tensor,
    *,
    degree: int,
    increments: bool = True,
    zero_start: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
) -> Tensor:
    r"""Features of sequences in the truncated tensor algebra; with the defaults, the signature of the path from 0 through them.

    With increments, no zero start and the default coefficients it is the signature of the piecewise linear path, as any
    signature library computes it (they leave the constant level 0 out). The module's head lists the variants.

    Args:
        sequences: (*, k + 1, d), the points :math:`x_0, \dots, x_k`.
        degree: highest tensor level M.
        coefficients: (M,) :math:`c_1..c_M` of the lift; :math:`1/m!` by default.

    Shapes:
        - **output:** (*, 1 + d + .. + d^M), with d + 1 for d if `time`; :class:`TensorAlgebra` says how it is laid out
    """
    variant = Variant(degree, increments, zero_start, time, coefficients)
    check_floating(sequences, "sequences", " of shape (*, length + 1, d)")
    if sequences.dim() < 2 or sequences.size(-2) < 1 or sequences.size(-1) < 1:
        raise ValueError(
            f"`sequences` must have shape (*, length + 1, d) with at least one point (got {tuple(sequences.shape)}). "
            "Give a single sequence as x of shape (length + 1, d)."
        )
    return product_of_factors(sequences, variant)


def product_of_factors(sequences: Tensor, variant: Variant) -> Tensor:
    """The ordered product of a sequence's factors, multiplied from the last step to the first."""
    algebra = variant.algebra(sequences.size(-1))
    batch = sequences.shape[:-2]
    check_fits(batch.numel() * algebra.size, "the features of these sequences", "Lower `degree` or give fewer sequences at once.")
    features = algebra.one(*batch, dtype=sequences.dtype, device=sequences.device)
    c = check_coefficients(variant.coefficients, variant.degree, sequences)
    for t in range(sequences.size(-2) - 1, 0, -1):
        step = variant.step(sequences[..., t - 1, :], sequences[..., t, :], t)
        features = algebra.lift_mul(step, features, c)
    if variant.has_start:
        features = algebra.lift_mul(variant.start(sequences[..., 0, :]), features, c)
    return features


def with_time(vectors: Tensor, t: float) -> Tensor:
    """Put the time coordinate `t` in front of each vector, (*, d) to (*, d + 1)."""
    return torch.cat([torch.full_like(vectors[..., :1], t), vectors], dim=-1)
