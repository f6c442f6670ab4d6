r"""One step of the recursion for one edge, and its adjoint: all the mathematics the backends share, for any degree.

With :math:`C_q = C^{u_q}` for the M components, level m of a step is the Horner chain

.. math:: f_m + C_{M-m+1} (c_1 f_{m-1} + C_{M-m+2} (c_2 f_{m-2} + \dots + C_M c_m f_0)),

where f are the levels at the node stepped to. The start factor is the same chain with :math:`F_q` for :math:`C_q` and the levels of the
node itself. Both functions only add and multiply what they are given: tensors in the PyTorch backend, and in the Numba backend symbols
whose sums and products become machine instructions. ``None`` stands for zero, so the first step, where all levels but f_0 vanish, costs
no operation that another step would need.
"""

from __future__ import annotations

from typing import Any

# What can be added and multiplied, Tensor or graph2tens.backends.lanes.Lanes; None is zero.
Number = Any


def horner(C: list[Number], f: list[Number], c: list[Number]) -> list[Number]:
    """Levels 1..M of one step. `C` has M entries, `f` levels 0..M, `c` the coefficients c_0..c_M, of which c_0 = 1 is not used."""
    return [_brackets(m, C, f, c)[0] for m in range(1, len(C) + 1)]


def reverse(C: list[Number], f: list[Number], c: list[Number], g: list[Number]) -> tuple[list[Number], list[Number], list[Number]]:
    """Gradients of sum_m g_m level_m with respect to C, f and c; `g` has M entries. Entry 0 of the last list stays None: c_0 is fixed."""
    M = len(C)
    dC: list[Number] = [None] * M
    df: list[Number] = [None] * (M + 1)
    dc: list[Number] = [None] * (M + 1)
    for m in range(1, M + 1):
        brackets = _brackets(m, C, f, c)
        d = g[m - 1]  # the derivative with respect to brackets[r]
        for r in range(m):
            q = M - m + r
            df[m - r] = _plus(df[m - r], d if r == 0 else _times(c[r], d))
            if r > 0:
                dc[r] = _plus(dc[r], _times(d, f[m - r]))
            dC[q] = _plus(dC[q], _times(d, brackets[r + 1]))
            d = _times(d, C[q])
        df[0] = _plus(df[0], _times(c[m], d))
        dc[m] = _plus(dc[m], _times(d, f[0]))
    return dC, df, dc


def _brackets(m: int, C: list[Number], f: list[Number], c: list[Number]) -> list[Number]:
    """The brackets of level m, from the outermost, which is the level itself, to the innermost, c_m f_0."""
    M = len(C)
    brackets = [_times(c[m], f[0])]
    for r in range(m - 1, -1, -1):
        lower = f[m] if r == 0 else _times(c[r], f[m - r])
        brackets.append(_plus(lower, _times(C[M - m + r], brackets[-1])))
    return brackets[::-1]


def _plus(left: Number, right: Number) -> Number:
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _times(left: Number, right: Number) -> Number:
    return None if left is None or right is None else left * right
