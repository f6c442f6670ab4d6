r"""The mathematics of one step at one place, for all M levels at once: Horner chains, and their adjoint.

With :math:`C_q = C^{u_q}` for the M components and levels :math:`f_0 = s, f_1, \dots, f_M` of the node stepped to, level m of a step is

.. math:: c_0 f_m + C_{M-m+1} (c_1 f_{m-1} + C_{M-m+2} (c_2 f_{m-2} + \dots + C_M c_m s)), \qquad c_0 = 1.

The start factor is the same chain with :math:`F_q` for :math:`C_q` and the levels of the node itself.

**Rounds.** The brackets that follow :math:`c_q` have the same form for all levels m > q:

.. math:: B^q_m = c_q f_{m-q} + C_{M-m+1+q} B^{q+1}_m,

from the ends :math:`B^m_m = c_m s` inside to level m, :math:`B^0_m`, outside. With the components in descending order, :math:`C_M` first,
a round reads the first M - q entries of f and C and writes the last M - q brackets: it is one loop over neighbouring numbers.

Shapes: everything that belongs to a place is one row of M L numbers, levels 1..M or components M..1 one after the other, with L functionals
each. Level 0, ``s``, has rows of L numbers, or no rows where it is 1 everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .dialect import count, inline


class Coefficients(NamedTuple):
    """:math:`c_q` for q = 0..M, (M + 1, M L), each repeated for M levels; and :math:`c_1 .. c_M` one after the other, (1, M L)."""

    each: Any
    ends: Any


@inline
def set_ends(s, j, c, levels, i):  # type: ignore[no-untyped-def]  # pragma: no cover
    L = count(s.shape[1])
    for r in range(count(levels.shape[1])):
        levels[i, r] = c.ends[0, r]
    for m in range(count(len(c.each) - 1 if len(s) else 0)):
        for r in range(L):
            levels[i, m * L + r] *= s[j, r]


@inline
def chain(C, f, s, j, c, levels, i):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Levels 1..M after the step to node j, as row i of `levels`; C is (1, M L)."""
    M, L = len(c.each) - 1, count(s.shape[1])
    set_ends(s, j, c, levels, i)
    for q in range(M - 1, -1, -1):
        from_q = count(q) * L
        for r in range(count(M - q) * L):
            levels[i, from_q + r] = c.each[q, r] * f[j, r] + C[0, r] * levels[i, from_q + r]


@inline
def set_brackets(C, f, s, j, c, brackets):  # type: ignore[no-untyped-def]  # pragma: no cover
    """All rounds, (M + 1, M L): row q has the brackets of round q, and before them the end that round q - 1 starts with."""
    M, L = len(c.each) - 1, count(s.shape[1])
    set_ends(s, j, c, brackets, M)
    for q in range(M - 1, -1, -1):
        from_q, before = count(q) * L, count(max(q - 1, 0)) * L
        for r in range(from_q - before):
            brackets[q, before + r] = brackets[M, before + r]
        for r in range(count(M - q) * L):
            brackets[q, from_q + r] = c.each[q, r] * f[j, r] + C[0, r] * brackets[q + 1, from_q + r]


@inline
def reverse(C, f, s, j, c, brackets, d, dC, df, i, gs, dc):  # type: ignore[no-untyped-def]  # pragma: no cover
    """From the gradient d of the levels (1, M L), that of C; to row i of `df`, to row j of `gs` and to `dc` theirs is added, if wanted.

    d is changed.
    """
    M, L = len(c.each) - 1, count(s.shape[1])
    for r in range(count(M) * L):
        dC[0, r] = d[0, r] * brackets[1, r]
    for q in range(M):
        from_q, width = count(q) * L, count(M - q) * L
        for r in range(width):
            df[i, r] += c.each[q, r] * d[0, from_q + r]
        for r in range(width if len(dc.each) else count(0)):
            dc.each[q, r] += f[j, r] * d[0, from_q + r]
        for r in range(width if q > 0 else count(0)):
            dC[0, r] += d[0, from_q + r] * brackets[q + 1, from_q + r]
        for r in range(width):
            d[0, from_q + r] *= C[0, r]
    # d is now the gradient of the ends, c_m s
    for m in range(count(M if len(gs) else 0)):
        for r in range(L):
            gs[j, r] += c.ends[0, m * L + r] * d[0, m * L + r]
    for m in range(count(M if len(dc.ends) else 0)):
        for r in range(L):
            dc.ends[0, m * L + r] += d[0, m * L + r] * (s[j, r] if len(s) else s.dtype.type(1))
