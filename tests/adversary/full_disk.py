"""Disks that are full: calls of the system that fail from a certain one on, and a real file system of a few pages."""

from __future__ import annotations

import builtins
import ctypes
import errno
import io
import os
import pickle
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PAGE = 4096
NEW_NAMESPACE, NEW_USERS = 0x20000, 0x10000000  # CLONE_NEWNS, CLONE_NEWUSER
PRIVATE = 0x4000 | 0x40000  # MS_REC | MS_PRIVATE


def no_room() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class DisturbedCalls:
    """Counts what Python asks of files below a folder, and disturbs call number `first`, and all after it unless `once`.

    Counted are the making of files and folders, writes, fsync and renames. Deleting and cutting off work on a full disk.
    """

    def __init__(self, folder: Path, first: int, once: bool = False, disturb: Callable[[], None] = no_room) -> None:
        self.disturb = disturb
        self.folder, self.first, self.once, self.calls, self.kind = str(folder.resolve()), first, once, 0, ""

    def look(self, kind: str, place: Any) -> None:
        if isinstance(place, int):
            place = os.readlink(f"/proc/self/fd/{place}")
        if not os.path.abspath(os.fsdecode(place)).startswith(self.folder):
            return
        self.calls += 1
        self.kind = kind if self.calls == self.first else self.kind
        if self.calls == self.first or (self.calls > self.first and not self.once):
            self.disturb()

    @property
    def at_rename(self) -> bool:
        return self.kind in ("replace", "rename")

    @property
    def failed(self) -> bool:
        return self.calls >= self.first

    @contextmanager
    def active(self) -> Iterator[None]:
        disk = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> Any:
                disk.look("write", self.fileno())
                return super().write(data)

        real = {name: getattr(os, name) for name in ("open", "write", "fsync", "replace", "rename", "mkdir")}
        real_open = io.open

        def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            if flags & os.O_CREAT and not os.path.exists(path):
                disk.look("open", path)
            return real["open"](path, flags, *rest, **named)

        def stream(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None, newline: Any = None, *rest: Any
        ):
            writes = set(mode) & set("wax+")
            if not writes or "r" in mode:
                return real_open(file, mode, buffering, encoding, errors, newline, *rest)
            if not isinstance(file, int):
                disk.look("open", file)
            buffered = io.BufferedWriter(Raw(file, mode.replace("b", "").replace("t", "")))
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        def counted(name: str, place: int) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                disk.look(name, arguments[place])
                return real[name](*arguments, **named)

            return call

        changed = {"open": opened, "write": counted("write", 0), "fsync": counted("fsync", 0)}
        changed |= {"replace": counted("replace", 1), "rename": counted("rename", 1), "mkdir": counted("mkdir", 0)}
        try:
            for name, call in changed.items():
                setattr(os, name, call)
            builtins.open = io.open = stream  # type: ignore[assignment]
            yield
        finally:
            builtins.open = io.open = real_open
            for name, call in real.items():
                setattr(os, name, call)


def may_mount(folder: Path) -> bool:
    """Whether a process of this machine may have a file system of its own."""
    return in_own_disk(folder, 16, lambda: None) is None


def in_own_disk(folder: Path, pages: int, work: Callable[[], object]) -> str | None:
    """Do `work` in a new process that sees a file system of so many pages at `folder`; what went wrong there, if anything.

    The mount is the new process's own and ends with it.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        wrong: str | None = None
        try:
            os.close(reading)
            _mount(folder, pages)
            work()
        except BaseException:
            wrong = traceback.format_exc()
        with os.fdopen(writing, "wb") as stream:
            pickle.dump(wrong, stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        content = stream.read()
    _, status = os.waitpid(child, 0)
    return f"the process ended with {os.waitstatus_to_exitcode(status)}" if not content else pickle.loads(content)


def _mount(folder: Path, pages: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.unshare(NEW_NAMESPACE if os.geteuid() == 0 else NEW_NAMESPACE | NEW_USERS))
    _call(libc.mount(b"none", b"/", None, PRIVATE, None))
    _call(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={pages * PAGE}".encode()))


def _call(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def fill(folder: Path, pages: int) -> None:
    """Fill the file system of a folder but for so many pages."""
    state = os.statvfs(folder)
    with (folder / "filler").open("wb") as stream:
        stream.write(bytes((state.f_bavail - pages) * state.f_bsize))
