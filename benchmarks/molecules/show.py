"""Records to the tables of docs/molecules.md, which are never typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "molecules.md"
BEGIN, END = "<!-- measurements:begin -->", "<!-- measurements:end -->"
OURS, RIVAL = "graph2tens", "chemprop 2.3.1"
Runs = Sequence[dict[str, Any]]


def write_tables(runs: Runs) -> None:
    """Replace what stands between the marks of the page."""
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{tables(runs)}\n{END}{after}")


def tables(runs: Runs) -> str:
    """Scores of all methods, the differences to ours split by split, and the intervals."""
    cells = list(dict.fromkeys((run["set"], run["split"]) for run in runs))
    parts = [_scores(runs, *cell) for cell in cells]
    return "\n\n".join([*parts, _intervals(runs)])


def _scores(runs: Runs, name: str, split: str) -> str:
    here = [run for run in runs if (run["set"], run["split"]) == (name, split)]
    metric = here[0]["metric"]
    ours = {run["number"]: run for run in here if run["method"] == OURS}
    lines = [
        f"**{name}**, {split} splits, {metric} ({'less' if metric == 'RMSE' else 'more'} is better):",
        "",
        f"| method | {metric} | splits | against the defaults, paired | processor seconds per split |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for method in sorted({run["method"] for run in here}, key=lambda method: (method != OURS, OURS not in method, method)):
        mine = [run for run in here if run["method"] == method]
        pairs = [run["score"] - ours[run["number"]]["score"] for run in mine if run["number"] in ours and method != OURS]
        numbers = ", ".join(map(str, sorted(run["number"] for run in mine))) if len(mine) < 5 else f"{len(mine)}"
        lines.append(
            f"| {method} | {_spread([run['score'] for run in mine])} | {numbers} | {_spread(pairs, signed=True) if pairs else ''} | "
            f"{mean(run['processor_seconds'] for run in mine):.0f} |"
        )
    return "\n".join(lines)


def _intervals(runs: Runs) -> str:
    lines = [
        "Of the targets of test molecules, the share inside the 90 % interval, and the error of molecules that are flagged as unlike any "
        "in training beside that of the others:",
        "",
        "| set | splits | inside | smallest to largest | flagged | RMSE, flagged | RMSE, others |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in dict.fromkeys(run["set"] for run in runs if run["metric"] == "RMSE"):
        mine = [run for run in runs if run["set"] == name and run["method"] == OURS and run["split"] == "random"]
        if not mine:
            continue
        inside = [run["coverage"] for run in mine]
        flagged = [run["error_flagged"] for run in mine if run.get("error_flagged") is not None]
        share = sum(run["flagged"] for run in mine) / sum(run["molecules"][2] for run in mine)
        lines.append(
            f"| {name} | {len(mine)} | {mean(inside):.2f} | {min(inside):.2f} to {max(inside):.2f} | {share:.1%} | "
            f"{mean(flagged) if flagged else float('nan'):.2f} | {mean(run['error_others'] for run in mine):.2f} |"
        )
    return "\n".join(lines)


def _spread(values: Sequence[float], signed: bool = False) -> str:
    sign = "+" if signed else ""
    around = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):{sign}.3f}{around}".replace("-", "\N{MINUS SIGN}")
