"""Does time grow linearly in the edges, and how much memory does a training step take? `python -m benchmarks.memory_and_scaling`

Time: forward and backward from 1e5 to 1e7 edges at a fixed average degree, R = 64, and the exponent fitted to it, on two kinds of graph:
batches of molecules, and graphs whose edges join nodes at random. On the latter every step of the walk jumps to another place in
memory; small graphs lie in the processor's cache and large ones do not, which no algorithm can change. How much of the growth that
explains is measured beside it: PyTorch's sparse product of P with one state, on the same graphs.

Memory: the peak above what the problem itself takes, of forward and backward on 1e6 edges and 1e5 nodes, each contender in a process of
its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

import graph2tens as g2t

from .contenders import gather_index_add, molecules, random_graph

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
RANK, LENGTH = 64, 5


def walk_on(kind: str, edges: int) -> g2t.RandomWalk:
    if kind == "molecules":
        index, batch = molecules(edges // 54)
        return g2t.random_walk(index, num_nodes=batch.numel(), batch=batch).to(torch.float32)
    return g2t.random_walk(random_graph(edges // 10, edges), num_nodes=edges // 10).to(torch.float32)


def training_step(kind: str, edges: int, contender: str) -> tuple[float, float]:
    """Seconds (best of 3) and peak MiB above the problem's own."""
    walk = walk_on(kind, edges)
    x = torch.randn(walk.num_nodes, 16, requires_grad=True)
    components = (torch.randn(2, 16, RANK) / 4).requires_grad_()
    walk.row, walk.transpose  # noqa: B018 - derived once, before the clock and the meter start
    run: Callable[[torch.Tensor, g2t.RandomWalk], object]
    if contender == "sparse product":
        matrix = torch.sparse_csr_tensor(walk.row_ptr, walk.col, walk.probabilities, (walk.num_nodes,) * 2)
        state = torch.randn(walk.num_nodes, 2 * RANK)
        run = lambda x, walk: matrix @ state if x.size(0) == state.size(0) else None  # noqa: E731
    elif contender == "gather + index_add":
        run = lambda x, walk: gather_index_add(x, walk, components, LENGTH).sum().backward()  # noqa: E731
    else:
        run = lambda x, walk: g2t.low_rank_features(x, walk, components, length=LENGTH).sum().backward()  # noqa: E731
    run(torch.randn(10, 16, requires_grad=True), g2t.random_walk(random_graph(10, 50), num_nodes=10).to(torch.float32))  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run(x, walk)
        best = min(best, time.perf_counter() - start)
    return best, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def apart(*arguments: object) -> tuple[float, float]:
    """`training_step` in a process of its own, so that the peak is its own."""
    command = [sys.executable, "-m", "benchmarks.memory_and_scaling", *map(str, arguments)]
    seconds, mebibytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-2:]
    return float(seconds), float(mebibytes)


def main() -> None:
    from .record import record, save

    ours, theirs = (apart("random", 1_000_000, contender) for contender in ("graph2tens", "gather + index_add"))
    rows = [
        record("1e6 edges, 1e5 nodes, R=64, peak memory of a training step", "gather + index_add", theirs[1], ours[1], unit="mebibytes")
    ]
    print(f"peak above the problem: ours {ours[1]:.0f} MiB, gather + index_add {theirs[1]:.0f} MiB, ratio {ours[1] / theirs[1]:.3f}")
    for kind in ("molecules", "random"):
        for contender in ("graph2tens", "sparse product"):
            seconds = [apart(kind, edges, contender)[0] for edges in SIZES]
            exponent = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
            print(f"{kind}, {contender}: {', '.join(f'{took:.4f}' for took in seconds)} s for {SIZES} edges, like E^{exponent:.3f}")
            linear = seconds[0] * SIZES[-1] / SIZES[0]
            if contender == "graph2tens":
                what = f"{kind}, training step on 1e7 edges; from 1e5 on time grows like E^{exponent:.2f}"
                rows.append(record(what, "1e5 edges scaled linearly", linear, seconds[-1], "yardstick"))
            else:
                what = f"{kind}, one product P S on 1e7 edges; from 1e5 on its time grows like E^{exponent:.2f}"
                rows.append({**record(what, "1e5 edges scaled linearly", linear, seconds[-1], "yardstick"), "fast": "PyTorch"})
    save("memory and scaling", rows)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(*training_step(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
    else:
        main()
