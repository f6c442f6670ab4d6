"""The report's sentences: the result, what is missing, where the numbers come from. The page and the Markdown tables share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...report.statistics import beyond_by_chance
from ...report.words import distinct, gap, in_order, listing, machine, plural, signed, upper
from ..tables import TABLES
from .data import CellResult, Study, Verdict
from .naming import cell_name, settings, settings_in_full


def protocols(study: Study) -> list[str]:
    """Those of which any cell was compared, ``authors`` first."""
    return sorted({result.cell.protocol for result in study.compared})


def headline(study: Study) -> str:
    """The overall result, in two or three short sentences."""
    clauses = []
    for protocol in protocols(study):
        compared = [result for result in study.compared if result.cell.protocol == protocol]
        agreeing = sum(result.verdict is Verdict.AGREES for result in compared)
        share = agreeing / len(compared)
        how = "are reproduced" if share >= 0.75 else "are reproduced in part" if share >= 0.5 else "are mostly not reproduced"
        which = settings_in_full(protocol).split(",")[0]
        clauses.append(f"with {which} the printed numbers {how} ({agreeing} of {len(compared)} agree)")
    text = f"{upper('; '.join(clauses))}. " if clauses else ""
    few = [result for result in study.compared if len(result.runs) < 10]
    if few:
        data = listing(in_order(result.cell.dataset for result in few))
        text += f"What is said of {data} rests on {_span(len(result.runs) for result in few)} seeds. "
    begun = {result.cell.table for result in study.cells if result.runs}
    listed = {result.cell.table for result in study.cells}
    if absent := [table.name for key, table in TABLES.items() if key in listed - begun]:
        text += f"Not run: {listing(absent)}. "
    return text.strip()


def _span(numbers: Iterable[int]) -> str:
    least, most = min(found := list(numbers)), max(found)
    return str(least) if least == most else f"{least} to {most}"


def outcome(study: Study, protocol: str) -> str:
    """Result of the comparisons under one protocol, in a few sentences."""
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
    return f"{text} {same_seeds(compared)}".strip()


def same_seeds(results: Sequence[CellResult]) -> str:
    """The sharper comparison, with the authors' own runs of the same seeds, in a sentence; empty where their runs are not given."""
    pairs = [(result, result.same_seed) for result in results if result.same_seed is not None and result.cell.protocol == "authors"]
    if len(pairs) < 2:
        return ""
    apart = [f"{cell_name(result.cell)} ({gap(found, 2)} points)" for result, found in pairs if not found.agrees]
    text = f"Seed by seed beside the authors' own runs, so with the same splits, {len(pairs) - len(apart)} of {len(pairs)} agree"
    return f"{text}; these do not: {listing(apart)}." if apart else f"{text}."


def missing(study: Study) -> str:
    """What was not run, counted by table; empty when nothing is missing."""
    wanted = Counter((result.cell.protocol, result.cell.table) for result in study.cells)
    absent = Counter((result.cell.protocol, result.cell.table) for result in study.cells if result.verdict is Verdict.NOT_RUN)
    single = sum(result.verdict is Verdict.ONE_SEED for result in study.cells)
    parts = [
        f"{'all' if number == wanted[protocol, table] else number} {'of ' * (number < wanted[protocol, table])}"
        f"{wanted[protocol, table]} cells of {TABLES[table].name if table in TABLES else table} with {settings(protocol)}"
        for (protocol, table), number in sorted(absent.items())
    ]
    text = f"Not run yet: {listing(parts)}." if parts else ""
    return text + (f" {plural(single, 'cell')} {'has' if single == 1 else 'have'} one seed only, too few for a verdict." if single else "")


def seed_counts(results: Iterable[CellResult]) -> str:
    """How many seeds the cells that were run have: ``20 seeds per cell``, ``3 to 20 seeds per cell``."""
    counts = [result.ours.n for result in results if result.ours is not None]
    if not counts:
        return "no seeds"
    return f"{_span(counts)} seed{'s' * (max(counts) > 1)} per cell"


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
