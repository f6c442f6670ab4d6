"""How much of a training step is not matrix products? `python -m benchmarks.training_step`

Takes one step of the paper's model on 128 graphs of NCI1 as the training loop takes it: cut the batch out of the collated graphs, forward,
loss and penalty, backward, Adam. It records every dense matrix product of that step, forward and backward, with shapes and strides, and
times these products alone on random matrices, alternating with the step. The ratio of the two is what everything else costs. Target: 3.

Without NCI1 at hand (see `graph2tens info`) it takes random trees with rings of the same sizes.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Data

from graph2tens.datasets import CollatedGraphs, load
from graph2tens.paper.authors import NETWORKS
from graph2tens.paper.protocols import PROTOCOLS, network_options

from .record import record, save

PRODUCTS = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default}


class RecordProducts(TorchDispatchMode):
    """Lists the dense matrix products that run inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func in PRODUCTS:
            self.products.append((func, tuple(like_random(arg) for arg in args if isinstance(arg, Tensor))))
        return func(*args, **(kwargs or {}))


def like_random(matrix: Tensor) -> Tensor:
    """Random numbers with the same shape and strides, so that transposed operands stay transposed."""
    return torch.empty_strided(matrix.shape, matrix.stride(), dtype=matrix.dtype).normal_()


def molecule_like(generator: torch.Generator) -> Data:
    """A tree with two extra edges, about 30 nodes of 37 kinds: the sizes of NCI1."""
    n = int(torch.randint(15, 46, (1,), generator=generator))
    parents = [max(0, i - 1 - int(torch.randint(0, 3, (1,), generator=generator))) for i in range(1, n)]
    edges = set(zip(range(1, n), parents, strict=True)) | {(n - 1, n - 6), (n // 2, n // 2 - 5)}
    index = torch.tensor(sorted(edges | {(j, i) for i, j in edges})).T.contiguous()
    kind = torch.randint(0, 37, (n,), generator=generator)
    return Data(x=torch.nn.functional.one_hot(kind, 37).float(), edge_index=index, y=torch.tensor([n % 2]))


def graphs_of(name: str) -> tuple[str, list[Data]]:
    try:
        return name, list(load(name).graphs)
    except Exception as error:  # not there, or no network: the sizes are what counts
        print(f"{name} is not at hand ({type(error).__name__}); taking random molecules of its sizes")
        generator = torch.Generator().manual_seed(0)
        return "random molecules", [molecule_like(generator) for _ in range(512)]


def main(conv: str, protocol: str, repeat: int, batch_size: int, threads: int | None, keep: bool) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    name, graphs = graphs_of("NCI1")
    model = NETWORKS[PROTOCOLS[protocol].builder](graphs[0].x.size(1), 2, **network_options(conv, protocol))
    collated = CollatedGraphs(graphs, self_loops=model.convs[0].self_loops)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(1))[:batch_size]

    def step() -> None:
        batch = collated.batch(order)
        optimizer.zero_grad(set_to_none=True)
        logits = model(batch.x, batch.walk, batch.batch, batch_size=batch.num_graphs)
        loss = torch.nn.functional.cross_entropy(logits, batch.y) + 1e-4 * model.penalty()
        loss.backward()
        optimizer.step()

    step()  # compiles
    with RecordProducts() as recorded:
        step()

    def products() -> None:
        for product, operands in recorded.products:
            product(*operands)

    wall: dict[str, list[float]] = {"step": [], "products": []}
    processor: dict[str, list[float]] = {"step": [], "products": []}  # on a busy machine this one can still be trusted, with one thread
    for _ in range(repeat):
        for what, run in (("products", products), ("step", step)):
            start = time.perf_counter(), time.process_time()
            run()
            wall[what].append(time.perf_counter() - start[0])
            processor[what].append(time.process_time() - start[1])
    rows = {"best": (min, wall), "median": (statistics.median, wall), "processor": (min, processor)}
    sizes = Counter("x".join(str(tuple(operand.shape)) for operand in operands[-2:]) for _, operands in recorded.products)
    batch = collated.batch(order)
    print(f"{conv}, protocol {protocol}, {batch_size} graphs of {name}: {batch.x.size(0)} nodes, {batch.walk.num_edges} steps of the walk")
    print(f"{len(recorded.products)} dense products, e.g. {', '.join(f'{n} of {size}' for size, n in sizes.most_common(3))}")
    print(f"{'':<10}{'step':>12}{'products':>12}{'ratio':>8}")
    for label, (of, times) in rows.items():
        a, b = of(times["step"]), of(times["products"])
        print(f"{label:<10}{a * 1e3:>9.1f} ms{b * 1e3:>9.1f} ms{a / b:>8.2f}")
    if keep:
        what = f"training step, {conv}, protocol {protocol}, {batch_size} graphs of {name}"
        save(what, [record(what, "its dense matrix products alone", min(wall["products"]), min(wall["step"]), "yardstick")])
    print(f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}, {repeat} repeats")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A training step against its dense matrix products alone.")
    parser.add_argument("--conv", default="G2TAN", choices=["G2TN", "G2TAN"])
    parser.add_argument("--protocol", default="paper", choices=["paper", "authors"])
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--threads", type=int, help="by default as many as PyTorch takes")
    parser.add_argument("--keep", action="store_true", help="write the best times to README.md and results.json")
    main(**vars(parser.parse_args()))
