"""`GraphTensFeatures`: graphs in, a table of numbers out, nothing trained."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..checks import check_fits, check_integer, check_laziness
from ..diffusion import node_features
from ..walks import random_walk
from .base import GraphInput
from .edge_nodes import EDGES, EdgeNodes, carry_something
from .encoding import Encoder
from .inputs import OneGraph, as_graphs
from .pooling import POOLINGS, Pooling, batches
from .random_features import Layer, Singles, Walks, apply_layers, draw_layers
from .structure import parse_structure, structure_names, with_structure


@dataclass(eq=False, repr=False)
class GraphTensFeatures(GraphInput, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Features of graphs from random walks that remember the order of what they saw, without training.

    Each of `n_layers` layers pairs the expected feature of a `walk_length`-step random walk with `n_functionals` random rank-1 functionals
    of every degree up to `degree` (:func:`graph2tens.low_rank_features`), normalises them over the functionals of a degree, and hands
    them on as attributes of the next layer. The outputs of all layers, random waves of them that describe their distribution over the
    nodes, and the attributes themselves are pooled over the nodes of a graph.

    The cost is :math:`O(\text{n\_layers} \cdot (|V| (M R + Q) + k M^2 R |E|))` with k = `walk_length`, M = `degree`, R = `n_functionals`,
    Q = `n_waves`: linear in nodes, functionals and waves, since one of these reads at most 256 outputs of the layer before. A graph's
    features depend on this graph and the fitted estimator alone, bit for bit: not on the other graphs of `X`, on `batch_size` or on
    `n_jobs`.

    Args:
        walk_length: steps of a layer's walk.
        degree: highest tensor degree M.
        n_layers: depth.
        n_functionals: random functionals R of a layer.
        n_waves: random waves Q of a layer's output, 0 for none.
        frequency: the waves' lowest and highest frequency; at frequency f the phases of two unrelated nodes differ by about 1.4 f radians.
        functionals: ``"random"``; or ``"exact"``: all coordinates of the exact feature of one walk
            (:func:`graph2tens.node_features`) instead of layers, for few attributes: there are 1 + d + .. + d^M.
        increments, zero_start, time: what a walk remembers, see :func:`graph2tens.sequence_features`.
        laziness: probability that the walk stays put.
        degree_attribute: describe nodes by their degree too, which a normalised walk cannot see.
        structure: further attributes of nodes: ``"rings"``, the sizes of the smallest rings they lie on; ``"returns"``, the probabilities
            that a walk is back after 1 to 10 steps; ``"rings,returns"``; or ``""`` for none. See :mod:`graph2tens.sklearn.structure`.
        edges: attributes and labels of edges: ``"nodes"`` puts a node on every edge (:func:`graph2tens.subdivide`), so that walks read
            them in order; ``"mean"`` averages them into the nodes they leave; ``"auto"`` is ``"nodes"`` where edges have any.
        pooling: over the nodes of a graph: ``"sum"``, ``"mean"``, ``"sqrt"`` (sum over the root of the number of nodes, which neither
            hides nor overrates the size of a graph), ``"both"`` (sum and mean), or None for a row for every node (with nodes on
            edges, these follow the graph's own).
        layer_decay: how much less a layer counts than the one before it, for kernels and heads: the attributes' columns together have
            weight 1, outputs and waves of layer l together :math:`\text{layer\_decay}^{l-1}` each. None lets all columns count alike.
        handle_unknown: ``"ignore"`` (no indicator, and a warning) or ``"error"``, for labels that occur in no training graph.
        batch_size: nodes that are worked on at a time, by one job.
        n_jobs: threads; None is 1, -1 is all cores.
        random_state: an integer makes the functionals reproducible.
        verbose: progress, as joblib has it.

    Attributes:
        encoder_: how nodes are described, fixed by the training graphs.
        edge_nodes_: how edges become nodes, or None.
        column_groups_: (columns, weight) pairs for measuring distances, or None.
        settings_: the arguments at the time of :meth:`fit`.
        layers_: the random functionals, a list of :class:`~graph2tens.sklearn.random_features.Layer`.
        n_features_out_: number of columns.

    Example:
        >>> import networkx as nx
        >>> features = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8, random_state=0)
        >>> features.fit_transform([nx.path_graph(3), nx.star_graph(4)]).shape
        (2, 51)
    """

    walk_length: int = 1
    degree: int = 2
    n_layers: int = 10
    n_functionals: int = 128
    n_waves: int = 512
    _: KW_ONLY
    frequency: tuple[float, float] = (1.0, 4.0)
    functionals: str = "random"
    increments: bool = True
    zero_start: bool = True
    time: bool = False
    laziness: float = 0.0
    degree_attribute: bool = True
    structure: str = ""
    edges: str = "auto"
    pooling: str | None = "sqrt"
    layer_decay: float | None = None
    handle_unknown: str = "ignore"
    batch_size: int = 2048
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fix the columns that describe nodes, and draw the functionals.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs` for what counts as one.
            y: ignored.
        """
        self._check_arguments()
        graphs = as_graphs(X)
        divide = self.edges == "nodes" or (self.edges == "auto" and carry_something(graphs))
        self.edge_nodes_ = EdgeNodes.fit(graphs) if divide else None
        self.freeze()
        graphs = list(self._divided(graphs, 0))
        self.encoder_ = Encoder.fit(graphs, degree_attribute=self.degree_attribute, handle_unknown=self.handle_unknown)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.layers_: list[Layer] = []
        self._check_memory(graphs)
        if self.functionals == "random":
            # A sum of squares of float32 in double precision, graph by graph: no big table.
            norms = [float(np.square(x, dtype=np.float64).sum()) for x in self.encoder_.transform(graphs)]
            size = float(np.sqrt(sum(norms) / sum(graph.num_nodes for graph in graphs)))
            self.layers_ = draw_layers(
                seed,
                self.n_layers,
                len(self.encoder_.names),
                degree=self.degree,
                rank=self.n_functionals,
                waves=self.n_waves,
                frequency=self.frequency,
                time=self.time,
                size=size or 1.0,
            )
        self.n_features_out_ = len(self.get_feature_names_out())
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Singles:
        """``fit(X).transform(X)``, but X is read once, so a generator will do."""
        graphs = as_graphs(X)
        return self.fit(graphs).transform(graphs)

    def transform(self, X: Any) -> Singles:
        """Features of graphs, seen in training or not.

        Shapes:
            - **output:** (number of graphs, n_features_out_) float32; with ``pooling=None`` a row for every node, graph after graph

        Raises:
            ValueError: if features of a graph are not finite, since products of its attributes leave the range of float32.
        """
        check_is_fitted(self)
        graphs = as_graphs(X)
        ranges = list(batches(graphs, check_integer(self.batch_size, "batch_size", 1)))
        # Threads, since the compiled loops do not hold Python's lock; each writes its own rows.
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads", verbose=self.verbose)(
            delayed(self._transform_batch)(graphs[batch], batch.start) for batch in ranges
        )
        return np.concatenate(parts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """What the columns are: ``label=C``, ``layer3_degree2_functional17``, ``layer3_wave5``, or for exact features ``word(0,2)``."""
        check_is_fitted(self, "encoder_")
        settings, names = self.settings_, self._attribute_names()
        if settings["functionals"] == "exact":
            letters = (["time"] if settings["time"] else []) + names
            words: list[tuple[str, ...]] = [()]
            for _ in range(settings["degree"]):
                words += [(*word, letter) for word in words if len(word) == len(words[-1]) for letter in letters]
            names = [f"word({','.join(word)})" for word in words]
        for number, layer in enumerate(self.layers_):
            degree, _, rank = layer.components.shape
            names += [f"layer{number + 1}_degree{m + 1}_functional{r}" for m in range(degree) for r in range(rank)]
            names += [f"layer{number + 1}_wave{q}" for q in range(layer.phases.size)]
        if settings["pooling"] == "both":
            names = [f"sum_{name}" for name in names] + [f"mean_{name}" for name in names]
        return np.array(names, dtype=object)

    def freeze(self) -> None:
        """Remember the arguments that decide what features are, so that those set after :meth:`fit` act from the next fit on."""
        free = ("batch_size", "n_jobs", "random_state", "verbose")
        self.settings_ = {name: value for name, value in self.get_params(deep=False).items() if name not in free}

    def _attribute_names(self) -> list[str]:
        """Names of the encoder's columns, those of structure by their own."""
        names, structure = list(self.encoder_.names), structure_names(self.settings_["structure"])
        if structure and self.encoder_.scaler is not None:
            of_edges = 0 if self.edge_nodes_ is None else self.edge_nodes_.columns
            end = self.encoder_.scaler.shift.size - of_edges  # attributes of nodes come first, structure last among them
            names[end - len(structure) : end] = structure
        return names

    @property
    def column_groups_(self) -> list[tuple[NDArray[np.int64], float]] | None:
        """Which columns belong together, and what they weigh together."""
        if self.settings_["layer_decay"] is None:
            return None
        widths, weights = [len(self.encoder_.names)], [1.0]
        for number, layer in enumerate(self.layers_):
            widths += [layer.components.shape[0] * layer.components.shape[2], layer.phases.size]
            weights += [float(self.settings_["layer_decay"]) ** number] * 2
        ends = np.cumsum(widths)
        copies = 2 if self.settings_["pooling"] == "both" else 1
        starts = np.arange(copies)[:, None] * ends[-1]
        groups = [(starts + np.arange(end - width, end)).reshape(-1) for width, end in zip(widths, ends, strict=True)]
        return [(columns, weight) for columns, weight in zip(groups, weights, strict=True) if columns.size]

    def _divided(self, graphs: Sequence[OneGraph], first: int, known: Collection[Hashable] | None = None) -> Sequence[OneGraph]:
        graphs = with_structure(graphs, self.settings_["structure"])
        return graphs if self.edge_nodes_ is None else self.edge_nodes_.transform(graphs, first, known)

    def _transform_batch(self, graphs: Sequence[OneGraph], first: int) -> Singles:
        """Features of some graphs, of which `first` is the number of the first in `X`."""
        graphs = self._divided(graphs, first, self.encoder_.labels)
        with np.errstate(over="ignore", invalid="ignore"):  # raised below, with the number of the graph
            table = self._compute(graphs, first)
        finite = np.isfinite(table).all(axis=1)
        if not finite.all():
            rows = np.ones(len(graphs), dtype=np.int64) if self.settings_["pooling"] else np.array([graph.num_nodes for graph in graphs])
            place = first + int(np.repeat(np.arange(len(graphs)), rows)[~finite][0])
            raise ValueError(
                f"graph {place} of `X` must have attributes of a size like those of the training graphs (got features that are not finite)."
            )
        return table

    def _compute(self, graphs: Sequence[OneGraph], first: int) -> Singles:
        described = self.encoder_.transform(graphs, first)
        pooling = Pooling.of(graphs, self.settings_["pooling"])
        if self.settings_["functionals"] == "exact":
            return pooling.finish(pooling.sums(np.concatenate([self._exact(x, graph) for x, graph in zip(described, graphs, strict=True)])))
        x = np.concatenate(described)
        blocks = [pooling.sums(x)]
        for outputs, waves in apply_layers(self.layers_, x, Walks.of(graphs, self.settings_["laziness"]), **self._of_a_walk()):
            blocks += [pooling.sums(outputs), pooling.sums(waves)]
        return pooling.finish(np.concatenate(blocks, axis=1))

    def _of_a_walk(self) -> dict[str, Any]:
        """How long walks are and what they remember."""
        settings = self.settings_
        return {"length": settings["walk_length"], **{name: settings[name] for name in ("increments", "zero_start", "time")}}

    def _exact(self, x: Singles, graph: OneGraph) -> Singles:
        """(n, 1 + d + .. + d^M) of one graph alone, in double precision."""
        walk = random_walk(torch.from_numpy(graph.edges), graph.num_nodes, torch.from_numpy(graph.weights), self.settings_["laziness"])
        features = node_features(torch.from_numpy(x).double(), walk, degree=self.settings_["degree"], **self._of_a_walk())
        return features.numpy().astype(np.float32)

    def _check_memory(self, graphs: Sequence[OneGraph]) -> None:
        """Refuse, before anything is drawn, functionals and a table that cannot fit."""
        rows = len(graphs) if self.pooling else sum(graph.num_nodes for graph in graphs)
        inputs = len(self.encoder_.names) + bool(self.time)
        if self.functionals == "exact":
            words = sum(inputs**m for m in range(min(self.degree, 100) + 1))  # more than 2^100 need no exact count
            what = f"exact features of degree {self.degree} with {inputs} attributes"
            check_fits(words * rows, what, "functionals='random' needs no tensor.")
            return
        M, R, Q, layers = self.degree, self.n_functionals, self.n_waves, self.n_layers
        columns = inputs + layers * (M * R + Q)
        drawn = sum(M * R * (width + Q) for width in [inputs, *[M * R + 1] * (layers - 1)][:layers])
        what = f"features of {layers} layers, degree {M}, {R:,} functionals and {Q:,} waves ({columns:,} columns, {rows:,} rows)"
        # Numbers of single precision: what is drawn, the table and its parts, and a name for each column.
        check_fits(drawn + 2 * rows * columns + 25 * columns, what, "Choose fewer of them.", itemsize=4)

    def _check_arguments(self) -> None:
        for name, least in (("walk_length", 0), ("degree", 1), ("n_layers", 0), ("n_functionals", 1), ("n_waves", 0), ("batch_size", 1)):
            check_integer(getattr(self, name), name, least)
        check_laziness(self.laziness)
        parse_structure(self.structure)
        for name, choices in (
            ("functionals", ("random", "exact")),
            ("edges", EDGES),
            ("pooling", POOLINGS),
            ("handle_unknown", ("ignore", "error")),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))} (got {getattr(self, name)!r}).")
        if self.layer_decay is not None and not 0 < self.layer_decay <= 1:
            raise ValueError(f"`layer_decay` must be None or lie in (0, 1] (got {self.layer_decay!r}).")
        low, high = self.frequency
        if not 0 < low <= high < np.inf:
            raise ValueError(f"`frequency` must be (lowest, highest) with 0 < lowest <= highest (got {self.frequency!r}).")
