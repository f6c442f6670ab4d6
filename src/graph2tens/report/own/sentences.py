"""Sentences about the user's own runs, for the page, Markdown and the terminal."""

from __future__ import annotations

from .. import words
from ..statistics import Difference
from .data import DataResult, Method, OwnStudy

PAIRED = "Differences are taken on equal test parts, in points ± two standard errors; * marks those farther from zero than that."
CAUTION = (
    "The 95 % interval is that of the mean over runs. Test parts of different seeds overlap, so it is a little too narrow; "
    "folds do not overlap."
)


def accuracy(method: Method) -> str:
    """The score with its deviation: percent for accuracies, else the value itself."""
    if method.metric == "accuracy":
        return words.mean_std(method.summary)
    mean, std = method.summary.mean / 100, method.summary.std
    return f"{mean:.4g}" if std is None else f"{mean:.4g} ± {std / 100:.2g}"


def interval(method: Method) -> str:
    if method.interval is None:
        return ""
    low, high = method.interval
    if method.metric != "accuracy":
        return f"{low / 100:.4g} to {high / 100:.4g}"
    return f"{low:.1f} to {high:.1f}"


def gap(difference: Difference | None) -> str:
    return "" if difference is None else words.gap(difference) + ("" if difference.agrees else " *")


def test_size(method: Method) -> str:
    return " to ".join(f"{size:,}" for size in method.test_size)


def test_sizes(result: DataResult) -> str:
    """``20 test examples per seed, 12 per fold``: how many each method was tested on; empty where no run tells."""
    kinds = words.in_order(f"{test_size(method)} per {method.unit}" for method in result.methods if method.test_size)
    return ", ".join(kinds).replace(" per", " test examples per", 1)


def runs_name(result: DataResult) -> str:
    """Seeds, folds, or runs where some methods have the ones and some the others."""
    units = {method.unit for method in result.methods}
    return f"{units.pop()}s" if len(units) == 1 else "runs"


def score_name(result: DataResult) -> str:
    metric = result.best.metric
    return "Test accuracy, %" if metric == "accuracy" else f"Test {metric}"


def outcome(result: DataResult) -> str:
    """How the best method did, in a sentence or two."""
    best = result.best
    unit = "" if best.metric != "accuracy" else " %"
    text = f"{best.name}: {accuracy(best)}{unit} over {words.plural(len(best.runs), best.unit)}"
    text += f", 95 % interval {interval(best)}" if interval(best) else ""
    if result.majority is not None:
        text += f"; always naming the most frequent class: {words.mean_std(result.majority)} %"
    if (difference := best.against_majority) is not None and difference.points <= 2 * difference.standard_error:
        text += ". That is not above the most frequent class by more than chance"
    return text + "."


def provenance(study: OwnStudy) -> str:
    """Runs, when and where, in one line."""
    runs = study.runs
    days = sorted({run.finished[:10] for run in runs if run.finished})
    when = "" if not days else f"made on {days[0]}" if len(days) == 1 else f"made from {days[0]} to {days[-1]}"
    machines = words.distinct(words.machine(run.machine) for run in runs)
    facts = [words.plural(len(runs), "run"), when, f"on {words.listing(machines)}" if machines else ""]
    return ", ".join(filter(None, facts)) + "."
