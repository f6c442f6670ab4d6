"""Does time grow linearly in the edges, and how much memory does a training step take? `python -m benchmarks.memory_and_scaling`

Time: forward and backward on random graphs of average degree 10 from 1e5 to 1e7 edges (R = 16 there, so that the largest fits), and the
exponent fitted to it. Memory: the peak above what the problem itself takes, of forward and backward on 1e6 edges and 1e5 nodes
(R = 64), each contender in a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np
import torch

import graph2tens as g2t

from .contenders import gather_index_add, random_graph

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)


def training_step(edges: int, rank: int, contender: str) -> tuple[float, float]:
    """Seconds (best of 3) and peak MiB above the problem's own."""
    n = edges // 10
    walk = g2t.random_walk(random_graph(n, edges), num_nodes=n).to(torch.float32)
    x = torch.randn(n, 16, requires_grad=True)
    components = (torch.randn(2, 16, rank) / 4).requires_grad_()
    walk.row, walk.transpose  # noqa: B018 - derived once, before the clock and the meter start
    small = g2t.random_walk(random_graph(10, 50), num_nodes=10).to(torch.float32)
    run = gather_index_add if contender == "gather + index_add" else lambda x, w, u, k: g2t.low_rank_features(x, w, u, length=k)
    run(torch.randn(10, 16, requires_grad=True), small, components, 5).sum().backward()  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        run(x, walk, components, 5).sum().backward()
        best = min(best, time.perf_counter() - start)
    return best, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def apart(*arguments: object) -> tuple[float, float]:
    """`training_step` in a process of its own, so that the peak is its own."""
    command = [sys.executable, "-m", "benchmarks.memory_and_scaling", *map(str, arguments)]
    seconds, mebibytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-2:]
    return float(seconds), float(mebibytes)


def main() -> None:
    from .record import record, save

    ours, theirs = apart(1_000_000, 64, "graph2tens"), apart(1_000_000, 64, "gather + index_add")
    rows = [record("1e6 edges, 1e5 nodes, R=64, peak memory of a training step", "gather + index_add", theirs[1], ours[1], "mebibytes")]
    print(f"peak above the problem: ours {ours[1]:.0f} MiB, gather + index_add {theirs[1]:.0f} MiB, ratio {ours[1] / theirs[1]:.3f}")
    seconds = [apart(edges, 16, "graph2tens")[0] for edges in SIZES]
    exponent = float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])
    for edges, took in zip(SIZES, seconds, strict=True):
        print(f"{edges:>10,} edges {took:8.3f} s")
        rows.append(
            record(f"forward + backward on {edges:,} edges, R=16", "1e5 edges scaled linearly", seconds[0] * edges / SIZES[0], took)
        )
    print(f"time grows like E^{exponent:.3f}")
    save("memory and scaling", rows)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(*training_step(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
    else:
        main()
