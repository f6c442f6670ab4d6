r"""Layers of random rank-1 functionals: drawn once, applied to any graph.

One layer pairs the expected feature of a walk with R random functionals of degrees 1..M and normalises each degree; its output
(n, M R) is the attribute of the next layer. Beside it, *waves* :math:`\cos(\langle w, x_i\rangle + b)` with random w describe how the
outputs of a layer are distributed over the nodes of a graph: their sum is the distribution's characteristic function at w, where
the sum of the outputs themselves only tells their mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..walks import random_walk
from . import compiled
from .inputs import OneGraph

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Layer:
    """Random parameters of one layer.

    Attributes:
        components: (M, d, R), or (M, d + 1, R) with time, whose coordinate comes first; as in :func:`graph2tens.low_rank_features`.
        frequencies: (M R, Q) of the waves over this layer's output, in turns.
        phases: (Q,) in turns.
    """

    components: Singles
    frequencies: Singles
    phases: Singles


@dataclass(frozen=True, eq=False)
class Walks:
    """A disjoint union of graphs, ready for walks: P in CSR, and where each graph's nodes are."""

    node_ptr: NDArray[np.int64]
    row_ptr: NDArray[np.int64]
    col: NDArray[np.int64]
    probabilities: Singles

    @classmethod
    def of(cls, graphs: Sequence[OneGraph], laziness: float) -> Walks:
        sizes = np.array([graph.num_nodes for graph in graphs])
        node_ptr = np.concatenate([[0], sizes.cumsum()])
        edges = np.concatenate([graph.edges + start for graph, start in zip(graphs, node_ptr, strict=False)], axis=1)
        weights = np.concatenate([graph.weights for graph in graphs])
        walk = random_walk(torch.from_numpy(edges), int(node_ptr[-1]), torch.from_numpy(weights), laziness)
        return cls(node_ptr, walk.row_ptr.numpy(), walk.col.numpy(), walk.probabilities.numpy().astype(np.float32))


def draw_layers(
    seed: int,
    num_layers: int,
    in_channels: int,
    *,
    degree: int,
    rank: int,
    waves: int,
    frequency: tuple[float, float],
    time: bool,
    size: float,
) -> list[Layer]:
    r"""Gaussian components, and Gaussian frequencies times a factor that is log-uniform between the two numbers of `frequency`.

    Projections have variance 1: `size` is the root of the mean squared norm of the attributes; outputs of a layer have norm
    :math:`\sqrt{M R}`. Layer l is the same whatever the number of layers and waves.
    """
    layers = []
    low, high = map(math.log, frequency)
    for number in range(num_layers):
        functionals, distribution = (np.random.default_rng([seed, number, kind]) for kind in (0, 1))
        channels = in_channels if number == 0 else degree * rank
        norm = size if number == 0 else math.sqrt(degree * rank)
        components = functionals.standard_normal((degree, channels, rank)) / norm
        if time:
            components = np.concatenate([functionals.standard_normal((degree, 1, rank)), components], axis=1)
        factor = np.exp(distribution.uniform(low, high, waves)) / (2 * math.pi * math.sqrt(degree * rank))
        phases = distribution.uniform(0, 1, waves)
        frequencies = distribution.standard_normal((waves, degree * rank)).T * factor
        layers.append(Layer(*(array.astype(np.float32) for array in (components, frequencies, phases))))
    return layers


def apply_layers(
    layers: Sequence[Layer],
    x: Singles,
    walks: Walks,
    *,
    length: int,
    increments: bool,
    zero_start: bool,
    time: bool,
    collect: Callable[[int, Singles, Singles], None],
) -> None:
    """Run all layers over a union of graphs; ``collect(layer number, outputs (n, M R), waves (n, Q))`` gets each layer's result.

    The arrays that `collect` gets are used again for the next layer.
    """
    n = x.shape[0]
    x = _filled(x)
    for number, layer in enumerate(layers):
        M, channels, R = layer.components.shape
        components = layer.components[:, 1:] if time else layer.components
        tau = layer.components[:, 0] if time else np.zeros((M, R), dtype=np.float32)
        # One product for all degrees: columns (m, r).
        vectors = _filled(np.ascontiguousarray(components.transpose(1, 0, 2)).reshape(channels - time, M * R), columns=False)
        projected = np.empty((x.shape[0], M * R), dtype=np.float32)
        compiled.project(x, vectors, projected)
        a = projected[:n].reshape(n, M, R)
        coefficients = np.array([1 / math.factorial(m) for m in range(M + 1)], dtype=np.float32)
        f, spare = np.empty_like(a), np.empty_like(a)
        start = zero_start or not increments
        f = compiled.walk_levels(a, tau, walks.row_ptr, walks.col, walks.probabilities, coefficients, length, increments, start, f, spare)
        x = np.zeros((projected.shape[0], -(-M * R // compiled.ROWS) * compiled.ROWS), dtype=np.float32)
        compiled.normalise(f, x)
        waves = np.empty((x.shape[0], layer.phases.size), dtype=np.float32)
        if layer.phases.size:
            compiled.project(x, _filled(layer.frequencies, columns=False), waves)
            compiled.wave(waves, layer.phases)
        collect(number, x[:n, : M * R], waves[:n])


def _filled(table: Singles, columns: bool = True) -> Singles:
    """Zeros at the end until rows (and columns) are multiples of what :func:`compiled.project` takes at a time."""
    missing = [-size % compiled.ROWS if wanted else 0 for size, wanted in zip(table.shape, (True, columns), strict=True)]
    return np.ascontiguousarray(np.pad(table, [(0, missing[0]), (0, missing[1])]))
