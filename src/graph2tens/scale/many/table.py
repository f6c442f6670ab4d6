"""Reading a folder of features back, in pieces that fit, and checking it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...checks import check_integer
from ...files import UNFINISHED, is_leftover
from .job import ERRORS, input_files, table_files
from .task import add_to_digest, facts_of


def read_features(
    folder: str | Path, rows: int = 4096, *, columns: Sequence[int] | None = None, random_state: int | None = None
) -> Iterator[tuple[NDArray[Any], NDArray[np.float32], NDArray[Any] | None]]:
    """Ids, features and targets (None where there are none), at most `rows` at a time, for ``partial_fit`` or a loop over batches.

    Args:
        folder: as :func:`apply_features` wrote it. Files of different estimators are refused.
        rows: of one piece. Pieces do not reach over the end of a file.
        columns: of the features, by number; all by default.
        random_state: mixes the order of files, and of the rows in a piece; the same number gives the same order.

    Example::

        for ids, X, y in read_features("table/", random_state=0):
            classifier.partial_fit(X, y, classes=classes)
    """
    check_integer(rows, "rows", 1)
    files = _files(Path(folder))
    random = None if random_state is None else np.random.default_rng(random_state)
    for path in files if random is None else [files[place] for place in random.permutation(len(files))]:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows):
                X = matrix(batch)
                X = X if columns is None else X[:, list(columns)]
                ids = batch.column("id").to_numpy(zero_copy_only=False)
                y = batch.column("y").to_numpy(zero_copy_only=False) if "y" in batch.schema.names else None
                order = slice(None) if random is None else random.permutation(len(ids))
                yield ids[order], X[order], None if y is None else y[order]


def matrix(batch: pa.RecordBatch) -> NDArray[np.float32]:
    """The column of features as a matrix of float32."""
    column = batch.column("features")
    numbers: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(-1, column.type.list_size).astype(np.float32, copy=False)


@dataclass(frozen=True)
class Check:
    """What :func:`check_features` found.

    Attributes:
        files, graphs, errors, columns: how many.
        problems: what is wrong, a sentence each; none if all is well.
    """

    files: int
    graphs: int
    errors: int
    columns: int
    problems: tuple[str, ...]


def check_features(folder: str | Path, inputs: str | Path | Sequence[str | Path] | None = None) -> Check:
    """Read everything: are all files of one estimator, whole, and as they were written? With `inputs`: is every row accounted for?"""
    folder = Path(folder)
    files = _files(folder)
    problems: list[str] = []
    graphs = errors = columns = 0
    covered: dict[str, list[tuple[int, int]]] = {}
    for path in files:
        facts = facts_of(path)
        name = path.relative_to(folder)
        try:
            rows, columns, digest = _content(path)
        except (OSError, pa.ArrowException) as error:
            problems.append(f"{name} cannot be read ({error}).")
            continue
        if digest != facts["sha256"] or rows != facts["rows"]:
            problems.append(f"{name} is not as it was written: its checksum differs.")
        noted = _noted(folder / ERRORS / name)
        first, last = facts["input"]["rows"]
        if noted != facts["errors"] or facts["rows"] + facts["errors"] != last - first:
            problems.append(f"{name} has {rows} rows and {noted} errors for {last - first} rows of {facts['input']['file']}.")
        graphs, errors = graphs + rows, errors + noted
        covered.setdefault(facts["input"]["file"], []).append((first, last))
    left = [path for path in folder.rglob(f".*.parquet.????????{UNFINISHED}") if is_leftover(path)]
    problems += [f"{path.name} was left by a killed writer." for path in left]
    if inputs is not None:
        problems += _missing(inputs, covered)
    return Check(len(files), graphs, errors, columns, tuple(problems))


def _files(folder: Path) -> list[Path]:
    """All files of features, which must be of one estimator, type and version."""
    files = table_files(folder)
    if not files:
        raise FileNotFoundError(f"{folder} holds no features: no files *.parquet.")
    first = facts_of(files[0])
    for path in files[1:]:
        facts = facts_of(path)
        for name in ("features", "dtype", "version"):
            if facts[name] != first[name]:
                raise ValueError(f"{path} and {files[0]} must be made with the same {name} (got {facts[name]!r} and {first[name]!r}).")
    return files


def _content(path: Path) -> tuple[int, int, str]:
    digest, rows = hashlib.sha256(), 0
    with pq.ParquetFile(path) as file:
        width = file.schema_arrow.field("features").type.list_size
        for group in range(file.num_row_groups):
            for batch in file.read_row_group(group).combine_chunks().to_batches():
                add_to_digest(digest, batch)
                rows += batch.num_rows
    return rows, width, digest.hexdigest()


def _noted(path: Path) -> int:
    return pq.read_metadata(path).num_rows if path.exists() else 0


def _missing(inputs: str | Path | Sequence[str | Path], covered: dict[str, list[tuple[int, int]]]) -> list[str]:
    problems = []
    for path, name in input_files(inputs):
        total, done = pq.read_metadata(path).num_rows, sorted(covered.get(name, []))
        rows = sum(last - first for first, last in done)
        if rows != total:
            problems.append(f"{name}: {rows} of its {total} graphs are done.")
    return problems
