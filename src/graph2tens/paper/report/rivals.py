"""Every system on the same splits: the others beside G2TN and G2TAN, seed by seed, and the result in a few sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from statistics import median
from typing import NamedTuple

import torch

from ...report import words
from ...report.statistics import Difference, Summary, difference, paired_difference
from ...training.config import Cell
from ..authors import NETWORKS
from ..protocols import COMPOUNDS, MODELS, base_run
from ..published import Published
from ..rivals import RIVALS
from ..tables import place
from . import naming
from .data import CellResult, Study

SIZES = {"NCI1": (37, 2), "NCI109": (38, 2), "Cora": (1433, 7), "CiteSeer": (3703, 6), "PubMed": (500, 3)}  # attributes, classes
ENOUGH = 10  # splits, from which on two standard errors mean about what they mean for many
FEWEST = 5  # splits, below which a difference from a printed mean is not judged
SHCHUR_SPLITS = 100  # behind the printed means of table 4, as its source says


@dataclass(frozen=True)
class Standing:
    """One system in a contest: what it got, what is printed of it, and how far it is from the paper's models on equal splits."""

    name: str
    result: CellResult
    against: Mapping[str, Difference]  # this system minus G2TN or G2TAN, over the seeds that both have

    @property
    def own(self) -> bool:
        """Whether this is one of the paper's models."""
        return self.result.cell.model in MODELS

    @property
    def printed(self) -> Published | None:
        return self.result.published

    @property
    def seconds(self) -> float | None:
        """Of a typical run."""
        known = [run.seconds for run in self.result.runs if run.seconds is not None]
        return median(known) if known else None

    @property
    def parameters(self) -> int | None:
        cell = self.result.cell
        return parameters(cell) if cell.model in (*MODELS, *RIVALS) and cell.dataset in SIZES else None


class Field(NamedTuple):
    """What a contest is about: a data set and a way to split it."""

    table: str
    dataset: str
    khop: int
    protocol: str

    @property
    def cell(self) -> Cell:
        """Of no system."""
        return Cell(self.table, self.dataset, "", khop=self.khop, protocol=self.protocol)


@dataclass(frozen=True)
class Contest:
    """All systems that were run on one data set with one way to split it, best first.

    The order is that of the differences from G2TN on equal seeds: means over different seeds also differ by the luck of their splits.
    """

    field: Field
    standings: tuple[Standing, ...]

    @property
    def name(self) -> str:
        return naming.data_name(self.field.cell)

    @property
    def splits(self) -> str:
        """How many splits another system has in common with G2TN: ``3``, or ``3 to 20``."""
        counts = {gap.pairs or 0 for one in self.standings if not one.own and (gap := one.against.get(MODELS[0]))} or {0}
        return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"

    def split_by(self, model: str) -> tuple[list[str], list[str], list[str]]:
        """Systems above the model by more than two standard errors, within two, and below."""
        parts: tuple[list[str], list[str], list[str]] = ([], [], [])
        for standing in self.standings:
            gap = standing.against.get(model)
            if gap is not None and not standing.own:
                parts[1 if gap.agrees else 0 if gap.points > 0 else 2].append(standing.name)
        return parts


@cache
def parameters(cell: Cell) -> int:
    """Numbers that are learned, counted without taking memory for them."""
    run = base_run(cell)
    with torch.device("meta"):
        network = NETWORKS[run.builder](*SIZES[cell.dataset], **run.network)
    return sum(parameter.numel() for parameter in network.parameters())


def contests(study: Study) -> list[Contest]:
    """One for each data set and way to split it in which any other system was run."""

    def field(result: CellResult) -> Field:
        cell = result.cell
        return Field(cell.table, cell.dataset, cell.khop, cell.protocol)

    others = sorted((r for r in study.rivals if r.runs and r.cell.variant == "base"), key=lambda r: (place(r.cell)[:3], field(r)))
    found = []
    for where, group in groupby(sorted(others, key=field), key=field):
        own = _own(study, where)
        features = [r for r in study.untrained() if r.cell.variant == "base" and r.cell.dataset == where.dataset] * (where.table == "nci")
        systems = {**own, **{result.cell.model: result for result in (*group, *features)}}
        standings = []
        for name, result in systems.items():
            gaps = {model: paired_difference(result.by_seed, own[model].by_seed) for model in MODELS if model in own and model != name}
            standings.append(Standing(name, result, {model: gap for model, gap in gaps.items() if gap is not None}))
        found.append(Contest(where, tuple(sorted(standings, key=_rank))))
    return sorted(found, key=lambda contest: place(contest.field.cell))


def _own(study: Study, where: Field) -> dict[str, CellResult]:
    """The paper's models. On the text's split they have all other settings as in their authors' code, the stronger ones, where such runs
    are known; those with the text's settings stand beside them."""
    found: dict[str, CellResult | None] = {}
    for model in MODELS:
        plain = study.result(Cell(where.table, where.dataset, model, "base", where.khop, where.protocol))
        coded = study.result(Cell("differences", where.dataset, model, "BalancedSplit", where.khop, "authors"))
        if where.protocol == "paper" and where.table == "citation" and coded is not None:
            found[model] = coded
            found[f"{model}, text's settings"] = plain
        else:
            found[model] = plain
    return {name: result for name, result in found.items() if result is not None and result.runs}


def _rank(standing: Standing) -> tuple[float, float]:
    """By the difference from G2TN, which is 0 for itself; what has none (one seed) comes last, by its mean."""
    mean = standing.result.ours.mean if standing.result.ours else 0.0
    if standing.name == MODELS[0]:
        return 0.0, -mean
    gap = standing.against.get(MODELS[0])
    return (-gap.points, -mean) if gap is not None else (float("inf"), -mean)


def grouped(found: Iterable[Contest]) -> list[tuple[str, list[Contest]]]:
    """Contests by table and way to split, with what they have in common as a title."""
    parts = []
    for (table, protocol), group in groupby(found, key=lambda contest: (contest.field.table, contest.field.protocol)):
        some = list(group)
        by = "" if some[0].field.dataset in COMPOUNDS else f", split as in {naming.setting(protocol)}"
        parts.append((f"{words.upper(naming.heading(table)[1])}{by}", some))
    return parts


def outcome_of(contest: Contest) -> str:
    """Who is first, and which systems lie beyond two standard errors of G2TN; empty if no two systems have two seeds in common."""
    above, level, below = contest.split_by(MODELS[0])
    if not (above or level or below):
        return ""
    best = contest.standings[0]
    gap = best.against.get(MODELS[0])
    first = best.name if gap is None else f"{best.name} ({words.gap(gap)} points against {MODELS[0]})"
    sides = [("above G2TN", above), ("level with G2TN", level), ("below G2TN", below)]
    said = "; ".join(f"{side}: {words.listing(names)}" for side, names in sides if names)
    return f"{contest.name}, {contest.splits} splits: first is {first}. {words.upper(said)}."


def headline(found: Sequence[Contest]) -> str:
    """The answer before all tables: of how many contests the paper's models are first, or level with the first."""
    decided = [contest for contest in found if any(contest.split_by(MODELS[0]))]
    if not decided:
        return "No two systems have two seeds in common yet."
    first = [contest.name for contest in decided if contest.standings[0].own]
    beaten = [contest for contest in decided if contest.split_by(MODELS[0])[0] and contest.split_by(MODELS[1])[0]]
    text = f"On equal splits G2TN or G2TAN is first in {len(first)} of {len(decided)} comparisons"
    text += f"; in {len(beaten) or 'none of them'} some other system is better than both by more than two standard errors."
    fewest = min(gap.pairs or 0 for contest in decided for one in contest.standings for gap in one.against.values())
    return (
        text if fewest >= ENOUGH else f"{text} Many rest on {fewest} splits so far, where chance alone crosses two standard errors often."
    )


def as_published(study: Study) -> list[tuple[CellResult, Difference | None]]:
    """Table 4's systems under the protocol of their source, beside the means that are printed of them."""
    rows = []
    for result in study.rivals:
        printed, cell = result.published, result.cell
        if cell.table == "citation" and cell.protocol == "paper" and cell.variant == "base" and printed is not None:
            enough = len(result.runs) >= FEWEST  # two or three values say little about their own deviation
            rows.append((result, difference(result.ours, Summary(printed.mean, printed.std, SHCHUR_SPLITS)) if enough else None))
    return rows
