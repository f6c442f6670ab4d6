r"""The Horner chain of one step for tensors, used by the `torch` backend.

With :math:`C_q = C^{u_q}` for the M components, level m of a step is

.. math:: f_m + C_{M-m+1} (c_1 f_{m-1} + C_{M-m+2} (c_2 f_{m-2} + \dots + C_M c_m f_0)),

where f are the levels at the node stepped to. The start factor is the same chain with :math:`F_q` for :math:`C_q` and the levels of the
node itself. ``None`` stands for zero, so that the first step, where all levels but f_0 vanish, costs no operation. `loops/chain.py` says
the same for the compiled backend, with its adjoint; here PyTorch differentiates.
"""

from __future__ import annotations

from typing import Any

Number = Any  # a tensor, a float, or None for zero


def horner(C: list[Number], f: list[Number], c: list[Number]) -> list[Number]:
    """Levels 1..M of one step. `C` has M entries, `f` levels 0..M, `c` the coefficients c_0..c_M, of which c_0 = 1 is not used."""
    M = len(C)
    levels = []
    for m in range(1, M + 1):
        bracket = _times(c[m], f[0])
        for r in range(m - 1, -1, -1):
            lower = f[m] if r == 0 else _times(c[r], f[m - r])
            bracket = _plus(lower, _times(C[M - m + r], bracket))
        levels.append(bracket)
    return levels


def _plus(left: Number, right: Number) -> Number:
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _times(left: Number, right: Number) -> Number:
    return None if left is None or right is None else left * right
