"""How reports name things and write numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..training.records import Record
from .statistics import AGREEMENT, Difference

NOT_RUN = "not run yet"
MINUS, DASH, TIMES = "\N{MINUS SIGN}", "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"


class Spread(Protocol):
    """A mean with its deviation, if known."""

    @property
    def mean(self) -> float: ...

    @property
    def std(self) -> float | None: ...


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


def mean_std(summary: Spread | None) -> str:
    if summary is None:
        return NOT_RUN
    return f"{summary.mean:.1f}" if summary.std is None else f"{summary.mean:.1f} ± {summary.std:.1f}"


def gap(value: Difference | None, digits: int = 1) -> str:
    """A difference in points with two standard errors either side."""
    return "" if value is None else f"{signed(value.points, digits)} ± {AGREEMENT * value.standard_error:.{digits}f}"


def paired_gap(value: Difference) -> str:
    """The same, with the number of pairs that it rests on."""
    return f"{gap(value)} ({value.pairs})"


def seconds(value: float) -> str:
    """A duration with as many digits as anyone can use."""
    if value < 1e-3:
        return f"{value * 1e6:.3g} µs"
    if value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.3g} s" if value < 120 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


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
