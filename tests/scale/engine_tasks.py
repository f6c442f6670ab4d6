"""Tasks for the tests of engines, some of which end their own worker. Apart from the tests, since workers import this file."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def double(number: int, fatal: str | None = None) -> int:
    """Twice the number; a worker that finds the file `fatal` missing makes it and dies."""
    if fatal is not None and not Path(fatal).exists():
        Path(fatal).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def refuse(number: int) -> None:
    """A task with an error of its own."""
    raise ValueError(f"number {number} is not wanted")
