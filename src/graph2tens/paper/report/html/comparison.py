"""The sections of the page that lay our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import median
from xml.etree.ElementTree import Element

from ....report import words
from ....report.charts import widen
from ....report.layout import figure, folded, group, guide, section, side_by_side
from ....report.markup import Child, fragment, h
from ....report.tables import table
from ...variants import DEPARTURES, MEANINGS
from .. import naming, sentences
from ..data import CellResult, Effect, Study, Verdict
from ..departures import worth
from . import charts
from .layout import name, panels, split_by
from .tables import cell_columns, facets, filter_controls, published_table, untrained_columns, verdict_badge, worth_columns


def introduction(study: Study) -> Element:
    """What was compared and with which result, in a minute."""
    compared = study.compared
    facts = [figure(f"{len(study.runs):,}", "runs recorded")]
    # The settings that made the published numbers are the ones that should meet them.
    same = [result for result in compared if result.cell.protocol == "authors"]
    if same:
        agreeing = sum(result.verdict is Verdict.AGREES for result in same)
        typical = median(abs(result.difference.points) for result in same if result.difference is not None)
        facts.insert(0, figure(f"{agreeing} of {len(same)}", "comparisons with the code's settings agree with the paper"))
        facts.append(figure(f"{typical:.1f}", "points: their typical distance from the paper"))
    outcomes = [
        h("p", h("strong", f"With {naming.settings_in_full(protocol)}: "), sentences.outcome(study, protocol))
        for protocol in sentences.protocols(study)
    ] or [h("p", sentences.outcome(study, "authors"))]
    if study.departures():
        outcomes.append(h("p", "The text and the code differ in several settings; ", h("a", "what each is worth", href="#departures"), "."))
    head, gaps = sentences.headline(study), sentences.missing(study)
    return section(
        "minute",
        "In one minute",
        h(
            "div",
            fragment("introduction.html", __package__),
            h("div", h("h3", "The result"), h("p", head) if head else None, h("dl", facts, class_="figures"), _overview(compared)),
            class_="halves",
        ),
        outcomes,
        h("p", gaps, class_="gaps") if gaps else None,
        fragment("words.html", __package__),
    )


def _overview(compared: Sequence[CellResult]) -> Element | None:
    if not compared:
        return None
    note = "Each dot is a comparison: ● the code's settings, ○ the text's settings. In the grey band ours and the paper's agree. "
    note += "Triangles at the edge lie farther out than the axis reaches."
    return h("figure", charts.overview(compared), h("figcaption", note, class_="legend"))


def paper_tables(study: Study) -> Element:
    """Every cell, table by table."""
    parts: list[Child] = [
        h("p", "Each row lays our mean beside the paper's. The bar is the difference ± two standard errors: where it crosses the thin "
          "line at zero, the two agree.", h("span", " Every heading sorts; the filters act on the tables and on the pictures below.",
                                             class_="needs-script")),
        filter_controls(study.cells),
    ]  # fmt: skip
    for table_name, results in groupby(study.cells, key=lambda result: result.cell.table):
        rows = list(results)
        if table_name == "differences":
            continue  # shown beside what they are about
        heading, caption = naming.heading(table_name)
        if table_name == "features":
            whole: Child = table(words.upper(caption) + ".", untrained_columns(study), study.untrained(), facets)
        elif any(result.runs for result in rows):
            whole = _cells(caption, rows)
        else:
            whole = folded(f"Not run yet; {words.plural(len(rows), 'number')} of the paper", _cells(caption, rows))
        others = None
        if table_name in ("nci", "citation", "khop"):
            others = folded("Other methods in the paper's table", published_table(table_name, study))
        parts.append(group(h("h3", heading), whole, others))
    return section("tables", "Every comparison", parts)


def _cells(caption: str, rows: Sequence[CellResult]) -> Element:
    protocols = words.in_order(result.cell.protocol for result in rows)
    caption += f", with {naming.settings_in_full(protocols[0])}." if len(protocols) == 1 else "."
    return table(words.upper(caption), cell_columns(rows), rows, facets)


def _domains(results: Sequence[CellResult]) -> dict[str, tuple[float, float]]:
    """One accuracy axis for all cells of a dataset, so that their panels can be compared by eye."""
    values: dict[str, list[float]] = {}
    for result in results:
        seen = values.setdefault(result.cell.dataset, [])
        seen += [*result.by_seed.values(), *result.authors.values()]
        if result.published is not None:
            seen += [result.published.mean + sign * (result.published.std or 0.0) for sign in (-1, 1)]
    return {key: widen(seen, least=2.0) for key, seen in values.items()}


def seeds(study: Study) -> Element:
    """Every run as a dot; cells without a number of the paper beside them are folded away."""
    shown = [result for result in study.cells if result.runs]
    domains = _domains(shown)

    def strips(results: Sequence[CellResult]) -> Element:
        drawn = ((result, charts.seed_strip(result, domains[result.cell.dataset])) for result in results)
        return panels(drawn, lambda result: [name(result), verdict_badge(result, in_full=True)])

    legend = h(
        "p",
        [h("span", "●", class_="ours"), " one run of ours (the tick is their mean); "],
        [h("span", "○", class_="authors"), " one run of the authors; "] if study.with_authors else None,
        [h("span", "◆", class_="paper"), " the paper's mean, with one standard deviation either side. "],
        "Panels of the same dataset share their axis.",
        None if study.with_authors else " The authors' single runs were not given (option --authors-runs).",
        class_="legend",
    )
    compared, others = split_by(shown, lambda result: result.published is not None)
    rest = folded(f"{words.plural(len(others), 'experiment')} of which the paper has no number", strips(others)) if others else None
    return section("seeds", "Accuracy by seed", legend, strips(compared), rest)


def _forests(effects: Sequence[Effect], title: str, names: Mapping[str, str] | None = None) -> Element:
    """One picture for each dataset and model, all on the same axis."""
    figures = []
    reach = 1.02 * max((gap.reach for effect in effects for gap in (effect.ours, effect.paper) if gap is not None), default=1.0)
    for (protocol, data, model), found in groupby(effects, key=lambda e: (e.cell.protocol, naming.data_name(e.cell), e.cell.model)):
        some = list(found)
        caption = h("figcaption", h("strong", f"{model}, {data}"), " ", h("span", naming.settings(protocol), class_="detail"))
        attributes = {
            "data-dataset": some[0].cell.dataset,
            "data-model": model,
            "data-protocol": protocol,
            "data-text": f"{some[0].cell.table} {data} {model} {protocol}".casefold(),
        }
        figures.append(h("figure", caption, charts.forest(some, reach, title, names), **attributes))
    return side_by_side(figures, "panels pairs")


def ablation(study: Study) -> Element:
    """The paper's tables 2 and 3 as changes against the full model."""
    effects = study.ablations()
    legend = h(
        "p",
        "What taking away one ingredient does to the accuracy. Left of zero the ingredient helps, right of zero it hurts. ",
        [h("span", "●", class_="ours"), " ours, seed by seed; "] if any(effect.ours for effect in effects) else "Ours were not run yet; ",
        [h("span", "◆", class_="paper"), " the paper's means; bars are two standard errors."],
        class_="legend",
    )
    variants = words.in_order(effect.cell.variant for effect in effects)
    glossary = folded("What each variant leaves out", guide((variant, [MEANINGS[variant]]) for variant in variants))
    pictures = _forests(effects, "Ablation: change against the full model")
    return section("ablation", "What each ingredient is worth", legend, glossary, pictures)


def departures(study: Study) -> Element:
    """Where the authors' text and code disagree, and what each point is worth."""
    points = guide((departure.point, [f"Text: {departure.text}. Code: {departure.code}."]) for departure in DEPARTURES.values())
    note = (
        "The published numbers came from code that differs from the text in these points. Worth is the accuracy with the text's version "
        "minus that with the code's, on equal seeds and all else as in the code, ± two standard errors; bold where it is farther from "
        "zero than that."
    )
    measured = worth(study)
    worths = table("Worth of the text's version, in points", worth_columns(measured), measured)
    effects = [effect for effect in study.departures() if effect.ours is not None]
    names = {variant: departure.point for variant, departure in DEPARTURES.items()}
    pictures = _forests(effects, "Change with the text's version of one point", names) if effects else None
    rows = [result for result in study.cells if result.cell.table == "differences"]
    accuracies = folded("Their accuracies", _cells("Accuracy with one point as in the text", rows)) if rows else None
    heading = "Where the authors' code and their text disagree"
    return section("departures", heading, h("p", note), points, worths, pictures, accuracies)
