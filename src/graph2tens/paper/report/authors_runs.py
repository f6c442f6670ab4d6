"""The authors' own table of runs: their accuracy for each seed."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from ...training.config import Cell
from ..protocols import CITATIONS, DATASETS

_CANONICAL = {name.casefold(): name for name in DATASETS}  # the authors' table writes "cora"


def canonical(dataset: str) -> str:
    """The name of a data set as the paper spells it."""
    return _CANONICAL.get(dataset.casefold(), dataset)


def read_authors_runs(path: Path) -> dict[Cell, dict[int, float]]:
    """The authors' test accuracies in percent, by cell (protocol ``authors``) and seed, from their table of runs in CSV."""
    wanted = {"dataset", "model", "variant", "khop", "seed", "test_acc"}
    if not path.is_file():
        raise ValueError(f"`--authors-runs {path}` is not a file")
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
            dataset = canonical(row["dataset"])
            table = ("citation" if khop == 0 else "khop") if dataset in CITATIONS else "nci" if row["variant"] == "base" else "ablation"
            runs[Cell(table, dataset, row["model"], row["variant"], khop, "authors")][seed] = accuracy
    return dict(runs)
