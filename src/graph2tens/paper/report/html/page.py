"""The report as one page that works offline: a minute's introduction first, then every number and picture behind it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from ....report.charts import CURVES_DRAWN, learning_curves
from ....report.layout import figure, folded, section, side_by_side
from ....report.markup import Child, h, page
from ....report.tables import table
from ....training.records import Record
from .. import sentences, words
from ..data import Study
from . import charts, comparison
from .layout import name, panels, split_by
from .rivals import rivals
from .speed import speed
from .tables import run_columns


def render(study: Study, title: str | None = None) -> str:
    """The whole page as text. Of a study with runs of the paper's tables it is a comparison, else the account of a training run."""
    if study.of_paper:
        title = title or "The paper's numbers, measured again"
        parts = (comparison.introduction, comparison.paper_tables, rivals, comparison.seeds, comparison.ablation, comparison.departures)
        sections: list[Element | None] = [part(study) for part in parts]
    else:
        title = title or f"Training on {words.listing(words.in_order(result.cell.dataset for result in study.cells))}"
        sections = [_training(study)]
    sections += [_curves(study), _seconds(study), _speed(study), _all_runs(study), _options(study), _origin(study)]
    present = [one for one in sections if one is not None]
    contents = [h("li", h("a", one.findtext("h2"), href=f"#{one.get('id')}")) for one in present]
    toggle = h("button", "Dark", type="button", id="theme", aria_label="Switch to dark colours")
    header = h("header", toggle, h("h1", title), h("p", sentences.provenance(study), class_="provenance"))
    navigation = h("nav", h("ul", contents), aria_label="Contents")
    origin = " from the records of the runs; none of our accuracies was typed by hand."
    footer = h("footer", h("p", "Written by ", h("code", "graph2tens report"), origin))
    skip = h("a", "Skip to the content", href="#content", class_="skip")
    return page(title, [skip, header, navigation, h("main", present, id="content"), footer])


def _training(study: Study) -> Element:
    """The head of a page about the user's own training: accuracies as figures."""
    results = [result for result in study.cells if result.runs]
    parts: list[Child] = []
    for result in results:
        first = result.runs[0]
        summary = result.ours
        shown = [figure(f"{words.mean_std(summary)} %", f"test accuracy, {words.plural(len(result.runs), 'seed')}")]
        if len(result.runs) == 1:
            more = ((first.validation, "validation accuracy"), (first.train, "training accuracy"))
            shown += [figure(f"{value:.1f} %", label) for value, label in more if value is not None]
            if first.seconds is not None:
                label = f"of training, {words.plural(first.epochs, 'epoch')}" if first.epochs else "of training"
                shown.append(figure(words.seconds(first.seconds), label))
        parts += [h("h3", f"{result.cell.model} on {words.data_name(result.cell)}"), h("dl", shown, class_="figures")]
    note = (
        "Test accuracy is the share of examples classified correctly among those that training never saw. A training run of one's own is "
        "not compared with the paper; "
    )
    return section("result", "How the training went", parts, h("p", note, h("code", "graph2tens reproduce"), " makes runs that are."))


def _options(study: Study) -> Element | None:
    """The options of a single run, in full."""
    options = words.flat_items(study.runs[0].options) if len(study.runs) == 1 else []
    if not options:
        return None
    rows = [h("tr", h("th", key, scope="row"), h("td", value)) for key, value in options]
    whole = h("table", h("caption", h("span", "Options of the run")), h("tbody", rows), class_="plain")
    region = h("div", whole, class_="scroll", tabindex="0", role="region", aria_label="Table: options of the run")
    return section("options", "Options", folded(words.plural(len(rows), "option"), region))


def _curves(study: Study) -> Element:
    """How training went; of a study of the paper, variants of the models are folded away."""
    drawn = {result.cell: picture for result in study.cells if (picture := learning_curves(result.runs)) is not None}
    trained = [result for result in study.cells if result.cell in drawn]
    first, others = (
        panels(((result, drawn[result.cell]) for result in some), name)
        for some in split_by(trained, lambda result: result.cell.variant == "base" or not study.of_paper)
    )
    most = max((len(result.runs) for result in trained), default=0)
    limit = f" At most {CURVES_DRAWN} seeds are drawn." if most > CURVES_DRAWN else ""
    text = f"How accuracy and loss went during training, one line for each seed.{limit}"
    rest = folded(f"{words.plural(len(others), 'variant')} of the models", others) if len(others) else None
    return section("curves", "Learning curves", h("p", text, class_="legend"), first, rest)


def _seconds(study: Study) -> Element | None:
    """Of a study of the paper, only what its tables ask for: variants would hide it."""
    if not study.of_paper and len(study.runs) < 2:
        return None  # one dot says less than the number above it
    runs = [run for run in study.runs if run.cell.variant == "base"] if study.of_paper else study.runs
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
    if not study.of_paper:
        return None  # how fast the engine is says nothing about a training run of one's own
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
