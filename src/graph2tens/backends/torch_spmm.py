r"""PyTorch operations only: any device, gradients of any order, `torch.compile`.

With increments and degrees 1 and 2, features diffuse plainly (:func:`_diffusion`; `loops/areas.py` derives it): one sparse product per
step. Other walks with increments gather a chain along every edge, which needs :math:`O(|E| M R)` memory per step. Without increments the
chain belongs to one node, and one sparse product serves every degree.

With `recompute`, only the states of each step are kept, and what lies between is computed again in the backward pass.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .problem import Problem
from .projection import project_all, without_start
from .spmm import Pattern, spmm


def features(problem: Problem) -> Tensor:
    """(n, M, R), degrees 1..M."""
    walk, variant, pattern = problem.walk, problem.variant, Pattern.of(problem.walk)
    a, offset, tau = project_all(problem)
    p = walk.probabilities if walk.probabilities.dim() == 2 else walk.probabilities.unsqueeze(1)
    c = [1.0, *(problem.coefficients if problem.coefficients.dim() == 2 else problem.coefficients.unsqueeze(1)).unbind(0)]
    F = a + offset[walk.graphs[0]] if variant.has_start and variant.increments else a
    if problem.is_diffusion:
        U = _diffusion(F, a, p, c, problem.length, pattern)
        return U if variant.has_start else without_start(U, a, problem.coefficients)

    # Levels 0..M. None is zero: at first there are no levels to take along. Level 0 is 1 for ever unless rows of P do not sum to 1.
    f: list[Any] = [1.0 if walk.stochastic else torch.ones_like(a[:, 0]), *[None] * problem.degree]
    for t in range(problem.length, 0, -1):
        step = partial(_step_along_edges, a, tau) if variant.increments else partial(_step_to_nodes, a + t * tau if variant.time else a)
        again = problem.recompute and torch.is_grad_enabled()
        new = (checkpoint(step, f, p, c, pattern, use_reentrant=False) if again else step(f, p, c, pattern)).unbind(1)
        f = [1.0, *new] if walk.stochastic else list(new)
    levels = horner(F.unbind(1), f, c) if variant.has_start else f[1:]
    return torch.stack([torch.zeros_like(F[:, 0]) if level is None else level for level in levels], dim=1)


def horner(C: Any, f: list[Any], c: list[Any]) -> list[Tensor]:
    r"""Levels 1..M of one step: :math:`f_m + C_{M-m+1} (c_1 f_{m-1} + C_{M-m+2} (c_2 f_{m-2} + \dots + C_M c_m f_0))`.

    `C` has :math:`C_M` first, as in `loops/chain.py`, which says the same for the compiled backend; `f` has levels 0..M, None for zero.
    """
    levels = []
    for m in range(1, len(C) + 1):
        level = c[m] * f[0]
        for e in range(m):
            level = C[e] * level
            if f[e + 1] is not None:
                level = level + (f[m] if e == m - 1 else c[m - 1 - e] * f[e + 1])
        levels.append(level)
    return levels


def _step_to_nodes(C: Tensor, f: list[Any], p: Tensor, c: list[Any], pattern: Pattern) -> Tensor:
    """One step without increments: the chain of each node, then the sparse product. Level 0 is in the result if it is a tensor."""
    kept = f[:1] if isinstance(f[0], Tensor) else []
    return spmm(p, torch.stack(kept + horner(C.unbind(1), f, c), dim=1), pattern)


def _step_along_edges(a: Tensor, tau: Tensor, f: list[Any], p: Tensor, c: list[Any], pattern: Pattern) -> Tensor:
    """The same with increments, which belong to edges, and time, whose increment is 1."""
    C = a.index_select(0, pattern.col) - a.index_select(0, pattern.row)
    C = C + tau if tau.numel() else C
    at_target = [level.index_select(0, pattern.col) if isinstance(level, Tensor) else level for level in f]
    kept = at_target[:1] if isinstance(f[0], Tensor) else []
    levels = torch.stack(kept + horner(C.unbind(1), at_target, c), dim=1)
    along = p.repeat_interleave(a.size(2) // p.size(1), dim=1).unsqueeze(1) * levels
    return a.new_zeros(a.size(0), *along.shape[1:]).index_add(0, pattern.row, along)


def _diffusion(F: Tensor, a: Tensor, p: Tensor, c: list[Any], length: int, pattern: Pattern) -> Tensor:
    """Features after `length` steps for degrees 1 and 2 with a start factor F: U' = P U + E.

    Rows of P sum to 1. That the sums stand in the formula gives gradients of P the part that they have where a change of P changes sums.
    """
    heads = p.new_ones(a.size(0), 1, p.size(1))
    sums = spmm(p, heads, pattern).repeat_interleave(a.size(2) // p.size(1), dim=2)
    U: Tensor = c[1] * F[:, :1]
    E = (1 - sums) * U
    if a.size(1) == 2:
        d2, d1 = (spmm(p, a, pattern) - sums * a).unbind(1)
        F2, F1 = F.unbind(1)
        U = torch.stack([c[1] * F2, c[2] * F1 * F2], dim=1)
        E = (1 - sums) * U + torch.stack([torch.zeros_like(d2), (c[1] ** 2 - c[2]) * F1 * d2 - c[2] * F2 * d1], dim=1)
    for _ in range(length):
        U = spmm(p, U, pattern) + E
    return U
