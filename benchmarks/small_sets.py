"""Few graphs: our features with their SVM, the Weisfeiler-Lehman kernel, and counts with a random forest, all with their defaults.

`python -m benchmarks.small_sets --data-root FOLDER ESOL NCI1 sizes` prints a line for each set; without names, for all. Sets have 188 to
344 graphs: drawn from NCI1 and NCI109, molecules whose measured value is above or below a quantile, and made graphs in which only the
size, the number of a label or the density tells. Features and colours are
taken from all graphs, without their classes. Ten folds, twice; a difference's standard error counts the folds once. docs/features.md
shows what came out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from graph2tens.datasets import load
from graph2tens.sklearn import GraphTensFeatures, WeisfeilerLehman
from graph2tens.sklearn.heads.validated_svc import ValidatedSVC

Graphs = tuple[list[nx.Graph], NDArray[np.int64]]


def molecules(file: str, column: str, count: int, *, share: float | None = None, quantile: float | None = None) -> Callable[[Path], Graphs]:
    """The first `count` of a shuffled file, with a `share` of positives, or cut at a quantile of the measured value."""

    def read(root: Path) -> Graphs:
        import pandas
        from rdkit import Chem

        table = pandas.read_csv(root / "molecules" / file).dropna(subset=[column]).sample(frac=1, random_state=1)
        if share is None:
            table = table.head(count)
        else:
            positive = table[table[column] > 0.5].head(int(count * share))
            table = pandas.concat([positive, table[table[column] <= 0.5].head(count - len(positive))])
        graphs, values = [], []
        for smiles, value in zip(table["smiles"], table[column], strict=True):
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is None or molecule.GetNumAtoms() < 2:
                continue
            graph = nx.Graph()
            graph.add_nodes_from((atom.GetIdx(), {"label": atom.GetSymbol()}) for atom in molecule.GetAtoms())
            for bond in molecule.GetBonds():
                graph.add_edge(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), label=str(bond.GetBondType()))
            graphs.append(graph)
            values.append(float(value))
        limit = 0.5 if quantile is None else np.quantile(values, quantile)
        return graphs, (np.array(values) > limit).astype(np.int64)

    return read


def compounds(name: str, count: int, seed: int) -> Callable[[Path], Graphs]:
    def read(root: Path) -> Graphs:
        data = load(name, root)
        drawn = np.random.default_rng(seed).permutation(len(data.graphs))[:count]
        graphs = []
        for place in drawn:
            one, graph = data.graphs[place], nx.Graph()
            graph.add_nodes_from((node, {"label": label}) for node, label in enumerate(one.x.argmax(1).tolist()))
            graph.add_edges_from(one.edge_index.T.tolist())
            graphs.append(graph)
        return graphs, data.labels[drawn]

    return read


def made(what: str, count: int = 300) -> Callable[[Path], Graphs]:
    """Random graphs with random labels; the odds of class 1 grow with the size, the number of a label, or the edges per node."""

    def draw(root: Path) -> Graphs:
        random, graphs, classes = np.random.default_rng(1), [], []
        for _ in range(count):
            size = int(random.integers(10, 40))
            if what == "density":
                edges = int(size * random.uniform(1.2, 2.4))
                graph, odds = nx.gnm_random_graph(size, edges, seed=int(random.integers(1e9))), 8 * (edges / size - 1.8)
            else:
                graph = nx.gnm_random_graph(size, 2 * size, seed=int(random.integers(1e9)))
                share = random.beta(6, 6)
                labels = random.random(size) < share
                nx.set_node_attributes(graph, dict(enumerate(labels.astype(int).tolist())), "label")
                odds = (size - 25) / 4 if what == "size" else (labels.sum() - 12) / 2
            graphs.append(graph)
            classes.append(int(random.random() < 1 / (1 + np.exp(-odds))))
        return graphs, np.array(classes)

    return draw


SETS: dict[str, Callable[[Path], Graphs]] = {
    "ESOL": molecules("esol.csv", "logSolubility", 188, quantile=0.34),
    "FreeSolv": molecules("freesolv.csv", "expt", 344, quantile=0.44),
    "Lipophilicity": molecules("Lipophilicity.csv", "exp", 344, quantile=0.44),
    "SR-MMP": molecules("tox21.csv", "SR-MMP", 188, share=0.66),
    "NR-AhR": molecules("tox21.csv", "NR-AhR", 344, share=0.44),
    "SR-ARE": molecules("tox21.csv", "SR-ARE", 344, share=0.44),
    "HIV": molecules("HIV.csv", "HIV_active", 188, share=0.34),
    "NCI1": compounds("NCI1", 200, 1),
    "NCI109": compounds("NCI109", 300, 3),
    "sizes": made("size"),
    "numbers of a label": made("label"),
    "densities": made("density"),
}


def counts(graphs: list[nx.Graph]) -> NDArray[np.float64]:
    """Nodes, edges, and how many there are of each label."""
    rows = []
    for graph in graphs:
        of_nodes = Counter(f"node {data.get('label')}" for _, data in graph.nodes(data=True))
        of_edges = Counter(f"edge {data.get('label')}" for *_, data in graph.edges(data=True))
        rows.append({"nodes": len(graph), "edges": graph.number_of_edges(), **of_nodes, **of_edges})
    table: NDArray[np.float64] = DictVectorizer(sparse=False, sort=False).fit_transform(rows)
    return table


def kernels(graphs: list[nx.Graph]) -> list[NDArray[np.float64]]:
    """Normalised subtree kernels of one to five rounds."""
    wl = WeisfeilerLehman(5).fit(graphs)
    table, found = wl.transform(graphs), []
    for width in np.cumsum([len(colours) for colours in wl.colours_])[1:]:
        gram = (table[:, :width] @ table[:, :width].T).toarray()
        norm = np.sqrt(np.diag(gram))
        found.append(gram / np.outer(norm, norm))
    return found


def by_kernel(grams: list[NDArray[np.float64]], y: NDArray[np.int64], train: NDArray[np.int64], test: NDArray[np.int64]) -> float:
    """An SVM whose number of rounds and C are chosen by five folds of the training part."""
    inner = list(StratifiedKFold(5, shuffle=True, random_state=0).split(train, y[train]))

    def right(gram: Any, C: float, one: Any, other: Any) -> float:
        machine = SVC(C=C, kernel="precomputed").fit(gram[np.ix_(one, one)], y[one])
        return float(np.mean(machine.predict(gram[np.ix_(other, one)]) == y[other]))

    candidates = [(gram, C) for gram in grams for C in (0.1, 1, 10, 100)]
    scores = [np.mean([right(gram, C, train[a], train[b]) for a, b in inner]) for gram, C in candidates]
    return right(*candidates[int(np.argmax(scores))], train, test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=[], help=f"some of {', '.join(SETS)}")
    parser.add_argument("--data-root", type=Path, required=True)
    options = parser.parse_args()
    for name in options.sets or SETS:
        graphs, y = SETS[name](options.data_root)
        table, grams, features = counts(graphs), kernels(graphs), GraphTensFeatures(random_state=0).fit_transform(graphs)
        folds = [fold for draw in (100, 101) for fold in StratifiedKFold(10, shuffle=True, random_state=draw).split(y, y)]
        found = []
        for train, test in folds:
            forest = RandomForestClassifier(200, random_state=0).fit(table[train], y[train]).score(table[test], y[test])
            ours = ValidatedSVC(random_state=0).fit(features[train], y[train]).score(features[test], y[test])
            found.append((forest, by_kernel(grams, y, train, test), ours))
        forest, wl, ours = 100 * np.array(found).T
        gaps = [f"{(ours - other).mean():+.1f} ± {(ours - other).std(ddof=1) / 10**0.5:.1f}" for other in (wl, forest)]
        print(
            f"{name:<20} {len(y)} graphs   majority {100 * np.bincount(y).max() / len(y):.1f}   counts {forest.mean():.1f}   "
            f"WL {wl.mean():.1f}   ours {ours.mean():.1f}   ours - WL {gaps[0]}   ours - counts {gaps[1]}",
            flush=True,
        )


if __name__ == "__main__":
    main()
