"""The report's account of speed: our engine beside other ways to the same answer, beside other layers, and against yardsticks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from ....report import words
from ....report.layout import folded
from ....report.markup import h
from ....report.tables import Column, table

Measurement = Mapping[str, Any]
Task = tuple[str, Mapping[str, Measurement]]  # its name, and what was measured by the name of the contender
SECONDS = ("seconds_fast", "seconds_reference")
_KINDS = {
    "same answer": "The same answer, computed otherwise (answers were compared first)",
    "another layer": "Other layers that look as far, and compute something else",
}


def read_benchmarks(path: Path | None) -> list[Measurement]:
    """Speed measurements of ``benchmarks/``; without a path those of the current folder, none if it has none."""
    if path is None:
        path = Path("benchmarks/results.json")
        if not path.exists():
            return []
    elif not path.is_file():
        raise ValueError(f"`--benchmarks {path}` is not a file; `make bench` writes one")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{path}` is not JSON ({error}); `make bench` writes it anew") from None
    rows = content.get("results", []) if isinstance(content, dict) else content
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def speed(benchmarks: Sequence[Measurement]) -> list[Element]:
    """What ``benchmarks/`` measured: a row for each task and a column for each contender; bounds and goals folded away."""
    rows = [row for row in benchmarks if isinstance(row.get("ratio"), int | float) and isinstance(row.get("name"), str)]
    if not rows:
        return []
    hosts = words.distinct(f"{words.machine(row.get('machine'))} ({row['date']})" if "date" in row else "" for row in rows)
    where = f" On {words.listing(hosts)}." if hosts else ""
    told = f"{words.TIMES} says how many times faster graph2tens is. Each time is the best of several repetitions.{where}"
    parts = [h("p", told, class_="legend")]
    shown = []
    for kind, caption in _KINDS.items():
        mine = [row for row in rows if row.get("kind") == kind and all(isinstance(row.get(key), int | float) for key in SECONDS)]
        shown += mine
        if mine:
            parts.append(_contenders(caption, mine))
    if rest := [row for row in rows if row not in shown]:
        parts.append(folded("Yardsticks: lower bounds, goals, memory, growth", _yardsticks(rest)))
    return parts


def _contenders(caption: str, rows: Sequence[Measurement]) -> Element:
    ordered = sorted(rows, key=lambda row: [row["name"] for row in rows].index(row["name"]))
    tasks = [(name, {str(row.get("reference")): row for row in group}) for name, group in groupby(ordered, key=lambda row: row["name"])]

    def ours(task: Task) -> float:
        return float(next(iter(task[1].values()))["seconds_fast"])

    def against(name: str) -> Column[Task]:
        def ratio(task: Task) -> float | None:
            return float(task[1][name]["ratio"]) if name in task[1] else None

        def show(task: Task) -> str | None:
            return f"{task[1][name]['ratio']:.3g} {words.TIMES} ({_amount(task[1][name], 'reference')})" if name in task[1] else None

        return Column(name, show, ratio, "how many times faster graph2tens is (and the time of the other)")

    columns = [Column[Task]("Task", lambda task: task[0])]
    columns.append(Column("graph2tens", lambda task: words.seconds(ours(task)), ours))
    columns += [against(name) for name in words.in_order(str(row.get("reference")) for row in rows)]
    return table(caption, columns, tasks)


def _yardsticks(rows: Sequence[Measurement]) -> Element:
    columns: list[Column[Measurement]] = [
        Column("Task", lambda row: row["name"]),
        Column("Measured", lambda row: _amount(row, "fast"), lambda row: _number(row, "fast")),
        Column("Yardstick", lambda row: _amount(row, "reference"), lambda row: _number(row, "reference")),
        Column("Yardstick over measured", lambda row: f"{row['ratio']:.2g}", lambda row: float(row["ratio"])),
        Column("What was measured", lambda row: words.flat(row.get("fast"))),
        Column("The yardstick", lambda row: words.flat(row.get("reference"))),
    ]
    return table("Times that no code can undercut, goals, memory, and how time grows with the graph", columns, rows)


def _number(row: Measurement, whose: str) -> float | None:
    found = [row[key] for key in (f"seconds_{whose}", f"mebibytes_{whose}") if isinstance(row.get(key), int | float)]
    return float(found[0]) if found else None


def _amount(row: Measurement, whose: str) -> str | None:
    value = _number(row, whose)
    if value is None:
        return None
    return words.seconds(value) if f"seconds_{whose}" in row else f"{value:,.0f} MiB"
