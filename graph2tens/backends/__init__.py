"""The ways to compute low-rank features, behind one table: each takes a checked `Problem` and returns (n, M, R)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from . import numba_cpu, reference
from .problem import Problem as Problem

BACKENDS: dict[str, Callable[[Problem], Tensor]] = {
    "reference": reference.features,
    "numba": numba_cpu.features,
}


def available_backends() -> list[str]:
    """The names `backend=` takes beside ``"auto"``."""
    return list(BACKENDS)


def choose(problem: Problem) -> str:
    """The backend that ``"auto"`` stands for."""
    return "numba" if problem.x.device.type == "cpu" and problem.walk.num_nodes and problem.rank else "reference"
