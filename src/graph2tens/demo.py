"""A first look: ``python -m graph2tens.demo`` prints exact and sampled features of a small molecule side by side."""

from __future__ import annotations

import torch
from rich.console import Console
from rich.table import Table

from .diffusion import node_features, sampled_node_features
from .walks import random_walk

# The heavy atoms of vanillin, C8H8O3, and its bonds: a benzene ring that carries an aldehyde, a methoxy and a hydroxy group.
ATOMS = ["C", "C", "C", "C", "C", "C", "C", "O", "O", "C", "O"]
BONDS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 6), (6, 7), (2, 8), (8, 9), (3, 10)]
LENGTH, DEGREE, SAMPLES = 5, 2, 20_000


def main() -> None:
    """Compare two ways to compute the same expectation: sparse linear algebra over the tensor algebra, and sampling walks."""
    console = Console()
    bonds = torch.tensor(BONDS).T
    walk = random_walk(torch.cat([bonds, bonds.flip(0)], dim=1), num_nodes=len(ATOMS))
    x = torch.tensor([[atom == "O"] for atom in ATOMS], dtype=torch.float64)  # one attribute: is it oxygen?
    exact = node_features(x, walk, length=LENGTH, degree=DEGREE, time=True)
    sampled, error = sampled_node_features(
        x, walk, length=LENGTH, degree=DEGREE, time=True, samples=SAMPLES, generator=torch.Generator().manual_seed(0)
    )

    table = Table(
        title=f"Vanillin: what a walk of {LENGTH} steps has seen, in expectation",
        caption=f"exact: linear algebra over the tensor algebra\nsampled: {SAMPLES:,} walks per atom, ± one standard error",
    )
    table.add_column("atom")
    # Entries of level 2 over the coordinates (time, oxygen). They differ because the order in which things are seen matters.
    shown = {"time, then oxygen": 4, "oxygen, then time": 5}
    for name in shown:
        table.add_column("\nexact", justify="right")
        table.add_column(f"{name}\nsampled", justify="right")
    for i, atom in enumerate(ATOMS):
        cells = [(f"{exact[i, entry]:.4f}", f"{sampled[i, entry]:.4f} ± {error[i, entry]:.4f}") for entry in shown.values()]
        table.add_row(f"{atom}{i}", *(text for pair in cells for text in pair))
    console.print(table)

    random = error > 0
    worst = ((sampled - exact).abs()[random] / error[random]).max()
    console.print(f"Farthest from the exact value, over all {int(random.sum())} random entries: {worst:.1f} standard errors.")


if __name__ == "__main__":
    main()
