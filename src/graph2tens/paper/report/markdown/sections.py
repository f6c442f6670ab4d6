"""The sections of README and docs as Markdown, never typed by hand; and ``tables.md``, a file of all tables."""

from __future__ import annotations

from itertools import groupby
from statistics import fmean

from ....report import words
from ....report.statistics import beyond_by_chance, paired_difference
from ...variants import DEPARTURES
from .. import naming, sentences
from ..data import Study, Verdict
from ..departures import Worth, worth
from ..held_out import held_out, luck
from ..rivals import as_published, contests, grouped, headline, outcome_of
from .tables import cell_table, escape, standings_table, table, untrained_table

HOW_TO_READ = (
    "Mean ± standard deviation of the test accuracy over the seeds. The standard error of a difference is √(s₁²/n₁ + s₂²/n₂), with\n"
    "sample deviations (the paper prints population ones, which are converted). A cell agrees when it lies at most two of them apart.\n"
    "Settings: *code*, as in the authors' code, or *text*, as in the paper's text.\n"
)


def _outcomes(study: Study) -> str:
    lines = [f"With {naming.settings_in_full(name)}: {sentences.outcome(study, name)}" for name in sentences.protocols(study)]
    head = sentences.headline(study)
    return f"{escape(head)}\n\n" * bool(head) + "".join(f"- {escape(line)}\n" for line in [*lines, sentences.missing(study)] if line)


def _untrained(study: Study) -> list[str]:
    """Features with their defaults, and the kernel, if they were run."""
    cells = [result for result in study.untrained() if result.cell.variant == "base"]
    return ["Without training a network, features and an SVM on the same splits:\n\n" + untrained_table(study, cells)] if cells else []


def summary(study: Study) -> str:
    """The README's section: the result in one sentence, and features without training beside the paper's best number."""
    if not study.runs:
        return "No runs recorded yet.\n"
    parts = [f"{escape(head)}\n"] if (head := sentences.headline(study)) else []
    return "\n".join([*parts, *_untrained(study), f"{escape(sentences.provenance(study))}\n"])


def results(study: Study) -> str:
    """The result in a few lines, and what was run of the main tables with the first settings compared."""
    if not study.runs:
        return "No runs recorded yet.\n"
    shown = [result for result in study.cells if result.runs and result.cell.table in ("nci", "citation", "khop")]
    if study.compared:
        shown = [result for result in shown if result.cell.protocol == sentences.protocols(study)[0]]
    parts = [_outcomes(study)]
    if shown:
        only = len({result.cell.protocol for result in shown}) == 1
        head = escape(f"With {naming.settings(shown[0].cell.protocol)}:") + "\n\n" if only else ""
        parts.append(head + cell_table(shown, with_settings=not only, with_authors=study.with_authors))
    return "\n".join([*parts, *_untrained(study), f"{escape(sentences.provenance(study))}\n"])


def without_training(study: Study) -> str:
    """Features and an SVM: every variant that was run, against the defaults on equal splits."""
    cells = study.untrained()
    return untrained_table(study, cells) if cells else "Not run yet.\n"


def _unfolding(summary: str, content: str) -> str:
    """Content that opens with a click, on pages that show Markdown."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n</details>\n"


def agreement(study: Study) -> str:
    """What reproduces: the cells within two standard errors, with how large a gap could still hide there."""
    cells = [result for result in study.compared if result.verdict is Verdict.AGREES]
    if cells:
        return _unfolding("All cells that agree", cell_table(cells, with_authors=study.with_authors))
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
    """Are the names of the two held-out parts exchanged? Our runs beside the authors', and which seeds are lucky."""
    found = held_out(study)
    if not found:
        return "Nothing to compare: this needs runs of NCI1 or NCI109 and the authors' table of runs.\n"
    rows = [
        [one.cell.dataset, one.cell.model, str(one.seed), *(f"{value:.1f}" for value in (one.authors, one.test, one.validation))]
        for one in found
    ]
    headings = ["Data", "Model", "Seed", "Authors, test, %", "Ours, test, %", "Ours, validation, %"]
    from_test = {place: (one.test - one.authors) ** 2 for place, one in enumerate(found)}
    from_validation = {place: (one.validation - one.authors) ** 2 for place, one in enumerate(found)}
    apart = paired_difference(from_test, from_validation)
    nearer = sum(from_validation[place] < from_test[place] for place in from_test)
    text = (
        f"{table(headings, rows, 3)}\nRoot mean square distance of the authors' test accuracy from our test accuracy: "
        f"{fmean(from_test.values()) ** 0.5:.1f} points, from our validation accuracy: "
        f"{fmean(from_validation.values()) ** 0.5:.1f} points.\n"
        f"It is nearer to the latter in {nearer} of {len(found)} runs"
    )
    text += f"; the squared distances differ by {words.signed(apart.in_standard_errors)} standard errors.\n" if apart else ".\n"
    lucky = [[one.dataset, str(one.seeds), words.signed(one.test, 2), words.signed(one.validation, 2)] for one in luck(study)]
    if lucky:
        headings = ["Authors' test accuracy by seed, correlated with features and an SVM on the part called", "Seeds", "test", "validation"]
        text += f"\n{table(headings, lucky, 3)}"
    return text


def not_run(study: Study) -> str:
    """What is missing, one line for each dataset, model and settings; and of the differences, one for each point and model."""
    tried = {run.cell for run in study.trials}
    lines = []
    absent = [result.cell for result in study.cells if result.verdict is Verdict.NOT_RUN]
    for (data, model, protocol), group in groupby(absent, key=lambda cell: (naming.data_name(cell), cell.model, cell.protocol)):
        cells = list(group)
        names, runs = ([cell.variant for cell in some if cell.variant != "base"] for some in (cells, [c for c in cells if c in tried]))
        line = f"- not run yet: {model} on {data}" + f" without one ingredient ({', '.join(names)})" * bool(names)
        shown = " (shown to run, for fewer epochs)" if tried.issuperset(cells) else f" (shown to run: {', '.join(runs)})" * bool(runs)
        lines.append(escape(f"{line}, {naming.settings(protocol)}{shown}"))
    one_seed = [result.cell for result in study.cells if result.verdict is Verdict.ONE_SEED]
    lines += [escape(f"- one seed only: {naming.cell_name(cell)}, {naming.settings(cell.protocol)}") for cell in one_seed]
    if any(result.cell.table == "differences" for result in study.cells):
        unknown = [(row, [data for data, found in row.by_data.items() if found is None]) for row in worth(study)]
        lines += [escape(f"- worth of a point: {row.point}, {row.model} on {words.listing(data)}") for row, data in unknown if data]
    return "\n".join(lines) + "\n" if lines else "Every cell of the paper's tables has been run.\n"


def effects(study: Study) -> str:
    """The ablation: change against the full model, ours on equal seeds and the paper's from its means."""
    ablations = study.ablations()
    if not ablations:
        return "Not run yet.\n"
    rows = [
        [
            naming.data_name(e.cell),
            e.cell.model,
            e.cell.variant,
            naming.setting(e.cell.protocol),
            words.gap(e.ours) or words.NOT_RUN,
            words.gap(e.paper),
        ]
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
    points = [[escape(text) for text in (departure.point, departure.text, departure.code)] for departure in DEPARTURES.values()]
    stated = table(["Point", "Paper's text", "Authors' code"], points)
    measured = worth(study)
    data = words.in_order(name for row in measured for name in row.by_data)

    def shown(row: Worth, name: str) -> str:
        text = escape(row.shown(name))
        return f"**{text}**" if row.stands_out(name) else text

    rows = [[escape(row.point), escape(row.model), *(shown(row, name) for name in data)] for row in measured]
    worths = table(["Worth of the text's version, points ± 2 SE", "Model", *map(escape, data)], rows, len(data))
    return f"{stated}\n{worths}\nBold: farther from 0 than two standard errors. {words.DASH}: does not apply there.\n"


def rivals(study: Study) -> str:
    """Who wins which table when all systems see the same splits: a line for each data set, and tables that unfold."""
    found = contests(study)
    if not found:
        return "Not run yet.\n"
    parts = [f"{escape(headline(found))}\n"]
    for title, some in grouped(found):
        lines = "".join(f"- {escape(line)}\n" for line in map(outcome_of, some) if line)
        whole = _unfolding("All of them, best first", standings_table(some))
        parts.append(f"**{escape(title)}**\n\n{lines}\n{whole}")
    return "\n".join(parts)


def sources_met(study: Study) -> str:
    """Do the systems of table 4 reach what their source printed, on splits made as theirs?"""
    rows = []
    for result, gap in as_published(study):
        numbers = [words.mean_std(result.ours), str(len(result.runs)), words.mean_std(result.published)]
        rows.append([result.cell.dataset, result.cell.model, *numbers, words.gap(gap), words.signed(gap.in_standard_errors) if gap else ""])
    headings = ["Data", "System", "Ours, %", "Splits", "Printed, %", "Difference, points ± 2 SE", "In standard errors"]
    return table(headings, ([escape(text) for text in row] for row in rows), 5) if rows else "Not run yet.\n"


SECTIONS = {
    "summary": summary,
    "results": results,
    "rivals": rivals,
    "sources": sources_met,
    "features": without_training,
    "agreement": agreement,
    "disagreement": disagreement,
    "parts": parts,
    "not-run": not_run,
    "ablation": effects,
    "departures": departures,
}


def all_tables(study: Study) -> str:
    """Every cell, grouped by the paper's tables: the content of ``tables.md``."""
    parts = [f"# Results\n\n{escape(sentences.provenance(study))}\n", _outcomes(study), HOW_TO_READ]
    for name, results in groupby(study.cells, key=lambda result: result.cell.table):
        cells = without_training(study) if name == "features" else cell_table(list(results), with_authors=study.with_authors)
        parts.append(f"## {escape('; '.join(naming.heading(name)))}\n\n{cells}")
    parts += ["## What each ingredient is worth\n\n" + effects(study)]
    parts += ["## Where the authors' code and their text disagree\n\n" + departures(study)]
    return "\n".join(parts)
