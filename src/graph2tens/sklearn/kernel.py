"""`GraphTensKernel`: how alike two graphs are, for ``SVC(kernel="precomputed")`` and everything else that takes Gram matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise, product
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..checks import check_integer, check_laziness
from . import feature_loops
from .base import GraphInput
from .encoding import Encoder
from .features import GraphTensFeatures
from .heads.distances import Standardiser, squared_distances, typical
from .inputs import OneGraph, as_graphs
from .pooling import batches
from .random_features import joint_walk
from .walk_kernel import WalkKernel
from .with_features import own_features

Matrix = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class GraphTensKernel(GraphInput, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""A positive semi-definite kernel on graphs.

    ``kernel="walk"`` is the exact inner product of the expected features of random walks on two graphs,
    :math:`k(G, G') = \sum_{m=0}^{M} \langle \Psi_m(G), \Psi_m(G')\rangle` with the lift of order 1, computed without a tensor (see
    :mod:`graph2tens.sklearn.walk_kernel`): whatever the dimension of the attributes, a pair of graphs costs
    :math:`O(k^2 M (|E| n' + n |E'|))`. ``kernel="rbf"`` is :math:`\exp(-\gamma \|\psi(G) - \psi(G')\|^2 / \text{median})` on
    :class:`GraphTensFeatures` with scaled columns; its cost for many graphs is that of the features.

    As a transformer it gives the kernel between any graphs and those it was fitted to; called with one or two lists of graphs it gives
    their Gram matrix.

    Args:
        kernel: ``"walk"`` or ``"rbf"``.
        walk_length, degree, increments, zero_start, time, laziness: of the walk, for ``"walk"``; ``"rbf"`` takes those of `features`.
        attribute_kernel: inner product S of node attributes: ``"linear"``, the name of another of scikit-learn's pairwise kernels
            (``"rbf"``, ``"poly"``, ..), or a function of two tables (n, d), (n', d) that returns a Gram matrix (n, n').
        features: the transformer for ``"rbf"``, by default ``GraphTensFeatures()``.
        gamma: of ``"rbf"``, in units of one over the median squared distance of the training graphs.
        normalize: divide by :math:`\sqrt{k(G, G)\, k(G', G')}`, so that graphs of every size compare.
        degree_attribute, handle_unknown: as in :class:`GraphTensFeatures`, for ``"walk"``.
        batch_size: nodes of a block; a block of pairs of graphs is computed at once, in matrices of this size.
        n_jobs: threads; None is 1, -1 is all cores.
        random_state: of the features.
        verbose: progress, as joblib has it.
    """

    kernel: str = "walk"
    _: KW_ONLY
    walk_length: int = 5
    degree: int = 2
    increments: bool = True
    zero_start: bool = True
    time: bool = False
    laziness: float = 0.0
    attribute_kernel: str | Callable[[Matrix, Matrix], Matrix] = "linear"
    features: GraphTensFeatures | None = None
    gamma: float = 1.0
    normalize: bool = True
    degree_attribute: bool = True
    handle_unknown: str = "ignore"
    batch_size: int = 256
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fix how graphs are described, and remember the graphs that others are compared with."""
        self._check_arguments()
        graphs = as_graphs(X)
        if self.kernel == "rbf":
            made = own_features(self)
            self.features_ = made.fit(graphs)
            table = made.transform(graphs)
            self.standardiser_ = Standardiser.fit(table, getattr(made, "column_groups_", None))
            self.table_ = self.standardiser_.transform(table)
            self.unit_ = typical(squared_distances(self.table_))
        else:
            self.encoder_ = Encoder.fit(graphs, degree_attribute=self.degree_attribute, handle_unknown=self.handle_unknown)
            self._remember(graphs)
        self.n_fit_ = len(graphs)
        return self

    def transform(self, X: Any) -> Matrix:
        """(number of graphs, number of training graphs)"""
        check_is_fitted(self, "n_fit_")
        return self._compare(as_graphs(X))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Matrix:
        """The Gram matrix of the training graphs; symmetric, so half of it is computed."""
        return self.fit(X)._own()

    def __call__(self, X: Any, Y: Any = None) -> Matrix:
        """Gram matrix (number of graphs in X, number in Y). A kernel that is not fitted fixes how to describe graphs by those given."""
        one, other = as_graphs(X), None if Y is None else as_graphs(Y)
        # what training fixed stays; only the graphs to compare with are others
        kernel = copy(self) if hasattr(self, "n_fit_") else clone(self).fit([*one, *(other or [])])
        kernel._remember(one if other is None else other)
        return kernel._own() if other is None else kernel._compare(one)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``graph0``, ``graph1``, ..: the training graphs."""
        check_is_fitted(self, "n_fit_")
        return np.array([f"graph{place}" for place in range(self.n_fit_)], dtype=object)

    def _remember(self, graphs: list[OneGraph]) -> None:
        """Compare with these graphs from now on."""
        if self.kernel == "rbf":
            self.table_ = self.standardiser_.transform(self.features_.transform(graphs))
        else:
            self.blocks_ = self._blocks(graphs)
            self.scale_ = self._diagonal(self.blocks_)

    def _compare(self, graphs: list[OneGraph]) -> Matrix:
        if self.kernel == "rbf":
            return self._rbf(squared_distances(self.standardiser_.transform(self.features_.transform(graphs)), self.table_))
        blocks = self._blocks(graphs)
        gram = self._gram(blocks, self.blocks_)
        return gram / np.sqrt(np.outer(self._diagonal(blocks), self.scale_)) if self.normalize else gram

    def _own(self) -> Matrix:
        """The Gram matrix of the remembered graphs."""
        if self.kernel == "rbf":
            return self._rbf(squared_distances(self.table_))
        gram = self._gram(self.blocks_, None)
        if self.normalize:
            gram = gram / np.sqrt(np.outer(self.scale_, self.scale_))
            np.fill_diagonal(gram, 1)
        return gram

    def _rbf(self, distances: Matrix) -> Matrix:
        return np.exp(-self.gamma / self.unit_ * distances)

    def _blocks(self, graphs: Sequence[OneGraph]) -> list[_Block]:
        found = []
        for batch in batches(graphs, self.batch_size):
            chosen = graphs[batch]
            ptr = np.concatenate([[0], np.cumsum([graph.num_nodes for graph in chosen])])
            x = np.concatenate(self.encoder_.transform(chosen, batch.start)).astype(np.float64)
            found.append(_Block(x, _transition(chosen, self.laziness), _averages(ptr), batch))
        return found

    def _gram(self, one: list[_Block], other: list[_Block] | None) -> Matrix:
        """All pairs of blocks; of one list with itself, those above the diagonal."""
        second = one if other is None else other
        places = [(a, b) for a, b in product(range(len(one)), range(len(second))) if other is not None or a <= b]
        found = Parallel(n_jobs=self.n_jobs, prefer="threads", verbose=self.verbose)(
            delayed(self._pairs)(one[a], second[b]) for a, b in places
        )
        gram = np.empty((one[-1].graphs.stop, second[-1].graphs.stop))
        for (a, b), values in zip(places, found, strict=True):
            gram[one[a].graphs, second[b].graphs] = values
            if other is None and a != b:
                gram[second[b].graphs, one[a].graphs] = values.T
            elif other is None:  # rounding is not symmetric
                gram[one[a].graphs, one[a].graphs] = (values + values.T) / 2
        return gram

    def _pairs(self, one: _Block, other: _Block) -> Matrix:
        """The kernel between the graphs of two blocks, not normalised."""
        walk = WalkKernel(self.walk_length, self.degree, self.increments, self.zero_start, self.time)
        levels = walk.levels(one.P, other.P, self._attributes(one.x, other.x))
        total = levels[0]
        for level in levels[1:]:
            total = total + level
        return (other.average @ np.ascontiguousarray((one.average @ total).T)).T

    def _attributes(self, x: Matrix, y: Matrix) -> Matrix:
        if self.attribute_kernel == "linear":  # in a fixed order, so that the bits do not depend on the block
            rows, columns = (-size % feature_loops.ROWS for size in x.shape)
            out = np.empty((x.shape[0] + rows, y.shape[0]))
            left, right = np.pad(x, [(0, rows), (0, columns)]), np.pad(y.T, [(0, columns), (0, 0)])
            feature_loops.project(feature_loops.plain(left), feature_loops.plain(right), out)
            return out[: x.shape[0]]
        S = self.attribute_kernel(x, y) if callable(self.attribute_kernel) else pairwise_kernels(x, y, metric=self.attribute_kernel)
        S = np.asarray(S, dtype=np.float64)
        if S.shape != (x.shape[0], y.shape[0]):
            raise ValueError(f"`attribute_kernel` must return a Gram matrix of shape {(x.shape[0], y.shape[0])} (got {S.shape}).")
        return S

    def _diagonal(self, blocks: list[_Block]) -> Matrix:
        """k(G, G) of every graph, each computed alone."""
        if not self.normalize:
            return np.ones(blocks[-1].graphs.stop)
        alone = [part for block in blocks for part in block.split()]
        values = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(self._pairs)(part, part) for part in alone)
        return np.array([value[0, 0] for value in values])

    def _check_arguments(self) -> None:
        for name, least in (("walk_length", 0), ("degree", 1), ("batch_size", 1)):
            check_integer(getattr(self, name), name, least)
        check_laziness(self.laziness)
        for name, choices in (("kernel", ("walk", "rbf")), ("handle_unknown", ("ignore", "error"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))} (got {getattr(self, name)!r}).")
        if not self.gamma > 0:
            raise ValueError(f"`gamma` must be positive (got {self.gamma!r}).")


@dataclass(frozen=True, eq=False)
class _Block:
    """A disjoint union of graphs: attributes, transition matrix, and the matrix that averages over the nodes of each graph."""

    x: Matrix
    P: Any
    average: Any
    graphs: slice

    def split(self) -> list[_Block]:
        """The graphs one by one."""
        ptr = self.average.indptr
        return [_Block(self.x[a:b], self.P[a:b, a:b], _averages(np.array([0, b - a])), slice(0, 1)) for a, b in pairwise(ptr)]


def _transition(graphs: Sequence[OneGraph], laziness: float) -> Any:
    walk = joint_walk(graphs, laziness)
    entries = walk.probabilities.numpy(), walk.col.numpy(), walk.row_ptr.numpy()
    return scipy.sparse.csr_array(entries, shape=(walk.num_nodes, walk.num_nodes))


def _averages(ptr: NDArray[np.int64]) -> Any:
    counts = np.diff(ptr)
    shares = np.repeat(1 / counts, counts)
    return scipy.sparse.csr_array((shares, np.arange(ptr[-1]), ptr), shape=(counts.size, int(ptr[-1])))
