"""Predict a number for graphs, and how far off it may be: the spectral gap of random graphs, drawn with error bars if asked to."""

from __future__ import annotations

import argparse

import networkx as nx
import numpy as np

from graph2tens.sklearn import GraphTensRegressor


def grow(count: int, seed: int = 0) -> tuple[list[nx.Graph], np.ndarray]:
    """Connected random graphs of 10 to 30 nodes, and the second smallest eigenvalue of their Laplacian."""
    random = np.random.default_rng(seed)
    graphs: list[nx.Graph] = []
    while len(graphs) < count:
        graph = nx.gnp_random_graph(int(random.integers(10, 30)), random.uniform(0.15, 0.5), seed=int(random.integers(2**31)))
        if nx.is_connected(graph):
            graphs.append(graph)
    return graphs, np.array([np.linalg.eigvalsh(nx.laplacian_matrix(graph).toarray().astype(float))[1] for graph in graphs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="graphs")
    parser.add_argument("--out", help="a picture of predicted against true, with error bars (needs matplotlib)")
    arguments = parser.parse_args()
    graphs, gaps = grow(arguments.count)
    half = len(graphs) // 2
    regressor = GraphTensRegressor(random_state=0, n_jobs=-1).fit(graphs[:half], gaps[:half])
    mean, std = regressor.predict(graphs[half:], return_std=True)
    inside = (np.abs(gaps[half:] - mean) < 1.645 * std).mean()
    print(f"R² {regressor.score(graphs[half:], gaps[half:]):.2f}; {inside:.0%} of the true values lie inside their 90 % interval")
    if arguments.out:
        import matplotlib.pyplot as plt

        plt.errorbar(gaps[half:], mean, yerr=1.645 * std, fmt="o", markersize=4, elinewidth=0.8)
        plt.plot([gaps.min(), gaps.max()], [gaps.min(), gaps.max()], color="black", linewidth=0.8)
        plt.xlabel("spectral gap")
        plt.ylabel("predicted, with 90 % intervals")
        plt.savefig(arguments.out, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
