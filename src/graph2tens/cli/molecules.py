"""What the commands for molecules share: predictions for a file of them, and progress displays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..molecules.model import MoleculeModel, Predictions
    from ..molecules.parsing import Molecules
    from ..molecules.tables import Table

KINDS_OF_NEXT = ("high", "low", "uncertain")


@contextmanager
def needing_rdkit() -> Iterator[None]:
    """For imports of :mod:`graph2tens.molecules`: what is missing is said in a line."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError("molecules need RDKit: pip install 'graph2tens[molecules]'.") from error


def is_model(folder: Path) -> bool:
    """Whether `graph2tens fit` wrote this folder; known without RDKit, which may be missing."""
    import json

    try:
        found = json.loads((folder / "model.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("kind") == "molecules"


def predict_file(
    model: Path,
    file: Path,
    out: Path | None,
    *,
    smiles: str | None,
    jobs: int | None,
    measure_next: int | None,
    prefer: str,
    target: str | None,
) -> None:
    """Predict for every molecule of a file, write the table, and say which to measure next."""
    with needing_rdkit():
        from ..molecules.answers import tabulate, write
        from ..molecules.data import describe, read_molecules
        from ..molecules.model import MoleculeModel
        from ..molecules.tables import read_table
    from ..training.provenance import cores

    jobs = jobs or cores()
    fitted = MoleculeModel.load(model)
    if measure_next is not None:
        fitted.target(target)
    table = read_table(file)
    with progress_bar(len(table)) as advance:
        molecules = read_molecules(table, smiles, salts=fitted.salts, n_jobs=jobs, progress=advance)
    for sentence in describe(table, molecules):
        print(sentence, file=sys.stderr)
    found = None
    if len(molecules):
        with spinner("Predicting"):
            found = fitted.predict(molecules.graphs, molecules.smiles, n_jobs=jobs)
    answer = tabulate(fitted, table, molecules, found)
    write(out, table, answer)
    unlike = 0 if found is None else int(found.unlike.sum())
    where = "" if out is None else f", written to {out}"
    print(f"{len(molecules):,} of {len(table):,} molecules predicted, {unlike:,} unlike any training molecule{where}", file=sys.stderr)
    if found is not None and measure_next is not None:
        _show_next(fitted, table, molecules, found, fitted.target(target), measure_next, prefer)


def _show_next(fitted: MoleculeModel, table: Table, molecules: Molecules, found: Predictions, target: int, most: int, prefer: str) -> None:
    from rich.console import Console
    from rich.table import Table as Shown

    from ..molecules.answers import ranked

    shown = Shown(title=f"To measure next ({prefer})", title_justify="left")
    for name in (table.unit, fitted.target_names[target], "deviation", "unlike", "molecule"):
        shown.add_column(name, justify="left" if name == "molecule" else "right", overflow="fold")
    chosen = ranked(found, target, most, prefer, molecules.smiles)
    for place in chosen:
        deviation = "" if found.deviations is None else f"{found.deviations[place, target]:.3g}"
        line, value = table.lines[molecules.rows[place]], found.values[place, target]
        shown.add_row(str(line), f"{value:.3g}", deviation, "yes" if found.unlike[place] else "no", molecules.smiles[place])
    if not chosen:
        print("Nothing to measure next: the model learnt from every molecule of the file.")
        return
    Console(highlight=False, width=100).print(shown)


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A context that gives a function to tell how many more molecules are read; silent where nobody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    look = (TextColumn("Reading molecules"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*look, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("read", total=total)
        yield lambda count: progress.advance(task, count)


def spinner(text: str) -> Any:
    """A context that says what is being done, on a terminal."""
    from contextlib import nullcontext

    from rich.console import Console

    console = Console(stderr=True)
    return console.status(text) if console.is_terminal else nullcontext()
