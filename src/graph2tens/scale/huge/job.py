"""What blocks of functionals share, as one file beside them; and one block: attributes and graph on disk -> one file of features.

A block is named by its functionals. Its file has the digest of the job's file, which holds everything that features depend on, so
blocks of two jobs cannot be mixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_arrays

from ...backends.fixed_order import Pattern, walk
from ...files import replacing
from ...sklearn.feature_loops import ROWS, plain, project
from .attention import head_walk
from .graph import GraphOnDisk

JOB = "_job.safetensors"
KEY = "graph2tens"
CHUNK = 2**16  # nodes whose attributes are read at a time

Floats = NDArray[Any]


@dataclass(frozen=True)
class Description:
    """Everything but arrays: the variant, where graph and attributes lie and what they are, the version of this library.

    `lanes` is the width of a block, which changes nothing but the cut of the files.
    """

    length: int
    increments: bool
    zero_start: bool
    time: bool
    num_nodes: int
    dtype: str
    graph: str
    graph_digest: str
    x: str
    x_digest: str
    version: str
    lanes: int
    negative_slope: float = 0.2


@dataclass(frozen=True, eq=False)
class WalkJob:
    """All blocks together.

    Attributes:
        description: see there.
        components: (M, d, R), or (M, d + 1, R) with time.
        coefficients: (M, R).
        bias: (M, R), zeros if there is none.
        centre: (d,), subtracted from the attributes before they are projected; zeros without increments.
        attention: (2, d, H), or (2, d, 0) without attention.
    """

    description: Description
    components: Floats
    coefficients: Floats
    bias: Floats
    centre: Floats
    attention: Floats

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First and last functional of each block; with attention a block is of one head."""
        R, width = self.components.shape[2], self.description.lanes
        share = R // max(1, self.attention.shape[2])
        return [(left, min(left + width, start + share)) for start in range(0, R, share) for left in range(start, start + share, width)]

    def to_bytes(self) -> bytes:
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in ARRAYS}
        return save_arrays(arrays, {KEY: json.dumps(asdict(self.description), sort_keys=True)})

    @classmethod
    def read(cls, folder: Path) -> WalkJob:
        path = folder / JOB
        try:
            with safe_open(path, framework="numpy") as file:
                description = Description(**json.loads((file.metadata() or {})[KEY]))
                arrays = {name: file.get_tensor(name) for name in ARRAYS}
        except FileNotFoundError:
            raise FileNotFoundError(f"{folder} holds no features of a graph on disk: {JOB} is missing.") from None
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} does not describe features of a graph on disk ({error}).") from None
        M, d, R = arrays["components"].shape
        expected = {"components": (M, d, R), "coefficients": (M, R), "bias": (M, R), "centre": (d - description.time,)}
        for name, shape in expected.items():
            if arrays[name].shape != shape or arrays[name].dtype.name != description.dtype:
                raise ValueError(
                    f"{path}: {name} must be {description.dtype} of shape {shape} (got {arrays[name].dtype}, {arrays[name].shape})."
                )
        return cls(description, **arrays)


ARRAYS = ("components", "coefficients", "bias", "centre", "attention")


def block_path(folder: Path, block: tuple[int, int]) -> Path:
    return folder / f"functionals-{block[0]:05d}-{block[1]:05d}.safetensors"


def make_block(folder: str, digest: str, block: tuple[int, int], num_threads: int = 1) -> None:
    """The unit of work: make the file of one block, unless it is there."""
    target = block_path(Path(folder), block)
    if target.exists():
        return
    content = (Path(folder) / JOB).read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{Path(folder) / JOB} changed while the job ran.")
    job = WalkJob.read(Path(folder))
    write_block(target, compute_block(job, block, num_threads), digest)


def compute_block(job: WalkJob, block: tuple[int, int], num_threads: int = 1) -> Floats:
    """(n, M, functionals of the block)."""
    told, (left, right) = job.description, block
    R = job.components.shape[2]
    # the recursion takes components in descending order
    components, bias, coefficients = (
        np.ascontiguousarray(values[..., left:right]) for values in (job.components[::-1], job.bias[::-1], job.coefficients)
    )
    shape, dtype = bias.shape, components.dtype
    tau = components[:, 0].copy() if told.time else np.zeros(shape, dtype)
    vectors = np.ascontiguousarray((components[:, 1:] if told.time else components).transpose(1, 0, 2)).reshape(job.centre.size, -1)
    graph = GraphOnDisk(told.graph)
    x = open_attributes(Path(told.x), graph.num_nodes)
    a = np.empty((graph.num_nodes, *shape), dtype)
    for first, last, rows in centred_rows(x, job.centre):
        a[first:last] = fixed_product(rows, vectors).reshape(-1, *shape)
        if not told.increments:
            a[first:last] += bias
    offset = fixed_product(job.centre[None], vectors).reshape(shape) + bias if told.increments else np.zeros(shape, dtype)
    p = graph.probabilities
    pattern = Pattern(graph.row_ptr, graph.col, np.zeros(0, np.float32) if p is None else p)
    if job.attention.shape[2]:
        head = left // (R // job.attention.shape[2])
        nothing = np.zeros_like(job.centre)
        scores = np.concatenate([fixed_product(rows, job.attention[:, :, head].T) for _, _, rows in centred_rows(x, nothing)])
        pattern = head_walk(pattern, scores, told.negative_slope)
    return walk(
        pattern,
        a,
        tau,
        np.concatenate([np.ones((1, right - left), dtype), coefficients]),
        length=told.length,
        increments=told.increments,
        offset=offset if told.zero_start or not told.increments else None,
        num_threads=num_threads,
    )


def write_block(path: Path, features: Floats, digest: str) -> None:
    """A safetensors file with one array, written some rows at a time: no copy of it is made."""
    kind = {"float32": "F32", "float64": "F64"}[features.dtype.name]
    size = features.size * features.itemsize
    header: dict[str, Any] = {
        "__metadata__": {KEY: digest},
        "features": {"dtype": kind, "shape": features.shape, "data_offsets": [0, size]},
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)  # rows begin at a line of the cache
    with replacing(path) as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for first in range(0, features.shape[0], CHUNK):
            stream.write(np.ascontiguousarray(features[first : first + CHUNK]).data)


def map_block(path: Path, shape: tuple[int, ...], dtype: str, digest: str) -> Floats:
    """The array of a block, mapped into memory; refused if it is of another job."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(length, 2**16)))
        described, found = header["features"], header["__metadata__"][KEY]
    except (ValueError, KeyError):
        raise ValueError(f"{path} is not a block of features.") from None
    if found != digest:
        raise ValueError(f"{path} was made by another job than {JOB} beside it describes: the two must not be mixed.")
    expected = (list(shape), 8 + length + int(np.prod(shape)) * np.dtype(dtype).itemsize)
    if (described["shape"], path.stat().st_size) != expected:
        raise ValueError(f"{path} must have shape {shape} (got {described['shape']} in {path.stat().st_size} bytes).")
    return np.memmap(path, dtype=dtype, mode="r", offset=8 + length, shape=shape)


def open_attributes(path: Path, n: int) -> Floats:
    """(n, d), mapped into memory."""
    x: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    if x.ndim != 2 or x.shape[0] != n or x.dtype.kind != "f":
        raise ValueError(f"{path} must hold floating numbers of shape ({n}, attributes), one row for each node (got {x.dtype}, {x.shape}).")
    return x


def centred_rows(x: Floats, centre: Floats) -> Iterator[tuple[int, int, Floats]]:
    """Some rows at a time, in the type of the centre, which is subtracted."""
    for first in range(0, x.shape[0], CHUNK):
        last = min(first + CHUNK, x.shape[0])
        yield first, last, x[first:last].astype(centre.dtype) - centre


def fixed_product(rows: Floats, vectors: Floats) -> Floats:
    """rows @ vectors, each number by sums in the order of the columns: BLAS has another order for every shape."""
    count, d = rows.shape
    padded = np.zeros((count + -count % ROWS, d + -d % ROWS), rows.dtype)
    padded[:count, :d] = rows
    out = np.empty((padded.shape[0], vectors.shape[1]), rows.dtype)
    project(padded, plain(np.pad(vectors, [(0, padded.shape[1] - d), (0, 0)])), out)
    return out[:count]
