"""The report as one page that works offline: a minute's introduction first, then every number and picture behind it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from ....report.charts import CURVES_DRAWN, learning_curves
from ....report.layout import folded, section, side_by_side
from ....report.markup import h, page
from ....report.tables import table
from ....training.records import Record
from .. import sentences, words
from ..data import Study
from . import charts, comparison
from .layout import name, panels, split_by
from .molecules import Run, molecules
from .rivals import rivals
from .speed import speed
from .tables import run_columns


def render(study: Study, title: str | None = None, molecule_runs: Sequence[Run] = ()) -> str:
    """The whole page as text; `molecule_runs` are those of :func:`~.molecules.read_molecule_runs`."""
    title = title or "The paper's numbers, measured again"
    parts = (comparison.introduction, comparison.paper_tables, rivals, comparison.seeds, comparison.ablation, comparison.departures)
    sections: list[Element | None] = [part(study) for part in parts]
    sections += [molecules(molecule_runs), _curves(study), _seconds(study), _speed(study), _all_runs(study), _origin(study)]
    present = [one for one in sections if one is not None]
    contents = [h("li", h("a", one.findtext("h2"), href=f"#{one.get('id')}")) for one in present]
    toggle = h("button", "Dark", type="button", id="theme", aria_label="Switch to dark colours")
    header = h("header", toggle, h("h1", title), h("p", sentences.provenance(study), class_="provenance"))
    navigation = h("nav", h("ul", contents), aria_label="Contents")
    origin = " from the records of the runs; none of our accuracies was typed by hand."
    footer = h("footer", h("p", "Written by ", h("code", "graph2tens report"), origin))
    skip = h("a", "Skip to the content", href="#content", class_="skip")
    return page(title, [skip, header, navigation, h("main", present, id="content"), footer])


def _curves(study: Study) -> Element:
    """How training went; of a study of the paper, variants of the models are folded away."""
    drawn = {result.cell: picture for result in study.cells if (picture := learning_curves(result.runs)) is not None}
    trained = [result for result in study.cells if result.cell in drawn]
    first, others = (
        panels(((result, drawn[result.cell]) for result in some), name)
        for some in split_by(trained, lambda result: result.cell.variant == "base")
    )
    most = max((len(result.runs) for result in trained), default=0)
    limit = f" At most {CURVES_DRAWN} seeds are drawn." if most > CURVES_DRAWN else ""
    text = f"How accuracy and loss went during training, one line for each seed.{limit}"
    rest = folded(f"{words.plural(len(others), 'variant')} of the models", others) if len(others) else None
    return section("curves", "Learning curves", h("p", text, class_="legend"), first, rest)


def _seconds(study: Study) -> Element | None:
    """Of a study of the paper, only what its tables ask for: variants would hide it."""
    runs = [run for run in study.runs if run.cell.variant == "base"]
    figures = []
    for dataset in words.in_order(run.cell.dataset for run in runs):
        picture = charts.accuracy_against_seconds([run for run in runs if run.cell.dataset == dataset])
        if picture is not None:
            figures.append(h("figure", h("figcaption", h("strong", dataset)), picture, data_dataset=dataset))
    legend = h(
        "p",
        "Each mark is a run: ",
        [h("span", "●", class_="ours"), " G2TN, "],
        [h("span", "▲", class_="authors"), " G2TAN (filled: the code's settings, open: the text's), "],
        [h("span", "■", class_="paper"), " anything else, as features and an SVM, whose time is that of the whole. "],
        "Times are those of the machines named below, with whatever else ran on them.",
        class_="legend",
    )
    return section("seconds", "Accuracy against seconds", legend, side_by_side(figures))


def _speed(study: Study) -> Element | None:
    return section(
        "speed", "Speed", speed(study.benchmarks) or h("p", "No measurements of speed were given (option --benchmarks).", class_="missing")
    )


def _all_runs(study: Study) -> Element | None:
    if not study.runs:
        return None
    rows: Sequence[Record] = study.runs
    whole = table("All runs", run_columns(rows), rows)
    many = len(rows) > 12
    return section("runs", "All runs", folded(f"{words.plural(len(rows), 'run')}, one by one", whole, class_="long") if many else whole)


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
    return section(
        "origin",
        "Where these numbers come from",
        h("dl", items, class_="guide") if items else h("p", "Nothing was run yet.", class_="missing"),
    )
