"""From records to files: the page, the Markdown tables, and the marked sections of README and docs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...files import write_text
from ...report.statistics import Difference
from .authors_runs import read_authors_runs
from .data import Study, collect
from .html.page import render


def write_report(
    records: Iterable[Mapping[str, Any]], out: str | Path, *, authors_runs: str | Path | None = None, title: str | None = None
) -> Path:
    """Write the page about these records, one or many, to ``out`` and return its path.

    Args:
        records: finished runs, as ``reproduce`` and ``train`` record them.
        out: where the HTML page goes; its folder is made if need be.
        authors_runs: the authors' table of runs in CSV, if at hand.
        title: heading of the page; by default it says what the records are about.
    """
    study = collect(records, authors_runs=None if authors_runs is None else read_authors_runs(Path(authors_runs)))
    path = Path(out)
    write_text(path, render(study, title))
    return path


def read_benchmarks(path: Path | None) -> list[dict[str, Any]]:
    """Speed measurements of ``benchmarks/``; without a path those of the current folder, none if it has none."""
    if path is None:
        path = Path("benchmarks/results.json")
        if not path.exists():
            return []
    elif not path.is_file():
        raise ValueError(f"`--benchmarks {path}` is no file; `make bench` writes one")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"`{path}` is not JSON ({error}); `make bench` writes it anew") from None
    rows = content.get("results", []) if isinstance(content, dict) else content
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def as_data(study: Study) -> dict[str, Any]:
    """The study's numbers as plain values, for scripts."""
    return {
        "date": study.date,
        "runs": len(study.runs),
        "trials": len(study.trials),
        "remarks": list(study.remarks),
        "cells": [
            {
                **result.cell._asdict(),
                "verdict": result.verdict.value,
                "seeds": sorted(result.by_seed),
                "mean": result.ours.mean if result.ours else None,
                "std": result.ours.std if result.ours else None,
                "paper_mean": result.published.mean if result.published else None,
                "paper_std": result.published.std if result.published else None,
                "paper_seeds": result.published.seeds if result.published else None,
                "difference": _difference(result.difference),
                "same_seeds": _difference(result.same_seed),
            }
            for result in study.cells
        ],
    }


def _difference(gap: Difference | None) -> dict[str, float | int | None] | None:
    if gap is None:
        return None
    ratio = gap.in_standard_errors
    return {
        "points": gap.points,
        "standard_error": gap.standard_error,
        "in_standard_errors": ratio if math.isfinite(ratio) else None,  # JSON has no infinity
        "pairs": gap.pairs,
    }
