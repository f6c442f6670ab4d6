"""From lines of JSON to runs: reading what `reproduce` and `train` recorded, and the authors' own table of runs."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..numbers import PAPER_MODELS, TABLES, VARIANTS

COMPOUNDS = ("NCI1", "NCI109")
CITATIONS = ("Cora", "CiteSeer", "PubMed")
DATASETS = (*COMPOUNDS, *CITATIONS)
_DATASET_NAMES = {name.casefold(): name for name in DATASETS}  # the authors' table writes "cora"


class Cell(NamedTuple):
    """What identifies an experiment, up to its seed."""

    table: str
    dataset: str
    model: str
    variant: str = "base"
    khop: int = 0
    protocol: str = "authors"

    @property
    def place(self) -> tuple[Any, ...]:
        """Sorts cells as the paper lists them; what it does not know comes last, by name."""

        def rank(name: str, known: Iterable[str]) -> tuple[int, str]:
            order = list(known)
            return (order.index(name), "") if name in order else (len(order), name)

        names = rank(self.dataset, DATASETS), rank(self.model, PAPER_MODELS), rank(self.variant, VARIANTS)
        return rank(self.table, TABLES), self.protocol, self.khop, *names


@dataclass(frozen=True)
class Run:
    """One finished training run. Accuracies in percent; what a record leaves out is ``None`` or empty."""

    cell: Cell
    seed: int
    test: float
    validation: float | None = None
    train: float | None = None
    auroc: float | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    seconds: float | None = None
    memory_mib: float | None = None
    curve: Mapping[str, list[float | None]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    commit: str = ""
    finished: str = ""
    trial: bool = False  # cut short by `--epochs`: it says that the cell runs and nothing more


def _number(record: Mapping[str, Any], key: str) -> float | None:
    value = record.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def _count(record: Mapping[str, Any], key: str) -> int | None:
    value = _number(record, key)
    return None if value is None else int(value)


def _percent(record: Mapping[str, Any], key: str) -> float | None:
    value = _number(record, key)
    return None if value is None else 100 * value


def _mapping(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = record.get(key)
    return value if isinstance(value, Mapping) else {}


def parse_run(record: Mapping[str, Any]) -> Run:
    """Read one record. Only dataset, model, seed and a test accuracy between 0 and 1 are required."""
    missing = [key for key in ("dataset", "model", "seed", "test_accuracy") if record.get(key) is None]
    if missing:
        raise ValueError(f"a record of a run needs {', '.join(missing)}")
    test, seed = _percent(record, "test_accuracy"), _count(record, "seed")
    if test is None or not 0 <= test <= 100:
        raise ValueError(f"`test_accuracy` must be a number from 0 to 1 (got {record['test_accuracy']!r})")
    if seed is None:
        raise ValueError(f"`seed` must be an integer (got {record['seed']!r})")
    name = str(record["dataset"])
    cell = Cell(
        table=str(record.get("table") or ""),
        dataset=_DATASET_NAMES.get(name.casefold(), name),
        model=str(record["model"]),
        variant=str(record.get("variant") or "base"),
        khop=_count(record, "khop") or 0,
        protocol=str(record.get("protocol") or ""),
    )
    curve = {
        str(key): [float(x) if isinstance(x, int | float) and math.isfinite(x) else None for x in values]
        for key, values in _mapping(record, "curve").items()
        if isinstance(values, list)
    }
    return Run(
        cell=cell,
        seed=seed,
        test=test,
        validation=_percent(record, "validation_accuracy"),
        train=_percent(record, "train_accuracy"),
        auroc=_number(record, "test_auroc"),
        epochs=_count(record, "epochs"),
        best_epoch=_count(record, "best_epoch"),
        seconds=_number(record, "seconds"),
        memory_mib=_number(record, "peak_memory_mib"),
        curve=curve,
        options=_mapping(record, "options"),
        versions=_mapping(record, "versions"),
        machine=_mapping(record, "machine"),
        commit=str(record.get("commit") or ""),
        finished=str(record.get("finished") or ""),
        trial=cell.table in TABLES and record.get("epochs_limit") is not None,
    )


def read_records(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Records of a results file or of every ``*.jsonl`` of a folder, trials included (else every ``*.json`` that holds a run), and remarks.

    A line that is no JSON is what a killed process leaves behind: it is skipped, and the remark says which.
    """
    if not path.exists():
        raise ValueError(f"`{path}` does not exist; `graph2tens reproduce` and `graph2tens train` write results")
    files = [path] if path.is_file() else sorted(path.glob("*.jsonl")) + sorted(path.glob("trials/*.jsonl")) or sorted(path.glob("*.json"))
    records: list[dict[str, Any]] = []
    remarks: list[str] = []
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        lines = text.split("\n") if file.suffix == ".jsonl" else [text]
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                remarks.append(f"{file.name}, line {number}: torn line skipped")
                continue
            if isinstance(record, dict) and "test_accuracy" in record:
                records.append(record)
            elif file.suffix == ".jsonl":
                remarks.append(f"{file.name}, line {number}: not the record of a run, skipped")
    if not records and any(file.suffix == ".json" for file in files):
        raise ValueError(f"`{path}` holds no finished run yet; `graph2tens train` with --resume ends what was interrupted")
    return records, remarks


def read_authors_runs(path: Path) -> dict[Cell, dict[int, float]]:
    """The authors' test accuracies in percent, by cell (protocol ``authors``) and seed, from their table of runs in CSV."""
    wanted = {"dataset", "model", "variant", "khop", "seed", "test_acc"}
    if not path.is_file():
        raise ValueError(f"`--authors-runs {path}` is no file")
    runs: dict[Cell, dict[int, float]] = defaultdict(dict)
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        lacking = wanted - set(reader.fieldnames or ())
        if lacking:
            raise ValueError(f"`{path}` must have the columns {', '.join(sorted(wanted))} (missing: {', '.join(sorted(lacking))})")
        for number, row in enumerate(reader, 2):
            try:
                khop, seed, accuracy = int(row["khop"]), int(row["seed"]), 100 * float(row["test_acc"])
            except (TypeError, ValueError) as error:
                raise ValueError(f"`{path}`, line {number}: khop, seed and test_acc must be numbers (got {row})") from error
            if not 0 <= accuracy <= 100:
                raise ValueError(f"`{path}`, line {number}: test_acc must be a share from 0 to 1 (got {row['test_acc']})")
            dataset = _DATASET_NAMES.get(row["dataset"].casefold(), row["dataset"])
            table = ("citation" if khop == 0 else "khop") if dataset in CITATIONS else "nci" if row["variant"] == "base" else "ablation"
            runs[Cell(table, dataset, row["model"], row["variant"], khop)][seed] = accuracy
    return dict(runs)
