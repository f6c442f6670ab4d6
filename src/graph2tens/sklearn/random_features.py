r"""Layers of random rank-1 functionals: drawn once, applied to any graph.

One layer pairs the expected feature of a walk with R random functionals of degrees 1..M and normalises each degree; its output
(n, M R) is the attribute of the next layer. Beside it, *waves* :math:`\cos(\langle w, x_i\rangle + b)` with random w describe how the
outputs of a layer are distributed over the nodes of a graph: their sum is the distribution's characteristic function at w, where
the sum of the outputs themselves only tells their mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from ..backends import fixed_order
from ..walks import RandomWalk, random_walk
from . import feature_loops
from .inputs import OneGraph

Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

FAN_IN = 256
"""Outputs of the layer before that one functional or wave reads, at most. More are shared out among groups of functionals, at random, so
that the cost grows with the number of functionals and not with its square."""


@dataclass(frozen=True, eq=False)
class Layer:
    """Random parameters of one layer.

    Attributes:
        components: (M, d, R), or (M, d + 1, R) with time, whose coordinate comes first; as in :func:`graph2tens.low_rank_features`.
        frequencies: (M R, Q) of the waves over this layer's output, in turns.
        phases: (Q,) in turns.
        inputs: for each group of functionals, which channels they read; their components are 0 elsewhere. The functionals are shared out
            among the groups in order.
        outputs: the same for the waves.
    """

    components: Singles
    frequencies: Singles
    phases: Singles
    inputs: list[Integers]
    outputs: list[Integers]


@dataclass(frozen=True, eq=False)
class Walks:
    """A disjoint union of graphs, ready for walks: P in CSR."""

    row_ptr: NDArray[np.int64]
    col: NDArray[np.int64]
    probabilities: Singles

    @classmethod
    def of(cls, graphs: Sequence[OneGraph], laziness: float) -> Walks:
        walk = joint_walk(graphs, laziness)
        return cls(walk.row_ptr.numpy(), walk.col.numpy(), walk.probabilities.numpy().astype(np.float32))


def joint_walk(graphs: Sequence[OneGraph], laziness: float) -> RandomWalk:
    """The walk on the disjoint union of graphs, numbered one after the other."""
    node_ptr = np.concatenate([[0], np.cumsum([graph.num_nodes for graph in graphs])])
    edges = np.concatenate([graph.edges + start for graph, start in zip(graphs, node_ptr, strict=False)], axis=1)
    weights = np.concatenate([graph.weights for graph in graphs])
    return random_walk(torch.from_numpy(edges), int(node_ptr[-1]), torch.from_numpy(weights), laziness)


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
    width = degree * rank
    for number in range(num_layers):
        functionals, distribution, sharing = (np.random.default_rng([seed, number, kind]) for kind in range(3))
        channels = in_channels if number == 0 else width
        # attributes are read by all: they are few, or they matter
        inputs, outputs = _share_out(channels, channels if number == 0 else FAN_IN, sharing), _share_out(width, FAN_IN, sharing)
        components = functionals.standard_normal((degree, channels, rank))
        _keep_groups(components, inputs)
        components /= size if number == 0 else math.sqrt(width / len(inputs))
        if time:
            components = np.concatenate([functionals.standard_normal((degree, 1, rank)), components], axis=1)
        factor = np.exp(distribution.uniform(low, high, waves)) / (2 * math.pi * math.sqrt(width / len(outputs)))
        phases = distribution.uniform(0, 1, waves)
        frequencies = distribution.standard_normal((waves, width)).T * factor
        _keep_groups(frequencies[None], outputs)
        single = [array.astype(np.float32) for array in (components, frequencies, phases)]
        layers.append(Layer(single[0], single[1], single[2], inputs, outputs))
    return layers


def _share_out(channels: int, most: int, random: np.random.Generator) -> list[Integers]:
    """Channels in as few groups of at most `most` as possible; one group is all channels in order."""
    groups = max(1, -(-channels // most))
    order = np.arange(channels) if groups == 1 else random.permutation(channels)
    return [np.sort(part) for part in np.array_split(order, groups)]


def _keep_groups(vectors: NDArray[np.float64], groups: list[Integers]) -> None:
    """Set (.., channels, R) to 0 wherever a vector's group does not read."""
    for columns, channels in zip(_columns(vectors.shape[-1], groups), groups, strict=True):
        others = np.ones(vectors.shape[-2], dtype=bool)
        others[channels] = False
        vectors[..., others, columns] = 0


def _columns(count: int, groups: list[Integers]) -> list[slice]:
    """Which of `count` vectors belong to which group."""
    ends = np.linspace(0, count, len(groups) + 1).round().astype(int)
    return [slice(int(start), int(end)) for start, end in pairwise(ends)]


def apply_layers(
    layers: Sequence[Layer],
    x: Singles,
    walks: Walks,
    *,
    length: int,
    increments: bool,
    zero_start: bool,
    time: bool,
) -> Iterator[tuple[Singles, Singles]]:
    """Run all layers over a union of graphs: outputs (n, M R) and waves (n, Q) of one after the other."""
    n = x.shape[0]
    for layer in layers:
        M, _, R = layer.components.shape
        descending = layer.components[::-1]
        components = descending[:, 1:] if time else descending
        tau = descending[:, 0] if time else np.zeros((M, R), dtype=np.float32)
        a = np.empty((n, M, R), dtype=np.float32)
        for channels, columns in zip(layer.inputs, _columns(R, layer.inputs), strict=True):
            # one product for all degrees of the group's functionals
            vectors = np.ascontiguousarray(components[:, channels, columns].transpose(1, 0, 2))
            a[:, :, columns] = _project(x, channels, vectors.reshape(channels.size, -1)).reshape(n, M, -1)
        coefficients = np.repeat(np.array([[1 / math.factorial(m)] for m in range(M + 1)], dtype=np.float32), R, axis=1)
        f = fixed_order.walk(
            fixed_order.Pattern(walks.row_ptr, walks.col, walks.probabilities),
            a,
            tau,
            coefficients,
            length=int(length),
            increments=bool(increments),
            offset=np.zeros((M, R), dtype=np.float32) if zero_start or not increments else None,
        )
        x = np.empty((n, M * R), dtype=np.float32)
        feature_loops.normalise(f, x)
        waves = np.empty((n, layer.phases.size), dtype=np.float32)
        for channels, columns in zip(layer.outputs, _columns(layer.phases.size, layer.outputs), strict=True):
            waves[:, columns] = _project(x, channels, layer.frequencies[channels, columns])
        feature_loops.wave(waves, feature_loops.plain(layer.phases))
        yield x, waves


def _project(x: Singles, channels: Integers, vectors: Singles) -> Singles:
    """x[:, channels] @ vectors, with zeros up to the sizes that :func:`feature_loops.project` takes at a time."""
    rows, columns = (-size % feature_loops.ROWS for size in (x.shape[0], channels.size))
    chosen = np.zeros((x.shape[0] + rows, channels.size + columns), dtype=np.float32)
    chosen[: x.shape[0], : channels.size] = x[:, channels] if channels.size < x.shape[1] else x
    out = np.empty((chosen.shape[0], vectors.shape[1]), dtype=np.float32)
    feature_loops.project(chosen, feature_loops.plain(np.pad(vectors, [(0, columns), (0, 0)])), out)
    return out[: x.shape[0]]
