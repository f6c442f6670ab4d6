"""Rank-1 functionals of all walks on a graph that fills the machine, a block of functionals at a time, from files to files.

Functional r of the recursion never reads functional s. So a block of them needs the graph, the projections of its own components and
a few states of its own, and nothing of the other blocks: no partition of the graph, no exchange, no barrier.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...backends.fixed_order import arrays_at_once
from ...checks import check_coefficients, check_integer
from ...files import remove_leftovers, replacing
from ...training.provenance import cores
from ..engines import check_engine, run_tasks
from .graph import GraphOnDisk
from .job import CHUNK, JOB, Description, WalkJob, block_path, make_block, map_block, open_attributes

WIDTHS = (32, 16, 8, 4)  # lanes of a block; with fewer, a neighbour's row is less than a line of the cache
ATTRIBUTES = "_attributes.npy"

Floats = NDArray[Any]


def low_rank_features(
    x: Any,
    graph: GraphOnDisk | str | Path,
    components: Any,
    *,
    length: int,
    out: str | Path,
    increments: bool = True,
    zero_start: bool = True,
    time: bool = False,
    coefficients: Any = None,
    bias: Any = None,
    memory: int | str | None = None,
    engine: str = "local",
    workers: int | None = 1,
    address: str | None = None,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> FeaturesOnDisk:
    """:func:`graph2tens.low_rank_features` of all nodes of a graph on disk, as files.

    Killed at any time and called again, it goes on with the blocks that are missing. Bits do not depend on the memory, the engine, the
    workers or the threads.

    Args:
        x: attributes (n, d): a file ``.npy``, which is read in pieces, or an array, which is written to `out` first.
        graph: as :meth:`GraphOnDisk.build` made it.
        components: (M, d, R), or (M, d + 1, R) with time. Their type, float32 or float64, is that of the features.
        length, increments, zero_start, time, coefficients, bias: as for :func:`graph2tens.low_rank_features`.
        out: folder of the features.
        memory: bytes, or a text like "8GiB", for all workers on this machine together; half of the machine's by default. The widest
            block that fits is taken.
        engine, workers, address: see :mod:`graph2tens.scale.engines`; one worker is this process.
        threads: of one worker; they share its states, so they are the cheaper way to use a machine's cores.
        on_progress: is told the number of functionals done, and of all.
    """
    check_engine(engine, address)
    graph = graph if isinstance(graph, GraphOnDisk) else GraphOnDisk(graph)
    folder = Path(out)
    arrays = as_arrays(components, coefficients, bias)
    job = plan_walk(
        attributes_file(x, folder, graph.num_nodes), graph, *arrays, length=length, increments=increments, zero_start=zero_start, time=time
    )
    count = workers or cores()
    job = keep_or_choose(folder, job, as_bytes(memory), graph, count)
    return run_walk(folder, job, engine=engine, workers=count, address=address, threads=threads, on_progress=on_progress)


def plan_walk(
    x: Path,
    graph: GraphOnDisk,
    components: Floats,
    coefficients: Floats,
    bias: Floats,
    *,
    length: int,
    increments: bool,
    zero_start: bool,
    time: bool,
    attention: Floats | None = None,
    negative_slope: float = 0.2,
) -> WalkJob:
    """What all blocks share, for the widest block; reads all attributes once, for their centre and digest."""
    check_integer(length, "length", 0, " (the number of steps)")
    values = open_attributes(x, graph.num_nodes)
    if components.shape[1] != values.shape[1] + bool(time):
        raise ValueError(
            f"`components` must have shape (degree, {values.shape[1] + bool(time)}, rank) to match `x` (got {components.shape})."
        )
    centre, digest = centre_and_digest(values)
    description = Description(
        length=length,
        increments=bool(increments),
        zero_start=bool(zero_start),
        time=bool(time),
        num_nodes=graph.num_nodes,
        dtype=components.dtype.name,
        graph=str(graph.folder.absolute()),
        graph_digest=graph.digest,
        x=str(x.absolute()),
        x_digest=digest,
        version=importlib.metadata.version("graph2tens"),
        lanes=WIDTHS[0],
        negative_slope=float(negative_slope),
    )
    centre = (centre if increments else np.zeros_like(centre)).astype(components.dtype)
    none = np.zeros((2, values.shape[1], 0), components.dtype)
    return WalkJob(description, components, coefficients, bias, centre, none if attention is None else attention)


def run_walk(
    folder: Path,
    job: WalkJob,
    *,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> FeaturesOnDisk:
    """Make the blocks that are not there."""
    content = job.to_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if not (folder / JOB).exists():
        with replacing(folder / JOB) as stream:
            stream.write(content)
    each = threads or (cores() if engine == "local" and workers == 1 else 1)
    tasks = [(str(folder.absolute()), digest, block, each) for block in job.blocks if not block_path(folder, block).exists()]
    total = job.components.shape[2]
    done = total - sum(right - left for _, _, (left, right), _ in tasks)
    for number, _ in run_tasks(make_block, tasks, engine=engine, workers=workers, address=address):
        left, right = tasks[number][2]
        done += right - left
        if on_progress is not None:
            on_progress(done, total)
    for block in job.blocks:
        remove_leftovers(block_path(folder, block))
    return open_features(folder)


class FeaturesOnDisk:
    """Features (n, M, R) of a graph on disk, read from files that are mapped into memory: ``z[rows]`` is an array."""

    def __init__(self, folder: Path, job: WalkJob, digest: str) -> None:
        M, _, R = job.components.shape
        self.folder, self.dtype = folder, np.dtype(job.description.dtype)
        self.shape = (job.description.num_nodes, M, R)
        missing = [block for block in job.blocks if not block_path(folder, block).exists()]
        if missing:
            raise ValueError(f"{folder} is not finished: {len(missing)} of {len(job.blocks)} blocks are missing. The same call goes on.")
        n = self.shape[0]
        self._blocks = [
            (left, right, map_block(block_path(folder, (left, right)), (n, M, right - left), self.dtype.name, digest))
            for left, right in job.blocks
        ]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Floats:
        """(rows, M, R); `rows` is a node, a slice, or an array of nodes or of truth values."""
        parts = [np.asarray(block[rows]) for _, _, block in self._blocks]
        return np.concatenate(parts, axis=-1)

    def __repr__(self) -> str:
        return f"FeaturesOnDisk({str(self.folder)!r}, shape={self.shape}, dtype={self.dtype})"


def open_features(folder: str | Path) -> FeaturesOnDisk:
    """Open the features that :func:`low_rank_features` made; refused if they are not finished, or of several jobs."""
    folder = Path(folder)
    job = WalkJob.read(folder)
    return FeaturesOnDisk(folder, job, hashlib.sha256((folder / JOB).read_bytes()).hexdigest())


def centre_and_digest(x: Floats) -> tuple[Floats, str]:
    """The mean row, by sums in double precision over pieces of fixed size, and a digest of type, shape and numbers."""
    total, digest = np.zeros(x.shape[1]), hashlib.sha256(f"{x.dtype.str} {x.shape}".encode())
    for first in range(0, x.shape[0], CHUNK):
        rows = np.ascontiguousarray(x[first : first + CHUNK])
        if not np.isfinite(rows).all():
            row = first + int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise ValueError(f"`x` must be finite (got NaN or infinity at node {row}).")
        digest.update(rows.data)
        total += np.add.reduce(rows, axis=0, dtype=np.float64)
    return total / max(1, x.shape[0]), digest.hexdigest()


def attributes_file(x: Any, folder: Path, n: int) -> Path:
    """The file of the attributes; an array is written to one."""
    if isinstance(x, (str, Path)):
        return Path(x)
    values = x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    if values.ndim != 2 or values.shape[0] != n or values.dtype.kind != "f":
        raise ValueError(
            f"`x` must hold floating numbers of shape ({n}, attributes), one row for each node (got {values.dtype}, {values.shape})."
        )
    path = folder / ATTRIBUTES
    with replacing(path) as stream:
        np.save(stream, values)
    return path


def as_bytes(memory: int | str | None) -> int:
    """Of a text like "8GiB"; None is half of the machine's memory."""
    if memory is None:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 if hasattr(os, "sysconf") else 4 * 2**30
    if isinstance(memory, int):
        return memory
    units = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9, "B": 1}
    for unit, size in units.items():
        if memory.endswith(unit):
            try:
                return int(float(memory.removesuffix(unit)) * size)
            except ValueError:
                break
    raise ValueError(f"`memory` must be a number of bytes or a text like '8GiB' (got {memory!r}).")


def memory_of_block(graph: GraphOnDisk, job: WalkJob, lanes: int, workers: int = 1) -> int:
    """Bytes for the graph, which workers share, and the states of each worker."""
    told, components = job.description, job.components
    pattern = 8 * graph.num_nodes + graph.num_entries * (graph.col.itemsize + 4 * (graph.probabilities is not None))
    arrays = arrays_at_once(len(components), increments=told.increments, start=told.zero_start, time=told.time)
    return pattern + int(workers * arrays * graph.num_nodes * len(components) * lanes * components.itemsize) + 2**27


def keep_or_choose(folder: Path, job: WalkJob, memory: int, graph: GraphOnDisk, workers: int) -> WalkJob:
    """With the width of blocks that an earlier call chose, or the widest that fits."""
    needs = {width: memory_of_block(graph, job, width, workers) for width in WIDTHS}
    if (folder / JOB).exists():
        known = WalkJob.read(folder)
        job = replace(job, description=replace(job.description, lanes=known.description.lanes))
        for name, value in vars(known.description).items():
            if value != getattr(job.description, name):
                raise ValueError(
                    f"{folder} holds features with {name}={value!r} (got {getattr(job.description, name)!r}). Choose another folder."
                )
        if known.to_bytes() != job.to_bytes():
            raise ValueError(f"{folder} holds features of other functionals. Choose another folder.")
        return job
    share = job.components.shape[2] // max(1, job.attention.shape[2])
    for width, need in needs.items():
        if need <= memory and (width < 2 * share or width == WIDTHS[-1]):
            return replace(job, description=replace(job.description, lanes=width))
    raise MemoryError(
        f"blocks of {WIDTHS[-1]} functionals take {needs[WIDTHS[-1]] / 2**30:.1f} GiB with {workers} workers, more than the "
        f"{memory / 2**30:.1f} GiB of `memory`. Give more, or fewer workers."
    )


def as_arrays(components: Any, coefficients: Any, bias: Any) -> tuple[Floats, Floats, Floats]:
    """Components (M, d, R), coefficients (M, R), bias (M, R), all of the type of the components."""
    u = torch.as_tensor(components).detach().cpu()
    if u.dim() != 3 or u.dtype not in (torch.float32, torch.float64) or not bool(torch.isfinite(u).all()):
        raise ValueError(
            f"`components` must be finite, of shape (degree, in_channels, rank), float32 or float64 (got {u.dtype}, {tuple(u.shape)})."
        )
    M, _, R = u.shape
    given = None if coefficients is None else torch.as_tensor(coefficients).detach().cpu().to(u.dtype)
    c = check_coefficients(given, M, u, R)
    c = c if c.dim() == 2 else c.unsqueeze(1).expand(M, R)
    b = torch.zeros(M, R, dtype=u.dtype) if bias is None else torch.as_tensor(bias).detach().cpu().to(u.dtype)
    if tuple(b.shape) != (M, R):
        raise ValueError(f"`bias` must have shape (degree, rank) = ({M}, {R}) (got {tuple(b.shape)}).")
    return u.numpy(), c.contiguous().numpy(), b.numpy()
