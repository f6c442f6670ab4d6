"""Attributes of atoms beyond their place in the graph: charges, hydrogen bonds, contributions to lipophilicity and refractivity.

RDKit computes them from the structure alone, in microseconds: partial charges after Gasteiger and Marsili,
donors and acceptors of hydrogen bonds, acids and bases by pattern, and the contributions of Wildman and Crippen to logP and molar
refractivity. Walks carry them along like any other attribute.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import rdMolDescriptors, rdPartialCharges

PATTERNS = {
    "donor": "[$([N;!H0;v3,v4&+1]),$([O,S;H1;+0]),n&H1&+0]",
    "acceptor": "[$([O,S;H1;v2;!$(*-*=[O,N,P,S])]),$([O,S;H0;v2]),$([O,S;-]),$([N;v3;!$(N-*=[O,N,P,S])]),n&H0&+0,"
    "$([o,s;+0;!$([o,s]:n);!$([o,s]:c:n)])]",
    "acid": "[$([C,S](=[O,S,P])-[O;H1,-1])]",
    "base": "[#7;+,$([N;H2&+0][$([C,a]);!$([C,a](=O))]),$([N;H1&+0]([$([C,a]);!$([C,a](=O))])[$([C,a]);!$([C,a](=O))]),"
    "$([N;H0&+0]([C;!$(C(=O))])([C;!$(C(=O))])[C;!$(C(=O))])]",
}
COLUMNS = ("partial charge", "partial charge of hydrogens", "share of logP", "share of refractivity", *PATTERNS)


def of_atoms(molecule: Any) -> NDArray[np.float32]:
    """(atoms, COLUMNS); 0 where RDKit has no parameters, as for the charges of metals."""
    table = np.zeros((molecule.GetNumAtoms(), len(COLUMNS)), dtype=np.float32)
    with rdBase.BlockLogs():
        rdPartialCharges.ComputeGasteigerCharges(molecule)
        charges = [(atom.GetDoubleProp("_GasteigerCharge"), atom.GetDoubleProp("_GasteigerHCharge")) for atom in molecule.GetAtoms()]
        table[:, :2] = np.nan_to_num(np.clip(np.reshape(charges, (-1, 2)), -2, 2), nan=0.0)
        table[:, 2:4] = np.array(rdMolDescriptors._CalcCrippenContribs(molecule))
        for column, pattern in enumerate(_patterns(), 4):
            for match in molecule.GetSubstructMatches(pattern):
                table[match[0], column] = 1
    return table


@cache
def _patterns() -> list[Any]:
    return [Chem.MolFromSmarts(text) for text in PATTERNS.values()]
