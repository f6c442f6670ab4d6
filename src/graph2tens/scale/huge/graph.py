"""A graph on disk: the transition probabilities of its walk in CSR, in as few bytes as will do, mapped into memory by whoever reads them.

A folder of ``row_ptr.npy`` (n + 1, int64), ``col.npy`` (entries, int32; int64 from 2^31 nodes), ``probabilities.npy`` (entries, float32;
only if the steps out of some node are not all alike) and ``graph.json``. The direction is that of `walks.py`: the walker steps from src
to dst, and a node without out-edges has one entry, to itself.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import check_integer, check_laziness
from ...files import making_folder, write_json
from ..parquet import parquet_files
from . import sorting

ROW_PTR, COL, PROBABILITIES, DESCRIPTION = "row_ptr.npy", "col.npy", "probabilities.npy", "graph.json"
CHUNK = 2**22  # edges that are read at a time

Edges = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]


class GraphOnDisk:
    """The walk on a graph in a folder; make it with :meth:`build`, open it by ``GraphOnDisk(folder)``.

    Attributes:
        folder: where it lies.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        _ = self.facts  # says at once if there is no graph

    @classmethod
    def build(
        cls,
        edges: Any,
        folder: str | Path,
        *,
        num_nodes: int,
        undirected: bool = False,
        self_loops: bool = False,
        laziness: float = 0.0,
        on_progress: Callable[[int], None] | None = None,
    ) -> GraphOnDisk:
        """Sort edges into a folder, in two passes over them.

        Args:
            edges: a Parquet file or a folder of them with the columns ``src``, ``dst`` and optionally ``weight``; a file ``.npy``, an array
                or a tensor (2, E); or a function without arguments that returns an iterator over (src, dst) or (src, dst, weight).
            folder: is made; must not exist.
            num_nodes: n; nodes are 0 to n - 1.
            undirected: every edge is given once and can be walked both ways.
            self_loops: add an edge of weight 1 from every node without a self-loop to itself.
            laziness: probability to stay put in a step.
            on_progress: is told the number of edges read so far, in each pass anew.

        Weights of parallel edges add. The same edges in another order give the same walk.
        """
        n = check_integer(num_nodes, "num_nodes", 1)
        laziness = check_laziness(laziness)

        def read() -> Iterator[Edges]:
            seen = 0
            for src, dst, weight in edge_chunks(edges, n):
                yield src, dst, weight
                if undirected:
                    others = src != dst  # a self-loop is its own way back
                    yield dst[others], src[others], None if weight is None else weight[others]
                seen += src.size
                if on_progress is not None:
                    on_progress(seen)

        with making_folder(folder) as unfinished:
            _write(unfinished, n, read, self_loops, laziness)
        return cls(folder)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Content of ``graph.json``: numbers of nodes and entries, whether steps are alike, and a digest of all arrays."""
        path = self.folder / DESCRIPTION
        try:
            facts: dict[str, Any] = json.loads(path.read_bytes())
            if facts["format"] != 1 or not all(isinstance(facts[name], int) for name in ("num_nodes", "num_entries")):
                raise ValueError("another format")
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.folder} holds no graph: {DESCRIPTION} is missing. GraphOnDisk.build makes one.") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} does not describe a graph of graph2tens ({error}).") from None
        return facts

    @property
    def num_nodes(self) -> int:
        return int(self.facts["num_nodes"])

    @property
    def num_entries(self) -> int:
        """Steps between nodes, parallel edges counted once, steps of nodes that stay put included."""
        return int(self.facts["num_entries"])

    @property
    def digest(self) -> str:
        return str(self.facts["digest"])

    @cached_property
    def row_ptr(self) -> NDArray[np.int64]:
        """(n + 1,); entries ``row_ptr[i]`` to ``row_ptr[i + 1]`` are the steps out of node i."""
        return self._array(ROW_PTR, (self.num_nodes + 1,), (np.int64,))

    @cached_property
    def col(self) -> NDArray[Any]:
        """(entries,), ascending in a row."""
        return self._array(COL, (self.num_entries,), (np.int32, np.int64))

    @cached_property
    def probabilities(self) -> NDArray[np.float32] | None:
        """(entries,), or None if a node's steps all have the same: 1 over their number."""
        return self._array(PROBABILITIES, (self.num_entries,), (np.float32,)) if self.facts["weighted"] else None

    def check(self) -> None:
        """Read everything: is the folder as it was written? The loops that walk on it trust it."""
        if digest_of(self.folder) != self.digest:
            raise ValueError(f"{self.folder} is not as it was written: its checksum differs.")

    def _array(self, name: str, shape: tuple[int, ...], dtypes: tuple[type, ...]) -> NDArray[Any]:
        array: NDArray[Any] = np.load(self.folder / name, mmap_mode="c", allow_pickle=False)  # compiled for writable arrays
        if array.shape != shape or array.dtype not in dtypes:
            raise ValueError(
                f"{self.folder / name} must be {np.dtype(dtypes[0]).name} of shape {shape} (got {array.dtype}, {array.shape})."
            )
        return array

    def __repr__(self) -> str:
        return f"GraphOnDisk({str(self.folder)!r}, num_nodes={self.num_nodes}, num_entries={self.num_entries})"


def _write(folder: Path, n: int, read: Callable[[], Iterator[Edges]], self_loops: bool, laziness: float) -> None:
    """Count the edges of every node, put them in their places, sort and merge each row."""
    kind = np.dtype(np.int32 if n < 2**31 else np.int64)
    loops = sorting.loops(kind.name)
    ptr = np.zeros(n + 1, np.int64)
    looped = np.zeros(n if self_loops else 0, np.bool_)
    weighted = False
    for src, dst, weight in read():
        loops.count(src, ptr)
        weighted |= weight is not None
        if self_loops:
            looped[src[src == dst]] = True
    added = np.flatnonzero(~looped) if self_loops else np.flatnonzero(ptr[1:] == 0)
    loops.count(added, ptr)
    np.cumsum(ptr, out=ptr)
    total, none = int(ptr[-1]), np.zeros(0)
    # In files from the start, so that the system may take the memory back; the final ones are shorter where edges were parallel.
    col = _file(folder / "unsorted.npy", kind, total)
    weights = _file(folder / "weights.npy", np.float64, total) if weighted else none
    place = ptr[:-1].copy()
    for src, dst, weight in read():
        loops.put(src, dst, none if weight is None else weight, weighted, place, col, weights)
    loops.put(added, added, none, weighted, place, col, weights)
    if not np.array_equal(place, ptr[1:]):
        raise ValueError("`edges` must be the same whenever they are read (got others in the second pass).")
    del place
    merged = np.zeros(n + 1, np.int64)
    uneven = loops.sort_rows(ptr, col, weights, merged)  # parallel edges are a weight, too
    if laziness:
        merged[1:] += loops.without_loop(ptr, col)
    np.cumsum(merged, out=merged)
    entries, keeps = int(merged[-1]), bool(weighted or uneven or laziness)
    final = _file(folder / COL, kind, entries)
    p = _file(folder / PROBABILITIES, np.float32, entries) if keeps else np.zeros(0, np.float32)
    bad = loops.merge_rows(ptr, col, weights, laziness, merged, final, p)
    if bad >= 0:
        raise ValueError(f"`edges` must have weights of a positive, finite sum at every node that has out-edges (not so at node {bad}).")
    _file(folder / ROW_PTR, merged.dtype, n + 1)[:] = merged
    del col, weights, final, p  # which brings them to their files
    for name in ("unsorted.npy", "weights.npy"):
        (folder / name).unlink(missing_ok=True)
    facts: dict[str, Any] = {
        "format": 1,
        "num_nodes": n,
        "num_entries": entries,
        "weighted": keeps,
        "self_loops": self_loops,
        "laziness": laziness,
    }
    facts["digest"] = digest_of(folder)
    write_json(folder / DESCRIPTION, facts)


def _file(path: Path, dtype: Any, size: int) -> NDArray[Any]:
    """An array in a file, which has its room on the disk from the start: to write to a map without room ends the process (SIGBUS)."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (size,)}
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        stream.flush()
        total = stream.tell() + size * np.dtype(dtype).itemsize
        try:
            os.posix_fallocate(stream.fileno(), 0, total)
        except (AttributeError, OSError) as error:  # macOS has it not, and some file systems cannot
            if getattr(error, "errno", errno.ENOSYS) not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
                raise
            stream.truncate(total)
    array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r+")
    return array


def digest_of(folder: Path) -> str:
    """Of the arrays of a graph."""
    digest = hashlib.sha256()
    for name in (ROW_PTR, COL, PROBABILITIES):
        if (folder / name).exists():
            with (folder / name).open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def edge_chunks(edges: Any, n: int) -> Iterator[Edges]:
    """The edges, some at a time, after a check."""
    for chunk in _source(edges):
        src, dst, *rest = chunk
        ends = [np.ascontiguousarray(end) for end in (src, dst)]
        weight = np.ascontiguousarray(rest[0], dtype=np.float64) if rest and rest[0] is not None else None
        for end, name in zip(ends, ("src", "dst"), strict=True):
            if end.ndim != 1 or end.dtype.kind not in "iu" or end.size != ends[0].size:
                raise ValueError(f"`edges` must have as many integers `src` as `dst` (got {name} of {end.dtype} and shape {end.shape}).")
            if end.size and not (end.min() >= 0 and end.max() < n):
                wrong = end.min() if end.min() < 0 else end.max()
                raise ValueError(f"`edges` must be between the nodes 0..{n - 1} (got node {wrong}).")
        if weight is not None and (weight.shape != ends[0].shape or not np.isfinite(weight).all() or (weight < 0).any()):
            raise ValueError("`edges` must have one weight for each edge, finite and not negative.")
        yield ends[0].astype(np.int64, copy=False), ends[1].astype(np.int64, copy=False), weight


def _source(edges: Any) -> Iterator[Sequence[Any]]:
    if callable(edges):
        yield from edges()
        return
    if isinstance(edges, (str, Path)):
        path = Path(edges)
        if path.suffix == ".npy":
            try:
                edges = np.load(path, mmap_mode="r", allow_pickle=False)
            except (ValueError, EOFError) as error:
                raise ValueError(f"{path} must be a file .npy of integers (2, E) ({error}).") from None
        else:
            yield from _parquet(path)
            return
    array = edges if isinstance(edges, np.ndarray) else edges.detach().cpu().numpy() if hasattr(edges, "detach") else np.asarray(edges)
    if array.ndim != 2 or array.shape[0] != 2:
        raise ValueError(f"`edges` must have shape (2, E) (got {array.shape}).")
    for start in range(0, array.shape[1], CHUNK):
        yield array[0, start : start + CHUNK], array[1, start : start + CHUNK]


def _parquet(path: Path) -> Iterable[Sequence[Any]]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'graph2tens[data]', or give a file .npy.") from None
    files = parquet_files(path)
    if not files:
        raise FileNotFoundError(f"there is no file *.parquet in {path}.")
    for file in files:
        with pq.ParquetFile(file) as opened:
            names = opened.schema_arrow.names
            if not {"src", "dst"} <= set(names):
                raise ValueError(f"{file} must have the columns src and dst (got {', '.join(names)}).")
            wanted = ["src", "dst", *(["weight"] if "weight" in names else [])]
            for batch in opened.iter_batches(batch_size=CHUNK, columns=wanted):
                yield [batch.column(name).to_numpy(zero_copy_only=False) for name in wanted]
