"""From records to methods: which runs are averaged, and how two methods differ on the test parts that both were judged on."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...training.records import Record
from .. import words
from ..statistics import Difference, Summary, paired_difference, summarise

Confusion = list[list[int]]
Key = tuple[str, int]


@dataclass(frozen=True)
class Method:
    """Runs that differ in their seed, or fold, alone."""

    name: str
    runs: tuple[Record, ...]

    @cached_property
    def by_part(self) -> dict[Key, float]:
        """Test scores in percent, by test part and seed: equal keys of two methods were judged on the same examples."""
        return {_key(run): run.test for run in self.runs}

    @cached_property
    def majority(self) -> dict[Key, float]:
        """The same for always naming the most frequent class of the training part."""
        known = ((_key(run), run.judged.get("majority")) for run in self.runs)
        return {key: 100 * share for key, share in known if isinstance(share, int | float)}

    @cached_property
    def summary(self) -> Summary:
        found = summarise(self.by_part.values())
        assert found is not None  # a method has runs
        return found

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """95 %: of the mean over several runs by Student's t, of a single accuracy by Wilson's formula; None where neither is known."""
        mean, error, n = self.summary.mean, self.summary.standard_error, self.summary.n
        if error is not None:
            from scipy.stats import t

            reach = float(t.ppf(0.975, n - 1)) * error
            low, high = mean - reach, mean + reach
            return (max(low, 0.0), min(high, 100.0)) if self.metric == "accuracy" else (low, high)
        size = self.test_size[0] if self.test_size else 0
        return wilson(mean / 100, size) if size and self.metric == "accuracy" else None

    @property
    def metric(self) -> str:
        return self.runs[0].metric

    @cached_property
    def test_size(self) -> list[int]:
        """Examples in a test part: one number, or the least and the largest."""
        known = (run.judged.get("sizes") for run in self.runs)
        sizes = sorted({size for one in known if isinstance(one, Mapping) and isinstance(size := one.get("test"), int) and size > 0})
        return sizes[:1] + sizes[-1:] if len(sizes) > 1 else sizes

    @cached_property
    def confusion(self) -> tuple[tuple[str, ...], Confusion] | None:
        """Class names, and the confusion matrix summed over the runs; None unless every run has one."""
        tables = [found for run in self.runs if (found := _confusion(run)) is not None]
        if len(tables) < len(self.runs) or len({names for names, _ in tables}) > 1:
            return None
        total = [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*(table for _, table in tables), strict=True)]
        return tables[0][0], total

    @property
    def seconds(self) -> float | None:
        """Of a run, on average."""
        found = summarise(run.seconds for run in self.runs if run.seconds is not None)
        return None if found is None else found.mean

    @property
    def unit(self) -> str:
        return "fold" if self.runs[0].cell.table.endswith(" folds") else "seed"

    def against(self, other: Method) -> Difference | None:
        return None if other is self else paired_difference(self.by_part, other.by_part)

    @cached_property
    def against_majority(self) -> Difference | None:
        return paired_difference(self.by_part, self.majority)


@dataclass(frozen=True)
class DataResult:
    """What was found on one data set, the best method first."""

    name: str
    methods: tuple[Method, ...]

    @property
    def best(self) -> Method:
        return self.methods[0]

    @cached_property
    def majority(self) -> Summary | None:
        """Over all test parts."""
        return summarise({key: value for method in self.methods for key, value in method.majority.items()}.values())


@dataclass(frozen=True)
class OwnStudy:
    """All that the page shows."""

    data: tuple[DataResult, ...]
    remarks: tuple[str, ...] = ()

    @property
    def runs(self) -> list[Record]:
        return [run for result in self.data for method in result.methods for run in method.runs]

    @property
    def title(self) -> str:
        return words.listing([result.name for result in self.data])


def collect_own(records: Iterable[Mapping[str, Any]], remarks: Iterable[str] = ()) -> OwnStudy:
    """Group records by data and method. Of runs that are equal but for when they were made, the last counts."""
    notes, parsed = list(remarks), []
    for record in records:
        try:
            parsed.append(Record.parse(record))
        except ValueError as error:
            notes.append(f"a record was set aside: {error}")
    if not parsed:
        raise ValueError("there is no finished run to report; `graph2tens train` and `graph2tens classify` make some")
    by_data: dict[tuple[str, int, str, str], list[Record]] = defaultdict(list)
    for run in parsed:
        folder = run.cell.dataset.rstrip("/").rpartition("/")[2]  # the last part of the path of a folder
        by_data[folder or run.cell.dataset, run.cell.khop, str(run.judged.get("fingerprint") or ""), run.metric].append(run)
    results = [DataResult(name, _methods(runs)) for name, runs in _named(by_data)]
    return OwnStudy(tuple(results), tuple(notes))


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share that was seen in `n` examples, in percent."""
    z = 1.96
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return 100 * (middle - reach), 100 * (middle + reach)


def _named(by_data: Mapping[tuple[str, int, str, str], list[Record]]) -> list[tuple[str, list[Record]]]:
    """Data sets by name; data of the same name that are not the same, or are judged otherwise, say what tells them apart."""
    named = []
    for (dataset, khop, fingerprint, metric), runs in by_data.items():
        name = f"{dataset}, {words.plural(khop, 'hop')}" if khop else dataset
        same = [key for key in by_data if key[:2] == (dataset, khop)]
        if len(same) > 1:
            name += f" ({metric}, data {fingerprint[:6] or 'unknown'})"
        named.append((name, runs))
    return named


def _methods(runs: Sequence[Record]) -> tuple[Method, ...]:
    groups: dict[str, dict[Key, Record]] = defaultdict(dict)
    for run in sorted(runs, key=lambda run: run.finished):
        groups[json.dumps(_settings(run), sort_keys=True, default=str)][_key(run)] = run
    found = [sorted(group.values(), key=lambda run: run.seed) for group in groups.values()]
    settings = [_settings(group[0]) for group in found]
    methods = [
        Method(_name(mine, [other for other in settings if other["model"] == mine["model"]]), tuple(group))
        for mine, group in zip(settings, found, strict=True)
    ]
    lower_is_better = runs[0].metric in ("mae", "rmse", "mse")
    return tuple(sorted(methods, key=lambda method: method.summary.mean if lower_is_better else -method.summary.mean))


def _settings(run: Record) -> dict[str, str]:
    """What makes a method: all but seed, data, and what was chosen on the way."""
    cell = run.cell
    names = {"model": cell.model, "variant": cell.variant, "settings": cell.protocol}
    names["split"] = cell.table if cell.table.endswith(" folds") else ""
    options = {key: value for key, value in run.options.items() if key in ("network", "training")}
    return {**names, **{key.partition(".")[2]: value for key, value in words.flat_items(options)}}


def _name(mine: Mapping[str, str], alike: Sequence[Mapping[str, str]]) -> str:
    """The model, its variant, and the options in which it differs from others of the same model."""
    differing = [key for key in mine if key not in ("model", "variant") and len({other.get(key) for other in alike}) > 1]
    shown = [mine["split"] if key == "split" else f"{key} {mine[key]}" for key in differing if mine[key]]
    return ", ".join([mine["model"], *([mine["variant"]] * (mine["variant"] != "base")), *shown])


def _key(run: Record) -> Key:
    return str(run.judged.get("test_part") or ""), run.seed


def _confusion(run: Record) -> tuple[tuple[str, ...], Confusion] | None:
    table, names = run.judged.get("confusion"), run.judged.get("class_names")
    if not isinstance(table, list) or not isinstance(names, list) or len(names) != len(table):
        return None
    rows = [row for row in table if isinstance(row, list) and len(row) == len(names) and all(isinstance(cell, int) for cell in row)]
    return (tuple(map(str, names)), rows) if len(rows) == len(names) else None
