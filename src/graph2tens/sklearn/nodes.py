"""`GraphTensNodeClassifier` and `GraphTensNodeRegressor`: answers for the nodes of one graph, of which some are known.

A node is described by what a random walk from it sees on average along its way, :math:`\\frac{1}{k+1} \\sum_{t=0}^{k} P^t x`: the
degree 1 of the walk's expected feature, without increments. Where nodes have no attributes, their own identities, projected at
random, are attributes that a walk can carry: nodes are told apart by where they are. A Gaussian process learns from the known
nodes, and its answers are spread along the edges.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..checks import check_integer
from .base import GraphInput
from .encoding import Encoder
from .heads.distances import candidates, squared_distances
from .heads.gaussian_process import Matrix, Spectrum, leave_one_out, rational
from .heads.regression import NOISES
from .heads.svm import calibrate, probabilities
from .inputs import OneGraph, as_graphs
from .node_inputs import known_labels, node_names, numbers_of, walk_matrix
from .targets import r2, share_right

KINDS = ("auto", "words", "numbers", "identities")
MANY, RARE = 50, 0.2  # attributes are words if there are at least so many columns, and at most this share of the entries is not 0
STEPS = {"words": 4, "numbers": 4, "identities": 16}  # of the walk; where places are all there is, they must be seen from afar
SPREADING_STEPS = 30
FOLDS = 5  # in which known nodes are hidden to see how sure answers may be
ROWS = 4096  # nodes whose kernel with the known ones exists at a time


@dataclass(eq=False, repr=False)
class _OnNodes(GraphInput, BaseEstimator):  # type: ignore[misc]
    """What both estimators share: descriptions of nodes, the Gaussian process, spreading."""

    walk_length: int | None = None
    _: KW_ONLY
    attributes: str = "auto"
    n_identities: int = 1024
    spreading: float | None = None
    noise: float | Sequence[float] = NOISES
    random_state: int | np.random.RandomState | None = None

    def _read(self, graph: Any) -> OneGraph:
        if isinstance(graph, list) and len(graph) == 1:
            raise TypeError("`graph` must be one graph (got a list of one). Did you mean graph[0]?")
        (found,) = as_graphs([graph])
        return found

    def _start(self, graph: Any) -> OneGraph:
        """Read the graph of :meth:`fit`, and decide how its nodes are described."""
        if self.walk_length is not None:
            check_integer(self.walk_length, "walk_length", 0)
        check_integer(self.n_identities, "n_identities", 1)
        if self.attributes not in KINDS:
            raise ValueError(f"`attributes` must be one of {', '.join(map(repr, KINDS))} (got {self.attributes!r}).")
        if self.spreading is not None and not (isinstance(self.spreading, (int, float)) and 0 <= self.spreading < 1):
            raise ValueError(f"`spreading` must be None or lie in [0, 1) (got {self.spreading!r}).")
        candidates(self.noise, "noise")
        one = self._read(graph)
        self.nodes_, self.fingerprint_ = node_names(graph, one.num_nodes), fingerprint(one)
        self.kind_ = self._kind(one) if self.attributes == "auto" else self.attributes
        self.steps_ = STEPS[self.kind_] if self.walk_length is None else self.walk_length
        self.encoder_ = Encoder.fit([one], degree_attribute=False, handle_unknown="ignore") if self.kind_ == "numbers" else None
        if self.kind_ != "identities" and one.attributes is None and one.labels is None:
            raise ValueError(f"`attributes`={self.attributes!r} needs nodes with attributes (got none). Did you mean 'identities'?")
        return one

    def _kind(self, graph: OneGraph) -> str:
        x = graph.attributes
        if x is None:
            return "identities" if graph.labels is None else "numbers"
        return "words" if x.shape[1] >= MANY and (x >= 0).all() and np.count_nonzero(x) <= RARE * x.size else "numbers"

    def _describe(self, graph: OneGraph, own: bool) -> Matrix:
        """(n, columns): what walks see, with rows of length 1."""
        if self.kind_ == "identities":
            if not own:
                raise ValueError("nodes without attributes are known by their place in the graph of `fit`: another graph's have no answer.")
            x = check_random_state(self.random_state).standard_normal((graph.num_nodes, self.n_identities))
        elif self.kind_ == "words":
            x = np.zeros((graph.num_nodes, 0)) if graph.attributes is None else graph.attributes
            if (x < 0).any():
                raise ValueError(f"`attributes`='words' needs counts, not negative (got {x.min():g}). Did you mean 'numbers'?")
            x = x / np.maximum(x.sum(axis=1, keepdims=True), 1e-12)
        else:
            assert self.encoder_ is not None
            x = self.encoder_.transform([graph])[0].astype(np.float64)
        P, step, total = walk_matrix(graph), x, x
        for _ in range(self.steps_):
            step = P @ step
            total = total + step
        if own:
            self.shift_ = total.mean(axis=0)
        if total.shape[1] != self.shift_.size:
            raise ValueError(f"`graph` must have {self.shift_.size} attributes, as the graph of `fit` has (got {total.shape[1]}).")
        total = total - self.shift_
        return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)

    def _learn(self, graph: OneGraph, targets: Matrix) -> None:
        """Targets (n, T), NaN where unknown: choose the noise by leave-one-out errors of the known nodes, answer for all nodes."""
        known = np.flatnonzero(~np.isnan(targets).any(axis=1))
        y = targets[known]
        self.offset_, spread = y.mean(axis=0), y.std(axis=0)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        y = (y - self.offset_) / self.scale_
        rows = self._describe(graph, own=True)
        self.known_rows_ = rows[known]
        spectrum = Spectrum.of(self._kernel(self.known_rows_))
        noises = np.array(candidates(self.noise, "noise"))
        found = leave_one_out(spectrum, y, noises).judge()
        error = np.sqrt(np.square(found.error).mean(axis=0))
        best = int(np.round(error, 9).argmin())
        self.noise_ = float(noises[best])
        self.scores_ = [{"noise": noise, "error": value} for noise, value in zip(noises.tolist(), error.tolist(), strict=True)]
        # The scale of the errors is an estimate from as many errors as nodes are known, with a mean and a noise fitted to them: by the
        # rule of Student's distribution its variance is that much larger, which matters below a hundred known nodes.
        self.variance_ = found.scale[:, best] * len(y) / max(len(y) - 3, 1)
        self.spectrum_ = spectrum
        self.weights_ = spectrum.weights(y, np.full(y.shape[1], self.noise_))
        self.predictions_ = self._spread(graph, self._predict(rows), known, targets[known])
        self._calibrate(graph, rows, known, targets[known])

    def _calibrate(self, graph: OneGraph, rows: Matrix, known: NDArray[np.int64], truth: Matrix) -> None:
        """Regressors have nothing to calibrate."""

    def _kernel(self, rows: Matrix) -> Matrix:
        return rational(1.0, squared_distances(rows, self.known_rows_, exact=True))

    def _predict(self, rows: Matrix) -> Matrix:
        return self.offset_ + self.scale_ * self._times(rows, self.weights_)

    def _times(self, rows: Matrix, weights: Matrix) -> Matrix:
        """Kernel of `rows` with the known nodes, times `weights`; the kernel never exists as a whole."""
        return np.concatenate([self._kernel(rows[start : start + ROWS]) @ weights for start in range(0, len(rows), ROWS)])

    def _std(self, rows: Matrix) -> Matrix:
        noise, spectrum = np.array([self.noise_]), self.spectrum_
        parts = [spectrum.variances(self._kernel(rows[start : start + ROWS]), noise) for start in range(0, len(rows), ROWS)]
        return self.scale_ * np.sqrt(self.variance_ * np.concatenate(parts))

    def _spread(self, graph: OneGraph, answers: Matrix, known: Any = None, truth: Any = None) -> Matrix:
        """Answers of neighbours count, and those of their neighbours; what is known stays."""
        share = self._spreading()
        start = answers.copy()
        if known is not None:
            start[known] = truth
        P, found = walk_matrix(graph), start
        for _ in range(SPREADING_STEPS if share else 0):
            found = share * (P @ found) + (1 - share) * start
        return found

    def _spreading(self) -> float:
        raise NotImplementedError

    def _all(self, graph: Any) -> Matrix:
        one = self._other(graph)
        return self.predictions_ if one is None else self._spread(one, self._predict(self._describe(one, own=False)))

    def _other(self, graph: Any) -> OneGraph | None:
        """`graph`, or None if it is the one of :meth:`fit`, of which more is known than of any other."""
        check_is_fitted(self, "predictions_")
        one = None if graph is None else self._read(graph)
        return None if one is None or fingerprint(one) == self.fingerprint_ else one

    def _judged(self, graph: Any) -> tuple[OneGraph | None, list[Any]]:
        """`graph`, read once, so that what is odd about it is told once, and the names of its nodes."""
        check_is_fitted(self, "predictions_")
        one = None if graph is None else self._read(graph)
        return one, self.nodes_ if one is None else node_names(graph, one.num_nodes)

    def _named(self, values: Any, graph: Any, by_name: bool) -> Any:
        if not by_name:
            return values
        names = self.nodes_ if graph is None else node_names(graph, len(values))
        return dict(zip(names, values.tolist(), strict=True))


class GraphTensNodeClassifier(_OnNodes, ClassifierMixin):  # type: ignore[misc]
    """Label the nodes of a graph of which some have labels; nothing is trained.

    Args:
        walk_length: steps of the walk that describes a node; None is 4, or 16 where nodes are described by their places.
        attributes: what nodes are described by: ``"words"`` (many attributes, most of them 0: rows are scaled to sum 1), ``"numbers"``
            (columns are scaled; labels become indicators), ``"identities"`` (their place in the graph
            alone), or ``"auto"``, by what they have.
        n_identities: random coordinates that stand for nodes' identities.
        spreading: how much the answers of neighbours count afterwards, in [0, 1); None is 0.9.
        noise: candidates; the one with the lowest leave-one-out error of the known nodes is taken.
        random_state: of the identities' coordinates.

    Attributes:
        classes_: class labels.
        nodes_: names of the nodes, those of networkx or numbers.
        kind_: what nodes are described by.
        noise_: the chosen noise; scores_: the error of every candidate.
        temperature_: that turns decisions into probabilities, by known nodes that were hidden in turn; 1 if no class has two known nodes.

    Example:
        >>> import networkx as nx
        >>> club = nx.karate_club_graph()
        >>> found = GraphTensNodeClassifier(random_state=0).fit(club, {0: "Mr. Hi", 33: "Officer"}).predict(by_name=True)
        >>> sum(found[node] == club.nodes[node]["club"] for node in club) >= 31
        True
    """

    def fit(self, graph: Any, y: Any) -> Self:
        """Learn from the nodes whose class is known.

        Args:
            graph: one graph: networkx, PyG ``Data``, or (adjacency, attributes).
            y: a class for each node, -1 (or None) where unknown; or a mapping from names of nodes to classes.
        """
        one = self._start(graph)
        classes, known = known_labels(y, self.nodes_)
        self.classes_, place = np.unique(classes, return_inverse=True)
        targets = np.full((one.num_nodes, self.classes_.size), np.nan)
        targets[known] = np.where(place[:, None] == np.arange(self.classes_.size), 1.0, -1.0)
        self._learn(one, targets)
        return self

    def predict(self, graph: Any = None, *, by_name: bool = False) -> Any:
        """The class of each node of the graph of :meth:`fit`, given or not, or of another; in its order, or as a dictionary by name."""
        answers = self._all(graph)
        return self._named(self.classes_[answers.argmax(axis=1)], graph, by_name)

    def predict_proba(self, graph: Any = None, *, by_name: bool = False) -> Any:
        """(n, classes): the probability of each class, in the order of ``classes_``; the likeliest is the one :meth:`predict` answers.

        By name it is a dictionary from nodes to lists.
        """
        return self._named(probabilities(self._all(graph), self.temperature_), graph, by_name)

    def decision_function(self, graph: Any = None) -> Matrix:
        """(n, classes), the largest for the predicted class."""
        return self._all(graph)

    def score(self, graph: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right answers among the nodes whose class `y` knows; `graph` None is the graph of :meth:`fit`."""
        one, names = self._judged(graph)
        classes, known = known_labels(y, names, least=1)
        return share_right(classes, self.predict(one)[known], sample_weight)

    def _calibrate(self, graph: OneGraph, rows: Matrix, known: NDArray[np.int64], truth: Matrix) -> None:
        """Hide a fifth of the known nodes at a time, answer for them as for all others, and see how sure the answers may be."""
        place = truth.argmax(axis=1)
        fold = hiding_places(place)
        kernel, scaled, values = self._kernel(self.known_rows_), (truth - self.offset_) / self.scale_, np.zeros_like(truth)
        weights = []
        for number in range(fold.max() + 1):
            rest = np.flatnonzero(fold != number)
            found = np.zeros_like(truth)
            found[rest] = np.linalg.solve(kernel[np.ix_(rest, rest)] + self.noise_ * np.eye(rest.size), scaled[rest])
            weights.append(found)
        self.temperature_ = 1.0
        if not weights:
            return
        answers = np.split(self._times(rows, np.concatenate(weights, axis=1)), len(weights), axis=1)
        for number, answer in enumerate(answers):
            hidden, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            spread = self._spread(graph, self.offset_ + self.scale_ * answer, known[rest], truth[rest])
            values[hidden] = spread[known[hidden]]
        judged = fold >= 0
        self.temperature_ = calibrate(values[judged], place[judged])[0]

    def _spreading(self) -> float:
        return 0.9 if self.spreading is None else float(self.spreading)


class GraphTensNodeRegressor(_OnNodes, RegressorMixin):  # type: ignore[misc]
    """Predict a number for each node of a graph, of which some are known, with error bars; nothing is trained.

    The arguments are those of :class:`GraphTensNodeClassifier`; `spreading` None is 0, since spread numbers lose their extremes.
    """

    def fit(self, graph: Any, y: Any) -> Self:
        """Learn from the nodes whose number is known.

        Args:
            graph: one graph: networkx, PyG ``Data``, or (adjacency, attributes).
            y: a number for each node, NaN where unknown; or a mapping from names of nodes to numbers.
        """
        one = self._start(graph)
        self._learn(one, numbers_of(y, self.nodes_)[:, None])
        self.own_std_ = self._std(self._describe(one, own=True))[:, 0]
        return self

    def predict(self, graph: Any = None, return_std: bool = False, *, by_name: bool = False) -> Any:
        """The number of each node of the graph of :meth:`fit`, or of another graph, and with `return_std` its standard deviation."""
        values = self._named(self._all(graph)[:, 0], graph, by_name)
        if not return_std:
            return values
        other = self._other(graph)
        std = self.own_std_ if other is None else self._std(self._describe(other, own=False))[:, 0]
        return values, self._named(std, graph, by_name)

    def score(self, graph: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of the nodes whose number `y` knows; `graph` None is the graph of :meth:`fit`."""
        one, names = self._judged(graph)
        return r2(numbers_of(y, names), self.predict(one), sample_weight)

    def _spreading(self) -> float:
        return float(self.spreading or 0)


def fingerprint(graph: OneGraph) -> str:
    """Of all that is read of a graph, so that the graph of `fit` is known again."""
    parts = [graph.edges, graph.weights, np.zeros(0) if graph.attributes is None else graph.attributes]
    labels = repr((graph.num_nodes, graph.labels)).encode()
    return hashlib.sha256(b"".join([labels, *(np.ascontiguousarray(part).tobytes() for part in parts)])).hexdigest()


def hiding_places(classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each known node the fold in which it is hidden, -1 for never: in every fold some nodes of each class must stay known."""
    fold = np.full(classes.size, -1)
    for value in np.unique(classes):
        members = np.random.default_rng(0).permutation(np.flatnonzero(classes == value))
        if members.size > 1:
            fold[members] = np.arange(members.size) % min(FOLDS, members.size)
    return fold
