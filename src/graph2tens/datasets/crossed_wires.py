r"""A generated task that no local method can solve: are the two wires crossed?

A graph holds two wires, paths of `distance` edges each. One end of each wire is a plug, red on one wire and blue on the other;
the opposite ends are sockets, again one red and one blue. Class 0: both wires join equal colours. Class 1: both join unequal ones.

    class 0:   red  o--o--o-- .. --o--o  red          class 1:   red  o--o--o-- .. --o--o  blue
               blue o--o--o-- .. --o--o  blue                    blue o--o--o-- .. --o--o  red

Every graph of either class has the same four ends, and a node sees no further than its radius: as long as that is below
``distance / 2``, the neighbourhoods of a graph are, as a multiset, the same in both classes, so whatever is pooled from them says
nothing about the class. At ``distance / 2`` the node in the middle sees both ends of its wire. Short dead-end twigs, at random, keep
the walks from being all alike.
"""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from ..checks import check_fits
from .dataset import Encoding, GraphDataset

PLUG, SOCKET, RED, BLUE, NOISE = range(5)


def long_range(num_graphs: int = 1000, distance: int = 10, twigs: int = 3, seed: int = 0) -> GraphDataset:
    """Crossed wires, see the top of this module; the same arguments give the same graphs.

    Args:
        num_graphs: half of each class.
        distance: edges of a wire, so a model needs a reach of at least ``distance / 2``.
        twigs: single nodes that hang on random inner nodes of the wires.
        seed: of the generator that draws everything.

    Shapes:
        - **x:** :math:`(2 (distance + 1) + twigs, 5)`: is a plug, is a socket, is red, is blue, noise uniform in [0, 1]
    """
    for name, value, least in (("num_graphs", num_graphs, 2), ("distance", distance, 2), ("twigs", twigs, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"`{name}` must be a whole number, at least {least} (got {value!r}).")
    nodes = num_graphs * (2 * (distance + 1) + twigs)
    check_fits(20 * nodes, f"{num_graphs:,} graphs with wires of {distance:,} edges", "Choose a shorter distance.")
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(num_graphs) % 2)
    graphs = [_crossed_wires(bool(label), distance, twigs, rng) for label in labels]
    encoding = Encoding(num_attributes=5, classes=(0, 1))
    source = f"generated, distance={distance}, seed={seed}"
    return GraphDataset("long-range", graphs, 2, 5, "graph", ("straight", "crossed"), encoding, source)


def _crossed_wires(crossed: bool, distance: int, twigs: int, rng: np.random.Generator) -> Data:
    length = distance + 1
    n = 2 * length + twigs
    ends = np.array([0, length - 1, length, 2 * length - 1])  # plug and socket of the first wire, then of the second
    first = int(rng.integers(2))
    colours = np.array([RED, BLUE])[[first, first ^ crossed, 1 - first, 1 - (first ^ crossed)]]
    x = np.zeros((n, 5), dtype=np.float32)
    x[ends, [PLUG, SOCKET, PLUG, SOCKET]] = 1
    x[ends, colours] = 1
    x[:, NOISE] = rng.random(n)

    steps = np.concatenate([np.arange(length - 1), length + np.arange(length - 1)])
    hosts = np.concatenate([np.arange(1, length - 1), length + np.arange(1, length - 1)])
    wires = np.stack([steps, steps + 1])
    hanging = np.stack([rng.choice(hosts, size=twigs), 2 * length + np.arange(twigs)])
    edges = np.concatenate([wires, hanging], axis=1)
    name = rng.permutation(n)  # so that node numbers give nothing away
    edges = name[np.concatenate([edges, edges[::-1]], axis=1)]
    edges = edges[:, np.lexsort((edges[1], edges[0]))]
    shuffled = np.empty_like(x)
    shuffled[name] = x
    return Data(x=torch.from_numpy(shuffled), edge_index=torch.from_numpy(edges), y=torch.tensor([int(crossed)]))
