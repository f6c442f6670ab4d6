"""From records of the user's own runs to files: the page, a Markdown table, plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...files import write_text
from .. import words
from . import sentences
from .data import DataResult, Method, OwnStudy, collect_own
from .page import render_own


def write_own_report(records: Iterable[Mapping[str, Any]], out: str | Path) -> Path:
    """Write the page about these records to ``out``, whose folder is made if need be, and return its path."""
    path = Path(out)
    write_text(path, render_own(collect_own(records)))
    return path


def headings(result: DataResult) -> list[str]:
    """Of the table of methods, in Markdown and on the terminal."""
    last = ["− best"] * (len(result.methods) > 1)  # noqa: RUF001
    return ["method", sentences.score_name(result).removeprefix("Test "), "95 % interval", "− majority", *last, sentences.runs_name(result)]  # noqa: RUF001


def rows(result: DataResult) -> list[list[str]]:
    """Methods, best first, and the most frequent class."""
    several = len(result.methods) > 1
    lines = [
        [
            method.name,
            sentences.accuracy(method),
            sentences.interval(method),
            sentences.gap(method.against_majority),
            *([sentences.gap(method.against(result.best))] if several else []),
            str(len(method.runs)),
        ]
        for method in result.methods
    ]
    if result.majority is not None:
        lines.append(["majority class", words.mean_std(result.majority), "", "", *([""] if several else []), ""])
    return lines


def markdown(study: OwnStudy) -> str:
    """A table for each data set."""
    parts = []
    for result in study.data:
        lines = [headings(result), ["---"] * len(headings(result)), *([cell.replace("|", "\\|") for cell in row] for row in rows(result))]
        text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        parts.append(f"## {result.name}\n\n{sentences.outcome(result)}\n\n{text}\n\n{sentences.PAIRED} {sentences.CAUTION}\n")
    return "\n".join(parts)


def as_own_data(study: OwnStudy) -> dict[str, Any]:
    """The numbers as plain values, for scripts."""
    data = []
    for result in study.data:
        majority = result.majority.mean if result.majority else None
        data.append({"name": result.name, "majority": majority, "methods": [_plain(one, result.best) for one in result.methods]})
    return {"remarks": list(study.remarks), "data": data}


def _plain(method: Method, best: Method) -> dict[str, Any]:
    gaps = {"majority": method.against_majority, "best": method.against(best)}
    return {
        "method": method.name,
        "runs": len(method.runs),
        "seeds": [run.seed for run in method.runs],
        "mean": method.summary.mean,
        "std": method.summary.std,
        "interval": method.interval,
        "test_size": method.test_size,
        "confusion": None if method.confusion is None else method.confusion[1],
        **{f"against_{name}": None if gap is None else [gap.points, gap.standard_error, gap.pairs] for name, gap in gaps.items()},
    }
