r"""PyTorch operations only: any device, gradients of any order, `torch.compile`.

**Sheared form.** Degrees 1 and 2 with increments are plain diffusion after the first step: with :math:`h = f_2 + c_1 a_1 f_1`, where
:math:`a_1` is the projection onto :math:`u_1`, and the levels e after the first step,

.. math:: f_1' = P f_1 + e_1, \qquad h' = P h + e_2 + c_1 a_1 e_1.

**Node form.** With increments :math:`C_q = a_q(j) + b_q(i)`, where :math:`b = -a`, plus the clock's share with time. Products of such sums
expand over the set T of components that are taken at i, and what remains at j is one sparse product:

.. math:: f_{k,m}(i) = \sum_{T} b_T(i)\, \Big( P \sum_{r} c_r\, a_{\{1..r\} \setminus T}\, f_{k-1,m-r} \Big)(i).

For degree 2 that is :math:`P(f_2 + c_1 a_1 f_1) + b_1 c_1 P f_1` and terms in :math:`f_0 = 1` that are the same at every step. The sparse
products number 1, 2, 5, 10 for degrees 1 to 4, so from degree 4 on the edges are cheaper: the **edge form** gathers C and f along the
edges, and needs :math:`O(|E| M R)` memory for every step. Without increments C belongs to one node, and one product serves every degree.

With `recompute`, only the states of each step are kept, and what lies between is computed again in the backward pass.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .horner import horner
from .problem import Problem
from .projection import Projections, project_all
from .spmm import Pattern, spmm

_HIGHEST_NODE_FORM = 3
_HIGHEST_SHEARED = 2

Levels = list[Tensor | None]  # levels 0..M of a state, (n, R) each; None is zero


def features(problem: Problem) -> Tensor:
    """(n, M, R), degrees 1..M."""
    M, R, walk = problem.degree, problem.rank, problem.walk
    projections = project_all(problem)
    form: Any = _EdgeForm
    if not problem.variant.increments:
        form = _WithoutIncrements
    elif M <= _HIGHEST_NODE_FORM:
        form = _NodeForm
    step = form(problem, projections)
    zero = projections.a.new_ones(walk.num_nodes, R)  # level 0
    f: Levels = [zero] + [None] * M
    if form is _NodeForm and M <= _HIGHEST_SHEARED and walk.stochastic and problem.length:
        f = [zero, *step.sheared().unbind(1)]
    else:
        for t in range(problem.length, 0, -1):
            new = checkpoint(step, f, t, use_reentrant=False) if problem.recompute and torch.is_grad_enabled() else step(f, t)
            zero = zero if walk.stochastic else step.average(zero)
            f = [zero, *new.unbind(1)]
    if problem.variant.has_start:
        start = step.a if not problem.variant.increments else step.a + projections.offset.flip(1)[walk.graphs[0]]
        return torch.stack(horner(list(start.unbind(1)), f, step.c), dim=1)
    return torch.stack([torch.zeros_like(zero) if level is None else level for level in f[1:]], dim=1)


class _Step:
    """What the three forms share; calling one maps levels 0..M to the levels 1..M after one more step, (n, M, R)."""

    def __init__(self, problem: Problem, projections: Projections) -> None:
        self.problem, walk = problem, problem.walk
        self.a, self.tau = projections.a.flip(1), projections.tau.flip(0)
        self.p = walk.probabilities if walk.probabilities.dim() == 2 else walk.probabilities.unsqueeze(1)
        self.pattern = Pattern.of(walk)
        c = problem.coefficients if problem.coefficients.dim() == 2 else problem.coefficients.unsqueeze(1)
        self.c: list[Any] = [1.0, *c.unbind(0)]

    def average(self, level: Tensor) -> Tensor:
        """The expected level at the next node, (n, R)."""
        return spmm(self.p, level.unsqueeze(1), self.pattern).squeeze(1)


class _WithoutIncrements(_Step):
    """C belongs to the node stepped to, so the chain is done there, before the sparse product."""

    def __call__(self, f: Levels, t: int) -> Tensor:
        C = self.a + t * self.tau if self.problem.variant.time else self.a
        return spmm(self.p, torch.stack(horner(list(C.unbind(1)), f, self.c), dim=1), self.pattern)


class _EdgeForm(_Step):
    def __init__(self, problem: Problem, projections: Projections) -> None:
        super().__init__(problem, projections)
        C = self.a.index_select(0, self.pattern.col) - self.a.index_select(0, self.pattern.row)
        self.C = list((C + self.tau if problem.variant.time else C).unbind(1))
        self.along = self.p.repeat_interleave(problem.rank // self.p.size(1), dim=1).unsqueeze(1)

    def __call__(self, f: Levels, t: int) -> Tensor:
        at_target = [None if level is None else level.index_select(0, self.pattern.col) for level in f]
        levels = torch.stack(horner(self.C, at_target, self.c), dim=1)
        return torch.zeros_like(self.a).index_add(0, self.pattern.row, self.along * levels)


class _NodeForm(_Step):
    def __init__(self, problem: Problem, projections: Projections) -> None:
        super().__init__(problem, projections)
        self.own = list(self.a.unbind(1))
        self.b = list((self.tau - self.a if problem.variant.time else -self.a).unbind(1))
        # Terms in f_0 alone are the same at every step when f_0 = 1.
        M, one = problem.degree, self.a.new_ones(self.a.size(0), problem.rank)
        self.constant = self._expand([one] + [None] * M) if problem.walk.stochastic else None

    def __call__(self, f: Levels, t: int) -> Tensor:
        if self.constant is None:
            return self._expand(f)
        return self.constant if all(level is None for level in f[1:]) else self.constant + self._expand([None, *f[1:]])

    def sheared(self) -> Tensor:
        """All steps at once for degrees 1 and 2 with f_0 = 1: S' = P S + S_1, in sheared variables."""
        first: Any = self.constant
        shear = None if self.problem.degree == 1 else self.c[1] * self.own[0]
        S = S_1 = first if shear is None else torch.stack([first[:, 0], first[:, 1] + shear * first[:, 0]], dim=1)
        for _ in range(self.problem.length - 1):
            S = spmm(self.p, S, self.pattern)
            if shear is not None and self.problem.variant.time:
                S = torch.stack([S[:, 0], S[:, 1] + self.c[1] * self.tau[0] * S[:, 0]], dim=1)
            S = S + S_1
        return S if shear is None else torch.stack([S[:, 0], S[:, 1] - shear * S[:, 0]], dim=1)

    def _expand(self, f: Levels) -> Tensor:
        """All sparse products of a step at once, as columns of one. Equal columns of different degrees are computed once."""
        M = self.problem.degree
        columns: dict[tuple[Any, ...], Tensor] = {}
        uses: list[tuple[int, tuple[Any, ...], list[Any]]] = []  # level, column, factors at the node stepped from
        for m in range(1, M + 1):
            for T in (T for size in range(m + 1) for T in combinations(range(m), size)):
                terms = [(r, [M - m + s for s in range(r) if s not in T]) for r in range(max(T, default=-1) + 1, m + 1)]
                terms = [(r, rest) for r, rest in terms if f[m - r] is not None]
                if not terms:
                    continue
                factors = [self.b[M - m + s] for s in T]
                if len(terms) == 1:  # its coefficient can stay outside, and then other degrees may have the same column
                    (r, rest), *_ = terms
                    key: tuple[Any, ...] = (m - r, *rest)
                    factors = factors if r == 0 else [*factors, self.c[r]]
                    columns[key] = columns[key] if key in columns else self._at_target(rest, f[m - r])
                else:
                    key = ("sum", m, T)
                    parts = [self._at_target(rest, f[m - r] if r == 0 else self.c[r] * f[m - r]) for r, rest in terms]
                    columns[key] = torch.stack(parts).sum(0)
                uses.append((m, key, factors))
        products = dict(zip(columns, spmm(self.p, torch.stack(list(columns.values()), dim=1), self.pattern).unbind(1), strict=True))
        levels = [torch.zeros_like(self.own[0])] * M
        for m, key, factors in uses:
            levels[m - 1] = levels[m - 1] + _product(products[key], factors)
        return torch.stack(levels, dim=1)

    def _at_target(self, components: list[int], level: Any) -> Tensor:
        return _product(level, [self.own[q] for q in components])


def _product(start: Tensor, factors: list[Any]) -> Tensor:
    for factor in factors:
        start = start * factor
    return start
