"""Runs on disk: one line of results/estimators/runs.jsonl each, with commit, day and machine."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graph2tens.training.provenance import commit, machine

RUNS = Path(__file__).parents[2] / "results" / "estimators" / "runs.jsonl"
Run = dict[str, Any]


def recorded(question: str = "") -> list[Run]:
    """All runs so far, or those of one question."""
    runs = [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []
    return [run for run in runs if not question or run["question"] == question]


def once(question: str, key: Run, measure: Callable[[], Run]) -> None:
    """Measure, record and print, unless a run with this key is there."""
    if any(key.items() <= run.items() for run in recorded(question)):
        return
    before = processor_seconds()
    found = measure()
    run = {"question": question, **key, **found, "processor_seconds": round(processor_seconds() - before, 2)}
    run |= {"commit": commit(), "date": datetime.now(UTC).date().isoformat(), "machine": machine()["processor"]}
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    with RUNS.open("a") as stream:
        stream.write(json.dumps(run) + "\n")
    shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in {**key, **found}.items()}
    print(question, *(f"{name}={value}" for name, value in shown.items() if not isinstance(value, (list, dict))), flush=True)


def processor_seconds() -> float:
    """Of this process, its threads, and the processes it started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
