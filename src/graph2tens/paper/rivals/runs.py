"""Runs of rivals: which cells of the paper's tables they have, and the settings that were chosen for them on validation data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...training.config import Cell, Run
from . import RIVALS

# Depth by (system, data, hops between labelled nodes), chosen by validation accuracy of seed 0 with the authors' splits (table
# ``choices``), the smallest of equals. Published results took the best depth by the number that was reported.
DEPTHS: Mapping[tuple[str, str, int], int] = {
    ("GCN-HGNet", "Cora", 0): 2, ("GCN-HGNet", "Cora", 1): 3, ("GCN-HGNet", "Cora", 2): 2,
    ("GCN-HGNet", "CiteSeer", 0): 2, ("GCN-HGNet", "CiteSeer", 1): 3, ("GCN-HGNet", "CiteSeer", 2): 4,
    ("GAT-HGNet", "Cora", 0): 2, ("GAT-HGNet", "Cora", 1): 3, ("GAT-HGNet", "Cora", 2): 3,
    ("GAT-HGNet", "CiteSeer", 0): 2, ("GAT-HGNet", "CiteSeer", 1): 2, ("GAT-HGNet", "CiteSeer", 2): 2,
    ("HGNet-EP", "Cora", 0): 1, ("HGNet-EP", "Cora", 1): 3, ("HGNet-EP", "Cora", 2): 1,
    ("HGNet-EP", "CiteSeer", 0): 1, ("HGNet-EP", "CiteSeer", 1): 2, ("HGNet-EP", "CiteSeer", 2): 1,
    ("HGNet-L", "Cora", 0): 3, ("HGNet-L", "Cora", 1): 3, ("HGNet-L", "Cora", 2): 2,
    ("HGNet-L", "CiteSeer", 0): 1, ("HGNet-L", "CiteSeer", 1): 2, ("HGNet-L", "CiteSeer", 2): 2,
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """A setting that was tried beside a rival's own, on seed 0."""

    meaning: str
    change: Callable[[Run], Run]


def _depth(levels: int) -> Choice:
    return Choice(f"depth {levels}", lambda run: replace(run, network={**run.network, "depth": levels}))


CHOICES: Mapping[str, Choice] = {
    **{f"Depth{levels}": _depth(levels) for levels in (1, 2, 3, 4)},
    "NoDropout": Choice("no dropout", lambda run: replace(run, network={**run.network, "dropout": 0.0})),
    "FasterRate": Choice(
        "twice the learning rate", lambda run: replace(run, training=replace(run.training, learning_rate=2 * run.training.learning_rate))
    ),
}
_DEPTHS_TRIED = {"GCN-HGNet": (1, 2, 3, 4), "GAT-HGNet": (2, 3, 4), "HGNet-EP": (1, 2, 3), "HGNet-L": (1, 2, 3)}


def rivals_for(task: str) -> list[str]:
    """Names of the rivals for "graph" or "node"."""
    return [name for name, rival in RIVALS.items() if rival.task == task]


def rival_run(cell: Cell, seed: int, task: str) -> Run:
    """The run that a rival's cell stands for. The protocol decides how data is split; the settings are the rival's own."""
    rival = RIVALS[cell.model]
    if rival.task != task:
        known = ", ".join(rivals_for(task))
        raise ValueError(
            f"{cell.model} classifies {rival.task}s, but {cell.dataset} has a class for each {task}; for that there is {known}."
        )
    depth = DEPTHS.get((cell.model, cell.dataset, cell.khop))
    options: dict[str, Any] = dict(rival.options) if depth is None else {**rival.options, "depth": depth}
    return Run(cell, seed, options, cell.model, rival.training)


def choice_cells(compounds: tuple[str, ...], citations: tuple[str, ...]) -> Iterator[Cell]:
    """What is tried on seed 0 before a setting is frozen for all seeds."""
    for khop in (0, 1, 2):
        for dataset in citations:
            for model, depths in _DEPTHS_TRIED.items():
                yield from (Cell("choices", dataset, model, f"Depth{depth}", khop, "authors") for depth in depths)
    for model, variant in (("GIN", "NoDropout"), *((name, "FasterRate") for name in ("Set2Set", "SortPool", "SAGPool-h", "SAGPool-g"))):
        yield from (Cell("choices", compounds[0], model, name, protocol="authors") for name in ("base", variant))
