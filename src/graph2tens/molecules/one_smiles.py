"""One SMILES -> a molecule of RDKit, or RDKit's reason why not, as text instead of lines on the terminal."""

from __future__ import annotations

from typing import Any

from rdkit import Chem, rdBase

# Hydrogen, the noble gases and the elements of organic chemistry: everything else may be the centre of a complex.
NOT_METALS = frozenset({0, 1, 2, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17, 18, 32, 33, 34, 35, 36, 52, 53, 54, 85, 86, 117, 118})


def _metal_valence(molecule: Any, problem: Any) -> bool:
    if problem.GetType() != "AtomValenceException":
        return False
    return molecule.GetAtomWithIdx(problem.GetAtomIdx()).GetAtomicNum() not in NOT_METALS


def explained(smiles: str) -> tuple[Any, str]:
    """The molecule and "", or None and why RDKit refuses it."""
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is not None:
            return molecule, ""
        raw = Chem.MolFromSmiles(smiles, sanitize=False)
        if raw is None:
            return None, "not a SMILES"
        problems = Chem.DetectChemistryProblems(raw)
        if problems and all(_metal_valence(raw, problem) for problem in problems):
            # RDKit's table of valences does not know the bonds of metals; complexes are drawn with as many as they have.
            raw.UpdatePropertyCache(strict=False)
            Chem.SanitizeMol(raw, Chem.SanitizeFlags.SANITIZE_ALL ^ Chem.SanitizeFlags.SANITIZE_PROPERTIES)
            Chem.AssignStereochemistry(raw, cleanIt=True)
            return raw, ""
    return None, problems[0].Message().strip() if problems else "a molecule that cannot exist"
