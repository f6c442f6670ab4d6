"""How the report names things and writes numbers, on the page and in the Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...training.config import Cell
from ...training.records import Record
from ..numbers import PUBLISHED, Published
from ..protocols import PROTOCOLS
from ..tables import TABLES
from .data import Verdict
from .statistics import AGREEMENT, Difference, Summary

NOT_RUN = "not run yet"
MINUS, DASH, TIMES = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"
MARKS = {
    Verdict.AGREES: "≈",
    Verdict.HIGHER: "▲",
    Verdict.LOWER: "▼",
    Verdict.ONE_SEED: "?",
    Verdict.NOT_RUN: DASH,
    Verdict.NO_REFERENCE: "·",
}


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def upper(text: str) -> str:
    """With a capital letter, as the beginning of a sentence; ``str.capitalize`` would spoil names."""
    return text[:1].upper() + text[1:]


def listing(items: Sequence[str]) -> str:
    """``a, b and c``"""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def signed(value: float, digits: int = 1) -> str:
    """With its sign, a true minus, and no sign for what rounds to zero."""
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def mean_std(summary: Summary | Published | None) -> str:
    if summary is None:
        return NOT_RUN
    return f"{summary.mean:.1f}" if summary.std is None else f"{summary.mean:.1f} ± {summary.std:.1f}"


def gap(value: Difference | None, digits: int = 1) -> str:
    """A difference in points with two standard errors either side."""
    return "" if value is None else f"{signed(value.points, digits)} ± {AGREEMENT * value.standard_error:.{digits}f}"


def setting(protocol: str) -> str:
    """``code`` or ``text``, for tables."""
    return PROTOCOLS[protocol].setting if protocol in PROTOCOLS else protocol


def settings(protocol: str) -> str:
    """``the code's settings``, for sentences."""
    return f"the {PROTOCOLS[protocol].setting}'s settings" if protocol in PROTOCOLS else f"settings {protocol}"


def settings_in_full(protocol: str) -> str:
    """``the settings of the authors' code, which made the published numbers``."""
    return PROTOCOLS[protocol].meaning if protocol in PROTOCOLS else f"settings {protocol}"


def heading(table: str) -> tuple[str, str]:
    """What a table is about, and where it comes from."""
    if table in TABLES:
        return TABLES[table].heading, TABLES[table].source
    if table == "features":
        return "Features and an SVM, no network trained", "not in the paper"
    return "Other runs", table or "no table named"


def data_name(cell: Cell) -> str:
    return f"{cell.dataset}, {cell.khop} hop{'s' * (cell.khop > 1)}" if cell.khop else cell.dataset


def cell_name(cell: Cell) -> str:
    """A cell in one line, for sentences: ``G2TN on Cora, 2 hops (NoDiff)``."""
    return f"{cell.model} on {data_name(cell)}" + (f" ({cell.variant})" if cell.variant != "base" else "")


def features_name(cell: Cell) -> str:
    """The variant of a cell of features and an SVM."""
    return "all defaults" if cell.variant == "base" else cell.variant


def seconds(value: float) -> str:
    """A duration with as many digits as anyone can use."""
    if value < 1e-3:
        return f"{value * 1e6:.3g} µs"
    if value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.3g} s" if value < 120 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def best_published(dataset: str) -> Published | None:
    """The highest number the paper printed for a dataset of compounds, of whatever method."""
    return max((p for p in PUBLISHED if p.table == "nci" and p.dataset == dataset), key=lambda p: p.mean, default=None)


def best_name(best: Published | None) -> str:
    return DASH if best is None else f"{mean_std(best)} ({best.model})"


def seed_range(runs: Iterable[Record]) -> str:
    """``0–19``, or ``0–4, 7``: which seeds, without listing a hundred."""
    parts: list[list[int]] = []
    for seed in sorted({run.seed for run in runs}):
        if parts and parts[-1][-1] == seed - 1:
            parts[-1][1:] = [seed]
        else:
            parts.append([seed])
    return ", ".join(DASH.join(map(str, part)) for part in parts)


def machine(facts: object) -> str:
    """A machine in a few words, from what a record says about it."""
    if not isinstance(facts, Mapping):
        return flat(facts)
    cores = facts.get("cores")
    return ", ".join(str(fact) for fact in (facts.get("processor"), cores and f"{cores} cores", facts.get("device")) if fact)


def distinct(values: Iterable[str]) -> list[str]:
    return sorted({value for value in values if value})


def in_order(values: Iterable[str]) -> list[str]:
    """Without repetitions, in the order of appearance."""
    return list(dict.fromkeys(values))


def flat(value: object) -> str:
    """A value of a record on one line: ``processor: x, cores: 2`` for a mapping."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {flat(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(flat, value))
    return "" if value is None else str(value)


def flat_items(options: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested options as a list of dotted names and values."""
    items: list[tuple[str, str]] = []
    for key, value in options.items():
        items += flat_items(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", flat(value))]
    return items
