"""What `graph2tens.scale` takes: ``python -m benchmarks.scale many|huge|blocks|build|sampler|train|resume --help``.

Everything that is made goes to a temporary folder and is deleted. Processor seconds are the measure on a machine that does other work too;
speed-ups between numbers of workers mean something on a quiet one only, so the load is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

PER_FILE = 2000


def molecule_table(count: int, first: int, rng: np.random.Generator) -> Any:
    """Graphs like molecules, 25.0 nodes and 52.9 directed edges on average: trees with some rings, and labels of atoms."""
    import pyarrow as pa

    sizes = rng.integers(15, 36, count)
    starts = np.cumsum(sizes) - sizes
    graph = np.repeat(np.arange(count), sizes)
    node = np.arange(sizes.sum()) - starts[graph]
    inner = node > 0
    child, owner = node[inner], graph[inner]
    parent = child - 1 - (rng.random(child.size) * np.minimum(child, 4)).astype(np.int64)
    rings = rng.integers(0, 6, count)
    ring_owner = np.repeat(np.arange(count), rings)
    ends = (rng.random((2, ring_owner.size)) * sizes[ring_owner]).astype(np.int64)
    ends, ring_owner = ends[:, ends[0] != ends[1]], ring_owner[ends[0] != ends[1]]
    src = np.concatenate([child, parent, ends[0], ends[1]])
    dst = np.concatenate([parent, child, ends[1], ends[0]])
    order = np.argsort(np.concatenate([owner, owner, ring_owner, ring_owner]), kind="stable")
    edges = np.bincount(np.concatenate([owner, owner, ring_owner, ring_owner]), minlength=count)

    def lists(values: Any, lengths: Any) -> Any:
        return pa.ListArray.from_arrays(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32), pa.array(values.astype(np.int32)))

    labels = rng.choice(9, sizes.sum(), p=[0.6, 0.12, 0.12, 0.05, 0.03, 0.03, 0.02, 0.02, 0.01])
    columns = {
        "id": np.arange(first, first + count),
        "num_nodes": sizes.astype(np.int32),
        "src": lists(src[order], edges),
        "dst": lists(dst[order], edges),
        "label": lists(labels, sizes),
        "y": rng.integers(0, 2, count),
    }
    return pa.table(columns)


def many(graphs: int, engines: list[str], layers: int, functionals: int, waves: int, folder: Path) -> None:
    """Features of many graphs, by each engine, against one process: bits, processor time, wall time, memory."""
    import pyarrow.parquet as pq

    from graph2tens.scale import apply_features, check_features
    from graph2tens.scale.many.rows import graphs_of_rows
    from graph2tens.sklearn import GraphTensFeatures

    rng = np.random.default_rng(0)
    (folder / "in").mkdir()
    for first in range(0, graphs, PER_FILE):
        pq.write_table(molecule_table(min(PER_FILE, graphs - first), first, rng), folder / "in" / f"{first:08d}.parquet")
    sample = graphs_of_rows(pq.read_table(folder / "in" / "00000000.parquet").to_batches()[0])
    features = GraphTensFeatures(n_layers=layers, n_functionals=functionals, n_waves=waves, random_state=0).fit(sample)
    say(f"{graphs:,} graphs, {features.n_features_out_} columns, {-(-graphs // PER_FILE)} files")
    reference: dict[str, bytes] = {}
    for entry in engines:
        engine, workers = entry.split(":")
        out = folder / entry.replace(":", "-")
        with Memory() as memory:
            summary = apply_features(features, folder / "in", out, engine=engine, workers=int(workers))
        found = digests(out)
        reference = reference or found
        tenth = max(1, len(memory.seen) // 10)
        early, late = (np.median(part or [0]) for part in (memory.seen[tenth : 2 * tenth], memory.seen[-tenth:]))
        say(
            f"{engine:6} {workers} workers: {summary.processor_seconds:7.1f} processor s in tasks, {summary.seconds:7.1f} s, "
            f"{graphs / summary.seconds:6.0f} graphs/s, memory of all workers {max(memory.seen, default=0) / 2**20:.0f} MiB at most, "
            f"second tenth {early / 2**20:.0f}, last tenth {late / 2**20:.0f}; {'equal' if found == reference else 'OTHER'} bytes"
        )
        if entry == engines[-1]:
            say(f"check: {check_features(out, folder / 'in').problems or 'no problems'}")
        if entry != engines[0]:
            shutil.rmtree(out)


class Memory:
    """Private memory of this process and all its children, twice a second; or of this process alone, which costs less, more often."""

    def __init__(self, every: float = 0.5, alone: bool = False) -> None:
        self._every, self._alone = every, alone

    def __enter__(self) -> Memory:
        self.seen: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        import psutil

        while not self._stop.wait(self._every):
            total = 0
            own = psutil.Process()
            for process in [own, *([] if self._alone else own.children(recursive=True))]:
                try:
                    total += process.memory_info().rss - process.memory_info().shared
                except psutil.Error:
                    continue
            self.seen.append(total)


def digests(folder: Path) -> dict[str, bytes]:
    import hashlib

    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest() for path in sorted(folder.rglob("*")) if path.is_file()
    }


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
        command = [sys.executable, "-W", "ignore", "-c", f"from benchmarks.scale import in_blocks; in_blocks({str(folder)!r}, {width})"]
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


def train(epochs: int, repeat: int, folder: Path) -> None:
    """NCI1 with one process of one thread, and with two such processes that share every batch, taking turns.

    On a busy machine the seconds of an epoch say little; processor seconds of the first process say what a quiet one could reach.
    """
    took: dict[int, float] = {}
    for turn in range(repeat):
        for devices in (1, 2):
            before = children_seconds()
            record = finished(training(epochs, devices, folder / f"{devices}-{turn}"))
            own = children_seconds() - before  # of the first process: it does not wait for the others
            seconds = record["seconds_per_epoch"]
            took[devices] = min(seconds, took.get(devices, seconds))
            say(
                f"{devices} processes: {seconds:.2f} s per epoch, {own:.1f} processor s of the first with its start, "
                f"test accuracy {record['test_accuracy']}"
            )
    say(f"two processes take {took[2] / took[1]:.2f} of the time of one (best of {repeat} each)")


def resume(epochs: int, devices: int, kills: int, folder: Path) -> None:
    """NCI1 with several processes, undisturbed, and killed again and again some random seconds after its first save, then resumed."""
    whole, killed = folder / "whole", folder / "killed"
    expected = finished(training(epochs, devices, whole))
    rng, state = np.random.default_rng(0), killed / "state.pt"
    for number in range(kills):
        earlier = state.stat().st_mtime_ns if state.exists() else 0
        process = training(epochs, devices, killed, *["--resume"] * state.exists())
        while not (state.exists() and state.stat().st_mtime_ns > earlier):
            if process.poll() is not None:
                raise SystemExit(f"it ended before it could be killed: give more than {epochs} epochs")
            time.sleep(0.05)
        seconds = rng.uniform(0, 5)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        say(f"kill {number + 1} of {kills}, {seconds:.1f} s after a save")
    found = finished(training(epochs, devices, killed, "--resume"))
    equal = all((whole / name).read_bytes() == (killed / name).read_bytes() for name in ("best.safetensors", "last.safetensors"))
    equal &= found["test_accuracy"] == expected["test_accuracy"]
    say(f"{epochs} epochs in {devices} processes, killed {kills} times: {'equal' if equal else 'OTHER'} weights and test accuracy")


def training(epochs: int, devices: int, out: Path, *options: str) -> subprocess.Popen[str]:
    """A training of NCI1 in a group of processes of its own, each with one thread."""
    command = [sys.executable, "-W", "ignore", "-m", "graph2tens", "train", "NCI1", "--epochs", str(epochs), "--out", str(out), *options]
    command += ["--devices", str(devices), "--device", "cpu", "--threads", "1", "--no-report", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The record of a training."""
    out, errors = process.communicate()
    if process.returncode:
        raise SystemExit(errors)
    record: dict[str, Any] = json.loads(out.splitlines()[-1])
    return record


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def say(text: str) -> None:
    print(f"[load {os.getloadavg()[0]:.1f}] {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="where temporary folders are made")
    commands = parser.add_subparsers(dest="command", required=True)
    options: dict[str, dict[str, Any]] = {
        "many": {"graphs": 200_000, "engines": "local:1,local:2,dask:2", "layers": 3, "functionals": 64, "waves": 128},
        "huge": {"nodes": 10**7, "edges": 10**8, "rank": 64, "memory": "7GiB", "threads": 2, "checked": 1000, "at_a_time": 0},
        "blocks": {"nodes": 2_500_000, "edges": 10**7, "rank": 64},
        "build": {"nodes": 2_500_000, "edges": 10**7},
        "sampler": {"nodes": 2_500_000, "edges": 10**7},
        "train": {"epochs": 3, "repeat": 2},
        "resume": {"epochs": 8, "devices": 2, "kills": 2},
    }
    for name, defaults in options.items():
        command = commands.add_parser(name, help=globals()[name].__doc__)
        for option, value in defaults.items():
            command.add_argument(f"--{option.replace('_', '-')}", type=type(value), default=value)
    given = vars(parser.parse_args())
    function, place = globals()[given.pop("command")], given.pop("folder")
    if "engines" in given:
        given["engines"] = given["engines"].split(",")
    with tempfile.TemporaryDirectory(dir=place) as folder:
        function(**given, folder=Path(folder))


if __name__ == "__main__":
    main()
