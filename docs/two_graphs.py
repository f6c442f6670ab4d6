"""Two graphs that classical diffusion cannot tell apart and hypo-elliptic diffusion can: draws docs/two_graphs.svg.

Both have 7 nodes, 9 edges, 4 black and 3 white nodes. They were found by an exhaustive search over all connected graphs with at
most 7 nodes. tests/test_readme.py checks every claim. Run ``python docs/two_graphs.py`` to draw the picture again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch

import graph2tens as g2t

LENGTH = 2


class Example(NamedTuple):
    edges: list[tuple[int, int]]  # undirected, listed once
    black: list[int]
    layout: list[tuple[float, float]]


EXAMPLES = {
    "mill": Example(
        [(0, 5), (0, 6), (1, 2), (1, 6), (2, 6), (3, 4), (3, 6), (4, 6), (5, 6)],
        [3, 4, 5, 6],
        [(0.45, 0.9), (-1.0, 0.1), (-0.75, -0.75), (0.75, -0.75), (1.0, 0.1), (-0.45, 0.9), (0.0, 0.0)],
    ),
    "bridge": Example(
        [(0, 2), (0, 5), (1, 2), (1, 4), (2, 3), (2, 5), (3, 6), (4, 5), (5, 6)],
        [2, 3, 5, 6],
        [(0.0, -0.42), (-0.55, -0.9), (-0.95, 0.0), (-0.55, 0.8), (0.55, -0.9), (0.95, 0.0), (0.55, 0.8)],
    ),
}


def walk_and_colours(example: Example) -> tuple[g2t.RandomWalk, torch.Tensor]:
    """The simple random walk, and the attribute f: 1 at black nodes, 0 at white ones, (n, 1)."""
    once = torch.tensor(example.edges).T
    n = int(once.max()) + 1
    x = torch.zeros(n, 1, dtype=torch.float64)
    x[example.black] = 1
    return g2t.random_walk(torch.cat([once, once.flip(0)], dim=1), num_nodes=n), x


def seen_now(example: Example, steps: int) -> torch.Tensor:
    """Classical diffusion, E[f(B_k) | B_0 = i] for k = 0..steps, (n, steps + 1): the chance to stand on black after k steps."""
    walk, x = walk_and_colours(example)
    P = walk.matrix().to_dense()
    return torch.cat([torch.linalg.matrix_power(P, k) @ x for k in range(steps + 1)], dim=1)


def seen_on_the_way(example: Example) -> tuple[torch.Tensor, torch.Tensor]:
    """Hypo-elliptic diffusion: mean and variance, each (n,), of S, the number of black nodes on a walk of two steps from node i.

    Without increments the features are E[exp(f(B_0)) exp(f(B_1)) exp(f(B_2))] = E[exp(S)], so level 1 is E[S] and level 2 E[S^2] / 2.
    """
    walk, x = walk_and_colours(example)
    features = g2t.node_features(x, walk, length=LENGTH, degree=2, increments=False)
    _, first, second = (level.squeeze(1) for level in g2t.TensorAlgebra(1, 2).levels(features))
    return first, 2 * second - first**2


def draw(path: Path) -> None:
    """The picture of the README."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "graph2tens", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, 4, figsize=(12.5, 3.3), width_ratios=[1, 1, 1.35, 1.35], layout="constrained")
    figure.patch.set_facecolor("white")
    colour = {"mill": "#c2410c", "bridge": "#1d4ed8"}

    for ax, (name, example) in zip(axes, EXAMPLES.items(), strict=False):
        for i, j in example.edges:
            ax.plot(*zip(example.layout[i], example.layout[j], strict=True), color="#6b7280", linewidth=1.5, zorder=1)
        for i, place in enumerate(example.layout):
            ax.scatter(*place, s=230, facecolor="#111827" if i in example.black else "white", edgecolor="#111827", linewidth=1.5, zorder=2)
        ax.set(title=f"“{name}”", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
        ax.title.set_color(colour[name])
        ax.axis("off")

    now, way = axes[2], axes[3]
    for name, example in EXAMPLES.items():
        style = {"linewidth": 5, "alpha": 0.35} if name == "mill" else {"linewidth": 1.5, "linestyle": "--"}
        for row, curve in enumerate(seen_now(example, 7)):
            now.plot(range(8), curve, color=colour[name], label=name if row == 0 else None, **style)
    now.set(title="What do you see now?\nE[f(B$_k$) | B$_0$ = i], every node", xlabel="steps k", ylim=(-0.05, 1.05))
    now.legend(frameon=False, loc="lower right")

    for name, example in EXAMPLES.items():
        mean, variance = seen_on_the_way(example)
        nodes = [i for _, _, i in sorted(zip(mean.tolist(), variance.tolist(), range(7), strict=True))]
        style = {"s": 130, "alpha": 0.4, "linewidths": 0} if name == "mill" else {"s": 34, "facecolor": "none", "linewidths": 1.6}
        paint = {"color": colour[name]} if name == "mill" else {"edgecolor": colour[name]}
        way.scatter(range(1, 8), variance[nodes], label=name, **paint, **style)
    way.set(title="What have you seen on the way?\nVar[S | B$_0$ = i], every node", xlabel="nodes", xticks=range(1, 8), ylim=(0.1, 0.6))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
