"""The Weisfeiler-Lehman subtree kernel, a baseline.

Every node gets a colour, at first its label. In each iteration a node's new colour stands for its old colour and the multiset of its
out-neighbours' old colours. The kernel is the inner product of two graphs' counts of all colours of all iterations
(Shervashidze et al., 2011). Attributes and weights are not read.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..checks import check_integer
from .base import GraphInput
from .inputs import OneGraph, as_graphs
from .structure import parse_structure, structure_colours


@dataclass(eq=False, repr=False)
class WeisfeilerLehman(GraphInput, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Counts of the colours of Weisfeiler-Lehman refinement, as a sparse table; their linear kernel is the subtree kernel.

    Nodes without a label take the set of their indicator columns for one, if their attributes are indicators, and are all alike otherwise.

    Args:
        n_iterations: rounds of refinement.
        structure: ``"rings"``, ``"returns"`` or both, to be told apart by from the start, as in :class:`GraphTensFeatures`.

    Attributes:
        colours_: for each iteration a dictionary from signatures to columns; colours that no training graph has are not counted.
    """

    n_iterations: int = 5
    structure: str = ""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Collect the colours of the training graphs."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and count the colours on the way."""
        check_integer(self.n_iterations, "n_iterations", 0)
        parse_structure(self.structure)
        self.colours_: list[dict[Hashable, int]] = [{} for _ in range(self.n_iterations + 1)]
        return self._counts(as_graphs(X), grow=True)

    def transform(self, X: Any) -> Any:
        """(graphs, colours) sparse counts, the columns of iteration 0 first."""
        check_is_fitted(self, "colours_")
        return self._counts(as_graphs(X), grow=False)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``iteration2_colour7``"""
        check_is_fitted(self, "colours_")
        names = [f"iteration{h}_colour{c}" for h, colours in enumerate(self.colours_) for c in range(len(colours))]
        return np.array(names, dtype=object)

    def _counts(self, graphs: Sequence[OneGraph], grow: bool) -> Any:
        colours = [_first_colours(graph, self.structure) for graph in graphs]
        neighbours = [_neighbours(graph) for graph in graphs]
        tables, numbers = [], [[0]]
        for h, known in enumerate(self.colours_):
            if h:
                # a colour that training did not know is -1; whatever sees one is unknown too
                colours = [
                    [
                        None if own < 0 or any(colour[j] < 0 for j in around) else (own, tuple(sorted(colour[j] for j in around)))
                        for own, around in zip(colour, adjacent, strict=True)
                    ]
                    for colour, adjacent in zip(numbers, neighbours, strict=True)
                ]
            if grow:
                for graph_colours in colours:
                    for signature in graph_colours:
                        known.setdefault(signature, len(known))
            numbers = [[known.get(signature, -1) for signature in graph_colours] for graph_colours in colours]
            tables.append(_count(numbers, len(known)))
        return _small_indices(scipy.sparse.hstack(tables, format="csr"))


def _first_colours(graph: OneGraph, structure: str) -> list[Any]:
    plain = _labels(graph)
    return list(zip(plain, structure_colours(graph, structure), strict=True)) if structure else plain


def _labels(graph: OneGraph) -> list[Any]:
    if graph.labels is not None:
        return list(graph.labels)
    if graph.attributes is not None and np.isin(graph.attributes, (0, 1)).all():
        return [row.tobytes() for row in graph.attributes]
    return ["node"] * graph.num_nodes


def _neighbours(graph: OneGraph) -> list[list[int]]:
    around: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for i, j in graph.edges.T.tolist():
        around[i].append(j)
    return around


def _small_indices(table: Any) -> Any:
    """Indices of 32 bits, where they suffice: many of scikit-learn's estimators take no others."""
    if max(table.nnz, *table.shape) <= np.iinfo(np.int32).max:
        table.indices, table.indptr = table.indices.astype(np.int32), table.indptr.astype(np.int32)
    return table


def _count(numbers: list[list[int]], width: int) -> Any:
    rows = np.repeat(np.arange(len(numbers)), [len(colours) for colours in numbers])
    columns = np.concatenate([np.asarray(colours, dtype=np.int64) for colours in numbers])
    seen = columns >= 0
    ones = np.ones(int(seen.sum()))
    return scipy.sparse.csr_array((ones, (rows[seen], columns[seen])), shape=(len(numbers), width))
