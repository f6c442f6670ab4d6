r"""The mathematics of one step at one place, for M degrees and L functionals: a Horner chain, and its adjoint.

With :math:`C_q = C^{u_q}` for the M components and levels :math:`f_0 = s, f_1, \dots, f_M` of the node stepped to, level m of a step is

.. math:: c_0 f_m + C_{M-m+1} (c_1 f_{m-1} + C_{M-m+2} (c_2 f_{m-2} + \dots + C_M c_m s)), \qquad c_0 = 1.

The start factor is the same chain with :math:`F_q` for :math:`C_q` and the levels of the node itself.

Components are counted through a table, ``order`` = 0..M-1. Counted by the loop itself, LLVM would test once for all turns whether arrays
overlap, and take an order in which addresses descend for an overlap: the loops would run, but not vectorised, at half the speed.

Shapes: ``C``, ``f``, ``g``, ``levels`` (M, L), row q - 1 for component q and row m - 1 for level m; ``c`` (M + 1, L) from :math:`c_0` on;
``s``, ``weight`` (L,).
"""

from __future__ import annotations

from .vectors import add, add_product, add_product_and_multiply, fold_bracket, multiply, set_bracket, set_innermost, set_product, word


@word
def chain(C, f, s, c, order, levels):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Levels 1..M after the step."""
    M = len(C)
    for m in range(1, M + 1):
        bracket = levels[m - 1]
        set_innermost(bracket, c[m - 1], f[0], C[M - 1], c[m], s)
        for turn in range(1, m):
            q = m - 1 - order[turn]
            fold_bracket(bracket, c[q], f[m - q - 1], C[M - m + q])


@word
def reverse(C, f, s, c, order, g, weight, dC, df, dc, sums, room):  # type: ignore[no-untyped-def]  # pragma: no cover
    r"""The gradients of :math:`\text{weight} \sum_m \langle g_m, \text{level}_m \rangle` with respect to C; those of f and c are added.

    Those of s and of the weight are sums over functionals, whose terms are added to ``sums`` (2, L). It and ``dc`` are empty where they are
    not wanted. ``room`` is (M + 2, L).
    """
    M = len(C)
    d = room[M + 1]  # the derivative with respect to the bracket at hand
    for m in range(1, M + 1):
        set_product(room[m], s, c[m])
        for turn in range(m if sums.size else m - 1):  # the outermost bracket is the level itself
            q = m - 1 - order[turn]
            set_bracket(room[q], c[q], f[m - q - 1], C[M - m + q], room[q + 1])
        set_product(d, weight, g[m - 1])
        add(df[m - 1], d)
        set_product(dC[M - m], room[1], d)  # the first to write there
        multiply(d, C[M - m])
        for turn in range(1, m):
            q = order[turn]
            add_product(df[m - q - 1], c[q], d)
            if dc.size:
                add_product(dc[q], f[m - q - 1], d)
            add_product_and_multiply(dC[M - m + q], room[q + 1], d, C[M - m + q])
        if dc.size:
            add_product(dc[m], s, d)
        if sums.size:
            add_product(sums[0], c[m], d)
            add_product(sums[1], g[m - 1], room[0])
