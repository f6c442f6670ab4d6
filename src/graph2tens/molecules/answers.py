"""Predictions for a table of molecules, as a table: every row of the file comes back, with its prediction or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..files import as_csv, write_text
from .estimate import INTERVAL
from .model import MoleculeModel, Predictions
from .parsing import Molecules
from .tables import Table


@dataclass(frozen=True)
class Answer:
    """The columns that predictions add to a table: names, and the cells of each row."""

    names: list[str]
    cells: list[list[str]]


def columns(model: MoleculeModel) -> list[str]:
    """Names of the columns that :func:`tabulate` adds."""
    if model.task == "regression":
        own = [f"{name} {what}" for name in model.targets for what in ("predicted", "deviation", "low", "high")]
    elif len(model.targets) == 1:
        own = [f"{model.targets[0]} predicted", *(f"probability of {name}" for name in model.classes[0])]
    else:
        own = [
            text
            for name, names in zip(model.targets, model.classes, strict=True)
            for text in (f"{name} predicted", f"{name} probability of {names[1]}")
        ]
    return [*own, "unlike", "similarity", "nearest", "problem"]


def tabulate(model: MoleculeModel, table: Table, molecules: Molecules, found: Predictions | None) -> Answer:
    """What is said of each row; a row without a readable molecule says why."""
    names = columns(model)
    cells = [[""] * len(names) for _ in range(len(table))]
    for place, _, why in molecules.problems:
        cells[place][-1] = why
    for line, why in table.problems:
        place = table.lines.index(line)
        cells[place][-1] = "; ".join(filter(None, [cells[place][-1], why]))
    if found is not None:
        for entry, place in enumerate(molecules.rows):
            own = _row(model, found, entry)
            seen = ["yes" if found.unlike[entry] else "no", f"{found.similarity[entry]:.3f}", found.nearest[entry]]
            cells[place][: len(own) + 3] = [*own, *seen]
    return Answer(names, cells)


def write(path: Path | None, table: Table, answer: Answer) -> None:
    """The table with the new columns, to a file or to standard output; columns of the file that have one of their names are left out."""
    kept = [name for name in table.columns if name not in answer.names]
    rows = ([table.lines[place], *(table.columns[name][place] for name in kept), *row] for place, row in enumerate(answer.cells))
    text = as_csv([[table.unit, *kept, *answer.names], *rows])
    if path is None:
        print(text, end="")
    else:
        write_text(path, text)


def _row(model: MoleculeModel, found: Predictions, entry: int) -> list[str]:
    values = found.values[entry]
    if found.deviations is not None:
        cells: list[float] = []
        for value, deviation in zip(values, found.deviations[entry], strict=True):
            cells += [value, deviation, value - INTERVAL * deviation, value + INTERVAL * deviation]
        return [f"{cell:.6g}" for cell in cells]
    if len(model.targets) == 1:
        shares = values / max(values.sum(), 1e-12)  # each class was asked for by itself
        return [model.classes[0][int(shares.argmax())], *(f"{share:.6g}" for share in shares)]
    return [text for names, share in zip(model.classes, values, strict=True) for text in (names[int(share > 0.5)], f"{share:.6g}")]


def ranked(found: Predictions, target: int, most: int, how: str, names: Sequence[str] | None = None) -> Sequence[int]:
    """The rows to measure next: ``"high"`` or ``"low"`` predictions that may well be so (value plus or minus a deviation), or those
    that are most ``"uncertain"``. With canonical SMILES `names`, no molecule twice and none that the model learnt from."""
    values = found.values[:, target]
    doubt = found.deviations[:, target] if found.deviations is not None else np.sqrt(np.clip(values * (1 - values), 0, None))
    score = {"high": values + doubt, "low": doubt - values, "uncertain": doubt}[how]
    order = [int(place) for place in np.argsort(-score, kind="stable")]
    if names is not None:
        first = {names[place]: place for place in reversed(order)}
        order = [place for place in order if first[names[place]] == place and names[place] != found.nearest[place]]
    return order[:most]
