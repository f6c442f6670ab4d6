"""The ways to compute low-rank features, behind one table: each takes a checked `Problem` and returns (n, M, R)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from . import reference
from .problem import Problem as Problem

BACKENDS: dict[str, Callable[[Problem], Tensor]] = {
    "reference": reference.features,
}


def available_backends() -> list[str]:
    """The names `backend=` takes beside ``"auto"``."""
    return list(BACKENDS)


def choose(problem: Problem) -> str:
    """The backend that ``"auto"`` stands for."""
    return "reference"
