"""Is a molecule like any that a model was fitted to? By the Tanimoto similarity of Morgan fingerprints, which chemists know.

The measure is none of the model's own: it warns where the model's own idea of likeness may be wrong, too. A molecule counts as unlike if
the most similar training molecule is less similar than that of all but 5 % of the training molecules to their own nearest other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rdkit import DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator

from .one_smiles import explained

Bits = NDArray[np.uint8]
RADIUS, SIZE = 2, 2048
SAMPLE = 1000  # training molecules whose nearest other is looked up
SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Familiarity:
    """Fingerprints of the training molecules.

    Attributes:
        bits: (n, SIZE / 8) packed.
        names: (n,) canonical SMILES.
        least: similarity below which a molecule counts as unlike.
    """

    bits: Bits
    names: NDArray[np.object_]
    least: float

    @classmethod
    def fit(cls, smiles: Sequence[str], seed: int = 0) -> Familiarity:
        different = sorted(set(smiles))  # a molecule that occurs twice is no other
        names, bits = np.array(different, dtype=object), fingerprints(different)
        chosen = np.random.default_rng(seed).permutation(len(names))[:SAMPLE]
        if len(names) < 2:
            return cls(bits, names, 0.0)
        vectors = _vectors(bits)
        nearest = [np.delete(DataStructs.BulkTanimotoSimilarity(vectors[i], vectors), i).max() for i in chosen]
        return cls(bits, names, float(np.quantile(nearest, SHARE)))

    def nearest(self, smiles: Sequence[str]) -> tuple[NDArray[np.float64], list[str]]:
        """Similarity to the most similar training molecule, and which it is."""
        vectors = _vectors(self.bits)
        similarity, names = np.empty(len(smiles)), []
        for place, vector in enumerate(_vectors(fingerprints(smiles))):
            found = DataStructs.BulkTanimotoSimilarity(vector, vectors)
            best = int(np.argmax(found))
            similarity[place] = found[best]
            names.append(str(self.names[best]))
        return similarity, names


def fingerprints(smiles: Sequence[str]) -> Bits:
    """(n, SIZE / 8) packed bits of Morgan fingerprints."""
    # Without counts a ring of sixteen atoms would be the same as one of six.
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=SIZE, countSimulation=True)
    table = np.zeros((len(smiles), SIZE // 8), dtype=np.uint8)
    with rdBase.BlockLogs():
        for place, text in enumerate(smiles):
            molecule, _ = explained(str(text))
            if molecule is not None:
                table[place] = np.frombuffer(DataStructs.BitVectToBinaryText(generator.GetFingerprint(molecule)), dtype=np.uint8)
    return table


def counts(smiles: Sequence[str]) -> NDArray[np.float32]:
    """(n, SIZE) Morgan counts, the usual input of baselines."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=SIZE)
    table = np.zeros((len(smiles), SIZE), dtype=np.float32)
    for place, text in enumerate(smiles):
        molecule, _ = explained(str(text))
        if molecule is not None:
            table[place] = generator.GetCountFingerprintAsNumPy(molecule)
    return table


def _vectors(bits: Bits) -> list[DataStructs.ExplicitBitVect]:
    return [DataStructs.CreateFromBinaryText(row.tobytes()) for row in bits]
