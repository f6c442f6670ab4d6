"""The methods: each learns from the training part (chemprop stops by the validation part) and predicts the test part."""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from scipy.linalg import cho_factor, cho_solve

from graph2tens.molecules.data import Measured
from graph2tens.molecules.estimate import forest
from graph2tens.molecules.model import MoleculeModel, encoded, molecule_features
from graph2tens.molecules.novelty import counts

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    """Predictions of the test part (numbers or scores), their standard deviations or None, and which are flagged as unlike or None."""

    values: Matrix
    deviations: Matrix | None = None
    unlike: Any = None


def part(data: Measured, rows: Integers) -> Measured:
    """Some molecules of a set."""
    chosen = [[values[row] for row in rows] for values in (data.graphs, data.smiles, data.lines)]
    return Measured(chosen[0], chosen[1], data.y[rows], chosen[2], data.task, data.targets, data.classes)


def ours(data: Measured, train: Integers, validation: Integers, test: Integers, **changes: Any) -> Outcome:
    """The defaults of `graph2tens fit`; `changes` are arguments of the features, for ablations."""
    columns, walks_alone = changes.pop("without_columns", ()), changes.pop("walks_alone", False)
    if columns:
        data = without(data, columns)
    model = MoleculeModel.fit(part(data, train), features=molecule_features(**changes), walks_alone=walks_alone, n_jobs=2)
    chosen = part(data, test)
    found = model.predict(chosen.graphs, chosen.smiles, n_jobs=2)
    return Outcome(found.values, found.deviations, found.unlike)


def without(data: Measured, columns: tuple[str, ...]) -> Measured:
    """The set without some attributes of atoms."""
    from graph2tens.molecules import ATOM_COLUMNS

    kept = [place for place, name in enumerate(ATOM_COLUMNS) if not name.startswith(columns)]
    graphs = []
    for graph in data.graphs:
        graph = graph.clone()
        graph.x = graph.x[:, kept]
        graphs.append(graph)
    return Measured(graphs, data.smiles, data.y, data.lines, data.task, data.targets, data.classes)


def with_validation(data: Measured, train: Integers, validation: Integers, test: Integers) -> Outcome:
    """Ours, learning from the validation part too: nothing is chosen by it."""
    return ours(data, np.concatenate([train, validation]), validation, test)


def random_forest(data: Measured, train: Integers, validation: Integers, test: Integers) -> Outcome:
    """Morgan counts (radius 2, 2048) and a random forest."""
    return Outcome(forest(data.smiles, encoded(data), data.task, n_jobs=2, most=train.size)(train, test))


def tanimoto(data: Measured, train: Integers, validation: Integers, test: Integers) -> Outcome:
    """Morgan counts and a Gaussian process with the Tanimoto (min-max) kernel, noise by marginal likelihood; target by target."""
    table = counts(data.smiles)
    targets = encoded(data)
    values, deviations = np.full((test.size, targets.shape[1]), np.nan), np.full((test.size, targets.shape[1]), np.nan)
    inside, across = similarity(table[train], table[train]), similarity(table[test], table[train])
    for target in range(targets.shape[1]):
        known = np.flatnonzero(~np.isnan(targets[train, target]))
        y = targets[train[known], target]
        mean, spread = y.mean(), y.std() or 1.0
        z, K = (y - mean) / spread, inside[np.ix_(known, known)]
        best: Any = None
        for noise in np.logspace(-3, 0.5, 8):
            factor = cho_factor(K + noise * np.eye(known.size), lower=True)
            alpha = cho_solve(factor, z)
            scale = float(z @ alpha) / known.size
            likelihood = -0.5 * known.size * np.log(scale) - np.log(np.diag(factor[0])).sum()
            if best is None or likelihood > best[0]:
                best = likelihood, noise, factor, alpha, scale
        _, noise, factor, alpha, scale = best
        k = across[:, known]
        values[:, target] = mean + spread * (k @ alpha)
        variance = scale * (1 + noise - np.einsum("ij,ji->i", k, cho_solve(factor, k.T)))
        deviations[:, target] = spread * np.sqrt(np.maximum(variance, 1e-12))
    return Outcome(values, deviations)


def similarity(one: NDArray[np.float32], other: NDArray[np.float32]) -> Matrix:
    """sum of minima over sum of maxima of counts."""
    sums, out = other.sum(axis=1), np.empty((len(one), len(other)))
    for place, row in enumerate(one):
        used = np.flatnonzero(row)
        least = np.minimum(other[:, used], row[used]).sum(axis=1)
        out[place] = least / np.maximum(row.sum() + sums - least, 1)
    return out


def chemprop(command: str, epochs: int = 50) -> Callable[..., Outcome]:
    """chemprop's own command line with its defaults, 50 epochs; `command` is its program in an environment of its own.

    It stops at molecules that RDKit's table of valences refuses (some complexes of metals): these are left out of what it learns from,
    and of the test part they are predicted by the mean of the training part.
    """

    def run(data: Measured, train: Integers, validation: Integers, test: Integers, seed: int = 0) -> Outcome:
        with rdBase.BlockLogs():
            readable = np.array([Chem.MolFromSmiles(text) is not None for text in data.smiles])
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for part_name, rows in (("train", train), ("val", validation), ("test", test)):
                with (folder / f"{part_name}.csv").open("w", newline="") as stream:
                    writer = csv.writer(stream)
                    writer.writerow(["smiles", *data.targets])
                    for row in rows[readable[rows]]:
                        writer.writerow([data.smiles[row], *("" if value != value else repr(value) for value in data.y[row].tolist())])
            files = [str(folder / f"{part_name}.csv") for part_name in ("train", "val", "test")]
            options = [
                "-t",
                data.task,
                "--epochs",
                str(epochs),
                "--pytorch-seed",
                str(seed),
                "-o",
                str(folder / "out"),
                "--accelerator",
                "cpu",
            ]
            subprocess.run(
                [command, "train", "-i", *files, *options],
                check=True,
                capture_output=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": ""},
            )
            [found] = (folder / "out").rglob("test_predictions.csv")
            with found.open(newline="") as stream:
                rows_found = list(csv.DictReader(stream))
        values = np.tile(np.nanmean(data.y[train], axis=0), (test.size, 1))
        values[readable[test]] = [[float(row[target]) for target in data.targets] for row in rows_found]
        both = data.task == "classification" and len(data.targets) == 1
        return Outcome(np.column_stack([1 - values, values]) if both else values)

    return run


def processor_seconds() -> float:
    """Of this process, its threads, and the processes it started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


GRAPH_ALONE = ("partial charge", "share of", "donor", "acceptor", "acid", "base")
METHODS: dict[str, Callable[..., Outcome]] = {
    "graph2tens": ours,
    "graph2tens, validation part learnt too": with_validation,
    "graph2tens, walks alone": lambda *parts: ours(*parts, walks_alone=True),
    "graph2tens, no chemistry": lambda *parts: ours(*parts, without_columns=GRAPH_ALONE),
    "graph2tens, no charges": lambda *parts: ours(*parts, without_columns=("partial charge",)),
    "graph2tens, no shares of logP": lambda *parts: ours(*parts, without_columns=("share of",)),
    "graph2tens, bonds averaged": lambda *parts: ours(*parts, edges="mean"),
    "graph2tens, layers alike": lambda *parts: ours(*parts, layer_decay=None),
    "graph2tens, sums": lambda *parts: ours(*parts, pooling="sum"),
    "Morgan counts, random forest": random_forest,
    "Morgan counts, Tanimoto GP": tanimoto,
}
