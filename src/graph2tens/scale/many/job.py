"""A job: features of all graphs in a folder of Parquet files. Planned first, so that its size and time are known before it starts.

The output folder holds one Parquet file for each input file (or for each part of a large one), under the same name, beside
``_features.safetensors``, the fitted estimator, and ``_errors/``, the rows that are no graphs. Names that begin with an underscore are
skipped by whatever reads a folder of Parquet files.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ...checks import check_integer
from ...files import remove_leftovers, replacing
from ...sklearn import GraphTensFeatures
from ...training.provenance import cores
from ..engines import check_engine, run_tasks
from ..parquet import parquet_files
from .arrow import DTYPES, output_schema, transform_rows
from .fitted import features_bytes, load_features
from .task import Done, Settings, Shard, apply_to_shard, expected_facts, facts_of, one_thread, rows_of

FEATURES, ERRORS = "_features.safetensors", "_errors"
ROWS_PER_FILE = 2000  # tasks of some seconds: long beside what an engine takes for one, short beside what a lost worker costs
SAMPLE = 64  # graphs whose features are timed before a job


@dataclass(frozen=True)
class Progress:
    """How far a job is: graphs and files done so far, of how many; failed graphs; graphs per second and seconds left as measured."""

    graphs: int
    total: int
    files: int
    errors: int
    rate: float
    seconds_left: float


@dataclass(frozen=True)
class Summary:
    """What a job did.

    Attributes:
        graphs: rows with features, those found from earlier runs included.
        errors: rows that are no graphs; ``out/_errors`` has them.
        files: output files, of which `found` were there already.
        seconds: wall time.
        processor_seconds: in tasks.
    """

    graphs: int
    errors: int
    files: int
    found: int
    seconds: float
    processor_seconds: float


@dataclass(frozen=True)
class Job:
    """What would be done; :meth:`run` does it. Make it with :func:`plan_features`."""

    features: GraphTensFeatures
    out: Path
    shards: tuple[Shard, ...]
    settings: Settings

    @property
    def graphs(self) -> int:
        """Rows of all input files."""
        return sum(shard.rows for shard in self.shards)

    @property
    def waiting(self) -> tuple[Shard, ...]:
        """Shards whose file is not there yet."""
        return tuple(shard for shard in self.shards if not Path(shard.target).exists())

    @property
    def left(self) -> int:
        """Rows of the waiting shards."""
        return sum(shard.rows for shard in self.waiting)

    @property
    def bytes(self) -> int:
        """What the files that are not there yet will take, about."""
        numbers = self.left * int(self.features.n_features_out_)
        return numbers * int(DTYPES[self.settings.dtype].bit_width) // 8

    @property
    def free(self) -> int:
        """Free bytes where the files go."""
        folder = next(parent for parent in (self.out.absolute(), *self.out.absolute().parents) if parent.exists())
        return shutil.disk_usage(folder).free

    @cached_property
    def seconds_per_graph(self) -> float:
        """Processor time of one graph, measured on some of the first file."""
        first = next((shard for shard in self.shards if shard.rows), None)
        if first is None:
            return 0.0
        with pq.ParquetFile(first.source) as file, one_thread():
            batch = next(rows_of(file, first.first, min(first.last, first.first + SAMPLE), SAMPLE))
            transform_rows(self.features, batch, self.settings.dtype)  # compiles, or reads what was compiled
            started = time.process_time()
            transform_rows(self.features, batch, self.settings.dtype)
            return (time.process_time() - started) / int(batch.num_rows)

    def seconds(self, workers: int | None = None) -> float:
        """What the rest of the job will take on so many workers like this process, about."""
        return self.seconds_per_graph * self.left / (workers or cores())

    def run(
        self,
        *,
        engine: str = "local",
        workers: int | None = None,
        address: str | None = None,
        even_if_full: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Summary:
        """Make the files that are not there yet; see :func:`apply_features`."""
        check_engine(engine, address)
        if not even_if_full and self.bytes > self.free:
            raise OSError(
                f"the features would take {self.bytes / 1e9:,.1f} GB and there are {self.free / 1e9:,.1f} GB free at {self.out}. "
                "Fewer layers or waves, or dtype='float16', take less; even_if_full=True (--yes) starts all the same."
            )
        started = time.perf_counter()
        write_features_once(self.out, self.features)
        waiting = set(self.waiting)
        tasks = [(shard, self.settings) for shard in self.shards if shard in waiting]
        done = [apply_to_shard(shard, self.settings) for shard in self.shards if shard not in waiting]
        before = sum(one.rows + one.errors for one in done)
        for _, result in run_tasks(apply_to_shard, tasks, engine=engine, workers=workers, address=address):
            done.append(result)
            if on_progress is not None:
                on_progress(self._progress(done, before, time.perf_counter() - started))
        written = [self.out / FEATURES, *(Path(name) for shard in self.shards for name in (shard.target, shard.errors))]
        for path in written:
            remove_leftovers(path)
        return Summary(
            graphs=sum(one.rows for one in done),
            errors=sum(one.errors for one in done),
            files=len(done),
            found=sum(one.found for one in done),
            seconds=time.perf_counter() - started,
            processor_seconds=sum(one.seconds for one in done),
        )

    def _progress(self, done: Sequence[Done], before: int, seconds: float) -> Progress:
        graphs = sum(one.rows + one.errors for one in done)
        rate = (graphs - before) / max(seconds, 1e-9)
        left = (self.graphs - graphs) / rate if rate else float("inf")
        return Progress(graphs, self.graphs, len(done), sum(one.errors for one in done), rate, left)


def apply_features(
    features: GraphTensFeatures | str | Path,
    inputs: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    dtype: str = "float32",
    rows_per_file: int = ROWS_PER_FILE,
    strict: bool = False,
    even_if_full: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Features of all graphs in Parquet files, as Parquet files.

    Killed at any time and called again, it goes on where it was, and ends with the same bytes. Every number is the one that
    ``features.transform`` gives in one process, whatever the engine, the workers and the sizes of files.

    Args:
        features: fitted, or the file that :func:`save_features` wrote.
        inputs: a folder, a file, or several; columns as in :mod:`graph2tens.scale.many.rows`.
        out: folder of the tables; :func:`read_features` reads them, :func:`check_features` checks them.
        engine: "local", "dask" or "ray"; see :mod:`graph2tens.scale.engines`.
        workers: processes on this machine; all cores by default.
        address: of a running cluster.
        dtype: "float32", or "float16" for half the space.
        rows_per_file: larger input files are done in parts of about so many graphs.
        strict: stop at the first row that is no graph, instead of noting it in the table of errors.
        even_if_full: start although the features would not fit onto the disk.
        on_progress: is told after every file.
    """
    job = plan_features(features, inputs, out, dtype=dtype, rows_per_file=rows_per_file, strict=strict)
    return job.run(engine=engine, workers=workers, address=address, even_if_full=even_if_full, on_progress=on_progress)


def plan_features(
    features: GraphTensFeatures | str | Path,
    inputs: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    dtype: str = "float32",
    rows_per_file: int = ROWS_PER_FILE,
    strict: bool = False,
) -> Job:
    """What :func:`apply_features` would do, after its checks: every input file can be read, and what lies in `out` is of this job."""
    fitted = features if isinstance(features, GraphTensFeatures) else load_features(features)
    out = Path(out)
    check_integer(rows_per_file, "rows_per_file", 1)
    digest = hashlib.sha256(features_bytes(fitted)).hexdigest()
    settings = Settings(str((out / FEATURES).absolute()), digest, dtype, importlib.metadata.version("graph2tens"), strict)
    shards: list[Shard] = []
    for path, name in input_files(inputs, out):
        shards += _shards(path, name, out, rows_per_file, fitted, dtype)
    job = Job(fitted, out, tuple(shards), settings)
    _check_folder(job)
    return job


def input_files(inputs: str | Path | Sequence[str | Path], out: Path | None = None) -> list[tuple[Path, str]]:
    """The Parquet files of folders (their subfolders too) and files, each with the name that its output has."""
    given = [Path(inputs)] if isinstance(inputs, (str, Path)) else [Path(path) for path in inputs]
    found: dict[str, Path] = {}
    for path in given:
        if out is not None and path.absolute() == out.absolute():
            raise ValueError(f"`out` must be another folder than the input (got {out} for both).")
        for file in parquet_files(path):
            name = file.relative_to(path) if path.is_dir() else Path(file.name)
            if any(part.startswith(("_", ".")) for part in name.parts):
                continue
            if str(name) in found:
                raise ValueError(
                    f"the names of input files must differ, since outputs are called the same (got {found[str(name)]} and {file})."
                )
            found[str(name)] = file
    if not found:
        raise ValueError(f"`inputs` must have at least one file *.parquet (got none in {', '.join(map(str, given))}).")
    return [(path, name) for name, path in sorted(found.items())]


def _shards(path: Path, name: str, out: Path, rows_per_file: int, features: GraphTensFeatures, dtype: str) -> list[Shard]:
    try:
        metadata = pq.read_metadata(path)
        output_schema(features, metadata.schema.to_arrow_schema(), dtype)
    except (ValueError, pa.ArrowException) as error:
        raise ValueError(f"{path}: {error}") from None
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    count = max(1, round(metadata.num_rows / rows_per_file))
    stem, shards = os.path.splitext(name)[0], []
    for part in range(count):
        first, last = (metadata.num_rows * border // count for border in (part, part + 1))
        own = f"{stem}.parquet" if count == 1 else f"{stem}-{part:05d}-of-{count:05d}.parquet"
        target, errors = (out / own).absolute(), (out / ERRORS / own).absolute()
        shards.append(Shard(str(path.absolute()), name, digest, first, last, str(target), str(errors)))
    return shards


def write_features_once(out: Path, features: GraphTensFeatures) -> None:
    """The estimator beside its features."""
    path, content = out / FEATURES, features_bytes(features)
    if not path.exists() or path.read_bytes() != content:  # another one was refused when the job was planned
        with replacing(path) as stream:
            stream.write(content)


def _check_folder(job: Job) -> None:
    """Refuse a folder with files of another job: the two would be mixed."""
    shards = {shard.target: shard for shard in job.shards}
    for path in table_files(job.out):
        shard = shards.get(str(path.absolute()))
        if shard is None:
            raise ValueError(
                f"{path} is none of the files that this job writes. Was it made from other inputs, or with another rows_per_file? "
                "Choose another output folder."
            )
        expected, facts = expected_facts(shard, job.settings), facts_of(path)
        for name, value in expected.items():
            if facts.get(name) != value:
                what = {"features": "another fitted estimator", "input": "other content of the input file"}.get(name, f"another {name}")
                raise ValueError(f"{path} was made with {what}. Choose another output folder, or the settings of the first run.")
        if job.settings.strict and facts["errors"]:
            raise ValueError(f"{path} was made with {facts['errors']} failed rows, which strict refuses; see {shard.errors}.")


def table_files(folder: Path) -> list[Path]:
    """The finished files of features in a folder."""
    files = sorted(folder.rglob("*.parquet")) if folder.exists() else []
    return [path for path in files if not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)]
