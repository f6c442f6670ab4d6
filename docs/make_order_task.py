"""Draws docs/order_task.png: the order task of examples/graph_classification.py and who learns it. `python docs/make_order_task.py`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch

torch.set_num_threads(1)  # the rings are small
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))
import graph_classification as task  # noqa: E402

COLOURS = {task.BLANK: "#e8e8e8", task.RED: "#d1495b", task.BLUE: "#2e6f95"}
SERIES = {
    "G2TN": ("#1b7f5c", "one G2TN layer, walks of 5 steps"),
    "SAGE": ("#999999", "five GraphSAGE layers"),
    "GCN": ("#c77d22", "five GCN layers"),
}
SEEDS, EPOCHS, PAIRS = 5, 25, 64


def draw_ring(ax: Any, colours: list[int], title: str) -> None:
    n = len(colours)
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    place = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for i in range(n):
        start, end = place[i], place[(i + 1) % n]
        style = {"arrowstyle": "-|>", "color": "#777777", "shrinkA": 8, "shrinkB": 8, "mutation_scale": 11, "linewidth": 1}
        ax.annotate("", xy=end, xytext=start, arrowprops=style)
    ax.scatter(*place.T, s=190, c=[COLOURS[colour] for colour in colours], edgecolors="#555555", linewidths=0.8, zorder=3)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    ax.set_title(title, fontsize=11)
    ax.axis("off")


def curves(conv: str) -> np.ndarray:
    """Test accuracy, (seeds, epochs); every seed has its own training and test rings."""
    rows = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        net, training, testing = task.model(conv), task.order_task(PAIRS, seed=2 * seed), task.order_task(PAIRS, seed=2 * seed + 1)
        row = []
        optimizer = None
        for _ in range(EPOCHS):
            optimizer = task.train(net, training, epochs=1, optimizer=optimizer)
            row.append(task.accuracy(net, testing))
        rows.append(row)
        print(f"{conv} seed {seed}: {row[-1]:.1%}", flush=True)
    return np.array(rows)


def main() -> None:
    figure, (first, second, chart) = plt.subplots(1, 3, figsize=(12, 3.9), width_ratios=[1, 1, 1.9], layout="constrained")
    colours = [task.RED, 0, 0, task.BLUE, *[0] * 5, task.RED, 0, task.BLUE, *[0] * 5]
    draw_ring(first, colours, "class 0: red, then blue")
    draw_ring(second, colours[::-1], "class 1: blue, then red")
    for conv, (colour, label) in SERIES.items():
        accuracy = curves(conv)
        epochs = np.arange(1, EPOCHS + 1)
        chart.plot(epochs, accuracy.mean(0), color=colour, linewidth=1.2 if conv == "SAGE" else 2.4, label=label)
        chart.fill_between(epochs, accuracy.min(0), accuracy.max(0), color=colour, alpha=0.18, linewidth=0)
    chart.axhline(0.5, color="#bbbbbb", linewidth=1, linestyle=":")
    chart.set(xlabel="epoch", ylabel="test accuracy", ylim=(0.4, 1.03), xlim=(1, EPOCHS))
    chart.set_title(f"mean and range of {SEEDS} seeds, {2 * PAIRS} training rings", fontsize=11)
    chart.spines[["top", "right"]].set_visible(False)
    chart.legend(frameon=False, loc="center right", bbox_to_anchor=(1.0, 0.55))
    figure.savefig(HERE / "order_task.png", dpi=110)


if __name__ == "__main__":
    main()
