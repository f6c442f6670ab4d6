"""Molecules: SMILES to graphs, models that predict properties with error bars, and why. Needs RDKit: the extra `molecules`.

Files, in reading order: ``tables``, ``one_smiles`` and ``parsing`` read files and SMILES; ``attributes`` and ``chemistry`` describe atoms
and bonds; ``data`` joins molecules with what was measured. ``model`` fits and predicts, with ``two_views`` for numbers and ``classes``
for labels, which see a molecule by walks and by ``environments`` or ``pieces`` of it. ``estimate`` with ``scaffolds`` says how good a
model is, ``novelty`` which molecules are unfamiliar, ``explain`` and ``drawing`` why a prediction is what it is. ``answers`` writes
predictions, ``storage`` models.
"""

from .attributes import ATOM_COLUMNS as ATOM_COLUMNS
from .attributes import BOND_COLUMNS as BOND_COLUMNS
from .attributes import from_molecule as from_molecule
from .parsing import Molecules as Molecules
from .parsing import from_smiles as from_smiles
from .parsing import parse as parse
