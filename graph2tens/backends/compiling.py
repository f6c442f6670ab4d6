"""Compiling with Numba so that the disk cache is never trouble: not written to, shared, full, or of another version.

Numba's cache is not safe when processes compile different versions of one function at once: both take the same free file, and one is
later given the other's machine code. So every version here has a name of its own, made of all it depends on; processes that race then
write the same thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from llvmlite import binding
from numba import njit


class Compiled:
    """A function that Numba compiles at its first call; other compiled functions call its `dispatcher`."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.dispatcher(*arguments)
        except OSError:  # the disk is full, or was taken away: the code is there, it only could not be kept
            return self.dispatcher(*arguments)


def specialised(function: Callable[..., Any], version: str, **names: Any) -> Compiled:
    """Compile a copy of a function in which some global names mean something else; Numba takes globals for constants.

    Closures would do the same, but what they hold becomes part of the key under which machine code is kept, and other compiled functions
    have no key that the next process would find again.
    """
    meanings = {name: value.dispatcher if isinstance(value, Compiled) else value for name, value in names.items()}
    copy = FunctionType(function.__code__, {**function.__globals__, **meanings}, function.__name__)
    return compiled(copy, version)


def compiled(function: Callable[..., Any], version: str = "") -> Compiled:
    """Keep the machine code of a function beside this file or in the user's cache, or if neither can be written, nowhere.

    `version` is whatever the code depends on beside the sources; functions that are called with different types of arguments must
    have different versions.
    """
    function.__qualname__ = "_".join([function.__name__, *version.split(), _fingerprint()])
    options = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
    try:
        return Compiled(njit(cache=True, **options)(function))
    except RuntimeError:  # Numba found no place to write to
        return Compiled(njit(**options)(function))


@cache
def _fingerprint() -> str:
    """The sources of this folder, the processor and Numba itself."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    machine = f"{numba.__version__} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return hashlib.sha256(sources + machine.encode()).hexdigest()[:16]
