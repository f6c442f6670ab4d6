"""How fast is `low_rank_features`? `python -m benchmarks.engine`, on both cores of a quiet machine; about four minutes.
`python -m benchmarks.engine "1e6 edges"` takes much longer: there gather + index_add spends nine seconds on one forward pass.

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

from .contenders import WalkMessages, gather_by_hand, gather_index_add, molecules, project, random_graph, repeated
from .record import record

Contender = tuple[Callable[[], Tensor], list[Tensor]]  # what runs, and what its gradients are wanted of
LENGTH, DEGREE = 5, 2
FULL = {"NCI1 batch": 30, "citation graph": 5, "1e5 edges": 5}
LONG = {"1e6 edges": 1}  # only if asked for


def best(contenders: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Best of `repeat` turns for each; they take turns, so that a busy moment of the machine hits all of them."""
    seconds = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeat + 1):  # the first round warms up
        for name, run in contenders.items():
            for _ in range(3 if seconds[name] < 0.1 else 1):  # short ones find the cache as they left it
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
    inputs = [x, components, *([walk.probabilities] if heads else [])]
    ours = partial(g2t.low_rank_features, x, walk, components, length=LENGTH)
    contenders: dict[str, Contender] = {
        "graph2tens": (ours, inputs),
        "the recursion as written": (partial(ours, backend="reference"), inputs),
        "gather + index_add": (partial(gather_index_add, x, walk, components, LENGTH), inputs),
        "the same, degree 2 by hand": (partial(gather_by_hand, x, walk, components, LENGTH), inputs),
        "PyG MessagePassing": (partial(WalkMessages(), x, walk, components, LENGTH), inputs),
    }
    if name != "NCI1 batch":
        del contenders["the recursion as written"]  # it projects every edge in every step: seconds
    for run, _ in contenders.values():
        torch.testing.assert_close(ours(), run(), rtol=1e-3, atol=1e-3)
    kinds = dict.fromkeys(contenders, "same answer")
    for conv in (GCNConv(width, width), GATConv(width, width // 8, heads=8)):
        layers = f"{LENGTH} x {type(conv).__name__}"
        contenders[layers], kinds[layers] = (partial(repeated(conv, edges, LENGTH), h), [h, *conv.parameters()]), "another layer"
    contenders["the matrix products alone"] = (partial(project, x, components), inputs[:2])

    rows = []
    for mode in ("forward", "forward + backward"):
        backward = mode != "forward"
        candidates = {key: once(*contender, backward) for key, contender in contenders.items()}
        candidates["streaming the same bytes"] = streaming(n, LENGTH, R, backward)
        seconds = best(candidates, repeat)
        label = f"{name}, {'8 heads' if heads else 'no heads'}, {mode}"
        for key in (key for key in seconds if key != "graph2tens"):
            rows.append(record(label, key, seconds[key], seconds["graph2tens"], kinds.get(key, "yardstick")))
            theirs, mine = seconds[key] * 1e3, seconds["graph2tens"] * 1e3
            print(f"{label:<46} {key:<26} {theirs:9.2f} ms   ours {mine:8.2f} ms   x{theirs / mine:.2f}")
    return rows


def once(run: Callable[[], Tensor], wanted: list[Tensor], backward: bool) -> Callable[[], object]:
    """One evaluation; the incoming gradient is made before, and gradients are returned, not added to older ones."""
    incoming = torch.ones_like(run().detach())

    def evaluate() -> None:
        with torch.set_grad_enabled(backward):
            out = run()
        if backward:
            torch.autograd.grad(out, wanted, incoming)

    return evaluate


if __name__ == "__main__":
    from .record import save

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help=f"only these of {', '.join(FULL | LONG)}")
    parser.add_argument("--quick", action="store_true", help="the NCI1 batch alone, few repeats, nothing written")
    arguments = parser.parse_args()
    for case in ["NCI1 batch"] if arguments.quick else arguments.case or FULL:
        measured = [row for heads in (0, 8) for row in measure(case, heads, 10 if arguments.quick else (FULL | LONG)[case])]
        if not arguments.quick:
            save(case, measured)
