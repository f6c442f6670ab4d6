"""`graph2tens scale`: features of more graphs than fit one process, from Parquet files to Parquet files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..scale import Progress

scale = typer.Typer(
    no_args_is_help=True,
    help="Features of more graphs than fit one process: Parquet files in, Parquet files out; docs/scale.md. Needs graph2tens\\[data].",
)

Inputs = Annotated[list[Path], typer.Argument(help="Parquet files of graphs, or folders of them: id, num_nodes, src, dst, ... or smiles.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


@scale.command()
def fit(
    inputs: Inputs,
    out: Annotated[Path, typer.Option(help="The file of the fitted features, .safetensors.")],
    sample: Annotated[int, typer.Option(min=1, help="Graphs to look at, drawn at random.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Draws the graphs and the functionals.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of GraphTensFeatures, as n_layers=5; repeat for several.")
    ] = None,
) -> None:
    """Fix the columns of features and draw the functionals, once, on one machine.

    Examples:

      graph2tens scale fit train/ --out features.safetensors --set n_layers=3 --set n_functionals=64 --set n_waves=128
    """
    from ..scale import fit_features, save_features
    from ..sklearn import GraphTensFeatures

    features = GraphTensFeatures(**{"random_state": seed, **dict(map(_setting, settings or []))})
    fitted = fit_features(inputs, sample, features, seed)
    save_features(fitted, out)
    print(f"{fitted.n_features_out_:,} features per graph, {4 * fitted.n_features_out_ / 1e3:.1f} kB; written to {out}")


@scale.command()
def apply(
    features: Annotated[Path, typer.Argument(help="What `graph2tens scale fit` wrote.")],
    inputs: Inputs,
    out: Annotated[Path, typer.Option(help="Folder of the tables. What is finished there is not made again.")],
    engine: Annotated[str, typer.Option(help="local, dask or ray.")] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="Processes on this machine; all cores if not given.")] = None,
    address: Annotated[str | None, typer.Option(help="Of a running Dask scheduler or Ray cluster.")] = None,
    half: Annotated[bool, typer.Option("--half", help="Numbers of 16 bits: half the space.")] = False,
    rows_per_file: Annotated[int, typer.Option(min=1, help="Larger input files are done in parts of about this many graphs.")] = 2000,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first row that is not a graph.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start although the features would not fit onto the disk.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the features of all graphs in files. Killed and started again, it goes on where it was.

    Rows that are not graphs go to OUT/_errors with what is wrong; then the exit code is 1.

    Examples:

      graph2tens scale apply features.safetensors molecules/ --out table/ --workers 8
    """
    from ..scale import plan_features
    from ..scale.engines import check_engine

    check_engine(engine, address)
    job = plan_features(features, inputs, out, dtype="float16" if half else "float32", rows_per_file=rows_per_file, strict=strict)
    left = job.left
    if not as_json:
        told = f"{left:,} of {job.graphs:,} graphs to do in {len(job.waiting):,} files, {job.features.n_features_out_:,} columns: "
        told += f"{job.bytes / 1e9:,.2f} GB of {job.free / 1e9:,.1f} GB free"
        if engine == "local":
            told += f", about {_duration(job.seconds(workers))}"
        typer.echo(told, err=True)
    with _bar(left, as_json) as advance:
        summary = job.run(engine=engine, workers=workers, address=address, even_if_full=yes, on_progress=advance)
    if as_json:
        print(json.dumps(asdict(summary)))
    else:
        print(f"{summary.graphs:,} graphs in {summary.files:,} files ({summary.found:,} were there), {summary.seconds:.1f} s; in {out}")
    if summary.errors:
        typer.echo(f"{summary.errors:,} rows are not graphs; {out / '_errors'} says why.", err=True)
        raise typer.Exit(1)


@scale.command()
def check(
    folder: Annotated[Path, typer.Argument(help="Folder of tables that `graph2tens scale apply` wrote.")],
    inputs: Annotated[list[Path] | None, typer.Option("--in", help="The files they were made of: is every row accounted for?")] = None,
    as_json: AsJson = False,
) -> None:
    """Read all tables again: whole, of one estimator, as they were written? Ends with 1 if something is wrong."""
    from ..scale import check_features

    found = check_features(folder, inputs)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        print(f"{found.graphs:,} graphs with {found.columns:,} features in {found.files:,} files, {found.errors:,} errors")
        for problem in found.problems:
            typer.echo(problem, err=True)
    if found.problems:
        raise typer.Exit(1)


@scale.command()
def graph(
    edges: Annotated[Path, typer.Argument(help="Parquet file or folder with columns src, dst and maybe weight, or a file .npy (2, E).")],
    out: Annotated[Path, typer.Option(help="Folder for the graph; must not exist.")],
    num_nodes: Annotated[int, typer.Option(min=1, help="Nodes are 0 to this minus 1.")],
    undirected: Annotated[bool, typer.Option("--undirected", help="Every edge is listed once and can be walked both ways.")] = False,
    self_loops: Annotated[bool, typer.Option("--self-loops", help="Add an edge from every node without one to itself.")] = False,
) -> None:
    """Sort the edges of one huge graph into a folder, for graph2tens.scale.low_rank_features and apply_network."""
    from ..scale import GraphOnDisk

    built = GraphOnDisk.build(edges, out, num_nodes=num_nodes, undirected=undirected, self_loops=self_loops)
    print(f"{built.num_nodes:,} nodes, {built.num_entries:,} steps, written to {out}")


def _setting(text: str) -> tuple[str, Any]:
    """``n_layers=5`` -> ("n_layers", 5); what is no JSON is text."""
    from ..sklearn import GraphTensFeatures

    name, equals, value = text.partition("=")
    known = GraphTensFeatures().get_params()
    if not equals or name not in known:
        raise typer.BadParameter(f"write a setting as NAME=VALUE, with one of {', '.join(known)} (got {text!r}).", param_hint="--set")
    try:
        read = json.loads(value.lower() if value in ("True", "False") else "null" if value == "None" else value)
    except ValueError:
        read = value
    return name, tuple(read) if isinstance(read, list) else read


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@contextmanager
def _bar(total: int, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Graphs done, their rate and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("graphs"), MofNCompleteColumn(), BarColumn(bar_width=24), TextColumn("{task.fields[facts]}"))
    with Bar(*columns, console=Console(stderr=True), disable=quiet) as bar:
        task = bar.add_task("", total=total, facts="")

        def advance(progress: Progress) -> None:
            done = total - (progress.total - progress.graphs)
            wrong = f"  {progress.errors:,} errors" if progress.errors else ""
            bar.update(task, completed=done, facts=f"{progress.rate:,.0f}/s  {_duration(progress.seconds_left)} left{wrong}")

        yield advance
