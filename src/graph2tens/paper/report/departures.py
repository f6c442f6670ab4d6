"""What each difference between the authors' text and their code is worth: one by one, added up, and all at once."""

from __future__ import annotations

from dataclasses import dataclass

from ...report import words
from ...report.statistics import Difference, paired_difference
from ...training.config import Cell
from ..tables import TABLES, place
from ..variants import DEPARTURES
from . import naming
from .data import Study


@dataclass(frozen=True)
class Worth:
    """A row of the table: what one point, or all of them, changed for a model, by the name of the data.

    `None` stands for what was planned and is not run; data to which a point does not apply have no entry.
    """

    point: str
    model: str
    by_data: dict[str, Difference | None]

    def shown(self, data: str) -> str:
        """In two decimals, since some of it is small and measured well."""
        if data not in self.by_data:
            return words.DASH
        return words.gap(self.by_data[data], 2) or words.NOT_RUN

    def stands_out(self, data: str) -> bool:
        """Whether it is farther from nothing than two standard errors."""
        found = self.by_data.get(data)
        return found is not None and not found.agrees


def worth(study: Study) -> list[Worth]:
    """Point by point; then, where there are runs with all of the text's settings, the sum, what all changed at once, and the rest."""
    rows = []
    cells = sorted({*TABLES["differences"].cells, *(effect.cell for effect in study.departures())}, key=place)
    for variant, departure in DEPARTURES.items():
        for model in departure.models:
            mine = [cell for cell in cells if cell.variant == variant and cell.model == model and cell.protocol == "authors"]
            rows.append(Worth(departure.point, model, {naming.data_name(cell): study.effect(cell).ours for cell in mine}))
    found = sums(study)
    for model in words.in_order(one.cell.model for one in found):
        named = {naming.data_name(one.cell): one for one in found if one.cell.model == model}
        rows.append(Worth("measured points added up", model, {name: one.sum for name, one in named.items()}))
        rows.append(Worth("all of the text's settings", model, {name: one.together for name, one in named.items()}))
        rows.append(Worth("the latter minus the sum", model, {name: one.rest for name, one in named.items()}))
    return rows


@dataclass(frozen=True)
class Sum:
    """What the text's settings change in one cell, everything seed by seed over the seeds that all runs have.

    Attributes:
        cell: of the paper's tables, with the text's settings.
        sum: of all points measured there.
        together: all of the text's settings against the code's.
        rest: what is left of it when the sum is taken away: interplay of the points, and settings that were not measured singly.
    """

    cell: Cell
    sum: Difference
    together: Difference
    rest: Difference


def sums(study: Study) -> list[Sum]:
    """One for each cell that was run with both settings and has a point measured."""
    found = []
    for result in study.cells:
        cell = result.cell
        base = study.result(cell._replace(protocol="authors"))
        if cell.protocol != "paper" or cell.variant != "base" or base is None:
            continue
        variants = [study.result(base.cell._replace(table="differences", variant=variant)) for variant in DEPARTURES]
        measured = [variant.by_seed for variant in variants if variant is not None]
        seeds = set(base.by_seed).intersection(result.by_seed, *measured)
        unchanged = {seed: base.by_seed[seed] for seed in seeds}
        added = {seed: unchanged[seed] + sum(accuracies[seed] - unchanged[seed] for accuracies in measured) for seed in seeds}
        total, together, rest = (
            paired_difference(one, other) for one, other in ((added, unchanged), (result.by_seed, unchanged), (result.by_seed, added))
        )
        if measured and total and together and rest:
            found.append(Sum(cell, total, together, rest))
    return found
