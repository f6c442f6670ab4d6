"""The record of a finished run: made when it ends, kept as a line of JSON, and read again, from this version or an earlier one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .config import Cell
from .provenance import commit, machine, peak_memory_mib, versions
from .store import parse_lines

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Record:
    """One finished run. What a record leaves out is None or empty.

    Attributes:
        cell, seed, epochs_limit: what was run, see :class:`~graph2tens.training.config.Run`.
        scores: by part of the data; accuracies are shares from 0 to 1.
        metric: what the scores are.
        auroc: area under the ROC curve on the test part.
        best_epoch: whose weights were judged.
        curve: losses and scores of at most 50 epochs.
        options: the whole configuration.
        judged: what the scores were measured on, see :func:`~graph2tens.training.judged.judged_on`.
        extra: further facts, each a field of the JSON object.
    """

    cell: Cell
    seed: int
    scores: Mapping[str, float | None]
    metric: str = "accuracy"
    auroc: float | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    epochs_limit: int | None = None
    seconds: float | None = None
    seconds_per_epoch: float | None = None
    memory_mib: float | None = None
    curve: Mapping[str, list[float | None]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    judged: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    commit: str = ""
    finished: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def test(self) -> float:
        """The test score in percent."""
        return 100 * (self.scores["test"] or 0.0)

    @property
    def validation(self) -> float | None:
        """The validation score in percent."""
        return _percent(self.scores.get("validation"))

    @property
    def train(self) -> float | None:
        """The training score in percent."""
        return _percent(self.scores.get("train"))

    @classmethod
    def make(cls, cell: Cell, seed: int, scores: Mapping[str, float | None], *, device: Any = "cpu", **fields: Any) -> Record:
        """The record of a run that ends now, here, by this code."""
        for name in ("seconds", "seconds_per_epoch"):
            if fields.get(name) is not None:
                fields[name] = round(fields[name], 3 if name == "seconds" else 5)
        provenance: dict[str, Any] = {
            "commit": commit(),
            "versions": versions(),
            "machine": machine(device),
            "memory_mib": round(peak_memory_mib(), 1),
        }
        return cls(cell, seed, scores, finished=datetime.now(UTC).isoformat(timespec="seconds"), **provenance, **fields)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that is kept."""
        return {
            **self.cell._asdict(),
            "seed": self.seed,
            "epochs_limit": self.epochs_limit,
            **({} if self.metric == "accuracy" else {"metric": self.metric}),
            **{f"{part}_{self.metric}": score for part, score in self.scores.items()},
            "test_auroc": self.auroc,
            "epochs": self.epochs,
            "best_epoch": self.best_epoch,
            "seconds": self.seconds,
            "seconds_per_epoch": self.seconds_per_epoch,
            "peak_memory_mib": self.memory_mib,
            **self.extra,
            "curve": dict(self.curve),
            "options": dict(self.options),
            **({"judged": dict(self.judged)} if self.judged else {}),
            "commit": self.commit,
            "versions": dict(self.versions),
            "machine": dict(self.machine),
            "finished": self.finished,
        }

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> Record:
        """Read a JSON object. Only dataset, model, seed and a test score are required; an accuracy lies between 0 and 1."""
        metric = str(fields.get("metric") or "accuracy")
        if missing := [key for key in ("dataset", "model", "seed", f"test_{metric}") if fields.get(key) is None]:
            raise ValueError(f"a record of a run needs {', '.join(missing)}")
        test, seed = _number(fields, f"test_{metric}"), _count(fields, "seed")
        if test is None or (metric == "accuracy" and not 0 <= test <= 1):
            raise ValueError(f"`test_{metric}` must be a number from 0 to 1 (got {fields[f'test_{metric}']!r})")
        if seed is None:
            raise ValueError(f"`seed` must be an integer (got {fields['seed']!r})")
        names = {name: str(fields.get(name) or "") for name in ("table", "dataset", "model", "protocol")}
        known: dict[str, Any] = {name: _count(fields, name) for name in ("epochs", "best_epoch", "epochs_limit")}
        known |= {name: _number(fields, name) for name in ("seconds", "seconds_per_epoch")}
        known |= {name: _mapping(fields, name) for name in ("options", "judged", "versions", "machine")}
        known |= {name: str(fields.get(name) or "") for name in ("commit", "finished")}
        return cls(
            cell=Cell(**names, variant=str(fields.get("variant") or "base"), khop=_count(fields, "khop") or 0),
            seed=seed,
            scores={part: _number(fields, f"{part}_{metric}") for part in PARTS},
            metric=metric,
            auroc=_number(fields, "test_auroc"),
            memory_mib=_number(fields, "peak_memory_mib"),
            curve={
                str(key): [float(x) if isinstance(x, int | float) and math.isfinite(x) else None for x in values]
                for key, values in _mapping(fields, "curve").items()
                if isinstance(values, list)
            },
            **known,
        )


def read_record(path: Path) -> Record:
    """The record in the folder of a run."""
    try:
        fields = json.loads(path.read_bytes())
        record = Record.parse(fields if isinstance(fields, dict) else {})
        if record.epochs is None or record.seconds is None or record.seconds_per_epoch is None:
            raise ValueError("it must have epochs, seconds and seconds_per_epoch")
        return record
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is not the record of a run ({reason}). Delete it and resume again: it is written anew.") from None


def read_records(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Records of a results file, or of all in a folder: every ``*.jsonl``, trials included, and every ``record.json`` at any depth.

    Without either, any ``*.json`` that holds a run. The second part of the answer are remarks.
    A line that is not JSON is what a killed process leaves behind: it is skipped, and the remark says which.
    """
    if not path.exists():
        raise ValueError(f"`{path}` does not exist; `graph2tens reproduce` and `graph2tens train` write results")
    files = [path]
    if path.is_dir():
        files = sorted(path.glob("*.jsonl")) + sorted(path.glob("trials/*.jsonl")) + sorted(path.rglob("record.json"))
        files = files or sorted(path.glob("*.json"))
    records: list[dict[str, Any]] = []
    remarks: list[str] = []
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".json":
            content = _on_one_line(content)
        for number, found in parse_lines(content):
            if isinstance(found, ValueError):
                remarks.append(f"{file.name}, line {number}: torn line skipped")
            elif isinstance(found, dict) and f"test_{found.get('metric') or 'accuracy'}" in found:
                records.append(found)
            elif file.suffix == ".jsonl":
                remarks.append(f"{file.name}, line {number}: not the record of a run, skipped")
    if not records and path.is_dir() and not any(file.suffix == ".jsonl" for file in files):
        raise ValueError(f"`{path}` holds no finished run yet; `graph2tens train` with --resume ends what was interrupted")
    return records, remarks


def _on_one_line(content: bytes) -> bytes:
    return content.replace(b"\n", b" ")  # JSON has no line breaks inside its strings


def _number(fields: Mapping[str, Any], key: str) -> float | None:
    value = fields.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def _count(fields: Mapping[str, Any], key: str) -> int | None:
    value = _number(fields, key)
    return None if value is None else int(value)


def _mapping(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = fields.get(key)
    return value if isinstance(value, Mapping) else {}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
