"""`graph2tens reproduce`: the paper's tables, measured here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import DataRoot, check_choice, parse_seeds

if TYPE_CHECKING:
    from ..paper.reproduce import Event
    from ..training.config import Cell, Run


def reproduce(
    table: Annotated[
        str, typer.Argument(help="A table of the paper: nci, ablation, citation or khop; or differences (text against code).")
    ],
    seeds: Annotated[
        str, typer.Option(help="Seeds to run, as 0-9 or 0,3,5-7. A seed drives split, initial weights and optimiser.")
    ] = "0-9",
    protocol: Annotated[
        str, typer.Option(help="paper: as the text says. authors: as their code did, which made the printed numbers.")
    ] = "paper",
    dataset: Annotated[list[str] | None, typer.Option(help="Only this data set; repeat for several.")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="This model: G2TN, G2TAN, another system as GIN, or rivals for all others; repeat for several.")
    ] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Only this row of the ablation, as NoDiff; repeat for several.")] = None,
    khop: Annotated[list[int] | None, typer.Option(help="Only this distance of table khop; repeat for several.")] = None,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder of the records. Runs that are recorded there are skipped.")] = Path(
        "results"
    ),
    jobs: Annotated[int, typer.Option(min=1, help="Processes that work at the same time.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each process; by default the cores are shared out.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Try out: stop after this many epochs. Kept apart, in OUT/trials.")] = None,
    data_root: DataRoot = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be run, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record of each finished run as a line of JSON.")] = False,
) -> None:
    """Train every row of TABLE and record what was measured.

    Each finished run becomes one line of OUT/TABLE.jsonl. Recorded runs are skipped, so a table can grow over days: stop whenever you
    like (a killed run is done again, nothing else is lost), start again with the same command, add seeds later, start the command
    twice to use more cores. [bold]graph2tens report[/bold] turns the records into tables beside the paper's.

    Examples:

      graph2tens reproduce citation --protocol authors --seeds 0-19 --jobs 2

      graph2tens reproduce nci --dataset NCI1 --model G2TN --seeds 0-2 --protocol authors

      graph2tens reproduce ablation --epochs 1 --seeds 0     (does every row run?)
    """
    from ..paper.protocols import PROTOCOLS
    from ..paper.reproduce import record_path
    from ..paper.reproduce import reproduce as work
    from ..paper.tables import TABLES, plan
    from ..training.config import KEY
    from ..training.store import RunStore

    check_choice("TABLE", table, tuple(TABLES))
    check_choice("--protocol", protocol, tuple(PROTOCOLS))
    rows: dict[str, Any] = {"datasets": dataset, "models": model, "variants": variant, "khops": khop}
    runs = plan(table, seeds=parse_seeds(seeds), protocol=protocol, epochs=epochs, **rows)
    path = record_path(out, table, trial=epochs is not None)
    recorded = RunStore(path, KEY).keys()
    missing = [run for run in runs if run.key not in recorded]
    if dry_run:
        _list(runs, missing, path, as_json)
        return
    with _Display(len(runs), len(runs) - len(missing), as_json) as display:
        work(missing, path, jobs=jobs, threads=threads, data_root=data_root, on_event=display.show)
    if not as_json:
        _summary(runs, RunStore(path, KEY), path)


def _list(runs: list[Run], missing: list[Run], path: Path, as_json: bool) -> None:
    from ..training.config import KEY

    if as_json:
        print(json.dumps([dict(zip(KEY, run.key, strict=True)) for run in missing]))
        return
    for run in missing:
        print(run)
    print(f"{len(missing)} runs to do, {len(runs) - len(missing)} recorded in {path}")


class _Display:
    """A bar over all runs, and a line for each that is finished."""

    def __init__(self, total: int, recorded: int, as_json: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self.as_json = as_json
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, TextColumn("{task.fields[now]}"), console=Console(stderr=True))
        self.task = self.progress.add_task("runs", total=total, completed=recorded, now="")

    def __enter__(self) -> _Display:
        self.progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.progress.stop()

    def show(self, event: Event) -> None:
        if event.kind == "epoch" and event.epoch is not None:
            self.progress.update(self.task, now=f"{event.run}, epoch {event.epoch.epoch}")
            return
        self.progress.advance(self.task)
        if event.kind == "claimed":
            self.progress.console.print(f"{event.run}: another process is at it", highlight=False)
        if event.record is None:
            return
        if self.as_json:
            print(json.dumps(event.record.to_dict()), flush=True)
        else:
            record = event.record
            text = f"{event.run}: test {record.test:.2f}%, validation {record.validation:.2f}%"
            self.progress.console.print(f"{text}, {record.epochs} epochs, {record.seconds:.1f} s", highlight=False)


def _summary(runs: list[Run], store: Any, path: Path) -> None:
    """Mean and standard deviation of every cell over the seeds asked for."""
    import statistics

    from rich.console import Console
    from rich.table import Table

    accuracy = {store.key(record): record["test_accuracy"] for record in store.records()}
    table = Table(title=f"Test accuracy in % ({path})", title_justify="left")
    for name in ("data set", "k", "model", "variant", "mean", "std", "seeds"):
        table.add_column(name, justify="right" if name in ("mean", "std", "seeds") else "left")
    cells: dict[Cell, list[float]] = {}
    for run in runs:
        values = cells.setdefault(run.cell, [])
        if run.key in accuracy:
            values.append(100 * accuracy[run.key])
    for cell, values in cells.items():
        mean = f"{statistics.mean(values):.2f}" if values else "-"
        deviation = f"{statistics.stdev(values):.2f}" if len(values) > 1 else "-"
        table.add_row(cell.dataset, str(cell.khop), cell.model, cell.variant, mean, deviation, str(len(values)))
    Console().print(table)
