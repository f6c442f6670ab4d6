"""The ways to compute low-rank features, behind one table: each takes a checked `Problem` and returns (n, M, R)."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..checks import transformed
from . import numba_cpu, reference, torch_spmm
from .problem import Problem as Problem

BACKENDS: dict[str, Callable[[Problem], Tensor]] = {
    "reference": reference.features,
    "torch": torch_spmm.features,
    "numba": numba_cpu.features,
}


def available_backends() -> list[str]:
    """The names `backend=` takes beside ``"auto"``."""
    return list(BACKENDS)


def choose(problem: Problem) -> str:
    """The backend that ``"auto"`` stands for: `numba` on the CPU, `torch` elsewhere.

    `reference` where there is nothing to compute, and inside transforms of ``torch.func``, which only plain operators go through.
    """
    if problem.is_empty or transformed():
        return "reference"
    return "numba" if problem.x.device.type == "cpu" else "torch"
