"""Tables in Markdown, of cells, of features without training, and of systems in a contest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ....report import words
from ...protocols import MODELS
from .. import naming
from ..data import CellResult, Study
from ..rivals import Contest, Standing

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>|#]")


def escape(text: str) -> str:
    """Text of a record as plain text in Markdown: one line, nothing in it acts as markup."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numeric: int = 0) -> str:
    """A table of cells that are escaped already; the last ``numeric`` columns are aligned to the right."""
    rule = ["---"] * (len(headings) - numeric) + ["---:"] * numeric
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (headings, rule, *rows)) + "\n"


def _row(result: CellResult, with_variant: bool, with_settings: bool, with_authors: bool) -> list[str]:
    gap, cell = result.difference, result.cell
    names = [naming.data_name(cell), cell.model, *([cell.variant] * with_variant)]
    names += [naming.setting(cell.protocol)] * with_settings
    numbers = [
        words.mean_std(result.ours) if result.ours else words.NOT_RUN,
        str(len(result.runs)),
        words.mean_std(result.published) if result.published else "",
        words.gap(gap),
        words.signed(gap.in_standard_errors) if gap else "",
    ]
    if with_authors:
        numbers.append(words.paired_gap(result.same_seed) if result.same_seed else "")
    return [escape(text) for text in [*names, f"{naming.MARKS[result.verdict]} {result.verdict.value}", *numbers]]


def cell_table(results: Sequence[CellResult], *, with_settings: bool = True, with_authors: bool = False) -> str:
    """Cells with our mean ± std, the number of seeds, the paper's, and the difference in points and in standard errors."""
    with_variant = any(result.cell.variant != "base" for result in results)
    numeric = ["Ours, %", "Seeds", "Paper, %", "Difference, points ± 2 SE", "In standard errors"]
    numeric += ["Same seeds, points ± 2 SE (n)"] * with_authors
    headings = ["Data", "Model", *(["Variant"] * with_variant), *(["Settings"] * with_settings), "Verdict", *numeric]
    return table(headings, (_row(result, with_variant, with_settings, with_authors) for result in results), len(numeric))


def untrained_table(study: Study, results: Sequence[CellResult]) -> str:
    rows = []
    for result in results:
        gap, best = study.against_default_features(result), naming.best_published(result.cell.dataset)
        variant, paper = naming.features_name(result.cell), naming.best_name(best)
        rows.append(
            [result.cell.dataset, result.cell.model, variant, words.mean_std(result.ours), str(len(result.runs)), words.gap(gap), paper]
        )
    headings = ["Data", "Method", "Variant", "Test accuracy, %", "Splits", "Against our defaults, points ± 2 SE", "Best in the paper, %"]
    return table(headings, ([escape(text) for text in row] for row in rows), 4)


def standings_table(found: Sequence[Contest]) -> str:
    """All systems of some contests, best first."""
    rows = [[escape(text) for text in _standing(contest.name, one)] for contest in found for one in contest.standings]
    headings = ["Data", "System", "Ours, %", "Splits", "Printed, %", "Against G2TN", "Against G2TAN", "Time of a run", "Parameters"]
    return table(headings, rows, 7)


def _standing(data: str, one: Standing) -> list[str]:
    gaps = [words.paired_gap(gap) if (gap := one.against.get(model)) else "" for model in MODELS]
    time = words.seconds(one.seconds) if one.seconds else ""
    printed = words.mean_std(one.printed) if one.printed else ""
    numbers = [words.mean_std(one.result.ours), str(len(one.result.runs)), printed, *gaps, time]
    return [data, one.name, *numbers, f"{one.parameters:,}" if one.parameters else ""]
