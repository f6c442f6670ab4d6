r"""The Nyström approximation of a Gaussian process, from sums over rows: time and memory do not grow with the square of the rows.

With m landmarks, rows of the training data, a row x is described by its kernel k(x) with the landmarks, whitened:
:math:`\varphi(x) = \Lambda^{-1/2} U^T k(x)` where :math:`U \Lambda U^T` is the kernel of the landmarks. Regression on
:math:`\varphi` needs :math:`\sum_i w_i k(x_i) k(x_i)^T` and :math:`\sum_i w_i k(x_i) y_i` alone, so rows may come in any number of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from .gaussian_process import DRIVER, Errors, Matrix, same_rows

NEGLIGIBLE = 1e-9  # share of the largest eigenvalue below which directions of the landmarks are noise of rounding


@dataclass(eq=False)
class Sums:
    """What is known of the rows so far; :meth:`add` changes it, since a copy for every block of rows would take as long as the sums.

    Attributes:
        gram: (1, m, m) while all targets have had the same weights in every row, (T, m, m) after that.
        product: (m, T).
    """

    gram: Matrix
    product: Matrix

    @classmethod
    def zero(cls, landmarks: int, targets: int) -> Sums:
        return cls(np.zeros((1, landmarks, landmarks)), np.zeros((landmarks, targets)))

    def add(self, kernel: Matrix, y: Matrix, weights: Matrix) -> None:
        """Rows whose kernel with the landmarks is (q, m), their targets (q, T), and weights (q, T), 0 where a target is unknown."""
        groups = list(same_rows(weights))
        if len(groups) > 1 and len(self.gram) == 1:
            self.gram = np.repeat(self.gram, weights.shape[1], axis=0)
        for rows, columns in groups:
            scaled = np.sqrt(weights[rows, columns[0]])[:, None] * kernel[rows]
            found = scaled.T @ scaled
            for place in columns if len(self.gram) > 1 else (0,):
                self.gram[place] += found
        self.product += kernel.T @ np.nan_to_num(weights * y)


@dataclass(frozen=True, eq=False)
class Whitener:
    r""":math:`U \Lambda^{-1/2}` of the landmarks' kernel, (m, r)."""

    matrix: Matrix

    @classmethod
    def of(cls, kernel: Matrix) -> Whitener:
        values, vectors = scipy.linalg.eigh(kernel, driver=DRIVER, check_finite=False)
        kept = values > NEGLIGIBLE * values[-1]
        return cls(vectors[:, kept] / np.sqrt(values[kept]))

    def solve(self, sums: Sums) -> list[LandmarkSpectrum]:
        """One for all targets, or one for each."""
        found = []
        for gram in sums.gram:
            values, vectors = scipy.linalg.eigh(self.matrix.T @ gram @ self.matrix, driver=DRIVER, check_finite=False)
            rotation = self.matrix @ vectors
            found.append(LandmarkSpectrum(np.maximum(values, 0), rotation, rotation.T @ sums.product))
        return found if len(found) == 1 else [replace(one, product=one.product[:, [t]]) for t, one in enumerate(found)]


@dataclass(frozen=True, eq=False)
class LandmarkSpectrum:
    """The regression in coordinates in which everything is diagonal: rotation (m, r), eigenvalues (r,), products with targets (r, T)."""

    values: Matrix
    rotation: Matrix
    product: Matrix

    def predict(self, kernel: Matrix, noise: Matrix) -> tuple[Matrix, Matrix]:
        """Means and variances over s^2, (q, T); every target has its own noise (T,)."""
        features = kernel @ self.rotation
        return features @ (self.product / (self.values[:, None] + noise)), self.variances(features, noise)

    def variances(self, features: Matrix, noise: Matrix) -> Matrix:
        """The part of the kernel that landmarks do not see stays as uncertain as it was."""
        squares = np.square(features)
        unseen = np.maximum(1 - squares.sum(axis=1, keepdims=True), 0)
        return unseen + squares @ (noise / (self.values[:, None] + noise)) + noise

    def held_out(self, kernel: Matrix, y: Matrix, noises: Matrix) -> Errors:
        """Rows not among the sums, for all noise levels (V,)."""
        features = kernel @ self.rotation
        means = np.stack([features @ (self.product / (self.values[:, None] + noise)) for noise in noises], axis=2)
        return Errors(y[:, :, None] - means, self.variances(features, noises))
