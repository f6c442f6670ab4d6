"""The section of the page about molecules: ours beside other tools, from the records of ``benchmarks.molecules``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from xml.etree.ElementTree import Element

from ....report import words
from ....report.layout import folded, section
from ....report.markup import h
from ....report.tables import Column, table
from ....training.store import parse_lines

FILE = Path("molecules") / "runs.jsonl"
OURS = "graph2tens"
CHEMPROP = "chemprop"  # its version follows, then what is not as its defaults have it
RIVALS = {"chemprop": CHEMPROP, "Morgan + forest": "Morgan counts, random forest", "Morgan + GP": "Morgan counts, Tanimoto GP"}
TEXTS, NUMBERS = ("set", "split", "method", "metric"), ("number", "score", "processor_seconds")
Run = Mapping[str, Any]


@dataclass(frozen=True)
class Contest:
    """One set under one kind of split: the runs of each column of the table."""

    name: str
    split: str
    metric: str
    runs: Mapping[str, Sequence[Run]]

    def score(self, column: str) -> str:
        """Mean and standard deviation over the splits, with their number."""
        runs = self.runs[column]
        if not runs:
            return words.DASH
        scores = [run["score"] for run in runs]
        around = f" ± {stdev(scores):.3f}" if len(scores) > 1 else ""
        changed = {run["method"].partition(", ")[2] for run in runs} if RIVALS.get(column) == CHEMPROP else set()
        told = "".join(f", {change}" for change in sorted(changed) if change)  # not with its defaults
        return f"{mean(scores):.3f}{around} ({len(scores)}{told})"

    def gap(self, column: str) -> str:
        """The mean difference to ours over the splits that both have; a positive one says that ours is better."""
        ours = {run["number"]: run["score"] for run in self.runs[OURS]}
        sign = 1 if self.metric == "RMSE" else -1
        gaps = [sign * (run["score"] - ours[run["number"]]) for run in self.runs[column] if run["number"] in ours]
        if not gaps:
            return words.DASH
        around = f" ± {2 * stdev(gaps) / math.sqrt(len(gaps)):.3f}" if len(gaps) > 1 else ""
        return f"{mean(gaps):+.3f}{around} ({len(gaps)})".replace("-", "\N{MINUS SIGN}")

    def seconds(self, column: str) -> float | None:
        """Processor seconds of a split, to learn and to predict."""
        return mean(run["processor_seconds"] for run in self.runs[column]) if self.runs[column] else None


def read_molecule_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs recorded below these folders; lines that are no such record are left out."""
    found: list[Run] = []
    for file in (folder / FILE for folder in folders):
        if file.is_file():
            found += [entry for _, entry in parse_lines(file.read_bytes()) if _is_run(entry)]
    return found


def _is_run(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(name), str) for name in TEXTS)
        and all(isinstance(entry.get(name), int | float) and math.isfinite(entry[name]) for name in NUMBERS)
    )


def contests(runs: Sequence[Run]) -> list[Contest]:
    """A row for every set and kind of split, in the order of the records."""
    cells = dict.fromkeys((run["set"], run["split"], run["metric"]) for run in runs)
    made = []
    for cell in cells:
        here = [run for run in runs if (run["set"], run["split"], run["metric"]) == cell]
        columns = {OURS: [run for run in here if run["method"] == OURS]}
        for column, method in RIVALS.items():
            columns[column] = [run for run in here if run["method"] == method or run["method"].startswith(f"{method} ")]
        made.append(Contest(*cell, columns))
    return made


def molecules(runs: Sequence[Run]) -> Element | None:
    """Ours, chemprop and Morgan counts on the same splits; None if nothing was recorded."""
    rows = contests(runs)
    if not rows:
        return None
    note = (
        "Properties of molecules from SMILES, every method on the same splits, with its defaults unless told. RMSE: less is better, "
        "AUROC: more is better; mean ± standard deviation (number of splits). Gains are ours against that method over the splits that "
        "both have, ± two standard errors, positive where ours is better. Processor seconds are those of learning and predicting one split."
    )
    whole = table("Molecules, on parts not learnt from.", _columns(), rows)
    shown = words.plural(len(rows), "set"), words.plural(len(runs), "run")
    return section("molecules", "Molecules", h("p", note), folded(f"{shown[0]}, {shown[1]}", whole))


def _columns() -> list[Column[Contest]]:
    def score(column: str) -> Column[Contest]:
        return Column(
            column, lambda row: row.score(column), lambda row: mean(r["score"] for r in row.runs[column]) if row.runs[column] else None
        )

    def gain(column: str) -> Column[Contest]:
        return Column(f"Gain on {column}", lambda row: row.gap(column))

    def seconds(column: str) -> Column[Contest]:
        def show(row: Contest) -> str:
            found = row.seconds(column)
            return words.DASH if found is None else f"{found:,.0f}"

        return Column(f"Seconds, {column}", show, lambda row: row.seconds(column))

    first: list[Column[Contest]] = [Column("Set", lambda row: row.name), Column("Split", lambda row: row.split)]
    first.append(Column("Measure", lambda row: row.metric))
    names = (OURS, *RIVALS)
    return [*first, *map(score, names), *map(gain, RIVALS), *map(seconds, names)]
