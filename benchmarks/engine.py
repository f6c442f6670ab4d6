"""How fast is `low_rank_features`? `python -m benchmarks.engine`, on both cores of a quiet machine; about four minutes.

Answers are compared first. Every number is the best of several repeats, contenders take turns, and ratios come from one run. Results go to
benchmarks/results.json and, as a table, to benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv

import graph2tens as g2t

from .contenders import WalkMessages, gather_by_hand, gather_index_add, molecules, random_graph, repeated
from .record import record

LENGTH, DEGREE = 5, 2
FULL = {"NCI1 batch": 40, "citation graph": 6, "1e5 edges": 6, "1e6 edges": 3}


def best(contenders: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Best of `repeat` for each; they take turns, so that a busy moment of the machine hits all of them."""
    seconds = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeat + 1):  # the first round warms up
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def problem(name: str) -> tuple[Tensor, Tensor | None, int, int, int]:
    """Edges, batch, nodes, attributes d and functionals R."""
    if name == "NCI1 batch":
        edges, batch = molecules()
        return edges, batch, batch.numel(), 256, 128
    if name == "citation graph":
        return random_graph(20_000, 90_000), None, 20_000, 500, 64
    edges = int(float(name.split()[0]))
    return random_graph(edges // 10, edges), None, edges // 10, 64, 64


def streaming(n: int, steps: int, R: int, backward: bool) -> Callable[[], object]:
    """The machine's own limit: read and write the states of all steps, and read the projections, once each (thrice with backward)."""
    source, target = torch.ones(n, DEGREE, R), torch.empty(n, DEGREE, R)

    def stream() -> None:
        for _ in range((3 if backward else 1) * steps):
            torch.add(source, 1.0, out=target)

    return stream


def measure(name: str, heads: int, repeat: int) -> list[dict[str, object]]:
    edges, batch, n, d, R = problem(name)
    torch.manual_seed(0)
    walk = g2t.random_walk(edges, num_nodes=n, batch=batch).to(torch.float32)
    if heads:
        walk = walk.with_probabilities(walk.probabilities.unsqueeze(1).repeat(1, heads).requires_grad_(), stochastic=True)
    x = torch.randn(n, d, requires_grad=True)
    components = (torch.randn(DEGREE, d, R) / d**0.5).requires_grad_()
    h, width = torch.randn(n, R, requires_grad=True), R
    gcn, gat = repeated(GCNConv(width, width), edges, LENGTH), repeated(GATConv(width, width // 8, heads=8), edges, LENGTH)
    ours = partial(g2t.low_rank_features, x, walk, components, length=LENGTH)
    contenders: dict[str, Callable[[], Tensor]] = {
        "gather + index_add": partial(gather_index_add, x, walk, components, LENGTH),
        "the same, degree 2 by hand": partial(gather_by_hand, x, walk, components, LENGTH),
        "PyG MessagePassing": partial(WalkMessages(), x, walk, components, LENGTH),
        f"{LENGTH} x GCNConv": partial(gcn, h),
        f"{LENGTH} x GATConv": partial(gat, h),
    }
    for contender in list(contenders)[:3]:
        torch.testing.assert_close(ours(), contenders[contender](), rtol=1e-3, atol=1e-3)

    rows = []
    for mode in ("forward", "forward + backward"):
        backward = mode != "forward"

        def timed(run: Callable[[], Tensor], backward: bool = backward) -> Callable[[], object]:
            def once() -> None:
                with torch.set_grad_enabled(backward):
                    out = run()
                if backward:
                    out.backward(torch.ones_like(out))

            return once

        candidates = {"graph2tens": timed(ours), **{key: timed(run) for key, run in contenders.items()}}
        candidates["streaming the same bytes"] = streaming(n, LENGTH, R, backward)
        seconds = best(candidates, repeat)
        label = f"{name}, {'8 heads' if heads else 'no heads'}, {mode}"
        for key in (key for key in seconds if key != "graph2tens"):
            rows.append(record(label, key, seconds[key], seconds["graph2tens"]))
            theirs, mine = seconds[key] * 1e3, seconds["graph2tens"] * 1e3
            print(f"{label:<46} {key:<26} {theirs:9.2f} ms   ours {mine:8.2f} ms   x{theirs / mine:.2f}")
    return rows


if __name__ == "__main__":
    from .record import save

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the NCI1 batch alone, few repeats, nothing written")
    quick = parser.parse_args().quick
    cases = {"NCI1 batch": 3} if quick else FULL
    measured = [row for name, repeat in cases.items() for heads in (0, 8) for row in measure(name, heads, repeat)]
    if not quick:
        save("engine", measured)
