"""The pictures of docs/molecules.md: ``python -m benchmarks.molecules.pictures`` predicts the test parts of two splits and draws."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import numpy as np

from graph2tens.molecules.estimate import INTERVAL
from graph2tens.molecules.model import MoleculeModel

from .methods import part
from .sets import MoleculeSet

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[2] / "docs"
ORANGE, BLUE = "#d6600d", "#2171b5"
UNITS = {"ESOL": "log solubility, mol/l", "FreeSolv": "hydration free energy, kcal/mol"}


def main() -> None:
    folder = Path(os.environ.get("GRAPH2TENS_DATA", "data")) / "molecules"
    figure, axes = plt.subplots(1, len(UNITS), figsize=(9, 4.2), layout="constrained")
    errors: list[np.ndarray] = []
    for axis, (name, unit) in zip(axes, UNITS.items(), strict=True):
        chosen = MoleculeSet(name, folder)
        for number in range(5):
            train, _, test = chosen.split(number, "random")
            model = MoleculeModel.fit(part(chosen.data, train), n_jobs=2)
            asked = part(chosen.data, test)
            found = model.predict(asked.graphs, asked.smiles, n_jobs=2)
            assert found.deviations is not None
            truth, value, bar = asked.y[:, 0], found.values[:, 0], INTERVAL * found.deviations[:, 0]
            spread = np.abs(truth - value) / chosen.data.y.std()
            errors.append(np.stack([np.full(truth.size, name == "ESOL"), found.similarity, found.unlike, spread], axis=1))
            if number:
                continue
            for flag, colour, label in ((False, BLUE, "like training molecules"), (True, ORANGE, "flagged as unlike")):
                rows = found.unlike == flag
                axis.errorbar(truth[rows], value[rows], bar[rows], fmt="o", ms=3, lw=0.7, color=colour, label=label, alpha=0.8)
            ends = [truth.min(), truth.max()]
            axis.plot(ends, ends, color="black", lw=0.8)
            inside = (np.abs(truth - value) <= bar).mean()
            axis.set(xlabel=f"measured ({unit})", ylabel="predicted")
            axis.set_title(f"{name}, split 0: {inside:.0%} inside the 90 % interval", fontsize=10)
            axis.locator_params(nbins=6)
            axis.legend(frameon=False, fontsize=8)
    figure.savefig(DOCS / "molecules_predicted.png", dpi=90)
    _flagged(np.concatenate(errors))


def _flagged(table: np.ndarray) -> None:
    """Errors by similarity to the nearest training molecule; columns: ESOL or not, similarity, flag, error in standard deviations."""
    figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    names = ["flagged", *(f"{low:.1f} to {low + 0.2:.1f}" for low in (0.2, 0.4, 0.6, 0.8))]
    groups = [table[table[:, 2] == 1, 3]]
    others = table[table[:, 2] == 0]
    for low in (0.2, 0.4, 0.6, 0.8):
        groups.append(others[(others[:, 1] >= low) & (others[:, 1] < low + 0.2 + 1e-9), 3])
    kept = [(name, group) for name, group in zip(names, groups, strict=True) if group.size >= 5]
    boxes = axis.boxplot([group for _, group in kept], patch_artist=True, showfliers=False, medianprops={"color": "black"})
    for place, box in enumerate(boxes["boxes"]):
        box.set_facecolor(ORANGE if place == 0 and kept[0][0] == "flagged" else BLUE)
        box.set_alpha(0.7)
    axis.set_xticklabels([f"{name}\n(n = {group.size})" for name, group in kept], fontsize=8)
    axis.set(xlabel="similarity to the nearest training molecule", ylabel="error, standard deviations of the property")
    figure.savefig(DOCS / "molecules_flagged.png", dpi=90)


if __name__ == "__main__":
    main()
