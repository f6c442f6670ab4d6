"""A folder of small graphs in TU format: rings with a long or a short chord, told apart after a few epochs."""

from pathlib import Path

import numpy as np


def write_tu_folder(folder: Path, graphs: int = 40, labels: bool = True, seed: int = 0) -> Path:
    """Two classes by turns; 5 to 8 nodes, two attributes each. Returns the folder."""
    rng = np.random.default_rng(seed)
    name = folder.name
    folder.mkdir(parents=True)
    edges, indicator, attributes, classes, first = [], [], [], [], 1
    for graph in range(graphs):
        n, label = int(rng.integers(5, 9)), graph % 2
        ring = [(i, (i + 1) % n) for i in range(n)] + [(0, 2 if label else n // 2 + 1)]
        edges += [f"{first + a}, {first + b}" for pair in ring for a, b in (pair, pair[::-1])]
        indicator += [str(graph + 1)] * n
        attributes += [f"{a:.4f}, {b:.4f}" for a, b in rng.normal(loc=label, size=(n, 2))]
        classes.append(str(label))
        first += n
    files = {"A": edges, "graph_indicator": indicator, "node_attributes": attributes}
    if labels:
        files["graph_labels"] = classes
    for kind, lines in files.items():
        (folder / f"{name}_{kind}.txt").write_text("\n".join(lines) + "\n")
    return folder
