"""Compiling with Numba so that the disk cache is never trouble: not written to, shared, full, or of another version.

Numba's cache is not safe when processes compile different versions of one function at once: both take the same free file, and one is
later given the other's machine code. So every version here has a name of its own, made of all it depends on; processes that race then
write the same thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba import njit


def compiled(function: Callable[..., Any], version: str = "") -> Callable[..., Any]:
    """Compile at the first call and keep the machine code beside this file or in the user's cache, or if neither can be written, nowhere.

    `version` is whatever the code depends on beside the sources; functions that are called with different types of arguments must
    have different versions.
    """
    function.__qualname__ = "_".join([function.__name__, *version.split(), _fingerprint()])
    options = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
    try:
        dispatcher = njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no place to write to
        dispatcher = njit(**options)(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return dispatcher(*arguments)
        except OSError:  # the disk is full, or was taken away: the code is there, it only could not be kept
            return dispatcher(*arguments)

    return call


@cache
def _fingerprint() -> str:
    """The sources of this folder, the processor and Numba itself."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    machine = f"{numba.__version__} {binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return hashlib.sha256(sources + machine.encode()).hexdigest()[:16]
