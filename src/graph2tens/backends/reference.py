r"""The recursion of Theorem 3 as it is written: slow, obvious, differentiated by PyTorch. The other backends are tested against it.

Per edge :math:`C^u_{ij} = \langle u, \text{step from i to j}\rangle`, and with :math:`f_{k,0} = 1`, :math:`f_{0,m} = 0`,

.. math:: f_{k,m}(i) = \sum_j P_{ij} \sum_{r=0}^{m} c_r \Big(\prod_{s=1}^{r} C^{u_{M-m+s}}_{ij}\Big) f_{k-1,m-r}(j).

Memory is :math:`O(k M^2 |E| R)` when gradients are wanted, so this is for checking and for small graphs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .problem import Problem


def features(problem: Problem) -> Tensor:
    """(n, M, R), degrees 1..M. `recompute` changes nothing here."""
    x, walk, variant = problem.x.to_dense(), problem.walk, problem.variant
    n, M, R = walk.num_nodes, problem.degree, problem.rank
    row, col = walk.row, walk.col
    p = walk.probabilities.unsqueeze(1) if walk.probabilities.dim() == 1 else walk.probabilities
    p = p.repeat_interleave(R // p.size(1), dim=1)  # (E, R): head h owns R / H functionals in a row
    c = _from_zero(problem.coefficients, R)

    # Level 0 comes first in the list. It is 1 for ever unless the rows of P do not sum to 1.
    f = [x.new_ones(n, R)] + [x.new_zeros(n, R) for _ in range(M)]
    for t in range(problem.length, 0, -1):
        projected = _project(problem, variant.step(x[row], x[col], t), with_bias=not variant.increments)
        at_target = [level[col] for level in f]
        new = [x.new_zeros(n, R).index_add(0, row, p * _level(m, projected, at_target, c)) for m in range(1, M + 1)]
        f = [f[0] if walk.stochastic else x.new_zeros(n, R).index_add(0, row, p * at_target[0]), *new]
    if variant.has_start:
        projected = _project(problem, variant.start(x), with_bias=True)
        f = [f[0]] + [_level(m, projected, f, c) for m in range(1, M + 1)]
    return torch.stack(f[1:], dim=1)


def _project(problem: Problem, vectors: Tensor, with_bias: bool) -> Tensor:
    r""":math:`\langle u^r_m, v\rangle` for each vector v, (*, M, R); a bias cancels where the vector is a difference."""
    projected = torch.einsum("id,mdr->imr", vectors, problem.components)
    return projected + problem.bias if with_bias and problem.bias is not None else projected


def _level(m: int, projected: Tensor, f: list[Tensor], c: Tensor) -> Tensor:
    r""":math:`\sum_{r=0}^{m} c_r (\prod_{s=1}^{r} C^{u_{M-m+s}}) f_{m-r}`: degree m uses the last m components."""
    M = projected.size(1)
    total, product = f[m], torch.ones_like(f[m])
    for r in range(1, m + 1):
        product = product * projected[:, M - m + r - 1]
        total = total + c[r] * product * f[m - r]
    return total


def _from_zero(coefficients: Tensor, R: int) -> Tensor:
    """c_0 = 1, c_1, ..., c_M, each for all R functionals: (M + 1, R)."""
    c = coefficients if coefficients.dim() == 2 else coefficients.unsqueeze(1).expand(-1, R)
    return torch.cat([torch.ones_like(c[:1]), c])
