"""The report as one page that works offline: a minute's introduction first, then every number and picture behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from statistics import median
from xml.etree.ElementTree import Element

from . import report_charts as charts
from . import report_words as words
from .paper_numbers import DEPARTURES, TABLES, VARIANTS
from .report_data import CellResult, Study, Verdict
from .report_departures import worth
from .report_markup import Child, fragment, h, page
from .report_records import Run
from .report_statistics import AGREEMENT
from .report_tables import (
    benchmark_table,
    cell_columns,
    facets,
    filter_controls,
    published_table,
    run_columns,
    table,
    verdict_badge,
    worth_columns,
)


def render(study: Study, title: str | None = None) -> str:
    """The whole page as text. Of a study with runs of the paper's tables it is a comparison, else the account of a training run."""
    if study.of_paper:
        title = title or "The paper's numbers, measured again"
        sections: list[Element | None] = [_introduction(study), _paper_tables(study), _seeds(study), _ablation(study), _departures(study)]
    else:
        title = title or f"Training on {words.listing(words.in_order(result.cell.dataset for result in study.cells))}"
        sections = [_training(study)]
    sections += [_curves(study), _seconds(study), _speed(study), _all_runs(study), _options(study), _origin(study)]
    present = [section for section in sections if section is not None]
    contents = [h("li", h("a", section.findtext("h2"), href=f"#{section.get('id')}")) for section in present]
    toggle = h("button", "Dark", type="button", id="theme", aria_label="Switch to dark colours")
    header = h("header", toggle, h("h1", title), h("p", words.provenance(study), class_="provenance"))
    navigation = h("nav", h("ul", contents), aria_label="Contents")
    footer = h(
        "footer", h("p", "Written by ", h("code", "graph2tens report"), " from the records of the runs; no number was typed by hand.")
    )
    skip = h("a", "Skip to the content", href="#content", class_="skip")
    return page(title, [skip, header, navigation, h("main", present, id="content"), footer])


def _section(name: str, heading: str, *children: Child) -> Element:
    return h("section", h("h2", heading, id=f"{name}-heading"), *children, id=name, aria_labelledby=f"{name}-heading")


def _panels(results: Iterable[tuple[CellResult, Element | None]], caption: Callable[[CellResult], Child]) -> Element:
    """Pictures of single cells side by side, each hidden by the filters together with its table row."""
    figures = [
        h("figure", h("figcaption", caption(result)), picture, **facets(result)) for result, picture in results if picture is not None
    ]
    return _side_by_side(figures)


def _side_by_side(figures: Sequence[Element], class_: str = "panels") -> Element:
    return h("div", figures, class_=class_) if figures else h("p", "Not run yet.", class_="missing")


def _name(result: CellResult) -> list[Child]:
    cell = result.cell
    details = [cell.variant] * (cell.variant != "base") + [cell.protocol] * bool(cell.protocol)
    return [h("strong", f"{cell.model}, {words.data_name(cell)}"), " ", h("span", " · ".join(details), class_="detail")]


def _figure(value: str, label: str) -> Element:
    return h("div", h("dt", label), h("dd", value))


def _introduction(study: Study) -> Element:
    compared = study.compared
    facts = [_figure(str(len(study.runs)), "runs recorded")]
    # The settings that made the published numbers are the ones that should meet them.
    same = [result for result in compared if result.cell.protocol == "authors"]
    if same:
        agreeing = sum(result.verdict is Verdict.AGREES for result in same)
        typical = median(abs(result.difference.points) for result in same if result.difference is not None)
        facts.insert(0, _figure(f"{agreeing} of {len(same)}", "comparisons with the authors' settings agree with the paper"))
        facts.append(_figure(f"{typical:.1f}", "points: their typical distance from the paper"))
    outcomes = [
        h("p", h("strong", f"With {words.PROTOCOLS.get(protocol, f'settings {protocol}')}: "), words.outcome(study, protocol))
        for protocol in words.protocols(study)
    ] or [h("p", words.outcome(study, "authors"))]
    if study.departures():
        outcomes.append(h("p", "The text and the code differ in several settings; ", h("a", "what each is worth", href="#departures"), "."))
    gaps = words.missing(study)
    return _section(
        "minute",
        "In one minute",
        h(
            "div",
            fragment("introduction.html"),
            h("div", h("h3", "How it came out"), h("dl", facts, class_="figures"), _overview(compared)),
            class_="halves",
        ),
        outcomes,
        h("p", gaps, class_="gaps") if gaps else None,
        fragment("words.html"),
    )


def _overview(compared: Sequence[CellResult]) -> Element | None:
    if not compared:
        return None
    note = "Each dot is a comparison: ● settings of the authors' code, ○ settings of the paper's text. In the grey band the two agree."
    return h("figure", charts.overview(compared), h("figcaption", note, class_="legend"))


def _paper_tables(study: Study) -> Element:
    sections: list[Child] = [
        h("p", "Each row lays our mean beside the paper's. The bar is the difference ± two standard errors: where it crosses the thin "
          "line at zero, the two agree. Every heading sorts; the filters act on the tables and on the pictures below."),
        filter_controls(study.cells),
    ]  # fmt: skip
    for name, results in groupby(study.cells, key=lambda result: result.cell.table):
        rows = list(results)
        if name == "differences":
            continue  # shown beside what they are about
        heading, _, caption = TABLES.get(name, f"Other runs; {name or 'no table named'}").partition("; ")
        sections += [h("h3", heading), _cells(caption, rows)]
        if name in ("nci", "citation", "khop"):
            sections.append(h("details", h("summary", "Other methods in the paper's table"), published_table(name, study)))
    return _section("tables", "Every comparison", sections)


def _cells(caption: str, rows: Sequence[CellResult]) -> Element:
    settings = words.in_order(result.cell.protocol for result in rows)
    caption += f", with {words.PROTOCOLS.get(settings[0], f'settings {settings[0]}')}." if len(settings) == 1 else "."
    return table(caption[:1].upper() + caption[1:], cell_columns(rows), rows, facets)


def _domains(results: Sequence[CellResult]) -> dict[tuple[str, str], tuple[float, float]]:
    """One accuracy axis for all cells of a table and dataset, so that their panels can be compared by eye."""
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        seen = values.setdefault((result.cell.table, result.cell.dataset), [])
        seen += [*result.by_seed.values(), *result.authors.values()]
        if result.published is not None:
            seen += [result.published.mean + sign * (result.published.std or 0.0) for sign in (-1, 1)]
    return {key: charts.widen(seen, least=2.0) for key, seen in values.items()}


def _seeds(study: Study) -> Element:
    shown = [result for result in study.cells if result.runs]
    domains = _domains(shown)
    strips = _panels(
        ((result, charts.seed_strip(result, domains[result.cell.table, result.cell.dataset])) for result in shown),
        lambda result: [_name(result), verdict_badge(result, in_full=True)],
    )
    legend = h(
        "p",
        [h("span", "●", class_="ours"), " one run of ours (the tick is their mean); "],
        [h("span", "○", class_="authors"), " one run of the authors; "] if study.with_authors else None,
        [h("span", "◆", class_="paper"), " the paper's mean, with one standard deviation either side. "],
        "Panels of the same dataset share their axis.",
        None if study.with_authors else " The authors' single runs were not at hand (option --authors-runs).",
        class_="legend",
    )
    return _section("seeds", "Accuracy by seed", legend, strips)


def _ablation(study: Study) -> Element:
    effects = study.ablations()
    spans = [
        abs(gap.points) + AGREEMENT * gap.standard_error for effect in effects for gap in (effect.ours, effect.paper) if gap is not None
    ]
    reach = max(spans, default=1.0) * 1.02
    figures = []
    for (protocol, dataset, model), group in groupby(effects, key=lambda e: (e.cell.protocol, e.cell.dataset, e.cell.model)):
        caption = h("figcaption", h("strong", f"{model}, {dataset}"), " ", h("span", protocol, class_="detail"))
        text = f"ablation {dataset} {model} {protocol}".casefold()
        attributes = {"data-dataset": dataset, "data-model": model, "data-protocol": protocol, "data-text": text}
        figures.append(h("figure", caption, charts.forest(list(group), reach), **attributes))
    legend = h(
        "p",
        "What taking away one ingredient does to the accuracy. Left of zero the ingredient helps, right of zero it hurts. ",
        [h("span", "●", class_="ours"), " ours, seed by seed; "],
        [h("span", "◆", class_="paper"), " the paper's means; bars are two standard errors."],
        class_="legend",
    )
    meanings = [[h("dt", name), h("dd", VARIANTS[name])] for name in words.in_order(effect.cell.variant for effect in effects)]
    glossary = h("details", h("summary", "What each variant leaves out"), h("dl", meanings, class_="guide"))
    return _section("ablation", "What each ingredient is worth", legend, glossary, _side_by_side(figures, "panels pairs"))


def _departures(study: Study) -> Element:
    points = [[h("dt", departure.point), h("dd", f"Text: {departure.text}. Code: {departure.code}.")] for departure in DEPARTURES]
    note = (
        "The published numbers came from code that differs from the text in these points. Worth is the accuracy with the text's version "
        "minus that with the code's, on equal seeds and all else as in the code, ± two standard errors."
    )
    measured = worth(study)
    worths = table("Worth of the text's version, in points", worth_columns(measured), measured)
    rows = [result for result in study.cells if result.cell.table == "differences"]
    accuracies = _cells("Accuracy with one point as in the text", rows) if rows else None
    heading = "Where the authors' code and their text disagree"
    return _section("departures", heading, h("p", note), h("dl", points, class_="guide"), worths, accuracies)


def _training(study: Study) -> Element:
    """The head of a page about the user's own training: accuracies as figures."""
    results = [result for result in study.cells if result.runs]
    parts: list[Child] = []
    for result in results:
        first = result.runs[0]
        summary = result.ours
        shown = [_figure(f"{words.mean_std(summary)} %", f"test accuracy, {words.plural(len(result.runs), 'seed')}")]
        if len(result.runs) == 1:
            more = ((first.validation, "validation accuracy"), (first.train, "training accuracy"))
            shown += [_figure(f"{value:.1f} %", label) for value, label in more if value is not None]
            if first.seconds is not None:
                label = f"of training, {words.plural(first.epochs, 'epoch')}" if first.epochs else "of training"
                shown.append(_figure(words.seconds(first.seconds), label))
        parts += [h("h3", f"{result.cell.model} on {words.data_name(result.cell)}"), h("dl", shown, class_="figures")]
    note = (
        "Test accuracy is the share of examples classified correctly among those that training never saw. A training run of one's own is "
        "not compared with the paper; "
    )
    return _section("result", "How the training went", parts, h("p", note, h("code", "graph2tens reproduce"), " makes runs that are."))


def _options(study: Study) -> Element | None:
    """The options of a single run, in full."""
    options = words.flat_items(study.runs[0].options) if len(study.runs) == 1 else []
    if not options:
        return None
    rows = [h("tr", h("th", key, scope="row"), h("td", value)) for key, value in options]
    whole = h("table", h("caption", h("span", "Options of the run")), h("tbody", rows), class_="plain")
    region = h("div", whole, class_="scroll", tabindex="0", role="region", aria_label="Table: options of the run")
    return _section("options", "Options", h("details", h("summary", words.plural(len(rows), "option")), region))


def _curves(study: Study) -> Element:
    panels = _panels(((result, charts.learning_curves(result.runs)) for result in study.cells), _name)
    most = max((len(result.runs) for result in study.cells), default=0)
    limit = f" At most {charts.CURVES_DRAWN} seeds are drawn." if most > charts.CURVES_DRAWN else ""
    text = f"How accuracy and loss went during training, one line for each seed.{limit}"
    return _section("curves", "Learning curves", h("p", text, class_="legend"), panels)


def _seconds(study: Study) -> Element | None:
    if not study.of_paper and len(study.runs) < 2:
        return None  # one dot says less than the number above it
    figures = []
    for dataset in words.in_order(run.cell.dataset for run in study.runs):
        picture = charts.accuracy_against_seconds([run for run in study.runs if run.cell.dataset == dataset])
        if picture is not None:
            figures.append(h("figure", h("figcaption", h("strong", dataset)), picture, data_dataset=dataset))
    legend = h(
        "p",
        "Each mark is a run: ",
        [h("span", "●", class_="ours"), " G2TN and others, "],
        [h("span", "▲", class_="authors"), " G2TAN. Times are those of the machines named below, with whatever else ran on them."],
        class_="legend",
    )
    return _section("seconds", "Accuracy against seconds", legend, _side_by_side(figures))


def _speed(study: Study) -> Element | None:
    measured = benchmark_table(study)
    if measured is None and not study.of_paper:
        return None
    note = h("p", "Best of several repetitions, after checking that both codes give the same answer.", class_="legend")
    return _section(
        "speed",
        "Speed",
        note if measured is not None else None,
        measured if measured is not None else h("p", "Not measured yet.", class_="missing"),
    )


def _all_runs(study: Study) -> Element | None:
    if not study.runs:
        return None
    rows: Sequence[Run] = study.runs
    whole = table("All runs", run_columns(rows), rows)
    return _section(
        "runs", "All runs", whole if len(rows) <= 12 else h("details", h("summary", f"{words.plural(len(rows), 'run')}, one by one"), whole)
    )


def _origin(study: Study) -> Element:
    facts = [
        ("Machines", words.distinct(words.machine(run.machine) for run in study.runs)),
        ("Commits", words.distinct(run.commit for run in study.runs)),
        ("Libraries", words.distinct(words.flat(run.versions) for run in study.runs)),
        ("Seeds", [f"{words.seed_range(study.runs)}"] if study.runs else []),
        (
            "Set aside",
            [f"{words.plural(len(study.trials), 'trial run')} with fewer epochs than the protocol has"] * bool(study.trials),
        ),
        ("Remarks", list(study.remarks)),
    ]
    items = [element for name, values in facts if values for element in (h("dt", name), *(h("dd", value) for value in values))]
    return _section(
        "origin",
        "Where these numbers come from",
        h("dl", items, class_="guide") if items else h("p", "Nothing was run yet.", class_="missing"),
    )
