r"""Rank-1 functionals as parameters: how their components are drawn and how large the tensors are that they stand for.

Degree m of functional r is the tensor :math:`\ell^r_m = u^r_{M-m+1} \otimes \dots \otimes u^r_M`. Both the initialisation and the penalty
speak of these tensors, not of the vectors :math:`u`: what acts on the features is the tensor.
There is one difference in the authors' code: there both take the *first* m components for degree m, although the functionals use the
last m. ``levels_from="first"`` is that reading.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

LEVELS_FROM = ("last", "first")


def glorot_by_level_(components: Tensor, levels_from: str = "last") -> Tensor:
    r"""Draw components (M, d, R) in place, centred and uniform, so that the entries of each :math:`\ell_m` have Glorot's variance of their
    level, :math:`2 / (d^m + R)`.

    The component that degree 1 uses has variance :math:`2 / (d + R)`; the one that degree m adds has the ratio of levels m and m - 1,
    :math:`(d^{m-1} + R) / (d^m + R)`, since variances of independent centred factors multiply.
    """
    degree, d, rank = components.shape
    target = [2.0 / (float(d) ** m + rank) for m in range(1, degree + 1)]
    added = [target[0]] + [target[m] / target[m - 1] for m in range(1, degree)]
    with torch.no_grad():
        for component, variance in zip(from_degree_one(components, levels_from), added, strict=True):
            component.uniform_(-math.sqrt(3 * variance), math.sqrt(3 * variance))
    return components


def squared_tensor_norms(components: Tensor, levels_from: str = "last") -> Tensor:
    r""":math:`\|\ell^r_m\|^2 = \|u^r_{M-m+1}\|^2 \cdots \|u^r_M\|^2` for all m and r, (M, R), in O(M d R): no tensor is built."""
    squares = components.square().sum(dim=1)
    return (squares if levels_from == "first" else squares.flip(0)).cumprod(dim=0)


def from_degree_one(components: Tensor, levels_from: str) -> list[Tensor]:
    """The components in the order in which degrees 1, 2, .. take them up."""
    return list(components) if levels_from == "first" else list(components)[::-1]


def lift_coefficients(degree: int, rank: int | None) -> Tensor:
    """1/m!, m = 1..M, where the tensor exponential starts: (M,), or (M, R) with one set for each functional."""
    c = torch.tensor([1.0 / math.factorial(m) for m in range(1, degree + 1)])
    return c if rank is None else c.unsqueeze(1).repeat(1, rank)
