"""How everything the package writes is written: files replaced whole or not at all, folders held by one process at a time."""

from __future__ import annotations

import fcntl
import glob
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content replaces the file at `path` when the block ends; its folder is made if need be.

    Readers see the old content or the new one, never a part of it, whenever the process is killed and however full the disk is. Two
    processes that write the same file have temporary files of their own, and the last one wins. An error leaves the old file.
    """
    path = Path(os.path.realpath(path))  # a symbolic link stays one
    if path.exists() and not path.is_file():  # /dev/stdout, a named pipe: nothing to replace
        with path.open("wb") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(file, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)  # mkstemp gives the file to its owner alone
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by `text`. A lone surrogate, which JSON allows and UTF-8 does not, becomes a question mark."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8", errors="replace"))


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Replace a file by `value` as JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def remove_with_leftovers(path: Path) -> None:
    """Delete a file, if it exists, and what processes that were killed while they wrote it left behind."""
    remove_leftovers(path)
    path.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Delete what processes that were killed while they wrote `path` left behind."""
    for unfinished in path.parent.glob(f".{glob.escape(path.name)}.????????"):  # the temporary names of :func:`replacing`
        unfinished.unlink(missing_ok=True)


class FolderInUseError(OSError):
    """Another process holds the folder."""


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if need be, for this process; raise :class:`FolderInUseError` if another process does.

    The kernel's lock on the folder itself: nothing is left behind, and it ends with the process, in whatever way that ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUseError(f"another process is writing to {folder}; wait until it ends, or choose another folder.") from None
        yield
    finally:
        os.close(handle)
