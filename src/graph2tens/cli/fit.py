"""`graph2tens fit`: a file of measured molecules to a model of their property."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .molecules import is_model, needing_rdkit, progress_bar, spinner
from .options import check_choice

if TYPE_CHECKING:
    from ..molecules.data import Measured
    from ..molecules.estimate import Row


def fit(
    table: Annotated[Path, typer.Argument(help="A file of molecules: .csv, .tsv, .smi (also .gz), .parquet or .sdf.")],
    target: Annotated[list[str], typer.Option(help="The column to predict; repeat for several. Empty cells are unknown.")],
    out: Annotated[Path, typer.Option(help="Folder to write the model to.")],
    smiles: Annotated[str | None, typer.Option(help="The column of SMILES; found by its name if not given.")] = None,
    task: Annotated[
        str, typer.Option(help="auto, regression or classification; auto: words, and 0 and 1, -1 and 1 or 1 and 2 alone are classes.")
    ] = "auto",
    split: Annotated[str, typer.Option(help="For the estimate: random, or scaffold (no ring system is on both sides).")] = "random",
    estimate: Annotated[bool, typer.Option(help="Estimate how good predictions of other molecules will be.")] = True,
    salts: Annotated[str, typer.Option(help="Molecules of several fragments: keep all, or only the largest.")] = "keep",
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Cores; all if not given.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a model that is there.")] = False,
) -> None:
    """Learn a property of molecules from a file of measured ones. No training of a network, no settings to choose.

    Lines that cannot be read are told and left out. The estimate is made by cross-validation, beside two simple baselines; the model
    that is written learns from all molecules. For data sets of other graphs, see [bold]graph2tens train[/bold] and
    [bold]graph2tens classify[/bold].

    Examples:

      graph2tens fit solubility.csv --smiles smiles --target logS --out model

      graph2tens fit assays.csv --target NR-AR --target NR-AhR --split scaffold --out model
    """
    with needing_rdkit():
        from ..molecules.data import TASKS, measured, read_molecules
        from ..molecules.model import MoleculeModel, cross_validate
        from ..molecules.parsing import SALTS
        from ..molecules.scaffolds import SPLITS
        from ..molecules.tables import read_table
    from ..training.provenance import cores

    for option, value, choices in (("--task", task, TASKS), ("--split", split, SPLITS), ("--salts", salts, SALTS)):
        check_choice(option, value, choices)
    _check_out(out, overwrite)
    jobs = jobs or cores()
    read = read_table(table)
    for name in target:
        read.column(name, "--target")  # before molecules are read, which takes time
    with progress_bar(len(read)) as advance:
        molecules = read_molecules(read, smiles, salts=salts, n_jobs=jobs, progress=advance)
    data = measured(read, molecules, target, task)
    _tell(data, len(read))
    with spinner("Computing features and fitting"):
        model = MoleculeModel.fit(data, salts=salts, n_jobs=jobs, seed=seed)
    if estimate:
        with spinner("Estimating on molecules not learnt from"):
            rows, values, deviations = cross_validate(model, data, split=split, n_jobs=jobs, seed=seed)
        _show(rows, data, split)
        model.notes["estimate"] = {"split": split, "rows": [vars(row) for row in rows]}
    model.notes.update(_provenance(table, data))
    _check_out(out, overwrite)  # another process may have been quicker
    model.save(out, _estimate_table(data, values, deviations) if estimate else None)
    if estimate:
        print(f"Predictions behind the estimate: {out / 'estimate.csv'}")
    print(f"Model: {out}    Next: graph2tens predict {out} new.csv --out predictions.csv")


def _check_out(out: Path, overwrite: bool) -> None:
    from ..molecules.storage import DESCRIPTION

    if out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder (got the file {out}).")
    if (out / DESCRIPTION).exists() and not (overwrite and is_model(out)):
        kind = "a model" if is_model(out) else "something else than a model of molecules"
        raise ValueError(f"{out} holds {kind}. Choose another --out{' or say --overwrite' if is_model(out) else ''}.")


def _tell(data: Measured, lines: int) -> None:
    for sentence in data.report:
        print(sentence)
    counts = (data.y == data.y).sum(axis=0).tolist()  # NaN, where a target is unknown, differs from itself
    known = ", ".join(f"{name} of {count:,}" for name, count in zip(data.targets, counts, strict=True))
    if len(counts) > 5:
        known = f"{len(counts)} targets, known of {min(counts):,} to {max(counts):,}"
    print(f"{len(data.graphs):,} of {lines:,} molecules are learnt from ({data.task}: {known}).")


def _show(rows: list[Row], data: Measured, split: str) -> None:
    from rich.console import Console
    from rich.table import Table

    regression = data.task == "regression"
    print(f"On molecules not learnt from ({split} split):")
    shown = Table()
    shown.add_column("method")
    shown.add_column("root mean squared error" if regression else "AUROC", justify="right")
    if regression:
        shown.add_column("inside the 90 % interval", justify="right")
    for row in rows:
        covered = "" if row.coverage is None else f"{row.coverage:.0%}"
        shown.add_row(row.method, f"{row.score:.3f}" if row.score == row.score else "too few", *([covered] if regression else []))
    Console(highlight=False, width=100).print(shown)


def _estimate_table(data: Measured, values: Any, deviations: Any) -> str:
    from ..files import as_csv
    from ..molecules.model import encoded

    names = data.targets if values.shape[1] == len(data.targets) else [f"{data.targets[0]}={name}" for name in data.classes[0]]
    kinds = ("measured", "predicted", "deviation") if deviations is not None else ("measured", "probability")
    tables = [encoded(data), values, *([] if deviations is None else [deviations])]
    rows: list[list[Any]] = [["line", "smiles", *(f"{name} {kind}" for name in names for kind in kinds)]]
    for place, line in enumerate(data.lines):
        numbers = [table[place, target] for target in range(len(names)) for table in tables]
        rows.append([line, data.smiles[place], *("" if number != number else f"{number:.6g}" for number in numbers)])
    return as_csv(rows)


def _provenance(table: Path, data: Measured) -> dict[str, Any]:
    import datetime

    import rdkit

    from .. import __version__

    return {
        "file": table.name,
        "molecules": len(data.graphs),
        "fitted": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {"graph2tens": __version__, "rdkit": rdkit.__version__},
    }
