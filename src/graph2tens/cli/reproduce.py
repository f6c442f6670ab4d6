"""`graph2tens reproduce`: the paper's tables, measured here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..paper.reproduce import Event
    from ..training.config import Run


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
    model: Annotated[list[str] | None, typer.Option(help="Only this model, G2TN or G2TAN; repeat for several.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Only this row of the ablation, as NoDiff; repeat for several.")] = None,
    khop: Annotated[list[int] | None, typer.Option(help="Only this distance of table khop; repeat for several.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the records. Runs that are recorded there are skipped.")] = Path("results"),
    jobs: Annotated[int, typer.Option(min=1, help="Processes that work at the same time.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each process; by default the cores are shared out.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Try out: stop after so many epochs. Kept apart, in OUT/trials.")] = None,
    data_root: Annotated[Path | None, typer.Option(help="Folder with the data sets; see `graph2tens info`.")] = None,
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
    from ..paper.reproduce import record_path
    from ..paper.reproduce import reproduce as work
    from ..paper.tables import TABLES, plan
    from ..training.config import KEY, PROTOCOLS
    from ..training.store import RunStore

    if table not in TABLES:
        raise typer.BadParameter(f"no table {table!r}; there is {', '.join(TABLES)}.", param_hint="TABLE")
    if protocol not in PROTOCOLS:
        raise typer.BadParameter(f"{protocol!r} is neither {' nor '.join(PROTOCOLS)}.", param_hint="--protocol")
    runs = plan(
        table,
        seeds=parse_seeds(seeds),
        protocol=protocol,
        datasets=dataset,
        models=model,
        variants=variant,
        khops=khop,
        epochs=epochs,
    )
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


def parse_seeds(text: str) -> list[int]:
    """``0-9`` or ``0,3,5-7`` as numbers, without repetitions."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", part)
        if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
            raise typer.BadParameter(f"write seeds as 0-9 or 0,3,5-7 (got {text!r}).", param_hint="--seeds")
        seeds += range(int(match[1]), int(match[2] or match[1]) + 1)
    return list(dict.fromkeys(seeds))


def _list(runs: list[Run], missing: list[Run], path: Path, as_json: bool) -> None:
    if as_json:
        print(json.dumps([dict(zip(_fields(), run.key, strict=True)) for run in missing]))
        return
    for run in missing:
        print(run)
    print(f"{len(missing)} runs to do, {len(runs) - len(missing)} recorded in {path}")


def _fields() -> tuple[str, ...]:
    from ..training.config import KEY

    return KEY


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
            print(json.dumps(event.record), flush=True)
        else:
            record = event.record
            text = f"{event.run}: test {record['test_accuracy']:.2%}, validation {record['validation_accuracy']:.2%}"
            self.progress.console.print(f"{text}, {record['epochs']} epochs, {record['seconds']:.1f} s", highlight=False)


def _summary(runs: list[Run], store: Any, path: Path) -> None:
    """Mean and standard deviation of every cell over the seeds asked for."""
    import statistics

    from rich.console import Console
    from rich.table import Table

    accuracy = {store.key(record): record["test_accuracy"] for record in store.records()}
    table = Table(title=f"Test accuracy in % ({path})", title_justify="left")
    for name in ("data set", "k", "model", "variant", "mean", "std", "seeds"):
        table.add_column(name, justify="right" if name in ("mean", "std", "seeds") else "left")
    cells: dict[tuple[str, int, str, str], list[float]] = {}
    for run in runs:
        values = cells.setdefault((run.dataset, run.khop, run.model, run.variant), [])
        if run.key in accuracy:
            values.append(100 * accuracy[run.key])
    for (dataset, khop, model, variant), values in cells.items():
        mean = f"{statistics.mean(values):.2f}" if values else "-"
        deviation = f"{statistics.stdev(values):.2f}" if len(values) > 1 else "-"
        table.add_row(dataset, str(khop), model, variant, mean, deviation, str(len(values)))
    Console().print(table)
