"""Writing: files and folders appear whole or not at all, and a folder is held by one process at a time.

What is not finished has a name of its own, ``.NAME.xxxxxxxx.unfinished``, and is locked by its writer. So what a killed writer left can
be told from what another process is writing now: it can be locked, and the next writer of NAME removes it.
"""

from __future__ import annotations

import csv
import fcntl
import glob
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

UNFINISHED = ".unfinished"
LONGEST_NAME = 200  # of a name inside the name of its unfinished file; file systems allow 255 in all

Place = str | os.PathLike[str]


@contextmanager
def replacing(path: Place) -> Iterator[BinaryIO]:
    """A stream whose content replaces the file at `path` when the block ends; its folder is made if need be.

    Readers see the old content or the new one, never a part of it, whenever the process is killed and however full the disk is. Two
    processes that write the same file have unfinished files of their own, and the last one wins. An error leaves the old file.
    """
    path = Path(os.path.realpath(path))  # a symbolic link stays one
    if path.exists() and not path.is_file():  # /dev/stdout, a named pipe: nothing to replace
        with path.open("wb") as stream:
            yield stream
        return
    with _Unfinished(path) as unfinished:
        yield unfinished.stream
        unfinished.finish()
        unfinished.publish()


@contextmanager
def staged(path: Place, content: bytes) -> Iterator[_Unfinished]:
    """`content` written aside, on the disk, for :meth:`publish` to put it at `path`; thrown away at the end of the block if that was not
    done. For several files that change together: once all of them are staged, a full disk can no longer part them."""
    with _Unfinished(Path(os.path.realpath(path))) as unfinished:
        unfinished.stream.write(content)
        unfinished.finish()
        yield unfinished


class _Unfinished:
    """The unfinished file of a path. Errors name the path, since nobody knows the other name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(path)
            file, self.name = _make_locked(path, tempfile.mkstemp)
            self.raw = _Raw(file, "wb")
            self.stream = io.BufferedWriter(self.raw)

    def finish(self) -> None:
        """Bring all to the disk."""
        with _naming(self.path):
            if self.raw.failure is not None:  # which the caller did not notice
                raise self.raw.failure
            self.stream.flush()
            os.fsync(self.stream.fileno())
            os.chmod(self.name, self.path.stat().st_mode & 0o777 if self.path.exists() else 0o644)  # made readable by its owner alone

    def publish(self) -> None:
        """Put the file in its place."""
        with _naming(self.path):
            os.replace(self.name, self.path)

    def __enter__(self) -> _Unfinished:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self.stream.close()
        except OSError as failure:
            self.raw.close()
            self.raw.failure = self.raw.failure or failure
        finally:
            Path(self.name).unlink(missing_ok=True)
        if self.raw.failure is not None and isinstance(error, Exception):
            # Libraries that write to the stream raise errors of their own for it, as "enforce fail at inline_container.cc".
            if isinstance(error, OSError) and error.filename == str(self.path):
                return
            raise OSError(self.raw.failure.errno, self.raw.failure.strerror, str(self.path)) from error


class _Raw(io.FileIO):
    """A file that remembers why a write failed."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return os.write(self.fileno(), data)
        except OSError as error:
            self.failure = error
            raise


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of the system inside say that they are about `path`."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename == str(path):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _make_locked(path: Path, make: Callable[..., Any]) -> tuple[int, str]:
    """A new unfinished file or folder, locked before anybody can take it for a leftover."""
    while True:
        made = make(dir=path.parent, prefix=f".{path.name[:LONGEST_NAME]}.", suffix=UNFINISHED)
        file, name = made if isinstance(made, tuple) else (os.open(made, os.O_RDONLY), made)
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(name):
            return file, name
        os.close(file)  # another process looked for leftovers between the two lines above, and removed it


def write_text(path: Place, text: str) -> None:
    """Replace a file by `text`. A lone surrogate, which JSON allows and UTF-8 does not, becomes a question mark."""
    write_texts({path: text})


def write_texts(texts: Mapping[Any, str]) -> None:
    """Replace several files, by their paths. If there is no room for one of them, all stay as they were."""
    with ExitStack() as stack:
        waiting = []
        for path, text in texts.items():
            content = text.encode("utf-8", errors="replace")
            if os.path.exists(path) and not os.path.isfile(path):  # a device
                with replacing(path) as stream:
                    stream.write(content)
            else:
                waiting.append(stack.enter_context(staged(path, content)))
        for one in waiting:
            one.publish()


def write_json(path: Place, value: Any) -> None:
    """Replace a file by `value` as JSON."""
    write_text(path, as_json(value))


def as_json(value: Any) -> str:
    """The text that :func:`write_json` writes."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows of cells as the text of a CSV file."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


@contextmanager
def making_folder(path: Place) -> Iterator[Path]:
    """A new folder to be filled, which is put at `path` when the block ends, and removed if that ends in an error."""
    path = Path(os.path.realpath(path))
    remove_leftovers(path)
    if path.exists():
        raise FileExistsError(f"{path} exists already; choose a folder that does not.")
    with _naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = _make_locked(path, tempfile.mkdtemp)
    try:
        yield Path(name)
        os.chmod(name, 0o755)
        os.rename(name, path)
    except OSError as error:
        if error.errno is None or not (error.filename is None or str(error.filename).startswith(name)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        shutil.rmtree(name, ignore_errors=True)
        os.close(handle)


def remove_with_leftovers(path: Path) -> None:
    """Delete a file, if it exists, and what processes that were killed while they wrote it left behind."""
    remove_leftovers(path)
    path.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Delete what processes that were killed while they wrote `path` left behind; not what another process is writing now."""
    for unfinished in path.parent.glob(f".{glob.escape(path.name[:LONGEST_NAME])}.????????{UNFINISHED}"):
        with _lock_of_ended_writer(unfinished) as ended:
            if ended:
                shutil.rmtree(unfinished, ignore_errors=True) if unfinished.is_dir() else unfinished.unlink(missing_ok=True)


def is_leftover(unfinished: Path) -> bool:
    """Whether the writer of an unfinished file or folder is gone."""
    with _lock_of_ended_writer(unfinished) as ended:
        return ended


@contextmanager
def _lock_of_ended_writer(unfinished: Path) -> Iterator[bool]:
    """Take the lock of an unfinished file or folder, which the kernel gives back when its writer ends; False if the writer is alive."""
    try:
        handle = os.open(unfinished, os.O_RDONLY)
    except OSError:  # finished in this moment, or not ours to read
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


class FolderInUseError(OSError):
    """Another process holds the folder."""


@contextmanager
def holding(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a folder, which is made if need be, for this process; if another process does, `wait` or raise :class:`FolderInUseError`.

    The kernel's lock on the folder itself: nothing is left behind, and it ends with the process, in whatever way that ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise FolderInUseError(f"another process is writing to {folder}; wait until it ends, or choose another folder.") from None
        yield
    finally:
        os.close(handle)
