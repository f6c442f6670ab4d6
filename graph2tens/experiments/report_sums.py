"""Do the points in which text and code differ, measured one by one, add up to what all of them change together?"""

from __future__ import annotations

from dataclasses import dataclass

from .paper_numbers import DEPARTURES
from .report_data import Study
from .report_records import Cell
from .report_statistics import Difference, difference, paired_difference


@dataclass(frozen=True)
class Sum:
    """What the text's settings change in one cell.

    Attributes:
        cell: of the paper's tables, with the text's settings.
        points: worth of each point that was measured, by the name of its variant.
        sum: of these, taken seed by seed, since all are against the same runs; over the seeds that every point has.
        together: our runs with the text's settings against those with the code's. Their splits may differ, so seeds are not paired.
    """

    cell: Cell
    points: dict[str, Difference]
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
        measured = [(variant, gap) for variant in variants if variant and (gap := paired_difference(variant.by_seed, base.by_seed))]
        seeds = set(base.by_seed).intersection(*(variant.by_seed for variant, _ in measured))
        changed = {seed: sum(variant.by_seed[seed] - base.by_seed[seed] for variant, _ in measured) for seed in seeds}
        total, together = paired_difference(changed, dict.fromkeys(seeds, 0.0)), difference(result.ours, base.ours)
        if measured and total and together:
            found.append(Sum(cell, {variant.cell.variant: gap for variant, gap in measured}, total, together))
    return found
