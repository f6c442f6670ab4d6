"""Every row of the paper's tables as data, G2TN and G2TAN and the other systems, and the runs that fill them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..training.config import Cell, Run
from .protocols import CITATIONS, COMPOUNDS, DATASETS, MODELS, base_run
from .rivals import RIVALS
from .rivals.runs import choice_cells, rivals_for
from .variants import ABLATIONS, MEANINGS, as_variant


@dataclass(frozen=True)
class Table:
    """A table of the paper, or one of ours.

    Attributes:
        heading: what it is about.
        source: where it comes from.
        name: for the middle of a sentence.
        cells: its rows, with the authors' settings.
        rivals: the rows of other systems, which are run when they are named.
    """

    heading: str
    source: str
    name: str
    cells: tuple[Cell, ...] = ()
    rivals: tuple[Cell, ...] = ()


def _cells(table: str, datasets: Iterable[str], models: Iterable[str], variants: Iterable[str] = ("base",), khop: int = 0) -> list[Cell]:
    models, variants = tuple(models), tuple(variants)
    return [Cell(table, dataset, model, variant, khop, "authors") for dataset in datasets for model in models for variant in variants]


def _differences() -> list[Cell]:
    name, data = "differences", (*CITATIONS, "NCI1")
    cells = [
        cell
        for dataset in data
        for cell in (
            *_cells(name, [dataset], ["G2TN"], ["NoSelfLoops"]),
            *_cells(name, [dataset], ["G2TAN"], ["AttentionDropout"]),
            *_cells(name, [dataset], MODELS, ["Mixing"]),
        )
    ]
    # On citation graphs the authors' loss is a mean already, and graphs of compounds are split alike by text and code.
    cells += _cells(name, ["NCI1"], MODELS, ["L2Mean"]) + _cells(name, data, MODELS, ["Suffixes"])
    cells += _cells(name, CITATIONS, MODELS, ["BalancedSplit"])
    # Of the citation graphs CiteSeer alone has nodes without edges.
    return cells + [cell for khop in (0, 1, 2) for cell in _cells(name, ["CiteSeer"], ["G2TAN"], ["StayPut"], khop)]


TABLES: Mapping[str, Table] = {
    "nci": Table(
        "Classifying chemical compounds (NCI1, NCI109)",
        "the paper's table 1",
        "compounds",
        tuple(_cells("nci", COMPOUNDS, MODELS)),
        tuple(_cells("nci", COMPOUNDS, rivals_for("graph"))),
    ),
    "ablation": Table(
        "Taking one ingredient away at a time",
        "the paper's tables 2 and 3",
        "the ablation",
        tuple(_cells("ablation", COMPOUNDS, MODELS, ABLATIONS)),
    ),
    "citation": Table(
        "Guessing the subject of scientific articles",
        "the paper's table 4",
        "articles",
        tuple(_cells("citation", CITATIONS, MODELS)),
        tuple(_cells("citation", CITATIONS, rivals_for("node"))),
    ),
    "khop": Table(
        "The same, with every labelled article far from the others (k hops)",
        "the paper's table 5",
        "articles far apart",
        tuple(cell for khop in (1, 2) for cell in _cells("khop", CITATIONS, MODELS, khop=khop)),
        tuple(cell for khop in (1, 2) for cell in _cells("khop", CITATIONS, rivals_for("node"), khop=khop)),
    ),
    "differences": Table(
        "Where the authors' code and their text disagree", "not a table of the paper", "differences", tuple(_differences())
    ),
    "choices": Table(
        "Settings of other systems, tried on seed 0",
        "not a table of the paper",
        "choices",
        rivals=tuple(choice_cells(COMPOUNDS, CITATIONS)),
    ),
}


def plan(
    table: str,
    *,
    seeds: Iterable[int],
    protocol: str = "paper",
    datasets: Iterable[str] | None = None,
    models: Iterable[str] | None = None,
    variants: Iterable[str] | None = None,
    khops: Iterable[int] | None = None,
    epochs: int | None = None,
) -> list[Run]:
    """All runs of a table, seed by seed so that every cell grows alike. Filters keep the rows they name; None keeps all.

    Other systems than the paper's own are run if `models` names them, or has ``rivals`` for all of them.

    With `epochs` runs are trials: they stop after this many epochs and are kept apart from full ones.
    """
    if table not in TABLES:
        raise ValueError(f"`table` must be one of {', '.join(TABLES)} (got {table!r}).")
    if table == "differences" and protocol != "authors":
        raise ValueError("table differences changes single points of the authors' code, so it needs protocol authors.")
    own, rivals = TABLES[table].cells, TABLES[table].rivals
    if models is not None:
        models = [name for given in models for name in ({cell.model: 0 for cell in rivals} if given == "rivals" else [given])]
    rows = cells = own if models is None and own else (*own, *rivals)
    for name, chosen in (("dataset", datasets), ("model", models), ("variant", variants), ("khop", khops)):
        if chosen is None:
            continue
        wanted, known = list(chosen), {getattr(cell, name) for cell in rows}
        if unknown := [value for value in wanted if value not in known]:
            raise ValueError(f"table {table} has no {name} {unknown[0]!r}; there is {', '.join(map(str, sorted(known)))}.")
        cells = tuple(cell for cell in cells if getattr(cell, name) in wanted)
    runs = [as_variant(base_run(cell._replace(protocol=protocol), seed)) for seed in seeds for cell in cells]
    if epochs is None:
        return runs
    trials = (replace(run, training=replace(run.training, epochs=epochs), epochs_limit=epochs) for run in runs)
    return [run if run.training.epochs == epochs else trial for run, trial in zip(runs, trials, strict=True)]


def place(cell: Cell) -> tuple[Any, ...]:
    """Sorts cells as the paper lists them; what it does not know comes last, by name."""

    def rank(name: str, known: Iterable[str]) -> tuple[int, str]:
        order = list(known)
        return (order.index(name), "") if name in order else (len(order), name)

    names = rank(cell.dataset, DATASETS), rank(cell.model, (*MODELS, *RIVALS)), rank(cell.variant, MEANINGS)
    return rank(cell.table, TABLES), cell.protocol, cell.khop, *names
