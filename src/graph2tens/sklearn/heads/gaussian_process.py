r"""Gaussian process regression in closed form, for all noise levels and targets at once.

With the kernel matrix :math:`K = Q \Lambda Q^T` of the training rows, signal variance :math:`s^2` and noise variance :math:`s^2 \nu`, every
quantity is a sum over eigenvalues: one decomposition serves all :math:`\nu` and all targets. The prediction of row i from all *other* rows
has error and variance

.. math:: e_i = \frac{[(K + \nu)^{-1} y]_i}{[(K + \nu)^{-1}]_{ii}}, \qquad s^2 v_i = \frac{s^2}{[(K + \nu)^{-1}]_{ii}},

so leave-one-out validation costs no refit (Rasmussen and Williams, *Gaussian Processes for Machine Learning*, 5.4.2). The likeliest
:math:`s^2` for given errors is the mean of :math:`e_i^2 / v_i`: standard deviations fit errors that were made on rows not seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def rational(rate: float, distances: Matrix) -> Matrix:
    r"""The rational quadratic kernel :math:`1 / (1 + \text{rate}\, d^2)` of squared distances, a mixture of Gaussians of all widths."""
    kernel: Matrix = 1 / (1 + rate * distances)
    return kernel


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues, ascending and not negative, and eigenvectors (columns) of a kernel matrix."""

    values: Matrix
    vectors: Matrix

    @classmethod
    def of(cls, kernel: Matrix) -> Spectrum:
        values, vectors = scipy.linalg.eigh(kernel, overwrite_a=True, check_finite=False)
        return cls(np.maximum(values, 0), vectors)

    def weights(self, y: Matrix, noise: Matrix) -> Matrix:
        """:math:`(K + \\nu)^{-1} y` for each target (n, T) with its own noise (T,)."""
        weights: Matrix = self.vectors @ ((self.vectors.T @ y) / (self.values[:, None] + noise))
        return weights

    def variances(self, across: Matrix, noise: Matrix) -> Matrix:
        """Predictive variances (q, T) over :math:`s^2` of rows whose kernel with the training rows is `across` (q, n), noise included."""
        explained = np.square(across @ self.vectors) @ (1 / (self.values[:, None] + noise))
        # the kernel is 1 on the diagonal; rounding must not explain more than there is
        variances: Matrix = np.maximum(1 - explained, 0) + noise
        return variances


@dataclass(frozen=True, eq=False)
class Errors:
    """What predictions of rows not seen were like, for T targets and V noise levels: errors (n, T, V), variances (n, V) over s^2."""

    errors: NDArray[np.float64]
    variances: Matrix

    def judge(self) -> Judgement:
        """Means over the rows; NaN errors, of unknown targets, do not count."""
        known = ~np.isnan(self.errors[:, :, 0])
        count = known.sum(axis=0)[:, None]
        squares = np.nan_to_num(np.square(self.errors))
        scale = np.maximum((squares / self.variances[:, None]).sum(axis=0) / count, 1e-24)
        spread = known.T @ np.log(self.variances) / count
        density = -0.5 * (np.log(2 * np.pi * scale) + spread + 1)
        return Judgement(scale, density, np.sqrt(squares.sum(axis=0) / count))


@dataclass(frozen=True, eq=False)
class Judgement:
    """For T targets and V noise levels: the likeliest s^2, the mean log density under it, the root mean squared error."""

    scale: Matrix
    density: Matrix
    error: Matrix


def leave_one_out(spectrum: Spectrum, y: Matrix, noises: Matrix) -> Errors:
    """Every training row predicted from all others; y (n, T), noises (V,)."""
    inverse = 1 / (spectrum.values[:, None] + noises)
    diagonal = np.square(spectrum.vectors) @ inverse
    rotated = spectrum.vectors.T @ y
    residuals = np.stack([spectrum.vectors @ (column[:, None] * rotated) for column in inverse.T], axis=2)
    return Errors(residuals / diagonal[:, None], 1 / diagonal)


def held_out(spectrum: Spectrum, y: Matrix, noises: Matrix, across: Matrix, y_val: Matrix) -> Errors:
    """Validation rows, whose kernel with the training rows is `across` (q, n), predicted from the training rows."""
    means = np.stack([across @ spectrum.weights(y, np.full(y.shape[1], noise)) for noise in noises], axis=2)
    return Errors(y_val[:, :, None] - means, spectrum.variances(across, noises))
