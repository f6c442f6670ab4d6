"""What the points in which the authors' text and code differ are worth: one by one, added up, and all at once."""

from __future__ import annotations

from dataclasses import dataclass

from . import report_words as words
from .paper_numbers import DEPARTURES
from .report_data import Study
from .report_records import Cell
from .report_statistics import Difference, difference, paired_difference


@dataclass(frozen=True)
class Worth:
    """A row of the table: what one point, or all of them, changed for a model, by the name of the data."""

    point: str
    model: str
    by_data: dict[str, Difference]


def worth(study: Study) -> list[Worth]:
    """Point by point; then, where there are runs with all of the text's settings, the sum and what all changed at once."""
    rows = []
    for departure, effects in words.departure_effects(study):
        if not effects:
            rows.append(Worth(f"{departure.point}: not measured yet", words.listing(departure.models), {}))
        for model in words.in_order(effect.cell.model for effect in effects):
            gaps = {words.data_name(effect.cell): effect.ours for effect in effects if effect.cell.model == model and effect.ours}
            rows.append(Worth(departure.point, model, gaps))
    found = sums(study)
    for model in words.in_order(one.cell.model for one in found):
        mine = [one for one in found if one.cell.model == model]
        rows.append(Worth("these points added up", model, {words.data_name(one.cell): one.sum for one in mine}))
        rows.append(Worth("all of the text's settings", model, {words.data_name(one.cell): one.together for one in mine}))
    return rows


@dataclass(frozen=True)
class Sum:
    """What the text's settings change in one cell.

    Attributes:
        cell: of the paper's tables, with the text's settings.
        sum: of all points measured there, taken seed by seed, since all are against the same runs; over the seeds that every point has.
        together: our runs with the text's settings against those with the code's. Their splits may differ, so seeds are not paired.
    """

    cell: Cell
    sum: Difference
    together: Difference


def sums(study: Study) -> list[Sum]:
    """One for each cell that was run with both settings and has a point measured."""
    found = []
    for result in study.cells:
        cell = result.cell
        base = study.result(cell._replace(protocol="authors"))
        if cell.protocol != "paper" or cell.variant != "base" or base is None:
            continue
        variants = [study.result(base.cell._replace(table="differences", variant=departure.variant)) for departure in DEPARTURES]
        measured = [variant.by_seed for variant in variants if variant is not None]
        seeds = set(base.by_seed).intersection(*measured)
        changed = {seed: sum(accuracies[seed] - base.by_seed[seed] for accuracies in measured) for seed in seeds}
        total, together = paired_difference(changed, dict.fromkeys(seeds, 0.0)), difference(result.ours, base.ours)
        if measured and total and together:
            found.append(Sum(cell, total, together))
    return found
