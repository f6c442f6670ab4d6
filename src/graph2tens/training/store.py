r"""Finished runs on disk: one JSON object per line, appended by any number of processes, safe against ``kill -9``.

The file is the database. Beside it lies ``<name>.lock``, an empty file whose *bytes* are locked, never its existence:

- byte 0 is held while a line is appended;
- one byte for each run, at an offset drawn from the run's key, is held while that run is under way (a claim).

The kernel drops such locks when their process ends, in whatever way, so a crash blocks nothing. (A lock file for each run,
created and removed, would survive ``kill -9`` and block its run for ever; ``flock`` would be inherited by child processes.)
A line that was cut short by a crash or a full disk is left out when reading and removed by the next append.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Fields = dict[str, Any]
Key = tuple[Any, ...]

_APPENDING = 0  # the byte that is locked while a line is written


class RunStore:
    """The runs recorded in one JSON-lines file.

    Args:
        path: the file; it and its folder appear with the first claim or record.
        key: fields that tell runs apart. Two records with equal keys are the same run, which is done once.

    Claims belong to a process (POSIX record locks): hold one store for each file and process.
    """

    def __init__(self, path: str | Path, key: Iterable[str]) -> None:
        self.path = Path(path)
        self.key_fields = tuple(key)
        self._lock_file: int | None = None

    def key(self, record: Fields) -> Key:
        """What identifies a run among the others of its file. A field that a record lacks counts as None."""
        return tuple(record.get(name) for name in self.key_fields)

    def records(self) -> list[Fields]:
        """Everything recorded so far, oldest first; an unfinished last line is left out."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        records, whole_lines = [], content.count(b"\n")
        for number, found in parse_lines(content):
            if isinstance(found, ValueError) and number <= whole_lines:  # a line that was cut short is no error
                raise ValueError(f"{self.path}, line {number} is not JSON ({found}). Remove the line to run that cell again.")
            if not isinstance(found, (dict, ValueError)):
                raise ValueError(f"{self.path}, line {number} must be a JSON object, one finished run (got {str(found)[:40]!r}).")
            if isinstance(found, dict):
                if odd := [name for name in self.key_fields if isinstance(found.get(name), (dict, list))]:
                    raise ValueError(f"{self.path}, line {number}: `{odd[0]}` must be a number or a word. Remove the line.")
                records.append(found)
        return records

    def keys(self) -> set[Key]:
        """Keys of all recorded runs."""
        return {self.key(record) for record in self.records()}

    def append(self, record: Fields) -> None:
        """Write one record as one line, all or nothing, and wait until it is on the disk."""
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._locked(_APPENDING, wait=True):
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                _repair(file)
                start = os.fstat(file).st_size
                try:
                    _write_all(file, line)
                    os.fsync(file)
                except OSError:  # a full disk: leave no half line behind
                    os.ftruncate(file, start)
                    raise
            finally:
                os.close(file)

    @contextmanager
    def claim(self, key: Key) -> Iterator[bool]:
        """Hold a run for this process. Yields False if another process has it under way or it is recorded already.

        The claim ends with the block, or with the process.
        """
        digest = hashlib.sha256(json.dumps(key).encode()).digest()
        offset = 1 + int.from_bytes(digest[:7], "big")  # 56 bits: chances of a clash among 10^6 runs are 10^-5
        with self._locked(offset, wait=False) as mine:
            # Another process may have finished this run between our look at the file and our claim.
            yield mine and key not in self.keys()

    def close(self) -> None:
        """Give up all claims."""
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _locked(self, offset: int, *, wait: bool) -> Iterator[bool]:
        if self._lock_file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock_file = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(self._lock_file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, offset)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            yield False
            return
        try:
            yield True
        finally:
            if self._lock_file is not None:
                fcntl.lockf(self._lock_file, fcntl.LOCK_UN, 1, offset)


def parse_lines(content: bytes) -> Iterator[tuple[int, Any]]:
    """The number of every line that is not blank, from 1, and what it holds: a value, or the error that it is not JSON."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line.decode("utf-8", errors="replace"))
            except ValueError as error:
                yield number, error
            except RecursionError:
                yield number, ValueError("nested too deep")


def _repair(file: int) -> None:
    """Make the file end with a newline: finish a whole record that lacks one (an editor may leave it so), cut off a torn one."""
    size = os.fstat(file).st_size
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return
    content = os.pread(file, size, 0)
    end = content.rfind(b"\n") + 1
    if any(not isinstance(found, ValueError) for _, found in parse_lines(content[end:])):
        _write_all(file, b"\n")
    else:
        os.ftruncate(file, end)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
