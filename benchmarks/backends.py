"""Which backend when? `python -m benchmarks.backends`: a training step with `numba` and with `torch`, from 10 to 100,000 nodes.

Random graphs of average degree 4, 16 attributes, R = 32 functionals, 3 steps. What ``backend="auto"`` does rests on this table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

import graph2tens as g2t

from .contenders import random_graph
from .engine import best, once

SIZES, DEGREES = (10, 100, 1_000, 10_000, 100_000), (1, 2, 3, 4, 5)
CHANNELS, RANK, LENGTH = 16, 32, 3


def ratio(nodes: int, degree: int) -> float:
    """How many times faster `numba` is than `torch`."""
    walk = g2t.random_walk(random_graph(nodes, 4 * nodes), num_nodes=nodes).to(torch.float32)
    x = torch.randn(nodes, CHANNELS, requires_grad=True)
    components = (torch.randn(degree, CHANNELS, RANK) / 4).requires_grad_()
    candidates: dict[str, Callable[[], object]] = {}
    results = []
    for backend in ("numba", "torch"):
        run = partial(g2t.low_rank_features, x, walk, components, length=LENGTH, backend=backend)
        results.append(run().detach())
        candidates[backend] = once(run, [x, components], True)
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-3)
    seconds = best(candidates, 20 if nodes <= 10_000 else 4)
    return seconds["torch"] / seconds["numba"]


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"| nodes | {' | '.join(f'degree {degree}' for degree in DEGREES)} |")
    print("| ---: |" + " ---: |" * len(DEGREES))
    for nodes in SIZES:
        print(f"| {nodes:,} | {' | '.join(f'{ratio(nodes, degree):.1f}' for degree in DEGREES)} |", flush=True)
