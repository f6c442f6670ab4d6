"""`GraphTensRegressor` with its defaults on two sets of measured molecules: is a tenth of the targets outside the 90 % interval?"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from benchmarks.molecules.sets import MoleculeSet
from graph2tens.sklearn import GraphTensRegressor

from .records import Run, once, recorded

NAMES = {"ESOL": "log solubility, mol/l", "FreeSolv": "hydration free energy, kcal/mol"}
SPLITS = range(5)
NINETY = 1.645  # standard deviations
PICTURE = Path(__file__).parents[2] / "docs" / "estimators_intervals.png"
IN, OUT = "#2171b5", "#d6600d"


def run() -> None:
    folder = Path(os.environ.get("GRAPH2TENS_DATA", "data")) / "molecules"
    for name in NAMES:
        chosen = MoleculeSet(name, folder)
        for number in SPLITS:
            once("intervals", {"data": name, "split": number}, partial(_one, chosen, number))
    draw()


def _one(chosen: MoleculeSet, number: int) -> Run:
    """Nine tenths of the molecules are learnt from, the last tenth is predicted."""
    train, validation, test = chosen.split(number, "random")
    train, data = np.concatenate([train, validation]), chosen.data
    regressor = GraphTensRegressor(random_state=number).fit([data.graphs[row] for row in train], data.y[train, 0])
    value, std = regressor.predict([data.graphs[row] for row in test], return_std=True)
    truth = data.y[test, 0]
    return {
        "rmse": float(np.sqrt(np.square(truth - value).mean())),
        "r2": float(1 - np.square(truth - value).mean() / truth.var()),
        "inside": float((np.abs(truth - value) <= NINETY * std).mean()),
        "measured": [round(float(one), 3) for one in truth],
        "predicted": [round(float(one), 3) for one in value],
        "std": [round(float(one), 3) for one in std],
    }


def draw() -> None:
    """Predicted against measured, of the first split."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(NAMES), figsize=(9, 4.4), layout="constrained")
    for axis, (name, unit) in zip(axes, NAMES.items(), strict=True):
        (found,) = (run for run in recorded("intervals") if run["data"] == name and run["split"] == 0)
        truth, value, bar = np.array(found["measured"]), np.array(found["predicted"]), NINETY * np.array(found["std"])
        inside = np.abs(truth - value) <= bar
        for rows, colour, label in ((inside, IN, "inside"), (~inside, OUT, "outside")):
            axis.errorbar(
                truth[rows], value[rows], bar[rows], fmt="o", ms=3.5, elinewidth=0.8, color=colour, label=f"{label}: {rows.sum()}"
            )
        ends = [min(truth.min(), value.min()), max(truth.max(), value.max())]
        axis.plot(ends, ends, color="black", lw=0.8)
        axis.set(
            xlabel=f"measured ({unit})", ylabel="predicted, with 90 % intervals", title=f"{name}, {truth.size} molecules not learnt from"
        )
        axis.locator_params(nbins=6)
        axis.legend(frameon=False, title="measured value")
    figure.savefig(PICTURE, dpi=90)


def table() -> str:
    lines = ["| data | splits | R² | inside the 90 % interval | smallest to largest |", "| --- | ---: | ---: | ---: | ---: |"]
    for name in NAMES:
        runs = [run for run in recorded("intervals") if run["data"] == name]
        inside, r2 = [run["inside"] for run in runs], [run["r2"] for run in runs]
        lines.append(
            f"| {name} | {len(runs)} | {mean(r2):.2f} ± {stdev(r2):.2f} | {mean(inside):.2f} | {min(inside):.2f} to {max(inside):.2f} |"
        )
    return "\n".join(lines)
