"""Compiling with Numba so that the disk cache is never trouble: not writable, shared, full, damaged, or of
another version.

Numba's cache is not safe when processes compile different versions of one function at once: both take the same free file, and one is
later given the other's machine code. So every version here has a name of its own, made of all it depends on; processes that race then
write the same thing. Nor is LLVM's interface safe when an exception comes out of nowhere, as Ctrl-C does: what was freed is freed again.
So signals wait until a function is compiled.
"""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import current_thread, main_thread
from types import FunctionType
from typing import Any

import numba
from numba import njit
from numba.core.registry import cpu_target

from .loops.dialect import OPTIONS

_TRIES = 8  # functions call functions, and each may fail to be kept, or to be read
_folders: set[Path] = set()  # where machine code is kept


@contextmanager
def signals_wait() -> Iterator[None]:
    """What Python code does on Ctrl-C and SIGTERM is put off to the end of the block; other threads than the main one never do it."""
    if current_thread() is not main_thread():
        yield
        return
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(number))]  # or it is the system's to do
    came: list[int] = []
    handlers: dict[int, Any] = {number: signal.signal(number, lambda number, frame: came.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


class Compiled:
    """A function that Numba compiles at its first call; other compiled functions call its `dispatcher`."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self._is_compiled = False

    def __call__(self, *arguments: Any) -> Any:
        if self._is_compiled:
            return self.dispatcher(*arguments)
        with signals_wait():
            result = self._first(arguments)
            self._is_compiled = True
        return result

    def _first(self, arguments: tuple[Any, ...]) -> Any:
        for _ in range(_TRIES):
            try:
                return self.dispatcher(*arguments)
            except MemoryError:  # of the function itself, which must not run twice
                raise
            except OSError:  # the disk is full or was taken away: the code is there, it only could not be kept. Next those it calls
                continue
            except Exception:  # a damaged file of the cache, with whatever error comes of reading it
                _discard()
        return self.dispatcher(*arguments)


def _discard() -> None:
    """Delete what this version of the library keeps on disk."""
    for folder in _folders:
        for path in folder.glob(f"*{_fingerprint()}*.nb?"):
            with suppress(OSError):
                path.unlink()


@signals_wait()
def compiled(function: Any, version: str = "") -> Compiled:
    """Keep the machine code of a function beside this file or in the user's cache, or if neither can be written, nowhere.

    `version` is whatever the code depends on beside the sources; functions that are called with different types of arguments must
    have different versions. Each is a copy with a name of its own, also in machine code: of functions of one name in several files that
    are read, LLVM takes the first for all.
    """
    function = getattr(function, "py_func", function)
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__qualname__ = "_".join([function.__name__, *version.split(), _fingerprint()])
    try:
        dispatcher = njit(cache=True, **OPTIONS)(copy)
        _folders.add(Path(dispatcher.stats.cache_path))
        return Compiled(dispatcher)
    except RuntimeError:  # Numba found no place to write to
        return Compiled(njit(**OPTIONS)(copy))


@cache
def _fingerprint() -> str:
    """The sources of this folder, the processor and Numba itself."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    machine = f"{numba.__version__} {cpu_target.target_context.codegen().magic_tuple()}"  # processor, its features, LLVM's triple
    return hashlib.sha256(sources + machine.encode()).hexdigest()[:16]
