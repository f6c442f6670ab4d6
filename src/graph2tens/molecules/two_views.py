"""Regression for up to some thousand molecules: by walks alone, or by walks and shared surroundings, whichever predicts better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sklearn import GraphTensFeatures
from ..sklearn.heads.distances import candidates
from ..sklearn.heads.regression import GAMMAS, NOISES
from ..sklearn.heads.validated_gp import ValidatedGP
from ..sklearn.inputs import OneGraph, as_graphs
from .environments import Likeness

Matrix = NDArray[np.float64]
Singles = NDArray[np.float32]
WEIGHT = 0.2  # share of the surroundings in the distance of two molecules; 0.1 to 0.3 did about the same on validation parts
ENOUGH = 1000  # molecules by which views and widths are chosen: time grows with the cube


@dataclass(frozen=True, eq=False)
class TwoViews:
    """Fitted features of walks, and coordinates of shared surroundings beside them.

    Attributes:
        walks: fitted.
        likeness: of the training molecules.
        spread: (m + 1,) variances of its coordinates over the training molecules.
    """

    walks: GraphTensFeatures
    likeness: Likeness
    spread: Matrix

    def transform(self, X: Any) -> Singles:
        """(graphs, columns)"""
        graphs = as_graphs(X)
        return beside(self.walks.transform(graphs), self.likeness.transform(graphs))

    @property
    def column_groups_(self) -> list[tuple[NDArray[np.int64], float]]:
        """The surroundings together weigh WEIGHT of all. Their coordinates are not to be scaled one by one, so each weighs its variance."""
        groups = self.walks.column_groups_ or [(np.arange(self.walks.n_features_out_), 1.0)]
        all_walks = sum(weight for _, weight in groups)
        weights = all_walks * WEIGHT / (1 - WEIGHT) * self.spread / max(float(self.spread.sum()), 1e-12)
        first = self.walks.n_features_out_
        return [*groups, *((np.array([first + place]), float(weight)) for place, weight in enumerate(weights))]

    def set_params(self, **params: Any) -> TwoViews:
        """Of the walks: threads."""
        self.walks.set_params(**params)
        return self


def beside(walks: Singles, coordinates: Matrix) -> Singles:
    """One table of both."""
    return np.concatenate([walks, coordinates.astype(np.float32)], axis=1)


def fit_views(
    walks: GraphTensFeatures, graphs: Sequence[OneGraph], y: Matrix, seed: int, walks_alone: bool = False
) -> tuple[Any, ValidatedGP, Singles]:
    """Fitted features, of walks or :class:`TwoViews`, the fitted Gaussian process, and the table of features that it learnt from.

    Of the two views, the one with the higher density of left-out targets.

    `walks_alone` leaves no choice between the views. With more than 1,000 molecules the choice is made by as many of them, and so are the
    two widths that all of them choose from.
    """
    table = walks.fit(graphs).transform(graphs)
    likeness = Likeness.fit(graphs)
    coordinates = likeness.transform(graphs)
    both = TwoViews(walks, likeness, coordinates.var(axis=0))
    rows = np.random.default_rng(seed).permutation(len(graphs))[:ENOUGH]
    if (~np.isnan(y[rows])).sum(axis=0).min() < ENOUGH // 4:  # a target that few molecules have: all may speak
        rows = np.arange(len(graphs))
    gammas = candidates(GAMMAS, "gamma")
    views = [(walks, table, walks.column_groups_), (both, beside(table, coordinates), both.column_groups_)]
    found = []
    for features, columns, groups in views[: 1 if walks_alone else 2]:
        head = ValidatedGP(gammas, NOISES).fit(columns[rows], y[rows], groups=groups)
        merits = densities(head)
        gammas = tuple(sorted(best_two(merits)))  # the second view looks near the first one's width
        found.append((max(merits.values()), features, columns, groups, head, gammas))
    _, features, columns, groups, head, gammas = max(found, key=lambda entry: round(entry[0], 9))
    if rows.size < len(graphs):
        head = ValidatedGP(gammas, NOISES).fit(columns, y, groups=groups)
    return features, head, columns


def densities(head: ValidatedGP) -> dict[float, float]:
    """For each width the mean over the targets of the density at the best noise."""
    best: dict[tuple[float, float], float] = {}
    for row in head.scores_:
        key = row["gamma"], row["target"]
        best[key] = max(best.get(key, -np.inf), row["density"])
    widths = sorted({gamma for gamma, _ in best})
    return {gamma: float(np.mean([value for (width, _), value in best.items() if width == gamma])) for gamma in widths}


def best_two(merits: dict[float, float]) -> list[float]:
    """The best width and the better one of those next to it."""
    widths = sorted(merits)
    place = widths.index(max(widths, key=lambda width: merits[width]))
    beside_it = widths[max(place - 1, 0) : place] + widths[place + 1 : place + 2]
    return [widths[place], *([max(beside_it, key=lambda width: merits[width])] if beside_it else [])]
