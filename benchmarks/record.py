"""Measurements on disk: results.json for the report page, and the table in README.md, which is never typed by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from graph2tens.training.provenance import machine

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"
BEGIN, END = "<!-- measurements:begin -->", "<!-- measurements:end -->"


def record(name: str, reference: str, theirs: float, ours: float, kind: str = "same answer", unit: str = "seconds") -> dict[str, Any]:
    """One comparison; a ratio above 1 means that graph2tens is faster, or needs less.

    `kind` says what it means: another way to the ``same answer`` (compared first), ``another layer`` that looks as far and computes
    something else, or a ``yardstick``: a lower bound, a goal, linear growth.
    """
    host = machine()
    return {
        "name": name,
        "reference": reference,
        "kind": kind,
        "fast": "graph2tens",
        f"{unit}_reference": theirs,
        f"{unit}_fast": ours,
        "ratio": theirs / ours,
        "machine": f"{host['processor']}, {host['cores']} cores, {host['threads']} threads, torch {torch.__version__}",
        "date": datetime.now(UTC).date().isoformat(),
    }


def save(group: str, rows: list[dict[str, Any]]) -> None:
    """Replace the group's rows in the results and write the tables anew."""
    kept = [row for row in json.loads(RESULTS.read_text()) if row.get("group") != group] if RESULTS.exists() else []
    rows = kept + [{"group": group, **row} for row in rows]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    lines = ["| what | against | reference | graph2tens | ratio |", "| --- | --- | ---: | ---: | ---: |"]
    for row in rows:
        if "seconds_fast" in row:
            values = [_duration(row[key]) for key in ("seconds_reference", "seconds_fast")]
        else:
            values = [f"{row[key]:.0f} MiB" for key in ("mebibytes_reference", "mebibytes_fast")]
        lines.append(f"| {row['name']} | {row['reference']} | {values[0]} | {values[1]} | {row['ratio']:.2f} |")
    hosts = sorted({f"{row['machine']} ({row['date']})" for row in rows})
    table = "\n".join([BEGIN, f"Measured on: {'; '.join(hosts)}. Best of several repeats.", "", *lines, END])
    text = README.read_text()
    before, rest = text.split(BEGIN, 1)
    README.write_text(before + table + rest.split(END, 1)[1])


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
