"""Splits by scaffold: no ring system lies on both sides."""

from __future__ import annotations

import numpy as np

from graph2tens.molecules.scaffolds import random_folds, scaffold, scaffold_folds, scaffold_split

SMILES = [
    *(f"c1ccccc1{'C' * length}" for length in range(12)),
    *(f"C1CCCC1{'O' + 'C' * length}" for length in range(5)),
    *(f"c1ccncc1{'C' * length}" for length in range(3)),
    "CCO",
    "CCCC",
    "c1ccc2ccccc2c1",
]


def test_a_scaffold_is_rings_and_links():
    assert scaffold("CCc1ccc(CCC2CC2)cc1") == scaffold("c1ccc(CCC2CC2)cc1O")
    assert scaffold("CCO") == ""
    assert scaffold("not a molecule") == ""


def test_no_scaffold_lies_in_two_parts():
    parts = scaffold_split(SMILES)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(SMILES)))
    found = [{scaffold(SMILES[place]) for place in part} for part in parts]
    assert len(set.union(*found)) == sum(map(len, found))
    assert abs(len(parts[0]) - 0.8 * len(SMILES)) <= 2


def test_folds_are_whole_scaffolds_and_about_equally_large():
    fold = scaffold_folds(SMILES, 3)
    for name in {scaffold(smiles) for smiles in SMILES} - {""}:
        assert len({fold[place] for place, smiles in enumerate(SMILES) if scaffold(smiles) == name}) == 1
    assert set(fold) == {0, 1, 2}
    counts = np.bincount(random_folds(100, 3))
    assert counts.max() - counts.min() <= 1
