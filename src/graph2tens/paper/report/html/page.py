"""The report as one page that works offline: a minute's introduction first, then every number and picture behind it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from ....report import words
from ....report.charts import CURVES_DRAWN, learning_curves
from ....report.layout import all_runs, folded, framed, guide, origin_facts, section, side_by_side
from ....report.markup import h
from .. import sentences
from ..data import Study
from . import charts, comparison
from .layout import name, panels, split_by
from .molecules import Run, molecules
from .rivals import rivals
from .speed import speed
from .tables import name_columns


def render(study: Study, title: str | None = None, molecule_runs: Sequence[Run] = ()) -> str:
    """The whole page as text; `molecule_runs` are those of :func:`~.molecules.read_molecule_runs`."""
    parts = (comparison.introduction, comparison.paper_tables, rivals, comparison.seeds, comparison.ablation, comparison.departures)
    sections: list[Element | None] = [part(study) for part in parts]
    sections += [molecules(molecule_runs), _curves(study), _seconds(study), _speed(study), _all_runs(study), _origin(study)]
    origin = " from the records of the runs; none of our accuracies was typed by hand."
    return framed(title or "The paper's numbers, measured again", sentences.provenance(study), sections, origin)


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
    none = h("p", "No measurements of speed were given (option --benchmarks).", class_="missing")
    return section("speed", "Speed", speed(study.benchmarks) or none)


def _all_runs(study: Study) -> Element | None:
    summary = f"{words.plural(len(study.runs), 'run')}, one by one"
    return all_runs(study.runs, lambda run: run, name_columns(study.runs), summary) if study.runs else None


def _origin(study: Study) -> Element:
    trials = f"{words.plural(len(study.trials), 'trial run')} with fewer epochs than the protocol has"
    facts = [
        *origin_facts(study.runs),
        ("Seeds", [words.seed_range(study.runs)] if study.runs else []),
        ("Set aside", [trials] if study.trials else []),
        ("Remarks", study.remarks),
    ]
    return section("origin", "Where these numbers come from", guide(facts) or h("p", "Nothing was run yet.", class_="missing"))
