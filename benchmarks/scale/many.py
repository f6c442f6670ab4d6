"""Features of many small graphs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from .measures import Memory, say

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


def digests(folder: Path) -> dict[str, bytes]:
    import hashlib

    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest() for path in sorted(folder.rglob("*")) if path.is_file()
    }
