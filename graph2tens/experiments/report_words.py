"""What the report says about its numbers: the sentences and number formats that the page and the Markdown tables share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .paper_numbers import DEPARTURES, Departure, Published
from .report_data import CellResult, Effect, Study, Verdict
from .report_records import Cell, Run
from .report_statistics import AGREEMENT, Difference, Summary, beyond_by_chance

NOT_RUN = "not run yet"
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
MARKS = {
    Verdict.AGREES: "≈",
    Verdict.HIGHER: "▲",
    Verdict.LOWER: "▼",
    Verdict.ONE_SEED: "?",
    Verdict.NOT_RUN: DASH,
    Verdict.NO_REFERENCE: "·",
}
PROTOCOLS = {
    "authors": "the settings of the authors' code, which made the published numbers",
    "paper": "the settings as the paper's text states them",
}


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


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


def gap(value: Difference | None) -> str:
    """A difference in points with two standard errors either side."""
    return "" if value is None else f"{signed(value.points)} ± {AGREEMENT * value.standard_error:.1f}"


def data_name(cell: Cell) -> str:
    return f"{cell.dataset}, {cell.khop} hop{'s' * (cell.khop > 1)}" if cell.khop else cell.dataset


def cell_name(cell: Cell) -> str:
    """A cell in one line, for sentences: ``G2TN on Cora, 2 hops (NoDiff)``."""
    return f"{cell.model} on {data_name(cell)}" + (f" ({cell.variant})" if cell.variant != "base" else "")


def seconds(value: float) -> str:
    """A duration with as many digits as anyone can use."""
    if value < 1e-3:
        return f"{value * 1e6:.3g} µs"
    if value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.3g} s" if value < 120 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def protocols(study: Study) -> list[str]:
    """Those of which any cell was compared, ``authors`` first."""
    return sorted({result.cell.protocol for result in study.compared})


def outcome(study: Study, protocol: str) -> str:
    """How the comparisons under one protocol came out, in two or three sentences."""
    compared = [result for result in study.compared if result.cell.protocol == protocol]
    if not compared:
        return "Nothing has been compared with the paper yet."
    agreeing = [result for result in compared if result.verdict is Verdict.AGREES]
    apart = [result for result in compared if result.verdict is not Verdict.AGREES]
    chance = beyond_by_chance(len(compared))
    if len(compared) == 1:
        text = "The only comparison so far agrees with the paper." if agreeing else "The only comparison so far differs from the paper."
    else:
        share = f"All {len(compared)}" if not apart else f"{len(agreeing) or 'None'} of {len(compared)}"
        text = f"{share} comparisons agree with the paper, that is, lie at most two standard errors from it."
    if apart:
        names = listing([f"{cell_name(result.cell)} ({signed(result.difference.points)} points)" for result in apart if result.difference])
        text += f" {'This one differs' if len(apart) == 1 else 'These differ'}: {names}."
    if len(compared) > 1:
        text += f" Of {len(compared)} true agreements, chance alone would push about {chance:.1f} beyond two standard errors."
    return text


def missing(study: Study) -> str:
    """What was not run, counted; empty when nothing is missing."""
    cells = Counter(result.cell.protocol for result in study.cells if result.verdict is Verdict.NOT_RUN)
    single = sum(result.verdict is Verdict.ONE_SEED for result in study.cells)
    parts = [
        f"{plural(number, 'cell')} with {PROTOCOLS.get(protocol, protocol).split(',')[0]}" for protocol, number in sorted(cells.items())
    ]
    text = f"Not run yet: {listing(parts)}." if parts else ""
    return text + (f" {plural(single, 'cell')} {'has' if single == 1 else 'have'} one seed only, too few for a verdict." if single else "")


def seed_range(runs: Iterable[Run]) -> str:
    """``0–19``, or ``0–4, 7``: which seeds, without listing a hundred."""
    parts: list[list[int]] = []
    for seed in sorted({run.seed for run in runs}):
        if parts and parts[-1][-1] == seed - 1:
            parts[-1][1:] = [seed]
        else:
            parts.append([seed])
    return ", ".join(DASH.join(map(str, part)) for part in parts)


def seed_counts(results: Iterable[CellResult]) -> str:
    """How many seeds the cells that were run have: ``20 seeds a cell``, ``3 to 20 seeds a cell``."""
    counts = sorted({result.ours.n for result in results if result.ours is not None})
    if not counts:
        return "no seeds"
    return f"{plural(counts[0], 'seed')} a cell" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds a cell"


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


def provenance(study: Study) -> str:
    """Date, machines, commits, number of runs: one line, all of it from the records."""
    if not study.runs:
        return "No runs recorded yet."
    first, last = (pick(run.finished[:10] for run in study.runs) for pick in (min, max))
    when = f"run on {last}" if first == last else f"run from {first} to {last}"
    seeds = seed_counts(study.cells) if len(study.runs) > 1 else f"seed {study.runs[0].seed}"
    facts = [plural(len(study.runs), "run"), seeds, when * bool(last)]
    facts += [f"on {listing(names)}" for names in [distinct(machine(run.machine) for run in study.runs)] if names]
    commits = distinct(run.commit[:10] + "+" * run.commit.endswith("+") for run in study.runs)  # with "+" the code had been edited
    facts += [f"at commit {listing(commits)}" if len(commits) <= 3 else f"at {len(commits)} commits"] * bool(commits)
    return ", ".join(filter(None, facts)) + "."


def departure_effects(study: Study) -> list[tuple[Departure, list[Effect]]]:
    """Each disagreement of text and code, with the effects measured for it (often none yet)."""
    effects = study.departures()
    return [(departure, [e for e in effects if e.cell.variant == departure.variant and e.ours is not None]) for departure in DEPARTURES]


def flat_items(options: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested options as a list of dotted names and values."""
    items: list[tuple[str, str]] = []
    for key, value in options.items():
        items += flat_items(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", flat(value))]
    return items
