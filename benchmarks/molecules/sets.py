"""The sets and their splits. The CSV files stay outside the repository; ``GRAPH2TENS_DATA``/molecules is where they are looked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graph2tens.molecules.data import Measured, measured, read_molecules
from graph2tens.molecules.scaffolds import scaffold_split
from graph2tens.molecules.tables import read_table

Integers = NDArray[np.int64]
FILES = {"ESOL": "esol.csv", "FreeSolv": "freesolv.csv", "Lipophilicity": "Lipophilicity.csv", "Tox21": "tox21.csv", "HIV": "HIV.csv"}


@dataclass(frozen=True)
class MoleculeSet:
    """One set: all columns but ``smiles`` are targets."""

    name: str
    folder: Path

    @cached_property
    def data(self) -> Measured:
        table = read_table(self.folder / FILES[self.name])
        return measured(table, read_molecules(table, "smiles", n_jobs=2), [name for name in table.columns if name != "smiles"])

    def split(self, number: int, kind: str) -> tuple[Integers, Integers, Integers]:
        """Training, validation and test rows of :attr:`data`.

        Random splits are drawn over the lines of the file: lines that RDKit cannot read drop out of the parts that they fall into, so
        that all methods have the same parts whatever they can read.
        """
        if kind == "scaffold":
            train, validation, test = scaffold_split(self.data.smiles)
            return train, validation, test
        lines = sum(1 for _ in (self.folder / FILES[self.name]).open()) - 1
        place = {line - 2: row for row, line in enumerate(self.data.lines)}
        order = np.random.default_rng(number).permutation(lines)
        first, second = int(0.8 * lines), int(0.9 * lines)
        parts = order[:first], order[first:second], order[second:]
        train, validation, test = (np.array([place[line] for line in part.tolist() if line in place], dtype=np.int64) for part in parts)
        return train, validation, test
