"""The report as Markdown: tables for a file of their own, and the marked sections of README and docs, which are never typed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from . import report_words as words
from .paper_numbers import DEPARTURES, TABLES
from .report_data import CellResult, Study, Verdict
from .report_departures import worth
from .report_statistics import beyond_by_chance, root_mean_square

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>|#]")


def escape(text: str) -> str:
    """Text of a record as plain text in Markdown: one line, nothing in it acts as markup."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numeric: int = 0) -> str:
    """A table of cells that are escaped already; the last ``numeric`` columns are aligned to the right."""
    rule = ["---"] * (len(headings) - numeric) + ["---:"] * numeric
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (headings, rule, *rows)) + "\n"


def _row(result: CellResult, with_variant: bool, with_authors: bool) -> list[str]:
    gap, cell = result.difference, result.cell
    names = [words.data_name(cell), cell.model, *([cell.variant] if with_variant else []), cell.protocol]
    numbers = [
        words.mean_std(result.ours) if result.ours else words.NOT_RUN,
        str(len(result.runs)),
        words.mean_std(result.published) if result.published else "",
        words.gap(gap),
        words.signed(gap.in_standard_errors) if gap else "",
    ]
    if with_authors:
        numbers.append(f"{words.gap(result.same_seed)} ({result.same_seed.pairs})" if result.same_seed else "")
    return [escape(text) for text in [*names, f"{words.MARKS[result.verdict]} {result.verdict.value}", *numbers]]


def cell_table(results: Sequence[CellResult], *, with_authors: bool = False) -> str:
    """Cells with our mean ± std, the number of seeds, the paper's, and the difference in points and in standard errors."""
    with_variant = any(result.cell.variant != "base" for result in results)
    numeric = ["Ours, %", "Seeds", "Paper, %", "Difference, points ± 2 SE", "In standard errors"]
    numeric += ["Same seeds, points ± 2 SE (n)"] * with_authors
    headings = ["Data", "Model", *(["Variant"] if with_variant else []), "Settings", "Verdict", *numeric]
    return table(headings, (_row(result, with_variant, with_authors) for result in results), len(numeric))


def all_tables(study: Study) -> str:
    """Every cell, grouped by the paper's tables: the content of ``tables.md``."""
    parts = [f"# Results\n\n{escape(words.provenance(study))}\n", _outcomes(study), _how_to_read()]
    for name, results in groupby(study.cells, key=lambda result: result.cell.table):
        parts.append(f"## {escape(TABLES.get(name, name or 'Other runs'))}\n\n{cell_table(list(results), with_authors=study.with_authors)}")
    parts += ["## What each ingredient is worth\n\n" + effects(study)]
    parts += ["## Where the authors' code and their text disagree\n\n" + departures(study)]
    return "\n".join(parts)


def _how_to_read() -> str:
    return (
        "Mean ± standard deviation of the test accuracy over the seeds. The standard error of a difference is √(s₁²/n₁ + s₂²/n₂), with\n"
        "sample deviations (the paper prints population ones, which are converted). A cell agrees when it lies at most two of them apart.\n"
    )


def _outcomes(study: Study) -> str:
    lines = [f"With {words.PROTOCOLS.get(name, name)}: {words.outcome(study, name)}" for name in words.protocols(study)]
    return "".join(f"- {escape(line)}\n" for line in [*lines, words.missing(study)] if line)


def results(study: Study) -> str:
    """The README's section: how it came out in a few lines, and the cells that were run of the main tables."""
    if not study.runs:
        return "No runs recorded yet.\n"
    shown = [result for result in study.cells if result.runs and result.cell.table in ("nci", "citation", "khop")]
    parts = [_outcomes(study)]
    if shown:
        parts.append(cell_table(shown))
    if untrained := [result for result in study.untrained() if result.cell.variant == "base"]:
        parts.append("Without training a network, features and an SVM on the same splits:\n\n" + _untrained_table(study, untrained))
    return "\n".join([*parts, f"{escape(words.provenance(study))}\n"])


def without_training(study: Study) -> str:
    """Features and an SVM: every variant that was run, against the defaults on equal splits."""
    cells = study.untrained()
    return _untrained_table(study, cells) if cells else "Not run yet.\n"


def _untrained_table(study: Study, results: Sequence[CellResult]) -> str:
    rows = []
    for result in results:
        gap = study.against_default_features(result)
        variant = "all defaults" if result.cell.variant == "base" else result.cell.variant
        rows.append([result.cell.dataset, result.cell.model, variant, words.mean_std(result.ours), str(len(result.runs)), words.gap(gap)])
    headings = ["Data", "Method", "Variant", "Test accuracy, %", "Splits", "Against our defaults, points ± 2 SE"]
    return table(headings, ([escape(text) for text in row] for row in rows), 3)


def agreement(study: Study) -> str:
    """What reproduces: the cells within two standard errors, with how large a gap could still hide there."""
    cells = [result for result in study.compared if result.verdict is Verdict.AGREES]
    if cells:
        return cell_table(cells, with_authors=study.with_authors)
    return "Nothing agrees so far.\n" if study.compared else "Nothing compared yet.\n"


def disagreement(study: Study) -> str:
    """What does not: the cells farther off than two standard errors, the farthest first."""
    apart = [result for result in study.compared if result.verdict is not Verdict.AGREES]
    if not study.compared:
        return "Nothing compared yet.\n"
    expected = f"Of {len(study.compared)} comparisons, chance alone would put about {beyond_by_chance(len(study.compared)):.1f} here.\n"
    if not apart:
        return f"No cell lies farther than two standard errors from the paper. {expected}"
    apart.sort(key=lambda result: -abs(result.difference.in_standard_errors) if result.difference else 0.0)
    return f"{cell_table(apart, with_authors=study.with_authors)}\n{expected}"


def parts(study: Study) -> str:
    """On which of the two parts that graphs are held out in do the authors' test accuracies lie? Seed by seed, with the same splits."""
    found = [
        (result.cell, run.seed, result.authors[run.seed], run.test, run.validation)
        for result in study.cells
        for run in result.runs
        if (result.cell.table, result.cell.protocol) == ("nci", "authors") and run.seed in result.authors and run.validation is not None
    ]
    if not found:
        return "Nothing to compare: this needs runs of NCI1 or NCI109 and the authors' table of runs.\n"
    rows = [[cell.dataset, cell.model, str(seed), *(f"{value:.1f}" for value in values)] for cell, seed, *values in found]
    headings = ["Data", "Model", "Seed", "Authors, test, %", "Ours, test, %", "Ours, validation, %"]
    from_test = root_mean_square(test - theirs for _, _, theirs, test, _ in found)
    from_validation = root_mean_square(validation - theirs for _, _, theirs, _, validation in found)
    return (
        f"{table(headings, rows, 3)}\nRoot mean square distance of the authors' test accuracy from our test accuracy: "
        f"{from_test:.1f} points, from our validation accuracy: {from_validation:.1f} points.\n"
    )


def not_run(study: Study) -> str:
    """What is missing, cell by cell but in short."""
    tried = {run.cell: run.epochs for run in study.trials}
    lines = []
    for result in study.cells:
        name = escape(f"{words.cell_name(result.cell)}, settings {result.cell.protocol}")
        if result.verdict is Verdict.NOT_RUN:
            epochs = tried.get(result.cell)
            lines.append(f"- not run yet: {name}" + (f" (it runs: tried for {words.plural(epochs, 'epoch')})" if epochs else ""))
        elif result.verdict is Verdict.ONE_SEED:
            lines.append(f"- one seed only: {name}")
    return "\n".join(lines) + "\n" if lines else "Every cell of the paper's tables has been run.\n"


def effects(study: Study) -> str:
    """The ablation: change against the full model, ours on equal seeds and the paper's from its means."""
    ablations = study.ablations()
    if not ablations:
        return "Not run yet.\n"
    rows = [
        [words.data_name(e.cell), e.cell.model, e.cell.variant, e.cell.protocol, words.gap(e.ours) or words.NOT_RUN, words.gap(e.paper)]
        for e in ablations
    ]
    headings = ["Data", "Model", "Variant", "Settings", "Ours, points ± 2 SE", "Paper, points ± 2 SE"]
    counts = []
    for whose, gaps in (
        ("ours", [e.ours for e in ablations]),
        ("the paper's", [e.paper for e in ablations if e.cell.protocol == "authors"]),
    ):
        known = [gap for gap in gaps if gap is not None]
        counts += [f"{sum(not gap.agrees for gap in known)} of {len(known)} of {whose}"] if known else []
    note = f"Farther than two standard errors from the full model: {words.listing(counts)}.\n" if counts else ""
    return f"{table(headings, ([escape(text) for text in row] for row in rows), 2)}\n{note}"


def departures(study: Study) -> str:
    """Text against code, point by point, and what the difference is worth where it was measured."""
    points = [[escape(text) for text in (departure.point, departure.text, departure.code)] for departure in DEPARTURES]
    stated = table(["Point", "Paper's text", "Authors' code"], points)
    measured = worth(study)
    data = words.in_order(name for row in measured for name in row.by_data)
    rows = [[row.point, row.model, *(words.gap(row.by_data.get(name)) for name in data)] for row in measured]
    worths = table(
        ["Worth of the text's version, points ± 2 SE", "Model", *data], ([escape(text) for text in row] for row in rows), len(data)
    )
    return f"{stated}\n{worths}"


SECTIONS = {
    "results": results,
    "features": without_training,
    "agreement": agreement,
    "disagreement": disagreement,
    "parts": parts,
    "not-run": not_run,
    "ablation": effects,
    "departures": departures,
}


def updated_sections(path: Path, study: Study) -> tuple[str, list[str]]:
    """The file's text with every marked section written anew, and the names of those sections."""
    text, found = path.read_bytes().decode("utf-8"), []
    for name, write in SECTIONS.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if begin not in text and end not in text:
            continue
        head, _, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not closed or begin in tail or end in head + tail:
            raise ValueError(f"`{path}` must have `{begin}` once and `{end}` once after it; repair the markers and run again")
        text = f"{head}{begin}\n<!-- written by `graph2tens report`; do not edit -->\n\n{write(study)}\n{end}{tail}"
        found.append(name)
    if not found:
        raise ValueError(
            f"`{path}` has no marked section; put `<!-- results:begin -->` and `<!-- results:end -->` where the results belong"
        )
    return text, found
