r"""Why a prediction is what it is: the share of every atom and bond.

The features of a molecule are sums over its atoms and bonds, :math:`\psi = \sum_v \phi_v / c`, and a prediction is a smooth function f of
them. Following the straight line from the average training molecule :math:`\bar\psi` to this one, each node's part of the way,
:math:`\phi_v / c - \bar\psi / n`, collects the slope of f (Aumann-Shapley values, also known as integrated gradients):

.. math:: s_v = \int_0^1 \Big\langle \nabla f\big(\bar\psi + t (\psi - \bar\psi)\big),\ \phi_v / c - \bar\psi / n \Big\rangle\, dt,
          \qquad \sum_v s_v = f(\psi) - f(\bar\psi).

So the shares add up to the difference between the prediction and that of the average molecule, exactly for a linear f and up to the error
of the quadrature, below one part in a thousand, for our kernels. For classes f is the log odds, a kernel of walks and a linear function of
pieces (:mod:`pieces`), whose shares are exact: a piece belongs to the atom in its middle. A share is about this model, not about nature:
atoms near each other see much the same walks, so that a group of atoms tells more than each of them.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from ..sklearn.inputs import as_graphs
from .classes import MoleculeClassifier
from .model import MoleculeModel
from .two_views import TwoViews

Matrix = NDArray[np.float64]
POINTS = 32


@dataclass(frozen=True, eq=False)
class Shares:
    """Of one molecule and one target: ``atoms.sum() + bonds.sum() == value - average``, for classification of log odds."""

    atoms: Matrix
    bonds: Matrix
    value: float
    average: float


@dataclass(frozen=True, eq=False)
class Expansion:
    r""":math:`f(z) = a + b \sum_i w_i / (1 + r \|z - z_i\|^2)`, which every head for regression and labels is, of scaled features z."""

    points: NDArray[np.float32]
    weights: Matrix
    rate: float
    offset: float
    factor: float

    def value(self, z: Matrix) -> float:
        return float(self.offset + self.factor * (self.weights / (1 + self.rate * self._distances(z))).sum())

    def slope(self, z: Matrix) -> Matrix:
        """The gradient of f at z."""
        pull = -2 * self.rate * self.weights / np.square(1 + self.rate * self._distances(z))
        return self.factor * (pull.sum() * z - pull @ self.points.astype(np.float64))

    def _distances(self, z: Matrix) -> Matrix:
        return np.square(self.points - z).sum(axis=1)


def shares(model: MoleculeModel, graph: Data, target: int = 0) -> Shares:
    """The share of each atom and bond of a molecule in the prediction of a target (or class)."""
    expansion, scale, shift = expand(model.estimator, target)
    nodes = parts_of_nodes(model.estimator.features_, graph)
    ways = (nodes - shift / len(nodes)) * scale
    end = ways.sum(axis=0)
    times, weights = np.polynomial.legendre.leggauss(POINTS)
    slope = sum(weight / 2 * expansion.slope((time + 1) / 2 * end) for time, weight in zip(times, weights, strict=True))
    found = ways @ slope
    atoms, value, average = graph.num_nodes or 0, expansion.value(end), expansion.value(np.zeros_like(end))
    if isinstance(model.estimator, MoleculeClassifier):
        pieces, whole, middle = parts_of_pieces(model.estimator, graph, target)
        found[:atoms] += pieces
        found += (whole - middle - pieces.sum()) / len(found)
        value, average = value + whole, average + middle
    return Shares(found[:atoms], found[atoms:], value, average)


def parts_of_pieces(estimator: MoleculeClassifier, graph: Data, target: int) -> tuple[Matrix, float, float]:
    """In log odds: what the pieces around each atom (atoms,) say, what all pieces of a molecule do with what they say of an empty one, and
    the mean of that over the training molecules."""
    factor = estimator.answers_.slope[target] / estimator.scales_[1, target]
    found, linear = as_graphs([graph]), estimator.pieces_
    atoms: Matrix = factor * linear.shares(found[0])[:, target]
    return atoms, float(atoms.sum() + factor * linear.offset[target]), float(factor * linear.middle[target])


def parts_of_nodes(features: Any, graph: Data) -> Matrix:
    """(atoms and bonds, columns), which add up to the features of the molecule."""
    if isinstance(features, TwoViews):
        walks = parts_of_nodes(features.walks, graph)
        shared = features.likeness.shares(as_graphs([graph])[0])
        bonds = np.zeros((len(walks) - len(shared), shared.shape[1]))  # surroundings belong to the atom in their middle
        return np.concatenate([walks, np.concatenate([shared, bonds])], axis=1)
    rows = copy(features)  # the same fitted features, a row for each node
    rows.pooling, rows.settings_ = None, {**features.settings_, "pooling": None}
    nodes = rows.transform([graph]).astype(np.float64)
    divisor = {"sum": 1.0, "mean": float(len(nodes)), "sqrt": float(np.sqrt(len(nodes)))}[features.settings_["pooling"]]
    return nodes / divisor


def expand(learner: Any, target: int) -> tuple[Expansion, Matrix, Matrix]:
    """An estimator's prediction of one target as a sum of kernels of walks, and the scale and shift of their columns."""
    head = learner.head_
    if isinstance(learner, MoleculeClassifier):  # its log odds are linear in the Gaussian process
        inner, scale, shift = _expand(head.gp_, target)
        slope, offset = float(learner.answers_.slope[target] / learner.scales_[0, target]), float(learner.answers_.offset[target])
        return replace(inner, offset=slope * inner.offset + offset, factor=slope * inner.factor), scale, shift
    return _expand(head, target)


def _expand(head: Any, target: int) -> tuple[Expansion, Matrix, Matrix]:
    if hasattr(head, "parts_"):
        part = next(part for part in head.parts_ if target in part.columns)
        weights = part.weights[:, list(part.columns).index(target)]
        points, rate = head.table_[part.rows], part.gamma / head.unit_
    else:
        columns, spectrum = next((columns, spectrum) for columns, spectrum in head.spectra_ if target in columns)
        place = list(columns).index(target)
        weights = spectrum.rotation @ (spectrum.product[:, place] / (spectrum.values + head.choice_.noise[target]))
        points, rate = head.landmarks_, head.gamma_ / head.unit_
    expansion = Expansion(points, weights, float(rate), float(head.shift_[target]), float(head.spread_[target]))
    return expansion, head.standardiser_.scale, head.standardiser_.shift
