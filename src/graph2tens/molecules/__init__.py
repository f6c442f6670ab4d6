"""Molecules: SMILES to graphs, models that predict properties with error bars, and why. Needs RDKit: the extra `molecules`."""

from .attributes import ATOM_COLUMNS as ATOM_COLUMNS
from .attributes import BOND_COLUMNS as BOND_COLUMNS
from .attributes import from_molecule as from_molecule
from .parsing import Molecules as Molecules
from .parsing import from_smiles as from_smiles
from .parsing import parse as parse
