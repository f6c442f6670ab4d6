"""One huge graph: built, walked whole or in blocks, checked, sampled."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .measures import Memory, peak, say


def random_edges(nodes: int, edges: int, seed: int = 0) -> Any:
    """Chunks of a directed graph in which few nodes are the target of many edges, as in citation graphs."""

    def chunks() -> Any:
        rng = np.random.default_rng(seed)
        for start in range(0, edges, 2**22):
            size = min(2**22, edges - start)
            yield rng.integers(0, nodes, size), (nodes * rng.random(size) ** 2).astype(np.int64)

    return chunks


def build(nodes: int, edges: int, folder: Path) -> Any:
    """Edges -> graph on disk."""
    from graph2tens.scale import GraphOnDisk

    GraphOnDisk.build(random_edges(100, 100), folder / "warm", num_nodes=100)
    before, started = peak(), time.process_time()
    drawing = time.process_time()
    for _ in random_edges(nodes, edges)():
        pass
    drawing = time.process_time() - drawing
    started = time.process_time()
    graph = GraphOnDisk.build(random_edges(nodes, edges), folder / "graph", num_nodes=nodes)
    seconds = time.process_time() - started - 2 * drawing
    say(f"{graph}: {seconds:.1f} processor s, {seconds / edges * 1e6:.3f} us per edge; {(peak() - before) / edges:.1f} bytes per edge")
    return graph


def huge(nodes: int, edges: int, rank: int, memory: str, threads: int, checked: int, at_a_time: int, folder: Path) -> None:
    """All features of one huge graph, checked against the reference on some nodes by their exact neighbourhoods."""
    from graph2tens.scale import low_rank_features

    graph = build(nodes, edges, folder)
    rng = np.random.default_rng(1)
    x = np.lib.format.open_memmap(folder / "x.npy", mode="w+", dtype=np.float32, shape=(nodes, 16))
    for first in range(0, nodes, 2**18):
        x[first : first + 2**18] = rng.standard_normal((min(2**18, nodes - first), 16), dtype=np.float32)
    x.flush()
    del x  # its pages would count a second time
    components = (rng.standard_normal((2, 16, rank)) / 4).astype(np.float32)
    started, wall = time.process_time(), time.perf_counter()

    def progress(done: int, of: int) -> None:
        say(f"{done} of {of} functionals: {time.process_time() - started:.1f} processor s, {time.perf_counter() - wall:.1f} s")

    z = low_rank_features(
        folder / "x.npy", graph, components, length=5, out=folder / "z", memory=memory, threads=threads, on_progress=progress
    )
    say(
        f"{z}: {time.process_time() - started:.1f} processor s, {time.perf_counter() - wall:.1f} s, peak {peak() / 2**30:.2f} GiB, "
        f"{sum(path.stat().st_size for path in (folder / 'z').iterdir()) / 1e9:.1f} GB on disk"
    )
    compare(graph, folder / "x.npy", components, z, rng.choice(nodes, checked, replace=False), at_a_time or rank)


def compare(graph: Any, x: Path, components: Any, z: Any, chosen: Any, at_a_time: int) -> None:
    """The reference in double precision on what walks from a node can reach, a node at a time, each with so many of the functionals.

    A node has about 1e5 others around it: all 64 functionals take the reference 1.6 processor seconds. The functionals of a node are
    spread evenly over all of them, and the next node has the next ones.
    """
    import torch

    from graph2tens import low_rank_features

    torch.set_num_threads(1)
    attributes, rank = np.load(x, mmap_mode="r"), components.shape[2]
    stride = rank // at_a_time
    worst = size = reached = 0.0
    started = time.process_time()
    for number, node in enumerate(chosen, start=1):
        nodes, walk = neighbourhood(graph, node, hops=5)
        lanes = np.arange(number % stride, rank, stride)
        values, functionals = torch.from_numpy(attributes[nodes].astype(np.float64)), torch.from_numpy(components[..., lanes]).double()
        # 16 at a time, so that arrays are small enough for memory to be used again
        parts = [low_rank_features(values, walk, some, length=5, backend="reference") for some in functionals.split(16, dim=-1)]
        expected = torch.cat(parts, dim=-1)[np.searchsorted(nodes, node)].numpy()
        worst = max(worst, float(np.abs(expected - z[node][:, lanes]).max()))
        size, reached = max(size, float(np.abs(expected).max())), reached + nodes.size
        if number % 100 == 0 or number == len(chosen):
            say(
                f"{number} nodes by their 5-hop neighbourhoods ({reached / number:.0f} nodes on average), {at_a_time} of {rank} "
                f"functionals each, all in turn, against the reference in double precision: largest error {worst:.1e} of values up to "
                f"{size:.1f} ({time.process_time() - started:.0f} processor s)"
            )


def neighbourhood(graph: Any, node: int, hops: int) -> tuple[Any, Any]:
    """The nodes that walks of so many steps can reach, sorted, and the walk on them.

    Nodes that are first met at the last step, nine of ten, get no steps of their own: no walk from `node` is long enough for one.
    """
    import torch

    from graph2tens import RandomWalk, random_walk

    nodes = frontier = np.array([node])
    steps = []
    for _ in range(hops):
        begin, degree = graph.row_ptr[frontier], graph.row_ptr[frontier + 1] - graph.row_ptr[frontier]
        first = np.cumsum(degree) - degree
        steps.append((np.repeat(frontier, degree), np.repeat(begin - first, degree) + np.arange(degree.sum())))
        frontier = np.setdiff1d(graph.col[steps[-1][1]], nodes)
        nodes = np.union1d(nodes, frontier)
    src, entries = (np.concatenate(part) for part in zip(*steps, strict=True))
    edges = torch.from_numpy(np.searchsorted(nodes, np.stack([src, graph.col[entries]])))
    p = None if graph.probabilities is None else torch.from_numpy(graph.probabilities[entries].astype(np.float64))
    walk = random_walk(edges, nodes.size, p)
    left = torch.zeros(nodes.size, dtype=torch.bool).index_fill(0, edges[0], True)  # nodes that some walk leaves
    kept, count = left[walk.row], torch.where(left, walk.row_ptr.diff(), 0)
    row_ptr = torch.cat([count.new_zeros(1), count.cumsum(0)])
    return nodes, RandomWalk(nodes.size, row_ptr, walk.col[kept], walk.probabilities[kept], torch.arange(int(kept.sum())))


def blocks(nodes: int, edges: int, rank: int, folder: Path) -> None:
    """Functionals 16 at a time against all at once, each in a process of its own with one thread: processor time and memory."""
    from graph2tens.scale import GraphOnDisk

    GraphOnDisk.build(random_edges(nodes, edges), folder / "graph", num_nodes=nodes)
    rng = np.random.default_rng(1)
    np.save(folder / "x.npy", rng.standard_normal((nodes, 16), dtype=np.float32))
    np.save(folder / "components.npy", (rng.standard_normal((2, 16, rank)) / 4).astype(np.float32))
    found = {}
    for width in (rank, 16):
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            f"from benchmarks.scale.huge import in_blocks; in_blocks({str(folder)!r}, {width})",
        ]
        found[width] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        seconds, memory = found[width]
        say(f"{rank} functionals, {width} at a time: {seconds:.1f} processor s, {memory / 2**20:.0f} MiB above the start of the process")
    (all_seconds, all_memory), (seconds, memory) = found[rank], found[16]
    say(f"blocks of 16 take {seconds / all_seconds:.2f} of the time and {memory / all_memory:.2f} of the memory")


def in_blocks(folder: str, width: int) -> None:
    """In a process of its own: all features, as many functionals at a time, to files; prints processor seconds and private memory."""
    from dataclasses import replace

    from graph2tens.scale import GraphOnDisk
    from graph2tens.scale.huge.features import as_arrays, plan_walk, run_walk

    def run(graph: GraphOnDisk, x: Path, count: int, out: Path) -> None:
        arrays = as_arrays(np.load(Path(folder) / "components.npy")[..., :count], None, None)
        job = plan_walk(x, graph, *arrays, length=5, increments=True, zero_start=True, time=False)
        run_walk(out, replace(job, description=replace(job.description, lanes=width)), threads=1)

    with tempfile.TemporaryDirectory(dir=folder) as place:
        here = Path(place)
        np.save(here / "x.npy", np.zeros((100, 16), np.float32))
        run(GraphOnDisk.build(random_edges(100, 1000), here / "warm", num_nodes=100), here / "x.npy", 4, here / "warm features")
        with Memory(every=0.02, alone=True) as memory:
            started = time.process_time()
            run(GraphOnDisk(Path(folder) / "graph"), Path(folder) / "x.npy", 10**9, here / "features")
            seconds = time.process_time() - started
    print(json.dumps([seconds, max(memory.seen) - memory.seen[0]]))


def sampler(nodes: int, edges: int, folder: Path) -> None:
    """Time of a batch of 1,024 seeds with fan-outs 10, 10, 5."""
    import torch
    from torch_geometric.sampler import NodeSamplerInput

    from graph2tens.scale import WalkSampler

    torch.set_num_threads(1)
    draw = WalkSampler(build(nodes, edges, folder), [10, 10, 5], seed=0)
    seconds, sizes = [], []
    for number in range(20):
        seeds = torch.randperm(nodes, generator=torch.Generator().manual_seed(number))[:1024]
        started = time.process_time()
        sizes.append(draw.sample_from_nodes(NodeSamplerInput(None, seeds)).node.numel())
        seconds.append(time.process_time() - started)
    say(f"1,024 seeds, fan-outs 10, 10, 5: {np.median(seconds) * 1e3:.0f} ms of processor per batch of {np.mean(sizes):.0f} nodes")
