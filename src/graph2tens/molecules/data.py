"""A table of molecules and measured values -> what can be learnt from, and a report of what was odd."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from .parsing import Molecules, parse
from .tables import MISSING, Table

TASKS = ("auto", "regression", "classification")
MANY_CLASSES = 30
MOST_LISTED = 10  # lines of one kind of problem
FEWEST = 10  # molecules with a known target, and different ones, that can be learnt from
PAIRS = ({0.0, 1.0}, {-1.0, 1.0}, {1.0, 2.0})  # numbers that name two classes
UNIT = re.compile(r"[<>=~]*\s*[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?\s*[^\d\s.,].*")  # a number and what is written behind it
FAR = 1000  # times the usual distance from the median: a slip of the pen more often than a measurement


@dataclass(frozen=True, eq=False)
class Measured:
    """Molecules with their targets.

    Attributes:
        graphs, smiles: of the molecules, canonical.
        y: (n, targets) numbers; for classification the number of the class; NaN where unknown.
        lines: the line of each in the file.
        task: "regression" or "classification".
        targets: names of the targets.
        classes: for classification the names of each target's classes; empty lists otherwise.
        report: what was met, a sentence each, with lines.
    """

    graphs: list[Data]
    smiles: list[str]
    y: NDArray[np.float64]
    lines: list[int]
    task: str
    targets: list[str]
    classes: list[list[str]]
    report: list[str] = field(default_factory=list)


def read_molecules(
    table: Table,
    smiles: str | None = None,
    *,
    salts: str = "keep",
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Molecules:
    """The molecules of a table, by the column `smiles` (found by its name where it is not given) or those of an SDF."""
    column = table.smiles_column(smiles)
    given: Sequence[Any] = table.columns[column] if column is not None else (table.molecules or [])
    return parse(given, salts=salts, n_jobs=n_jobs, progress=progress)


def measured(table: Table, molecules: Molecules, targets: Sequence[str], task: str = "auto") -> Measured:
    """Join molecules with their targets: rows without a readable molecule or any known target are left out and told."""
    if task not in TASKS:
        raise ValueError(f"`task` must be one of {', '.join(map(repr, TASKS))} (got {task!r}).")
    if len(set(targets)) < len(targets) or not targets:
        raise ValueError(f"`targets` must name at least one column, each once (got {list(targets)}).")
    kinds = {name: _kind(table.column(name, "--target")) for name in targets}
    if task == "auto":
        if len(set(kinds.values())) > 1:
            told = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
            raise ValueError(f"all targets of one model must be numbers or all classes (got {told}). Fit several models, or say --task.")
        task = kinds[targets[0]]
    report = describe(table, molecules)
    columns, classes = [], []
    for name in targets:
        values, names = _classes(table, name, len(targets), report) if task == "classification" else (_numbers(table, name, report), [])
        columns.append(values)
        classes.append(names)
    y = np.stack(columns, axis=1)[molecules.rows]
    known = ~np.isnan(y).all(axis=1)
    if (~known).any():
        report.append(f"{(~known).sum()} molecules have no known target and are left out.")
    kept = np.flatnonzero(known)
    for column, name in enumerate(targets):
        _check_enough(y[known, column], name, task)
        report += _rare(y[known, column], name, classes[column]) if task == "classification" else _constant(y[known, column], name)
    _check_different([molecules.smiles[place] for place in kept], [molecules.graphs[place] for place in kept])
    found = Measured(
        [molecules.graphs[place] for place in kept],
        [molecules.smiles[place] for place in kept],
        y[known],
        [table.lines[molecules.rows[place]] for place in kept],
        task,
        list(targets),
        classes,
        report,
    )
    found.report.extend(_duplicates(found))
    return found


def describe(table: Table, molecules: Molecules) -> list[str]:
    """What could not be read, by line, and what may surprise."""
    said = [f"{table.unit} {line}: {why}." for line, why in table.problems[:MOST_LISTED]]
    for place, text, why in molecules.problems[:MOST_LISTED]:
        shown = f" {text!r}" if text else ""
        said.append(f"{table.unit} {table.lines[place]}: no molecule{shown}: {why}.")
    if (more := len(molecules.problems) - MOST_LISTED) > 0:
        said.append(f"... and {more} more {table.unit}s without a readable molecule.")
    if molecules.salts:
        first = table.lines[molecules.salts[0]]
        said.append(f"{len(molecules.salts)} molecules consist of several fragments (salts, mixtures), the first on {table.unit} {first}.")
    return said


def _kind(column: Sequence[str]) -> str:
    known = {text.strip() for text in column if text.strip().lower() not in MISSING}
    numbers, spelt = set(), 0  # 1 and 1.0 are one number, spelt twice
    for text in known:
        try:
            number = float(text)
        except ValueError:
            continue
        numbers.add(number)
        spelt += 1
    texts = len(known) - spelt
    if known and (numbers <= PAIRS[0] or numbers in PAIRS) and not texts:
        return "classification"
    # A few entries like ">5" in a column of numbers are slips to be told; a column of words holds classes.
    return "classification" if texts > spelt else "regression"


def _numbers(table: Table, name: str, report: list[str]) -> NDArray[np.float64]:
    values, problems = table.numbers(name)
    report += [f"{table.unit} {line}: {why}; taken as unknown." for line, why in problems[:10]]
    if len(problems) > 10:
        report.append(f"... and {len(problems) - 10} more entries of {name} that are no numbers.")
    if not np.isfinite(values).any():  # an empty column, which is told where it is too short to learn from
        return values
    usual = np.abs(values - np.nanmedian(values))
    far = np.flatnonzero(usual > FAR * max(float(np.nanmedian(usual)), 1e-12 * float(np.nanmax(np.abs(values)))))
    if 0 < far.size <= values.size // 20:
        some = ", ".join(f"{values[place]:g} on {table.unit} {table.lines[place]}" for place in far[:5])
        report.append(f"{name} is very far from the others in {far.size} rows: {some}. Are these slips? They spoil everything if so.")
    return values


def _classes(table: Table, name: str, count: int, report: list[str]) -> tuple[NDArray[np.float64], list[str]]:
    texts = [text.strip() for text in table.column(name, "--target")]
    texts = [{"0.0": "0", "1.0": "1", "-1.0": "-1", "2.0": "2"}.get(text, text) for text in texts]
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        if text.lower() not in MISSING:
            spellings.setdefault(text.casefold(), Counter())[text] += 1
    usual = {folded: found.most_common(1)[0][0] for folded, found in spellings.items()}
    for found in spellings.values():
        if len(found) > 1:
            report.append(f"{name}: {' and '.join(map(repr, sorted(found)))} are taken as one class.")
    texts = [usual.get(text.casefold(), text) for text in texts]
    names = sorted(usual.values())
    rows = sum(found.total() for found in spellings.values())
    if len(names) > MANY_CLASSES or 2 * len(names) > max(rows, FEWEST):  # hardly any class twice: these are no classes
        comma = sum(text.count(",") == 1 and text.replace(",", ".").lstrip("-").replace(".", "", 1).isdigit() for text in names)
        units = sum(UNIT.fullmatch(text) is not None for text in names)
        repair = "Is it a number? Then say --task regression."
        repair = f"Write the unit into the heading: {names[0]!r} is no number." if units > len(names) // 2 else repair
        repair = "Write numbers with a point, not a comma." if comma > len(names) // 2 else repair
        raise ValueError(
            f"{name} must have at most {MANY_CLASSES} classes, of two molecules or more (got {len(names)} of {rows}). {repair}"
        )
    if count > 1 and len(names) > 2:
        raise ValueError(f"with several targets each must have two classes (got {len(names)} for {name}). Fit a model for it alone.")
    place = {text: number for number, text in enumerate(names)}
    return np.array([place.get(text, np.nan) for text in texts]), names


def _check_enough(values: NDArray[np.float64], name: str, task: str) -> None:
    known = values[~np.isnan(values)]
    if known.size < FEWEST:
        raise ValueError(f"{name} must be known for at least {FEWEST} readable molecules to learn from (got {known.size}).")
    if task == "classification" and np.unique(known).size < 2:
        raise ValueError(f"{name} must have molecules of two classes at least (got one class).")


def _check_different(smiles: Sequence[str], graphs: Sequence[Data]) -> None:
    if len(set(smiles)) < FEWEST:
        raise ValueError(f"at least {FEWEST} different molecules are needed to learn from (got {len(set(smiles))}).")
    if not any(graph.num_edges for graph in graphs):
        raise ValueError("some molecules must have bonds to learn from (got single atoms alone).")


def _rare(values: NDArray[np.float64], name: str, classes: Sequence[str]) -> list[str]:
    numbers, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    few = [classes[int(number)] for number, count in zip(numbers, counts, strict=True) if count < 2]
    return [f"{name}: only one molecule is {each!r}, too few to learn what makes it so and to check it." for each in few]


def _constant(values: NDArray[np.float64], name: str) -> list[str]:
    return [f"{name} is the same number for all molecules: there is nothing to learn."] if np.nanmax(values) == np.nanmin(values) else []


def _duplicates(found: Measured) -> list[str]:
    groups = Molecules(found.graphs, found.smiles, []).duplicates
    if not groups:
        return []
    extra = sum(len(group) - 1 for group in groups)
    line = found.lines
    said = f"{extra} molecules occur again under another SMILES or line, for example lines {line[groups[0][0]]} and {line[groups[0][1]]}"
    apart = [np.nanmax(np.ptp(found.y[group], axis=0), initial=0.0) for group in groups]
    worst = int(np.argmax(apart))
    if apart[worst] > 0:
        first, second = (line[place] for place in groups[worst][:2])
        said += (
            f"; they need not agree: by {apart[worst]:.3g} on lines {first} and {second}"
            if found.task == "regression"
            else "; some disagree"
        )
    return [said + ". All are kept; the estimate keeps them on one side of each split."]
