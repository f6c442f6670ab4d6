"""From runs to cells: what was run, what the paper printed beside it, and how far apart they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from ...report.statistics import Difference, Summary, difference, paired_difference, summarise
from ...training.config import Cell
from ...training.records import Record
from ..protocols import COMPOUNDS
from ..published import PUBLISHED, Published
from ..rivals import RIVALS
from ..tables import TABLES, place
from ..variants import ABLATIONS, DEPARTURES
from .authors_runs import canonical

DEFAULT_FEATURES = "GraphTensFeatures+SVM"  # the name under which `graph2tens classify` records them


class Verdict(Enum):
    """The outcome of a cell. The value is what a reader sees."""

    AGREES = "agrees"
    HIGHER = "higher"
    LOWER = "lower"
    ONE_SEED = "one seed, no verdict"
    NOT_RUN = "not run yet"
    NO_REFERENCE = "no published number"


@dataclass(frozen=True)
class CellResult:
    """A cell with everything known about it: our runs, the paper's number, the authors' runs where their table was given."""

    cell: Cell
    runs: tuple[Record, ...] = ()
    published: Published | None = None
    authors: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def by_seed(self) -> dict[int, float]:
        return {run.seed: run.test for run in self.runs}

    @cached_property
    def ours(self) -> Summary | None:
        return summarise(run.test for run in self.runs)

    @cached_property
    def paper(self) -> Summary | None:
        """The printed mean with the deviation that a standard error needs."""
        p = self.published
        return None if p is None or p.seeds is None else Summary(p.mean, p.sample_std, p.seeds)

    @cached_property
    def difference(self) -> Difference | None:
        return difference(self.ours, self.paper)

    @cached_property
    def same_seed(self) -> Difference | None:
        """Where a seed gives the split it gave the authors; with the text's settings citation graphs are split in another way."""
        same_split = self.cell.protocol == "authors" or self.cell.dataset in COMPOUNDS
        return paired_difference(self.by_seed, self.authors) if same_split else None

    @property
    def verdict(self) -> Verdict:
        if self.ours is None:
            return Verdict.NOT_RUN
        if self.paper is None:
            return Verdict.NO_REFERENCE
        if self.difference is None:
            return Verdict.ONE_SEED
        if self.difference.agrees:
            return Verdict.AGREES
        return Verdict.HIGHER if self.difference.points > 0 else Verdict.LOWER


@dataclass(frozen=True)
class Effect:
    """What one changed option is worth against the base model: ours on equal seeds, the paper's from its two means."""

    cell: Cell
    ours: Difference | None
    paper: Difference | None


@dataclass(frozen=True)
class Study:
    """All that a report shows. Cells the paper has and we have not are in it too, without runs."""

    cells: tuple[CellResult, ...]
    trials: tuple[Record, ...] = ()
    remarks: tuple[str, ...] = ()
    benchmarks: tuple[Mapping[str, Any], ...] = ()
    with_authors: bool = False
    rivals: tuple[CellResult, ...] = ()  # other systems, which the paper only quotes

    @cached_property
    def runs(self) -> tuple[Record, ...]:
        return tuple(run for cell in self.cells for run in cell.runs)

    @cached_property
    def compared(self) -> tuple[CellResult, ...]:
        """Cells with a verdict: runs of two seeds or more beside a published number."""
        return tuple(cell for cell in self.cells if cell.difference is not None)

    @property
    def date(self) -> str:
        """The day of the last run, from the records; empty when they do not say."""
        return max((run.finished for run in self.runs), default="")[:10]

    def result(self, cell: Cell) -> CellResult | None:
        return next((result for result in self.cells if result.cell == cell), None)

    def effect(self, cell: Cell) -> Effect:
        """Worth of the cell's variant against the base model with the same data, model and protocol."""
        base_table = "nci" if cell.dataset in COMPOUNDS else "citation" if cell.khop == 0 else "khop"
        base, variant = self.result(cell._replace(table=base_table, variant="base")), self.result(cell)
        if base is None or variant is None:
            return Effect(cell, None, None)
        return Effect(cell, paired_difference(variant.by_seed, base.by_seed), difference(variant.paper, base.paper))

    def ablations(self) -> list[Effect]:
        return [self.effect(result.cell) for result in self.cells if result.cell.variant in ABLATIONS]

    def untrained(self) -> list[CellResult]:
        """Features and an SVM, the default ones first."""
        cells = [result for result in self.cells if result.cell.table == "features"]
        return sorted(cells, key=lambda result: (result.cell.dataset, result.cell.variant != "base", result.cell.model))

    def against_default_features(self, result: CellResult) -> Difference | None:
        """On equal splits; None for the default features themselves."""
        default = self.result(result.cell._replace(model=DEFAULT_FEATURES, variant="base"))
        return None if default is None or default is result else paired_difference(result.by_seed, default.by_seed)

    def departures(self) -> list[Effect]:
        return [self.effect(result.cell) for result in self.cells if result.cell.variant in DEPARTURES]


def _is_trial(run: Record) -> bool:
    """Cut short by ``--epochs``: it says that the cell runs and nothing more."""
    return run.cell.table in TABLES and run.epochs_limit is not None


def _newest(runs: Iterable[Record]) -> list[Record]:
    """One run for each cell and seed: a repetition replaces what was measured before it."""
    latest: dict[tuple[Cell, int], Record] = {}
    for run in sorted(runs, key=lambda run: run.finished):
        latest[run.cell, run.seed] = run
    return sorted(latest.values(), key=lambda run: (place(run.cell), run.seed))


def collect(
    records: Iterable[Mapping[str, Any]],
    *,
    authors_runs: Mapping[Cell, Mapping[int, float]] | None = None,
    benchmarks: Iterable[Mapping[str, Any]] = (),
    remarks: Iterable[str] = (),
) -> Study:
    """Group the records by cell and lay the paper's numbers beside them.

    With any record of a paper's table, every cell of the paper's own models is listed under protocol ``authors`` (and under ``paper`` for
    the tables begun there), so that what was not run shows as missing.
    """
    notes, parsed = list(remarks), []
    for record in records:
        try:
            found = Record.parse(record)
            parsed.append(replace(found, cell=found.cell._replace(dataset=canonical(found.cell.dataset))))
        except ValueError as error:
            notes.append(f"a record was set aside: {error}")
    runs = _newest(run for run in parsed if not _is_trial(run))
    groups: dict[Cell, list[Record]] = defaultdict(list)
    for run in runs:
        groups[run.cell].append(run)
    published = {(p.table, p.dataset, p.model, p.variant, p.khop): p for p in PUBLISHED if p.proposed}
    begun = {(run.cell.table, run.cell.protocol) for run in parsed if run.cell.model not in RIVALS}
    cells = set(groups)
    if any(table in TABLES for table, _ in begun) or not parsed:
        cells |= {Cell(*key, protocol="authors") for key in published}
        cells |= {Cell(*key, protocol=protocol) for key in published for table, protocol in begun if table == key[0]}
    authors = authors_runs or {}
    if authors and not any(cell._replace(protocol="authors") in authors for cell in cells):
        notes.append("the authors' table of runs has no cell that is compared here")
    results = (
        CellResult(cell, tuple(groups.get(cell, ())), published.get(cell[:5]), authors.get(cell._replace(protocol="authors"), {}))
        for cell in sorted(cells, key=place)
    )
    own: list[CellResult] = []
    others: list[CellResult] = []
    for result in results:
        if result.cell.model in RIVALS and result.cell.table in TABLES:
            others.append(replace(result, published=_printed(result.cell)))
        else:
            own.append(result)
    trials = tuple(filter(_is_trial, parsed))
    return Study(tuple(own), trials, tuple(notes), tuple(benchmarks), bool(authors), tuple(others))


def _printed(cell: Cell) -> Published | None:
    """What the paper quotes of another system."""
    name = RIVALS[cell.model].printed.get(cell.table)
    wanted = (cell.table, cell.dataset, name, cell.variant, cell.khop)
    return next((p for p in PUBLISHED if (p.table, p.dataset, p.model, p.variant, p.khop) == wanted), None)
