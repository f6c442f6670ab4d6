"""Where a number came from: commit, library versions, machine, and how much memory the process took."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

LIBRARIES = ("graph2tens", "torch", "torch_geometric", "numpy", "numba", "scipy", "scikit-learn", "lightning-fabric")


@cache
def commit() -> str:
    """The commit of the source tree this package runs from, with ``+`` if its code was edited since; ``unknown`` outside a tree."""
    package = Path(__file__).resolve().parents[1]
    try:
        head = _git(package, "rev-parse", "--short=12", "HEAD")
        # An installed copy may lie inside somebody else's repository (a virtual environment in a project): not our commit.
        _git(package, "ls-files", "--error-unmatch", str(Path(__file__).resolve()))
        edited = _git(package, "status", "--porcelain", "--", str(package))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if edited else "")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of what computes."""
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in LIBRARIES}}


def machine(device: Any = "cpu") -> dict[str, Any]:
    """Processor, cores this process may use, threads it does use, and device."""
    import torch

    kind = torch.device(device)
    name = torch.cuda.get_device_name(kind) if kind.type == "cuda" else kind.type
    return {"processor": _processor(), "cores": cores(), "threads": torch.get_num_threads(), "device": name}


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def reset_peak_memory() -> None:
    """Start to measure :func:`peak_memory_mib` anew, where the system lets a process do so (Linux)."""
    with contextlib.suppress(OSError):  # elsewhere the peak is that of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory_mib() -> float:
    """Highest resident memory of this process since the last reset, in MiB."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if platform.system() == "Darwin" else 1024)
