r"""The inner product of expected walk features of two graphs, without a tensor.

With the lift of order 1 (:math:`\varphi(x) = 1 + x`) the feature of a walk is :math:`(1 + \delta_1) \cdots (1 + \delta_k)`, and its
expectation obeys :math:`v_s = P v_{s-1} + \sum_j P_{ij}\, \delta_{ij} \otimes v_{s-1}(j)`. So the inner products
:math:`H_m[s,t](i,i') = \langle v_s(i), v'_t(i')\rangle` of level m obey

.. math:: H_m[s,t] &= P H_m[s-1,t] + H_m[s,t-1] P'^T - P H_m[s-1,t-1] P'^T + W(H_{m-1}[s-1,t-1]), \\
          W(H) &= P (S \circ H) P'^T - (S \circ P H) P'^T - P (S \circ H P'^T) + S \circ P H P'^T, \qquad S = X X'^T,

with :math:`H_0 = 1` and :math:`H_m[0,\cdot] = H_m[\cdot,0] = 0`, since
:math:`\langle \delta_{ij}, \delta_{i'j'}\rangle = S_{jj'} - S_{ij'} - S_{ji'} + S_{ii'}`. Attributes enter through S alone, which may be
any Gram matrix; the cost :math:`O(k^2 M (|E| n' + n |E'|))` does not depend on their dimension.

A start factor :math:`1 + x_i` on the left (zero start) adds :math:`S \circ H_{m-1}[k,k]` and two mixed terms, of which one is
:math:`Z_m[s] = \langle v_s, x' \otimes v'_k\rangle = P Z_m[s-1] + P(S \circ H_{m-1}[s-1,k]) - S \circ P H_{m-1}[s-1,k]` and the other
its mirror image. Without increments :math:`\delta_{ij}` is :math:`x_j`, so only the first term of W and the first two of Z remain. Time
adds a coordinate: :math:`\langle\delta, \delta'\rangle` grows by 1 with increments and by the product of the two step numbers without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class WalkKernel:
    """The variant of the walk features whose inner products are wanted.

    Attributes:
        length: number of steps k.
        degree: highest tensor level M.
        increments, zero_start, time: as in :func:`graph2tens.sequence_features`.
    """

    length: int
    degree: int
    increments: bool = True
    zero_start: bool = True
    time: bool = False

    def levels(self, P: Any, Q: Any, S: Matrix) -> list[Matrix]:
        r"""Inner products of all pairs of nodes, level by level from 0 to M.

        Args:
            P, Q: (n, n) and (n', n') transition matrices of the two graphs, or of two disjoint unions: then all pairs of graphs are
                computed at once. SciPy CSR.
            S: (n, n') inner products of attributes.

        Shapes:
            - **output:** M + 1 matrices (n, n')
        """
        k, M = self.length, self.degree
        one = np.ones(S.shape)
        zero = np.zeros(S.shape)
        # rows[m][t] is H_m[s, t] for the current s; Z[m] is the mixed term at s
        rows = [[one if m == 0 else zero for _ in range(k + 1)] for m in range(M + 1)]
        Z = [zero for _ in range(M + 1)]
        for s in range(1, k + 1):
            new = [[one] * (k + 1)] + [[zero] for _ in range(M)]
            left = [[P @ H for H in row] for row in rows]  # P H_m[s-1, t], used twice
            for m in range(1, M + 1):
                Z[m] = P @ Z[m] + P @ (S * rows[m - 1][k]) - (S * left[m - 1][k] if self.increments else 0)
                for t in range(1, k + 1):
                    gained = self._step(P, Q, S, rows[m - 1][t - 1], left[m - 1][t - 1], (k - s + 1) * (k - t + 1))
                    new[m].append(left[m][t] + _right(new[m][t - 1] - left[m][t - 1], Q) + gained)
            rows = new
        last = [row[k] for row in rows]
        if not (self.zero_start or not self.increments):
            return last
        mirror = self._mirror(Q, S, rows)
        return [last[0]] + [last[m] + Z[m] + mirror[m] + S * last[m - 1] for m in range(1, M + 1)]

    def _step(self, P: Any, Q: Any, S: Matrix, H: Matrix, PH: Matrix, clocks: int) -> Matrix:
        """W(H): what the pair of steps under way adds; `PH` is P @ H, `clocks` the product of the two step numbers."""
        gained: Matrix = _right(P @ (S * H), Q)
        if not self.increments:
            return gained + clocks * _right(PH, Q) if self.time else gained
        both = _right(PH, Q)
        gained = gained - _right(S * PH, Q) - P @ (S * _right(H, Q)) + S * both
        return gained + both if self.time else gained

    def _mirror(self, Q: Any, S: Matrix, rows: list[list[Matrix]]) -> list[Matrix]:
        """The other mixed term, by steps of the second walk; `rows` hold H_m[k, t]."""
        mixed = [np.zeros(S.shape) for _ in range(self.degree + 1)]
        for t in range(1, self.length + 1):
            for m in range(self.degree, 0, -1):
                H = rows[m - 1][t - 1]
                mixed[m] = _right(mixed[m] + S * H, Q) - (S * _right(H, Q) if self.increments else 0)
        return mixed


def _right(H: Matrix, Q: Any) -> Matrix:
    """H Q^T"""
    return np.ascontiguousarray((Q @ np.ascontiguousarray(H.T)).T)
