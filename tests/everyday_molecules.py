"""A few dozen everyday molecules with a property that RDKit computed, their polar surface area in square ångström."""

from __future__ import annotations

import csv
from pathlib import Path

FILE = Path(__file__).parent.parent / "examples" / "everyday_molecules.csv"
PROPERTY = "polar_area"
with FILE.open(newline="", encoding="utf-8") as stream:
    SMILES = {row["name"]: row["smiles"] for row in csv.DictReader(stream)}
