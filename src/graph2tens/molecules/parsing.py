"""SMILES -> graphs, many at a time, with a report of what was odd.

A file of molecules is never quite clean. What cannot be read is reported with its line and left out; the rest goes on. What can be read but
may surprise (salts, molecules that occur twice under different SMILES) is counted and reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rdkit import Chem
from sklearn.utils.parallel import Parallel, delayed
from torch_geometric.data import Data

from ..checks import check_integer
from .attributes import from_molecule
from .one_smiles import explained

SALTS = ("keep", "largest")
CHUNK = 500  # molecules that one job reads at a time
FEW = 4000  # below this, starting processes takes longer than it saves


class Parsed(NamedTuple):
    """One line: its graph and canonical SMILES, or why there is none."""

    graph: Data | None
    canonical: str
    fragments: int
    problem: str


@dataclass(frozen=True, eq=False)
class Molecules:
    """What was read: one entry for each molecule that could be.

    Attributes:
        graphs: PyG ``Data``, see :func:`~graph2tens.molecules.from_molecule`.
        smiles: canonical SMILES, of what the graphs show.
        rows: place of each in what was given, from 0.
        problems: (place, text as given, why it could not be read).
        salts: places of molecules of several fragments.
    """

    graphs: list[Data]
    smiles: list[str]
    rows: list[int]
    problems: list[tuple[int, str, str]] = field(default_factory=list)
    salts: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def duplicates(self) -> list[list[int]]:
        """Groups of entries that are one molecule, as their canonical SMILES say, in order of first appearance."""
        groups: dict[str, list[int]] = {}
        for place, name in enumerate(self.smiles):
            groups.setdefault(name, []).append(place)
        return [group for group in groups.values() if len(group) > 1]


def from_smiles(smiles: Iterable[str], *, salts: str = "keep", errors: str = "raise", n_jobs: int | None = None) -> list[Data]:
    """Graphs of molecules, which all estimators take.

    Args:
        smiles: a list or a column of SMILES.
        salts: ``"keep"`` all fragments as one graph of several parts, or only the ``"largest"``.
        errors: ``"raise"`` an error that lists what cannot be read, or ``"skip"`` it; :func:`parse` also tells which were left out.
        n_jobs: processes for many molecules; None is 1, -1 is all cores.

    Example:
        >>> [graph] = from_smiles(["CCO"])
        >>> graph.num_nodes, graph.num_edges
        (3, 4)
    """
    if errors not in ("raise", "skip"):
        raise ValueError(f"`errors` must be 'raise' or 'skip' (got {errors!r}).")
    found = parse(smiles, salts=salts, n_jobs=n_jobs)
    if found.problems and errors == "raise":
        some = "; ".join(f"{place}: {text!r}, {why}" for place, text, why in found.problems[:5])
        more = f" and {len(found.problems) - 5} more" if len(found.problems) > 5 else ""
        raise ValueError(
            f"`smiles` must hold molecules that RDKit reads (got, by place from 0, {some}{more}). errors='skip' leaves them out."
        )
    return found.graphs


def parse(smiles: Iterable[Any], *, salts: str = "keep", n_jobs: int | None = None, progress: Any = None) -> Molecules:
    """Read SMILES (or RDKit molecules), keeping account of those that cannot be read.

    Args:
        smiles, salts, n_jobs: as for :func:`from_smiles`.
        progress: called with the number of molecules of each batch that is done.
    """
    if isinstance(smiles, str):
        raise TypeError(f"`smiles` must be a list of SMILES (got one string). Did you mean [{smiles!r}]?")
    if salts not in SALTS:
        raise ValueError(f"`salts` must be one of {', '.join(map(repr, SALTS))} (got {salts!r}).")
    if n_jobs is not None and n_jobs != -1:
        check_integer(n_jobs, "n_jobs", 1)
    given = list(smiles)
    found = Molecules([], [], [])
    for place, parsed in enumerate(_all(given, salts, n_jobs, progress)):
        if parsed.graph is None:
            text = given[place] if isinstance(given[place], str) else ""
            found.problems.append((place, text, parsed.problem))
            continue
        found.graphs.append(parsed.graph)
        found.smiles.append(parsed.canonical)
        found.rows.append(place)
        if parsed.fragments > 1:
            found.salts.append(place)
    return found


def _all(given: Sequence[Any], salts: str, n_jobs: int | None, progress: Any) -> Iterator[Parsed]:
    chunks = [given[start : start + CHUNK] for start in range(0, len(given), CHUNK)]
    jobs = 1 if len(given) < FEW else n_jobs
    run = Parallel(n_jobs=jobs, return_as="generator", prefer="processes")
    for part in run(delayed(_some)(chunk, salts) for chunk in chunks):
        if progress is not None:
            progress(len(part))
        yield from part


def _some(given: Sequence[Any], salts: str) -> list[Parsed]:
    return [_one(entry, salts) for entry in given]


def _one(entry: Any, salts: str) -> Parsed:
    if isinstance(entry, str):
        text = entry.strip()
        if not text:
            return Parsed(None, "", 0, "empty")
        molecule, problem = explained(text)
    elif isinstance(entry, Chem.Mol):
        molecule, problem = entry, ""
    else:
        missing = entry is None or (isinstance(entry, float) and np.isnan(entry))
        return Parsed(None, "", 0, "empty" if missing else f"not text but {type(entry).__name__}")
    if molecule is None or molecule.GetNumAtoms() == 0:
        return Parsed(None, "", 0, problem or "no atoms")
    parts = Chem.GetMolFrags(molecule)
    if len(parts) > 1 and salts == "largest":
        # carbon first: a large counter-ion without carbon is not what was measured
        pieces = Chem.GetMolFrags(molecule, asMols=True)
        molecule = max(pieces, key=lambda piece: (any(atom.GetAtomicNum() == 6 for atom in piece.GetAtoms()), piece.GetNumHeavyAtoms()))
    return Parsed(from_molecule(molecule), Chem.MolToSmiles(molecule), len(parts), "")
