r"""The arithmetic of random features, compiled, in an order of operations that no other graph can change.

:func:`graph2tens.low_rank_features` projects with a matrix product whose rounding depends on how many rows it is given, on threads and on
the library behind it. Features that a classifier was fitted to must not depend on which other graphs were in the batch. Here every number
is computed from its own row by additions and products in a fixed order, which IEEE arithmetic makes reproducible bit for bit, whatever the
batch, the number of jobs, or the way LLVM vectorises. All loops run outside Python's global lock.

The recursion itself is in `backends/fixed_order.py`. Shapes: n nodes, M degrees, R functionals; ``f`` (n, M, R) levels 1..M. Everything is
float32, only :func:`project` takes float64 too. Arrays must be :func:`plain`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.compiling import Compiled, compiled

ROWS = 4  # rows, and terms of a row's sum, that `project` takes at a time
_EPSILON = np.float32(1e-12)  # a row that is constant stays so: its variance is exactly 0

# cos(2 pi t) for |t| <= 1/2 as a polynomial in t^2; the error is below 2e-8. A library's cosine may round the ends of an array differently.
_COSINE = np.array([0.9999999889, -19.739204467, 64.939115928, -85.450113428, 60.167429792, -25.966884613, 6.527705963], dtype=np.float32)


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """The array in C order and writable, a copy only if need be: Numba counts other arrays as other types, each to be compiled again."""
    return np.require(array, requirements=["C", "W"])


def project(x: NDArray[Any], vectors: NDArray[Any], out: NDArray[Any]) -> None:
    """out = x @ vectors; the numbers of rows of `x` and of `vectors` are multiples of ROWS (fill up with zeros)."""
    VERSIONS[out.dtype.name](x, vectors, out)


def _project(x, vectors, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    n, d = x.shape
    width = vectors.shape[1]
    for i in range(0, n, 4):
        out0, out1, out2, out3 = out[i], out[i + 1], out[i + 2], out[i + 3]
        for r in range(width):
            out0[r] = 0
            out1[r] = 0
            out2[r] = 0
            out3[r] = 0
        for k in range(0, d, 4):
            v0, v1, v2, v3 = vectors[k], vectors[k + 1], vectors[k + 2], vectors[k + 3]
            x00, x01, x02, x03 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            x10, x11, x12, x13 = x[i + 1, k], x[i + 1, k + 1], x[i + 1, k + 2], x[i + 1, k + 3]
            x20, x21, x22, x23 = x[i + 2, k], x[i + 2, k + 1], x[i + 2, k + 2], x[i + 2, k + 3]
            x30, x31, x32, x33 = x[i + 3, k], x[i + 3, k + 1], x[i + 3, k + 2], x[i + 3, k + 3]
            for r in range(width):
                u0, u1, u2, u3 = v0[r], v1[r], v2[r], v3[r]
                out0[r] = (((out0[r] + x00 * u0) + x01 * u1) + x02 * u2) + x03 * u3
                out1[r] = (((out1[r] + x10 * u0) + x11 * u1) + x12 * u2) + x13 * u3
                out2[r] = (((out2[r] + x20 * u0) + x21 * u1) + x22 * u2) + x23 * u3
                out3[r] = (((out3[r] + x30 * u0) + x31 * u1) + x32 * u2) + x33 * u3


def _normalise(f, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Layer norm over the functionals of each degree, without scale and shift, into the first M * R columns of `out`."""
    n, M, R = f.shape
    for i in range(n):
        for m in range(M):
            row, target = f[i, m], out[i, m * R : (m + 1) * R]
            mean = 0.0
            for r in range(R):
                mean += row[r]
            mean /= R
            variance = 0.0
            for r in range(R):
                variance += (row[r] - mean) * (row[r] - mean)
            variance /= R
            # relative to the size of the row, so that attributes of any scale are treated alike
            scale = 1 / np.sqrt(variance + _EPSILON * mean * mean + 1e-30)
            for r in range(R):
                target[r] = np.float32((row[r] - mean) * scale)


def _wave(z, phase):  # type: ignore[no-untyped-def]  # pragma: no cover
    r"""z <- :math:`\cos(2 \pi (z + \text{phase}))`, row by row, in place."""
    n, Q = z.shape
    c0, c1, c2, c3, c4, c5, c6 = _COSINE[0], _COSINE[1], _COSINE[2], _COSINE[3], _COSINE[4], _COSINE[5], _COSINE[6]
    half = np.float32(0.5)
    for i in range(n):
        row = z[i]
        for q in range(Q):
            t = row[q] + phase[q]
            t = t - np.floor(t + half)
            s = t * t
            row[q] = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * (c5 + s * c6)))))


def _pool(x, node_ptr, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Sum the rows of each graph, in the order of its nodes, in double precision."""
    width = out.shape[1]
    for g in range(node_ptr.size - 1):
        total = out[g]
        for i in range(node_ptr[g], node_ptr[g + 1]):
            row = x[i]
            for r in range(width):
                total[r] += row[r]


VERSIONS: dict[str, Compiled] = {dtype: compiled(_project, f"features {dtype}") for dtype in ("float32", "float64")}
normalise, wave, pool = (compiled(loop, "features") for loop in (_normalise, _wave, _pool))
