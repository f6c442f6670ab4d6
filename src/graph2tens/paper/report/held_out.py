"""Were the authors' test accuracies measured on the test part or on the validation part? Two ways to find out."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import StatisticsError, correlation, fmean

from ...training.config import Cell
from ..protocols import COMPOUNDS, MODELS
from .data import Study


@dataclass(frozen=True)
class HeldOut:
    """One seed: the authors' test accuracy beside ours on both parts, with the same split."""

    cell: Cell
    seed: int
    authors: float
    test: float
    validation: float


def held_out(study: Study) -> list[HeldOut]:
    """Every run of the paper's models on compounds, with the code's settings, that the authors' table has too."""
    return [
        HeldOut(result.cell, run.seed, result.authors[run.seed], run.test, run.validation)
        for result in study.cells
        for run in result.runs
        if (result.cell.table, result.cell.protocol) == ("nci", "authors") and run.seed in result.authors and run.validation is not None
    ]


@dataclass(frozen=True)
class Luck:
    """Do seeds that are lucky for the authors' test accuracy have an easy test part, or an easy validation part?

    Attributes:
        dataset: of compounds.
        seeds: that could be compared.
        test, validation: correlation, over the seeds, of the authors' test accuracy (mean of both models) with that of features and an
            SVM on the part of this name (mean over all their recorded variants).
    """

    dataset: str
    seeds: int
    test: float
    validation: float


def luck(study: Study) -> list[Luck]:
    """One for each dataset with at least three common seeds."""
    found = []
    for dataset in COMPOUNDS:
        theirs = [
            result.authors
            for m in MODELS
            if (result := study.result(Cell("nci", dataset, m, protocol="authors"))) is not None and result.authors
        ]
        cells = [result for result in study.untrained() if result.cell.dataset == dataset]
        runs = [(run.seed, run.test, run.validation) for result in cells for run in result.runs if run.validation is not None]
        seeds = sorted(set.intersection({seed for seed, _, _ in runs}, *map(set, theirs))) if theirs else []
        if len(seeds) < 3:
            continue
        authors = [fmean(one[seed] for one in theirs) for seed in seeds]
        test = [fmean(value for other, value, _ in runs if other == seed) for seed in seeds]
        validation = [fmean(value for other, _, value in runs if other == seed) for seed in seeds]
        try:
            found.append(Luck(dataset, len(seeds), correlation(authors, test), correlation(authors, validation)))
        except StatisticsError:  # no spread at all
            continue
    return found
