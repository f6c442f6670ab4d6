"""A molecule of RDKit -> a graph: the columns that describe each atom and each bond.

Every column has a fixed place and a name, whatever molecules come along: a model that was fitted today describes a molecule of tomorrow by
the same columns. Nothing depends on the order in which the atoms are written: chirality is R or S and not clockwise or anticlockwise,
which would depend on it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rdkit import Chem
from torch_geometric.data import Data

from . import chemistry
from .one_smiles import NOT_METALS

ELEMENTS = ("H", "B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "As", "Se", "Br", "I", "Na", "K", "metal", "other")
DEGREES = (0, 1, 2, 3, 4, "more")
CHARGES = (-1, 0, 1, "other")
HYDROGENS = (0, 1, 2, 3, "more")
HYBRIDISATIONS = ("SP", "SP2", "SP3", "SP3D", "SP3D2", "other")
CHIRALITIES = ("R", "S")
RING_SIZES = (3, 4, 5, 6, 7, 8, "more")
ORDERS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC", "other")
STEREO = ("E", "Z")


def _named(group: str, values: tuple[object, ...]) -> list[str]:
    return [f"{group}={value}" for value in values]


ATOM_COLUMNS = (
    *_named("element", ELEMENTS),
    *_named("neighbours", DEGREES),
    *_named("charge", CHARGES),
    *_named("hydrogens", HYDROGENS),
    *_named("hybridisation", HYBRIDISATIONS),
    "aromatic",
    *_named("ring", RING_SIZES),
    *_named("chirality", CHIRALITIES),
    "radical",
    "isotope",
    *chemistry.COLUMNS,
)
"""What the columns of ``x`` say of an atom."""

BOND_COLUMNS = (*_named("order", ORDERS), "conjugated", "in a ring", *_named("stereo", STEREO))
"""What the columns of ``edge_attr`` say of a bond."""


def _index(columns: tuple[str, ...]) -> dict[str, int]:
    return {name: place for place, name in enumerate(columns)}


_ATOM, _BOND = _index(ATOM_COLUMNS[: -len(chemistry.COLUMNS)]), _index(BOND_COLUMNS)
_STEREO = {
    Chem.BondStereo.STEREOE: "E",
    Chem.BondStereo.STEREOTRANS: "E",
    Chem.BondStereo.STEREOZ: "Z",
    Chem.BondStereo.STEREOCIS: "Z",
}


def from_molecule(molecule: Any) -> Data:
    """The graph of one RDKit molecule: ``x`` (atoms, ATOM_COLUMNS), ``edge_index``, ``edge_attr`` (directed bonds, BOND_COLUMNS).

    Hydrogens that the molecule does not hold as atoms are counted in a column. Each bond is listed in both directions, one after the other.
    """
    if molecule.GetNumAtoms() == 0:
        raise ValueError("`molecule` must have at least one atom (got none).")
    x = np.stack([_atom_row(*_seen_of_atom(atom)) for atom in molecule.GetAtoms()])
    for ring in molecule.GetRingInfo().AtomRings():
        x[list(ring), _ATOM[f"ring={_one_of(len(ring), RING_SIZES)}"]] = 1
    ends, rows = [], []
    for bond in molecule.GetBonds():
        one, other = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        row = _bond_row(str(bond.GetBondType()), bond.GetIsConjugated(), bond.IsInRing(), bond.GetStereo())
        ends += [(one, other), (other, one)]
        rows += [row, row]
    edge_attr = np.stack(rows) if rows else np.zeros((0, len(BOND_COLUMNS)), dtype=np.float32)
    edge_index = np.array(ends, dtype=np.int64).reshape(-1, 2).T.copy()
    x = np.concatenate([x, chemistry.of_atoms(molecule)], axis=1)
    return Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(edge_index), edge_attr=torch.from_numpy(edge_attr))


def _seen_of_atom(atom: Any) -> tuple[Any, ...]:
    """All that a row says of an atom, apart from its rings; few atoms differ, so that the rows are kept."""
    return (
        atom.GetAtomicNum(),
        atom.GetSymbol(),
        atom.GetDegree(),
        atom.GetFormalCharge(),
        atom.GetTotalNumHs(),
        str(atom.GetHybridization()),
        atom.GetIsAromatic(),
        atom.GetProp("_CIPCode") if atom.HasProp("_CIPCode") else "",
        atom.GetNumRadicalElectrons() > 0,
        atom.GetIsotope() > 0,
    )


@lru_cache(maxsize=4096)
def _atom_row(
    number: int,
    symbol: str,
    degree: int,
    charge: int,
    hydrogens: int,
    hybridisation: str,
    aromatic: bool,
    chirality: str,
    radical: bool,
    isotope: bool,
) -> NDArray[np.float32]:
    element = symbol if symbol in ELEMENTS else "other" if number in NOT_METALS else "metal"
    found = [
        f"element={element}",
        f"neighbours={_one_of(degree, DEGREES)}",
        f"charge={_one_of(charge, CHARGES)}",
        f"hydrogens={_one_of(hydrogens, HYDROGENS)}",
        f"hybridisation={_one_of(hybridisation, HYBRIDISATIONS)}",
    ]
    found += [f"chirality={chirality}"] if chirality in CHIRALITIES else []
    found += [name for name, present in (("aromatic", aromatic), ("radical", radical), ("isotope", isotope)) if present]
    return _indicators(found, _ATOM)


@lru_cache(maxsize=512)
def _bond_row(order: str, conjugated: bool, in_ring: bool, stereo: Any) -> NDArray[np.float32]:
    found = [f"order={_one_of(order, ORDERS)}"]
    found += [name for name, present in (("conjugated", conjugated), ("in a ring", in_ring)) if present]
    found += [f"stereo={_STEREO[stereo]}"] if stereo in _STEREO else []
    return _indicators(found, _BOND)


def _indicators(found: list[str], place: dict[str, int]) -> NDArray[np.float32]:
    row = np.zeros(len(place), dtype=np.float32)
    row[[place[name] for name in found]] = 1
    row.flags.writeable = False  # it is kept
    return row


def _one_of(value: object, values: tuple[object, ...]) -> object:
    """The value, or the last of the values, which stands for all others."""
    return value if value in values else values[-1]
