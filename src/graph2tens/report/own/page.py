"""The page about runs of one's own: the numbers first, then pictures, who was taken for whom, and every run."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from ...training.records import Record
from .. import words
from ..charts import CURVES_DRAWN, learning_curves
from ..layout import figure, folded, section, side_by_side
from ..markup import Child, h, page
from ..tables import Column, table
from . import sentences
from .charts import strips
from .data import DataResult, Method, OwnStudy


def render_own(study: OwnStudy, title: str | None = None) -> str:
    """The whole page as text; sections that have nothing to show are left out."""
    title = title or study.title
    sections = [
        *(_result(result, place if len(study.data) > 1 else None) for place, result in enumerate(study.data, 1)),
        _curves(study),
        _all_runs(study),
        _options(study),
    ]
    present = [one for one in [*sections, _origin(study)] if one is not None]
    contents = [h("li", h("a", one.findtext("h2"), href=f"#{one.get('id')}")) for one in present]
    toggle = h("button", "Dark", type="button", id="theme", aria_label="Switch to dark colours")
    header = h("header", toggle, h("h1", title), h("p", sentences.provenance(study), class_="provenance"))
    footer = h("footer", h("p", "Written by ", h("code", "graph2tens report"), " from the records of the runs."))
    skip = h("a", "Skip to the content", href="#content", class_="skip")
    return page(title, [skip, header, h("nav", h("ul", contents), aria_label="Contents"), h("main", present, id="content"), footer])


def _result(result: DataResult, number: int | None) -> Element:
    """`number` tells several data sets apart; None if there is one."""
    best = result.best
    facts = [
        figure(
            sentences.accuracy(best) + " %" * (best.metric == "accuracy"),
            f"{sentences.score_name(result).rstrip(', %').lower()} of {best.name}",
        )
    ]
    if sentences.interval(best):
        facts.append(
            figure(
                sentences.interval(best), "95 % interval" + (" of the mean" if len(best.runs) > 1 else ", from the size of the test part")
            )
        )
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
            whole = _confusion(method)
            parts.append(whole if not place else folded(f"Who was taken for whom: {method.name}", whole))
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
    if any(method.against_majority for method in result.methods):
        columns.append(
            Column(
                "Over majority class",
                lambda m: sentences.gap(m.against_majority) if m else None,
                lambda m: m.against_majority.points if m and m.against_majority else None,
                "on equal test parts, points ± two standard errors",
            )
        )
    if len(result.methods) > 1:
        columns.append(
            Column(
                "Against the best",
                lambda m: sentences.gap(m.against(result.best)) if m else None,
                lambda m: gap.points if m and (gap := m.against(result.best)) else None,
                f"minus {result.best.name}, on equal test parts, points ± two standard errors",
            )
        )
    columns += [
        Column("Runs", lambda m: words.plural(len(m.runs), m.unit) if m else None, lambda m: len(m.runs) if m else None),
        Column("Test size", lambda m: sentences.test_size(m) if m else None, lambda m: m.test_size[0] if m and m.test_size else None),
        Column("Time per run", lambda m: words.seconds(m.seconds) if m and m.seconds else None, lambda m: m.seconds if m else None),
    ]
    return table("Methods, best first", columns, rows)


def _parts_of(run: Record) -> Element | None:
    sizes = run.judged.get("sizes")
    sizes = sizes if isinstance(sizes, dict) else {}
    scores = {"train": run.train, "validation": run.validation, "test": run.test}
    rows = [part for part in scores if scores[part] is not None]
    columns: list[Column[str]] = [
        Column("Part", lambda part: part),
        Column(f"{words.upper(run.metric)}, %", lambda part: f"{scores[part]:.2f}", lambda part: scores[part]),
        Column("Size", lambda part: str(sizes.get(part, "")), lambda part: sizes.get(part)),
    ]
    return table("Parts of the data", columns, rows)


def _confusion(method: Method) -> Element | None:
    if method.confusion is None:
        return None
    names, counts = method.confusion
    several = len(method.runs) > 1
    head = h(
        "tr",
        h("th", "truth", scope="col"),
        [h("th", name, scope="col", class_="number") for name in names],
        h("th", "right", scope="col", class_="number"),
    )
    rows = []
    for place, (name, row) in enumerate(zip(names, counts, strict=True)):
        share = f"{100 * row[place] / sum(row):.0f} %" if sum(row) else words.DASH
        cells = [h("td", h("strong", value) if column == place else value, class_="number") for column, value in enumerate(row)]
        rows.append(h("tr", h("th", name, scope="row"), cells, h("td", share, class_="number")))
    whose = f"{method.name}, all {method.unit}s" if several else method.name
    caption = f"Who was taken for whom by {whose}: rows are true classes, columns answers, in test examples"
    whole = h("table", h("caption", h("span", caption)), h("thead", head), h("tbody", rows), class_="confusion")
    return h("div", whole, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {caption}")


def _curves(study: OwnStudy) -> Element | None:
    figures = []
    for result in study.data:
        for method in result.methods:
            picture = learning_curves(method.runs)
            if picture is not None:
                figures.append(h("figure", h("figcaption", h("strong", f"{method.name}, {result.name}")), picture))
    if not figures:
        return None
    limit = (
        f" At most {CURVES_DRAWN} are drawn."
        if any(len(method.runs) > CURVES_DRAWN for result in study.data for method in result.methods)
        else ""
    )
    return section("curves", "Learning curves", h("p", f"One line for each run.{limit}", class_="legend"), side_by_side(figures))


def _all_runs(study: OwnStudy) -> Element | None:
    rows = [(method, run) for result in study.data for method in result.methods for run in method.runs]
    if len(rows) < 2:
        return None
    several_data = len(study.data) > 1

    def shown(value: float | None, form: str) -> str | None:
        return None if value is None else format(value, form)

    columns: list[Column[tuple[Method, Record]]] = [
        Column("Run", lambda row: f"{row[0].name}, {row[0].unit} {row[1].seed}" + f", {row[1].cell.dataset}" * several_data),
        Column("Test, %", lambda row: f"{row[1].test:.2f}", lambda row: row[1].test),
        Column("Validation, %", lambda row: shown(row[1].validation, ".2f"), lambda row: row[1].validation),
        Column("Training, %", lambda row: shown(row[1].train, ".2f"), lambda row: row[1].train),
        Column("AUROC", lambda row: shown(row[1].auroc, ".4f"), lambda row: row[1].auroc, "area under the ROC curve on the test data"),
        Column("Epochs", lambda row: shown(row[1].epochs, "d"), lambda row: row[1].epochs),
        Column("Judged epoch", lambda row: shown(row[1].best_epoch, "d"), lambda row: row[1].best_epoch, "whose weights were judged"),
        Column("Time", lambda row: words.seconds(row[1].seconds) if row[1].seconds else None, lambda row: row[1].seconds),
        Column("Memory, MiB", lambda row: shown(row[1].memory_mib, ".0f"), lambda row: row[1].memory_mib, "peak"),
    ]
    filled = [column for column in columns if any(column.key(row) is not None if column.key else True for row in rows)]
    whole = table("All runs", filled, rows)
    return section("runs", "All runs", folded(words.plural(len(rows), "run"), whole, class_="long") if len(rows) > 12 else whole)


def _options(study: OwnStudy) -> Element | None:
    """The options of every method, those of its first run."""
    tables = []
    methods: Sequence[Method] = [method for result in study.data for method in result.methods]
    for method in methods:
        options = words.flat_items(method.runs[0].options)
        if options:
            rows = [h("tr", h("th", key, scope="row"), h("td", value)) for key, value in options]
            whole = h("table", h("caption", h("span", f"Options of {method.name}")), h("tbody", rows), class_="plain")
            region = h("div", whole, class_="scroll", tabindex="0", role="region", aria_label=f"Table: options of {method.name}")
            tables.append(folded(f"{method.name}: {words.plural(len(rows), 'option')}", region))
    return section("options", "Options", tables) if tables else None


def _origin(study: OwnStudy) -> Element | None:
    facts = [
        ("Machines", words.distinct(words.machine(run.machine) for run in study.runs)),
        ("Commits", words.distinct(run.commit for run in study.runs)),
        ("Libraries", words.distinct(words.flat(run.versions) for run in study.runs)),
        ("Remarks", list(study.remarks)),
    ]
    items = [element for name, values in facts if values for element in (h("dt", name), *(h("dd", value) for value in values))]
    return section("origin", "Where these numbers come from", h("dl", items, class_="guide")) if items else None
