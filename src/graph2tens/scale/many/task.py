"""The unit of work: some rows of one input file -> one output file, there whole or not at all.

The output file under its name *is* the record that the work is done; there is no other state that could disagree with it. Engines promise
to run a task at least once; since a task that finds its file does nothing, and since equal inputs give equal bytes, that is exactly once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from ...files import replacing
from ...sklearn import GraphTensFeatures
from .arrow import Failure, output_schema, transform_rows
from .fitted import load_features

KEY = b"graph2tens"  # of what a file says about itself
GROUP_BYTES = 2**24  # features in a row group: what is held in memory at a time
ERRORS = pa.schema([("file", pa.string()), ("row", pa.int64()), ("id", pa.string()), ("message", pa.string())])


@dataclass(frozen=True)
class Settings:
    """What all tasks of a job share: where the fitted estimator lies, its digest, the type of the numbers, the version of this library."""

    features: str
    digest: str
    dtype: str
    version: str
    strict: bool = False


@dataclass(frozen=True)
class Shard:
    """Rows `first` to `last` of the file `source`, whose content has the digest `source_digest`, go to `target`; the failed ones to
    `errors`. `name` is what messages call the source."""

    source: str
    name: str
    source_digest: str
    first: int
    last: int
    target: str
    errors: str

    @property
    def rows(self) -> int:
        return self.last - self.first


@dataclass(frozen=True)
class Done:
    """What became of a shard: rows with features, failed rows, processor seconds; whether the file was there already."""

    rows: int
    errors: int
    seconds: float = 0.0
    found: bool = False


def expected_facts(shard: Shard, settings: Settings) -> dict[str, Any]:
    """What a file made by this task says about itself, beside what is counted on the way."""
    return {
        "features": settings.digest,
        "dtype": settings.dtype,
        "version": settings.version,
        "input": {"file": shard.name, "sha256": shard.source_digest, "rows": [shard.first, shard.last]},
    }


def facts_of(path: Path) -> dict[str, Any]:
    """What an output file says about itself."""
    try:
        metadata = pq.read_metadata(path).metadata or {}
        facts: dict[str, Any] = json.loads(metadata[KEY])
    except (KeyError, ValueError, pa.ArrowException):
        raise ValueError(f"{path} is not a file of features that graph2tens wrote.") from None
    return facts


def apply_to_shard(shard: Shard, settings: Settings) -> Done:
    """Do the work of one task, unless it is done."""
    target = Path(shard.target)
    if target.exists():
        facts = facts_of(target)
        return Done(facts["rows"], facts["errors"], found=True)
    started = time.process_time()
    with one_thread():
        features = _opened(settings.features, settings.digest)
        rows, failures = _write(features, shard, settings)
    return Done(rows, failures, time.process_time() - started)


def _write(features: GraphTensFeatures, shard: Shard, settings: Settings) -> tuple[int, int]:
    target, errors = Path(shard.target), Path(shard.errors)
    with pq.ParquetFile(shard.source) as file:
        given = file.schema_arrow
        schema = output_schema(features, given, settings.dtype)
        group = max(16, GROUP_BYTES // (int(features.n_features_out_) * (2 if settings.dtype == "float16" else 4)))
        rows, failures, digest = 0, list[Failure](), hashlib.sha256()
        with replacing(target) as stream:
            with pq.ParquetWriter(stream, schema, compression="none", use_dictionary=False, write_statistics=["id"]) as writer:
                first = shard.first
                for batch in rows_of(file, shard.first, shard.last, group):
                    made, wrong = transform_rows(features, batch, settings.dtype)
                    if wrong and settings.strict:
                        raise ValueError(f"{shard.name}, row {first + wrong[0].row} (id {wrong[0].id}): {wrong[0].message}")
                    failures += [Failure(first + failure.row, failure.id, failure.message) for failure in wrong]
                    writer.write_batch(made)
                    add_to_digest(digest, made)
                    rows, first = rows + made.num_rows, first + batch.num_rows
                facts = {**expected_facts(shard, settings), "rows": rows, "errors": len(failures), "sha256": digest.hexdigest()}
                writer.add_key_value_metadata({KEY: json.dumps(facts, sort_keys=True).encode()})
            # The table of errors comes first: whoever sees the features finds the errors too.
            _write_errors(errors, shard.name, failures)
    return rows, len(failures)


def _write_errors(path: Path, name: str, failures: list[Failure]) -> None:
    if not failures:
        path.unlink(missing_ok=True)  # of a run that ended between the two files, when the input was another
        return
    columns = [[name] * len(failures), *([getattr(failure, key) for failure in failures] for key in ("row", "id", "message"))]
    with replacing(path) as stream:
        pq.write_table(pa.table([pa.array(column) for column in columns], schema=ERRORS), stream)


def rows_of(file: pq.ParquetFile, first: int, last: int, size: int) -> Iterator[pa.RecordBatch]:
    """Rows `first` to `last` in batches of at most `size`. Row groups that have none of them are not read."""
    groups, place, begin = [], 0, None
    for group in range(file.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        if place < last and place + count > first:
            groups.append(group)
            begin = place if begin is None else begin
        place += count
    if begin is None:
        return
    for batch in file.iter_batches(batch_size=size, row_groups=groups):
        start, end = max(first - begin, 0), min(last - begin, batch.num_rows)
        begin += batch.num_rows
        if start < end:
            yield batch.slice(start, end - start)


def add_to_digest(digest: Any, batch: pa.RecordBatch) -> None:
    """Ids, targets and the bytes of the features, in the order of rows."""
    for name in batch.schema.names[:-1]:
        digest.update(json.dumps(batch.column(name).to_pylist(), default=str).encode())
    digest.update(batch.column("features").flatten().to_numpy(zero_copy_only=False).tobytes())


@lru_cache(maxsize=2)
def _opened(path: str, digest: str) -> GraphTensFeatures:
    """Read once by each worker."""
    found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    if found != digest:
        raise ValueError(f"{path} changed while the job ran: its digest is {found[:12]} and was {digest[:12]}.")
    features: GraphTensFeatures = load_features(path).set_params(n_jobs=1, verbose=0)
    return features


@contextmanager
def one_thread() -> Iterator[None]:
    """Engines run a task on every core; more threads inside would fight for them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
