r"""Surroundings of atoms as wholes: which occur in a molecule, how often, and how alike two molecules are by that.

The features of walks change little when a far atom changes, so that they see likeness of all degrees. Whether two molecules share the very
same piece they see less sharply. Here every atom's surroundings of radius 0, 1 and 2 get a number (a hash of the atoms and bonds in
them, as in Morgan fingerprints), and the likeness of two molecules is the min-max ratio of their counts,

.. math:: T(x, y) = \frac{\sum_c \min(x_c, y_c)}{\sum_c \max(x_c, y_c)}.

T is a kernel, so :math:`1 - T` is a squared distance: with the training molecules as landmarks, coordinates
:math:`L^{-1} t(x)` of :math:`t(x) = (T(x, l))_l`, where :math:`L L^T` is T of the landmarks, have twice that as their squared Euclidean
distance, and can stand beside other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from ..sklearn.inputs import OneGraph
from .attributes import ATOM_COLUMNS, BOND_COLUMNS
from .chemistry import COLUMNS

Matrix = NDArray[np.float64]
Hashes = NDArray[np.uint64]
RADIUS, BUCKETS = 2, 4096
INDICATORS = len(ATOM_COLUMNS) - len(COLUMNS)
Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
EQUAL = 1e-9  # added to the diagonal: molecules that no count tells apart must not make T singular


def _starting(names: Sequence[str], *starts: str) -> NDArray[np.int64]:
    return np.array([place for place, name in enumerate(names) if name.startswith(starts)], dtype=np.int64)


# Columns of atoms, columns of atoms that count as one (whether there is any), columns of bonds. What is left out (hybridisation,
# aromaticity, the sizes of rings, chirality) makes surroundings so special that new ring systems share few of them.
PLAIN: Columns = (
    _starting(ATOM_COLUMNS, "element", "neighbours", "charge", "hydrogens", "radical", "isotope"),
    _starting(ATOM_COLUMNS, "ring="),
    _starting(BOND_COLUMNS, "order"),
)


def surroundings(graphs: Sequence[OneGraph], columns: Columns | None = None) -> tuple[Hashes, NDArray[np.int64]]:
    """(atoms, RADIUS + 1) numbers of the surroundings of every atom of all graphs, and (graphs + 1) where each graph starts.

    By all indicators of atoms and bonds, or by those of `columns`.
    """
    starts = np.concatenate([[0], np.cumsum([graph.num_nodes for graph in graphs])]).astype(np.int64)
    # indicators alone: charges and other measures that are no whole numbers would make every atom its own kind
    known = [np.asarray(graph.attributes)[:, :INDICATORS] for graph in graphs]
    atoms = np.concatenate(known)
    if columns is not None:
        atoms = np.column_stack([atoms[:, columns[0]], atoms[:, columns[1]].any(axis=1)])
    colour = _mixed(_numbers(atoms, 1))
    ends = np.concatenate([graph.edges + start for graph, start in zip(graphs, starts, strict=False)], axis=1)
    bonds = [graph.edge_attributes for graph in graphs if graph.edge_attributes is not None and len(graph.edge_attributes)]
    kinds = slice(None) if columns is None else columns[2]
    bond = _mixed(_numbers(np.concatenate(bonds)[:, kinds], 2)) if bonds else np.zeros(0, dtype=np.uint64)
    found = [colour]
    with np.errstate(over="ignore"):  # hashes wrap around
        for _ in range(RADIUS):
            around = np.zeros_like(colour)
            np.add.at(around, ends[0], _mixed(colour[ends[1]] ^ bond))  # a sum, so that the order of neighbours does not matter
            colour = _mixed(colour * np.uint64(3) + around)
            found.append(colour)
    return np.stack(found, axis=1), starts


def counts(graphs: Sequence[OneGraph]) -> Any:
    """(graphs, BUCKETS) sparse counts of surroundings."""
    numbers, starts = surroundings(graphs)
    rows = np.repeat(np.arange(len(graphs)), np.diff(starts) * (RADIUS + 1))
    columns = (numbers.reshape(-1) % np.uint64(BUCKETS)).astype(np.int64)
    table = scipy.sparse.coo_array((np.ones(rows.size), (rows, columns)), shape=(len(graphs), BUCKETS)).tocsr()
    table.sum_duplicates()
    return table


@dataclass(frozen=True, eq=False)
class Likeness:
    """Coordinates whose squared distances are :math:`2 (1 - T)`: exactly between landmarks, and from a landmark to anything else.

    Attributes:
        values, columns, starts: counts of the landmarks, (m, BUCKETS) as a sparse table; everything else follows from them.
    """

    values: Matrix
    columns: NDArray[np.int32]
    starts: NDArray[np.int32]

    @classmethod
    def fit(cls, graphs: Sequence[OneGraph]) -> Likeness:
        table = counts(graphs)
        return cls(table.data, table.indices.astype(np.int32), table.indptr.astype(np.int32))

    @cached_property
    def landmarks(self) -> Any:
        """(m, BUCKETS) sparse counts."""
        return scipy.sparse.csr_array((self.values, self.columns, self.starts), shape=(self.starts.size - 1, BUCKETS))

    @cached_property
    def factor(self) -> Matrix:
        """(m, m) the lower Cholesky factor of T of the landmarks: its rows are their coordinates."""
        kernel = min_max(self.landmarks, self.landmarks)
        np.fill_diagonal(kernel, 1 + EQUAL)
        return scipy.linalg.cholesky(kernel, lower=True, overwrite_a=True, check_finite=False)

    def transform(self, graphs: Sequence[OneGraph]) -> Matrix:
        """(graphs, m + 1); the last coordinate is what the landmarks do not see."""
        inside = self._coordinates(min_max(counts(graphs), self.landmarks))
        return np.column_stack([inside, _unseen(inside)])

    def shares(self, graph: OneGraph) -> Matrix:
        """(atoms, m + 1) parts of the coordinates of one graph, which add up to them.

        The sum of minima is one over surroundings: those of a kind that both have count, each atom's for as much as its kind is met by
        the landmark. What landmarks do not see is shared out evenly.
        """
        numbers, _ = surroundings([graph])
        columns, place = np.unique((numbers % np.uint64(BUCKETS)).astype(np.int64), return_inverse=True)
        place = place.reshape(numbers.shape)
        own = np.bincount(place.reshape(-1)).astype(np.float64)
        least = np.minimum(self.landmarks[:, columns].toarray(), own)
        largest = self.landmarks.sum(axis=1) + own.sum() - least.sum(axis=1)
        met = (least / own / largest[:, None]).T  # (kinds, m), for one of each kind
        inside = self._coordinates(met[place].sum(axis=1))
        return np.column_stack([inside, np.full(len(inside), _unseen(inside.sum(axis=0)[None])[0] / len(inside))])

    def _coordinates(self, likeness: Matrix) -> Matrix:
        return scipy.linalg.solve_triangular(self.factor, likeness.T, lower=True, check_finite=False).T


def _unseen(inside: Matrix) -> Matrix:
    return np.sqrt(np.maximum(1 - np.square(inside).sum(axis=1), 0))


def min_max(one: Any, other: Any) -> Matrix:
    """T of all pairs of rows of counts."""
    sums = [np.asarray(table.sum(axis=1)).reshape(-1) for table in (one, other)]
    most = int(max(one.max(), other.max(), 1))
    least = (_unary(one, most) @ _unary(other, most).T).toarray()
    return least / np.maximum(sums[0][:, None] + sums[1][None, :] - least, 1)


def _unary(table: Any, most: int) -> Any:
    """A column for each count and k, 1 where the count is at least k: a minimum of whole numbers is the sum of products of these."""
    table = scipy.sparse.csr_array(table)
    times = table.data.astype(np.int64)
    ends = np.cumsum(times)
    k = np.arange(times.sum()) - np.repeat(ends - times, times)
    columns = np.repeat(table.indices.astype(np.int64), times) * most + k
    starts = np.concatenate([[0], ends])[table.indptr]
    return scipy.sparse.csr_array((np.ones(columns.size), columns, starts), shape=(table.shape[0], table.shape[1] * most))


def _numbers(indicators: NDArray[Any], kind: int) -> Hashes:
    """A number for each row of 0 and 1, the same for equal rows."""
    weights = np.random.default_rng(kind).integers(0, 2**63, indicators.shape[1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        found: Hashes = (indicators.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
    return found


def _mixed(numbers: Hashes) -> Hashes:
    """Numbers that look random and depend on every bit (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return numbers ^ (numbers >> np.uint64(31))
