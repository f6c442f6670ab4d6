"""What every backend is given: the arguments of `low_rank_features` after they were checked, in one floating type."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..sequences import Variant
from ..walks import RandomWalk


@dataclass(frozen=True, eq=False)
class Problem:
    """One evaluation of the low-rank recursion; shapes as in :func:`graph2tens.low_rank_features`.

    Attributes:
        x: (n, d), float32 or float64, as are all other tensors.
        walk: its probabilities are (E,) or (E, H); H divides R.
        components: (M, d, R), or (M, d + 1, R) with time, whose coordinate comes first.
        length: number of steps k.
        variant: increments, zero start, time, and the coefficients (M,) or (M, R), never None here.
        coefficients: those of the variant.
        bias: (M, R) or None, added to every projection.
        recompute: keep few states between forward and backward.
    """

    x: Tensor
    walk: RandomWalk
    components: Tensor
    length: int
    variant: Variant
    coefficients: Tensor
    bias: Tensor | None
    recompute: bool

    @property
    def degree(self) -> int:
        return self.components.size(0)

    @property
    def rank(self) -> int:
        return self.components.size(2)

    @property
    def is_diffusion(self) -> bool:
        """Whether features diffuse plainly, as `loops/areas.py` says; a start factor can be divided out."""
        return self.degree <= 2 and self.variant.increments and not self.variant.time and self.walk.stochastic

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compute."""
        return self.walk.num_nodes == 0 or self.rank == 0
