"""The page about the user's own runs: the numbers first, then pictures, confusion matrices, and every run."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from ...training.records import Record
from .. import words
from ..charts import CURVES_DRAWN, learning_curves
from ..layout import all_runs, figure, folded, framed, guide, origin_facts, section, side_by_side
from ..markup import Child, h
from ..tables import Column, gap_column, number_column, scrolling, table
from . import sentences
from .charts import strips
from .data import DataResult, Method, OwnStudy


def render_own(study: OwnStudy, title: str | None = None) -> str:
    """The whole page as text; sections that have nothing to show are left out."""
    results = (_result(result, place if len(study.data) > 1 else None) for place, result in enumerate(study.data, 1))
    sections = [*results, _curves(study), _all_runs(study), _options(study), _origin(study)]
    return framed(title or study.title, sentences.provenance(study), sections, " from the records of the runs.")


def _result(result: DataResult, number: int | None) -> Element:
    """`number` tells several data sets apart; None if there is one."""
    best = result.best
    score = sentences.score_name(result).rstrip(", %").lower()
    facts = [figure(sentences.accuracy(best) + " %" * (best.metric == "accuracy"), f"{score} of {best.name}")]
    if interval := sentences.interval(best):
        facts.append(figure(interval, "95 % interval" + (" of the mean" if len(best.runs) > 1 else ", from the size of the test part")))
    if result.majority is not None:
        facts.append(figure(f"{result.majority.mean:.1f} %", "majority class (always the most frequent one)"))
    if sizes := sentences.test_sizes(result):
        number_of, _, what = sizes.partition(" test examples ")
        facts.append(figure(number_of, f"test examples {what}"))
    several_runs = any(len(method.runs) > 1 for method in result.methods)
    parts: list[Child] = [h("p", sentences.outcome(result)), h("dl", facts, class_="figures")]
    if len(result.methods) > 1 or several_runs:
        parts += [_table(result), h("p", sentences.PAIRED, " ", sentences.CAUTION, class_="legend")]
        parts.append(h("div", h("figure", strips(result)), class_="panels"))
    else:
        parts.append(_parts_of(best.runs[0]))
    for place, method in enumerate(result.methods):
        if method.confusion is not None:
            whole = _confusion(method, *method.confusion)
            parts.append(whole if not place else folded(f"Confusion matrix of {method.name}", whole))
    return section("result" if number is None else f"result-{number}", "Result" if number is None else result.name, parts)


def _table(result: DataResult) -> Element:
    floor = result.majority
    rows: list[Method | None] = [*result.methods, *([None] if floor is not None else [])]
    columns: list[Column[Method | None]] = [
        Column("Method", lambda m: m.name if m else "majority class"),
        Column(
            sentences.score_name(result),
            lambda m: sentences.accuracy(m) if m else words.mean_std(floor),
            lambda m: m.summary.mean if m else floor.mean if floor else None,
            "mean ± standard deviation over the runs",
        ),
        Column("95 % interval", lambda m: sentences.interval(m) if m else None, lambda m: m.interval[0] if m and m.interval else None),
    ]
    equal = "on equal test parts, points ± two standard errors"
    if any(method.against_majority for method in result.methods):
        columns.append(gap_column("Over majority class", lambda m: m.against_majority if m else None, equal, sentences.gap))
    if len(result.methods) > 1:
        hint = f"minus {result.best.name}, {equal}"
        columns.append(gap_column("Against the best", lambda m: m.against(result.best) if m else None, hint, sentences.gap))
    columns += [
        Column("Runs", lambda m: words.plural(len(m.runs), m.unit) if m else None, lambda m: len(m.runs) if m else None),
        Column("Test size", lambda m: sentences.test_size(m) if m else None, lambda m: m.test_size[0] if m and m.test_size else None),
        number_column("Time per run", lambda m: m.seconds if m else None, words.seconds),
    ]
    return table("Methods, best first", columns, rows)


def _parts_of(run: Record) -> Element | None:
    sizes = run.judged.get("sizes")
    sizes = sizes if isinstance(sizes, dict) else {}
    scores = {"train": run.train, "validation": run.validation, "test": run.test}
    rows = [part for part in scores if scores[part] is not None]
    columns: list[Column[str]] = [
        Column("Part", lambda part: part),
        number_column(f"{words.upper(run.metric)}, %", lambda part: scores[part], ".2f"),
        Column("Size", lambda part: str(sizes.get(part, "")), lambda part: sizes.get(part)),
    ]
    return table("Parts of the data", columns, rows)


def _confusion(method: Method, names: Sequence[str], counts: Sequence[Sequence[int]]) -> Element:
    numbers = [h("th", name, scope="col", class_="number") for name in (*names, "right")]
    head = h("tr", h("th", "truth", scope="col"), numbers)
    rows = []
    for place, (name, row) in enumerate(zip(names, counts, strict=True)):
        share = f"{100 * row[place] / sum(row):.0f} %" if sum(row) else words.DASH
        cells = [h("td", h("strong", value) if column == place else value, class_="number") for column, value in enumerate(row)]
        rows.append(h("tr", h("th", name, scope="row"), cells, h("td", share, class_="number")))
    whose = f"{method.name}, all {method.unit}s" if len(method.runs) > 1 else method.name
    caption = f"Confusion matrix of {whose}: rows are true classes, columns predicted ones, in test examples"
    return scrolling(caption, h("thead", head), h("tbody", rows), class_="confusion")


def _curves(study: OwnStudy) -> Element | None:
    methods = [(method, result) for result in study.data for method in result.methods]
    figures = [
        h("figure", h("figcaption", h("strong", f"{method.name}, {result.name}")), picture)
        for method, result in methods
        if (picture := learning_curves(method.runs)) is not None
    ]
    if not figures:
        return None
    limit = f" At most {CURVES_DRAWN} are drawn." if any(len(method.runs) > CURVES_DRAWN for method, _ in methods) else ""
    return section("curves", "Learning curves", h("p", f"One line for each run.{limit}", class_="legend"), side_by_side(figures))


def _all_runs(study: OwnStudy) -> Element | None:
    rows = [(method, run) for result in study.data for method in result.methods for run in method.runs]

    def name(row: tuple[Method, Record]) -> str:
        method, run = row
        return f"{method.name}, {method.unit} {run.seed}" + f", {run.cell.dataset}" * (len(study.data) > 1)

    return all_runs(rows, lambda row: row[1], [Column("Run", name)], words.plural(len(rows), "run")) if len(rows) > 1 else None


def _options(study: OwnStudy) -> Element | None:
    """The options of every method, those of its first run."""
    tables = []
    for method in (method for result in study.data for method in result.methods):
        if options := words.flat_items(method.runs[0].options):
            rows = [h("tr", h("th", key, scope="row"), h("td", value)) for key, value in options]
            whole = scrolling(f"Options of {method.name}", h("tbody", rows), class_="plain")
            tables.append(folded(f"{method.name}: {words.plural(len(rows), 'option')}", whole))
    return section("options", "Options", tables) if tables else None


def _origin(study: OwnStudy) -> Element | None:
    facts = guide([*origin_facts(study.runs), ("Remarks", study.remarks)])
    return None if facts is None else section("origin", "Where these numbers come from", facts)
