r"""Rank-1 functionals as parameters: how their components are drawn and how large the tensors are that they stand for.

Degree m of functional r is the tensor :math:`\ell^r_m = u^r_{M-m+1} \otimes \dots \otimes u^r_M`. Both the initialisation and the penalty
speak of these tensors, not of the vectors :math:`u`: what acts on the features is the tensor. `taken_up` lists the components in the order
in which degrees 1, 2, .. take them up, here M - 1, .., 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def glorot_by_level_(components: Tensor, taken_up: Sequence[int]) -> Tensor:
    r"""Draw components (M, d, R) in place, centred and uniform, so that the entries of each :math:`\ell_m` have Glorot's variance of their
    level, :math:`2 / (d^m + R)`.

    The component that degree 1 uses has variance :math:`2 / (d + R)`; the one that degree m adds has the ratio of levels m and m - 1,
    :math:`(d^{m-1} + R) / (d^m + R)`, since variances of independent centred factors multiply.
    """
    degree, d, rank = components.shape
    target = [2.0 / (float(d) ** m + rank) for m in range(1, degree + 1)]
    added = [target[0]] + [target[m] / target[m - 1] for m in range(1, degree)]
    with torch.no_grad():
        for component, variance in zip(taken_up, added, strict=True):
            components[component].uniform_(-math.sqrt(3 * variance), math.sqrt(3 * variance))
    return components


def squared_tensor_norms(components: Tensor, taken_up: Sequence[int]) -> Tensor:
    r""":math:`\|\ell^r_m\|^2 = \|u^r_{M-m+1}\|^2 \cdots \|u^r_M\|^2` for all m and r, (M, R), in O(M d R): no tensor is built."""
    return components.square().sum(dim=1)[list(taken_up)].cumprod(dim=0)


def lift_coefficients(degree: int) -> Tensor:
    """(M,) 1/m!, m = 1..M, where the tensor exponential starts."""
    return torch.tensor([1.0 / math.factorial(m) for m in range(1, degree + 1)])
