"""A watch over everything that runs inside `watched`: files it writes or removes, processes it starts, connections it opens.

Python tells such things to audit hooks. A hook cannot be removed again, so there is one, which looks away when nobody is watching.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Positions of the paths among an event's arguments.
CHANGES = {"os.rename": (0, 1), "os.remove": (0,), "os.mkdir": (0,), "os.rmdir": (0,), "os.truncate": (0,), "os.chmod": (0,)}
CHANGES |= {"os.link": (1,), "os.symlink": (1,), "shutil.rmtree": (0,), "shutil.move": (0, 1), "shutil.copyfile": (1,)}
RUNS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn", "socket.connect"}
OWN = ("__pycache__", "/proc/self/", "/dev/null", "/dev/full")  # compiled code, the reset of the peak memory, devices that options name
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_folder: str | None = None
_seen: list[str] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _folder is None:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & WRITING:
            _look(event, path)
    elif event in CHANGES:
        for place in CHANGES[event]:
            _look(event, arguments[place])
    elif event in RUNS and not (event == "subprocess.Popen" and str(arguments[0]).endswith("git")):  # which commit this is
        _seen.append(f"{event} {arguments!r}"[:300])


def _look(event: str, path: object) -> None:
    if isinstance(path, int):
        return
    name = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]
    if not name.startswith(f"{_folder}{os.sep}") and name != _folder and not any(part in name for part in OWN):
        _seen.append(f"{event} {name}")


sys.addaudithook(_hook)


@contextmanager
def watched(folder: Path) -> Iterator[list[str]]:
    """What happened outside `folder`, as it happens."""
    global _folder
    _seen.clear()
    _folder = str(folder.resolve())
    try:
        yield _seen
    finally:
        _folder = None
