"""From networkx graphs, or a CSV file of edges, to a confusion matrix: classify graphs without training a network.

    python examples/networkx_to_confusion_matrix.py                                       # random networks of four families
    python examples/networkx_to_confusion_matrix.py --edges edges.csv --classes classes.csv

edges.csv    one edge per line, with the columns graph, source, target; nodes may have any names
classes.csv  one graph a line, with the columns graph, class

Needs matplotlib: pip install 'graph2tens[plot]'
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file is written, no window is opened
import matplotlib.pyplot as plt
import networkx as nx
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from graph2tens.sklearn import GraphTensClassifier, GraphTensFeatures

# Four ways in which networks grow, with as many nodes and nearly as many edges each: counting will not tell them apart.
FAMILIES = {
    "random": lambda n, seed: nx.gnm_random_graph(n, 2 * n, seed=seed),
    "hubs": lambda n, seed: nx.barabasi_albert_graph(n, 2, seed=seed),
    "small world": lambda n, seed: nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=seed),
    "geometric": lambda n, seed: nx.random_geometric_graph(n, (4.7 / (3.1416 * n)) ** 0.5, seed=seed),
}


def grow(count: int) -> tuple[list[nx.Graph], list[str]]:
    """`count` networks of each family, of 20 to 39 nodes."""
    graphs = [make(20 + seed % 20, seed) for make in FAMILIES.values() for seed in range(count)]
    return graphs, [name for name in FAMILIES for _ in range(count)]


def read(edges: Path, classes: Path) -> tuple[list[nx.Graph], list[str]]:
    """Graphs from two CSV files. A graph that is listed with a class but without edges is a single node."""
    with classes.open(newline="") as stream:
        class_of = {row["graph"]: row["class"] for row in csv.DictReader(stream)}
    graphs = {name: nx.Graph() for name in class_of}
    with edges.open(newline="") as stream:
        for row in csv.DictReader(stream):
            graphs[row["graph"]].add_edge(row["source"], row["target"])
    for graph in graphs.values():
        if not graph:
            graph.add_node("only")
    return list(graphs.values()), list(class_of.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="Classify graphs and draw the confusion matrix.")
    parser.add_argument("--edges", type=Path, help="CSV with the columns graph, source, target")
    parser.add_argument("--classes", type=Path, help="CSV with the columns graph, class")
    parser.add_argument("--count", type=int, default=100, help="networks of each family, if no files are given")
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("confusion_matrix.png"))
    arguments = parser.parse_args()

    graphs, y = read(arguments.edges, arguments.classes) if arguments.edges else grow(arguments.count)
    train, test, y_train, y_test = train_test_split(graphs, y, test_size=0.3, stratify=y, random_state=0)

    # Nodes have no labels here; their degrees, and what walks see of them, are all there is.
    classifier = GraphTensClassifier(GraphTensFeatures(n_layers=arguments.layers), n_jobs=-1, random_state=0)
    classifier.fit(train, y_train)
    accuracy = classifier.score(test, y_test)
    print(f"{len(train)} graphs to learn from; {accuracy:.1%} of {len(test)} others are classified correctly")

    figure, axes = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
    ConfusionMatrixDisplay.from_predictions(y_test, classifier.predict(test), ax=axes, cmap="Blues", colorbar=False)
    axes.set_title(f"{accuracy:.1%} of {len(test)} graphs right")
    axes.tick_params(axis="x", rotation=30)
    figure.savefig(arguments.out, dpi=150)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
