"""Splits of molecules: at random, or by Bemis-Murcko scaffold, so that no ring system of the test part was seen in training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds import MurckoScaffold

Integers = NDArray[np.int64]
SPLITS = ("random", "scaffold")


def scaffold(smiles: str) -> str:
    """Canonical SMILES of the rings and what links them, "" for a molecule without rings or one that RDKit cannot cut."""
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None:
            return ""
        try:
            return str(MurckoScaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=False))
        except (RuntimeError, ValueError):  # some complexes of metals
            return ""


def scaffold_split(smiles: Sequence[str], shares: Sequence[float] = (0.8, 0.1, 0.1)) -> list[Integers]:
    """Parts of about these shares; a scaffold lies in one part. Large groups go first, so that the last part holds the rarest scaffolds.

    A fixed rule without chance: the groups, by size and then by first appearance, fill the parts in order.
    """
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(smiles):
        groups.setdefault(scaffold(name), []).append(place)
    parts: list[list[int]] = [[] for _ in shares]
    sizes = [share * len(smiles) for share in shares]
    for group in sorted(groups.values(), key=lambda group: (-len(group), group[0])):
        roomy = [part for part, size in zip(parts, sizes, strict=True) if len(part) + len(group) <= size]
        (roomy[0] if roomy else parts[-1]).extend(group)
    return [np.array(sorted(part), dtype=np.int64) for part in parts]


def scaffold_folds(smiles: Sequence[str], count: int, seed: int = 0) -> Integers:
    """(n,) a fold for each molecule, for cross-validation: molecules of one scaffold share a fold, and folds are about equally large."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(smiles):
        groups.setdefault(scaffold(name) or f"no ring {place}", []).append(place)
    random = np.random.default_rng(seed)
    order = sorted(groups.values(), key=lambda group: (-len(group), random.random()))
    fold, sizes = np.zeros(len(smiles), dtype=np.int64), np.zeros(count)
    for group in order:
        smallest = int(sizes.argmin())
        fold[group] = smallest
        sizes[smallest] += len(group)
    return fold


def random_folds(count_molecules: int, count: int, seed: int = 0) -> Integers:
    """(n,) a fold for each molecule, at random and equally large."""
    fold = np.arange(count_molecules) % count
    return np.random.default_rng(seed).permutation(fold).astype(np.int64)
