"""`graph2tens train`: a data set in, a trained model and its accuracy out."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .interrupts import Interrupts
from .options import DataRoot, Threads, check_choice

if TYPE_CHECKING:
    from ..datasets import GraphDataset
    from ..training.loop import Epoch, TrainingState
    from ..training.run import Outcome, Prepared

DEVICES = ("auto", "cpu", "cuda", "mps")


def train(
    dataset: Annotated[
        str, typer.Argument(help="digits, long-range, NCI1, Cora, ..., or a folder with your own data in TU format (see docs/training.md).")
    ] = "digits",
    model: Annotated[
        str,
        typer.Option(
            help="G2TN: the walker takes all neighbours alike. G2TAN: it learns which to prefer. Or another system: GIN, GCN, ..."
        ),
    ] = "G2TN",
    protocol: Annotated[str, typer.Option(help="Settings as in the paper's text (paper) or in its authors' code (authors).")] = "paper",
    seed: Annotated[int, typer.Option(min=0, help="Drives split, initial weights and optimiser; the same seed gives the same model.")] = 0,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for the model; by default runs/DATASET-MODEL-PROTOCOL-SEED.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue this run where it was interrupted or killed.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run that is in the folder already; other files stay.")] = False,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the training data.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Graphs in a batch.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of Adam; falls to 0 along a cosine in graph tasks.")] = None,
    l2: Annotated[float | None, typer.Option(help="Weight of the penalty on the tensor norms of the functionals.")] = None,
    patience: Annotated[int | None, typer.Option(min=1, help="Stop after so many epochs without better validation loss.")] = None,
    width: Annotated[int | None, typer.Option(min=1, help="Functionals of each layer (and width of the network).")] = None,
    layers: Annotated[int | None, typer.Option(min=1, help="Number of layers.")] = None,
    walk_length: Annotated[int | None, typer.Option(min=0, help="Steps of the walker in each layer: how far a node looks.")] = None,
    degree: Annotated[int | None, typer.Option(min=1, help="Highest tensor degree: how many nodes of a walk interact.")] = None,
    dropout: Annotated[float | None, typer.Option(help="Share of features dropped in training.")] = None,
    khop: Annotated[int, typer.Option(min=0, help="Citation graphs: keep labelled nodes more than so many hops apart.")] = 0,
    data_root: DataRoot = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    devices: Annotated[int, typer.Option(min=1, help="Devices, one process per device, that share every batch.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true, 64-true, bf16-mixed, 16-mixed.")] = "32-true",
    threads: Threads = None,
    report: Annotated[bool, typer.Option(help="Write a page that shows the run.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record of the run as JSON.")] = False,
) -> None:
    """Train a model on a data set; without arguments on handwritten digits, which need no download.

    The folder OUT receives the best and the last weights (safetensors), model.json, which describes the model, and a report. Use the
    model with [bold]graph2tens predict OUT --data ...[/bold]. Stop with Ctrl-C whenever you like: the same command with --resume goes on
    from there and, on one device, ends with the same numbers as if it had never been stopped.

    Examples:

      graph2tens train

      graph2tens train NCI1 --model G2TAN --protocol authors --epochs 50

      graph2tens train path/to/my_graphs --walk-length 8 --seed 3
    """
    import torch

    from ..datasets import load
    from ..files import FolderInUseError
    from ..paper.authors import NETWORKS
    from ..paper.protocols import MODELS, PROTOCOLS, base_run
    from ..paper.rivals import RIVALS
    from ..paper.splits import split_of
    from ..training.config import Cell
    from ..training.provenance import cores
    from ..training.session import train as train_run

    for option, value, known in (
        ("--model", model, (*MODELS, *RIVALS)),
        ("--protocol", protocol, tuple(PROTOCOLS)),
        ("--device", device, DEVICES),
    ):
        check_choice(option, value, known)
    fabric = _fabric(device, devices, precision)
    torch.set_num_threads(threads or max(1, cores() // devices))
    data = load(dataset, data_root)
    name = dataset if data.task == "graph" and "/" in dataset else data.name
    run = base_run(Cell("train", name, model, khop=khop, protocol=protocol), seed, data.task)
    network = {"hidden_channels": width, "num_layers": layers, "walk_length": walk_length, "degree": degree, "dropout": dropout}
    if model in RIVALS:
        network = _options_of_rival(
            model, {"width": width, "layers": layers, "walk_length": walk_length, "degree": degree, "dropout": dropout}
        )
    training: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "l2": l2, "patience": patience}
    run = replace(
        run,
        network={**run.network, **{name: value for name, value in network.items() if value is not None}},
        training=replace(run.training, **{name: value for name, value in training.items() if value is not None}),
    )
    folder = out or Path("runs") / f"{data.name}-{model}-{protocol}-{seed}"
    finished = resume and (folder / "record.json").exists()
    try:
        with Interrupts() as interrupts, _Display(data, as_json or not fabric.is_global_zero) as display:

            def after_epoch(epoch: Epoch, state: TrainingState) -> None:
                interrupts.check()
                display.show(epoch, state)

            outcome = train_run(
                run,
                data,
                split_of(run, data),
                folder=folder,
                resume=resume,
                overwrite=overwrite,
                networks=NETWORKS,
                fabric=fabric,
                on_start=display.start,
                on_epoch=after_epoch,
                on_end=(lambda outcome: _write_report(folder, outcome)) if report else None,
            )
    except KeyboardInterrupt:
        if fabric.is_global_zero:
            typer.echo(f"Stopped. The model so far is in {folder}; go on with the same command and --resume.", err=True)
        raise
    except FolderInUseError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None
    if not fabric.is_global_zero:
        return
    if finished:
        typer.echo(f"The run in {folder} is finished already; this is how it ended.", err=True)
    page = folder / "report.html" if report else None
    if as_json:
        print(json.dumps({**outcome.record.to_dict(), "model_path": str(folder), "report": None if page is None else str(page)}))
    else:
        _show(outcome, data, folder, page)


def _options_of_rival(model: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that another system's network has as well; one that it has not is refused."""
    import inspect

    from ..paper.rivals import RIVALS

    known = inspect.signature(RIVALS[model].network).parameters
    for name, value in given.items():
        if value is not None and name not in known:
            raise typer.BadParameter(f"{model} has no such setting.", param_hint=f"--{name.replace('_', '-')}")
    return given


def _fabric(device: str, devices: int, precision: str) -> Any:
    from lightning_fabric import Fabric

    from ..training.provenance import cores

    try:
        fabric = Fabric(accelerator=device, devices=devices, precision=precision)  # type: ignore[arg-type]
    except Exception as error:  # Fabric has several kinds for what a machine does not have
        raise ValueError(f"--device {device} --devices {devices} --precision {precision} is not possible here: {error}") from None
    if devices > 1:
        if fabric.device.type == "cpu" and devices > cores():
            raise typer.BadParameter(f"{devices} processes on {cores()} cores would only wait for each other.", param_hint="--devices")
        fabric.launch()
    return fabric


class _Display:
    """What will be trained, then a bar over epochs with loss, accuracies, time per epoch and time left."""

    def __init__(self, data: GraphDataset, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        bar, facts = BarColumn(bar_width=24), TextColumn("{task.fields[facts]}")
        columns = (TextColumn("epoch"), MofNCompleteColumn(), bar, facts, TimeRemainingColumn())
        self.data, self.quiet = data, quiet
        self.progress = Progress(*columns, console=Console(stderr=True, highlight=False), disable=quiet)
        self.last = time.monotonic()

    def __enter__(self) -> _Display:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.progress.live.is_started:
            self.progress.stop()

    def start(self, prepared: Prepared) -> None:
        """Say what is about to be trained."""
        run, data, sizes = prepared.run, self.data, prepared.split.sizes()
        parameters = sum(parameter.numel() for parameter in prepared.network.parameters())
        what = "nodes" if data.task == "node" else "graphs"
        if not self.quiet:
            self.progress.console.print(
                f"[bold]{run.cell.model}[/bold] on [bold]{data.name}[/bold], protocol {run.cell.protocol}, seed {run.seed}: "
                f"{sizes[0]} {what} to learn from, {sizes[1]} to validate, {sizes[2]} to test; {data.num_features} attributes, "
                f"{data.num_classes} classes, {parameters:,} parameters"
            )
        self.task = self.progress.add_task("", total=run.training.epochs, facts="")
        self.progress.start()

    def show(self, epoch: Epoch, state: TrainingState) -> None:
        if self.progress.finished or (time.monotonic() - self.last < 0.1 and epoch.epoch < state.epoch):
            return
        facts = f"loss {epoch.train_loss:.3f}  accuracy {epoch.train_score:.1%}  validation {epoch.validation_score:.1%}"
        self.progress.update(self.task, completed=epoch.epoch, facts=f"{facts}  {epoch.seconds:.2f} s/epoch")
        self.last = time.monotonic()


def _write_report(folder: Path, outcome: Outcome) -> None:
    from ..paper.report.write import write_report
    from ..training.checkpoint import REPORT

    write_report([outcome.record.to_dict()], folder / REPORT)


def _show(outcome: Outcome, data: GraphDataset, folder: Path, page: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    record = outcome.record
    table = Table(title=f"{record.cell.model} on {data.name}", title_justify="left")
    for name in ("part", "size", "accuracy", "loss"):
        table.add_column(name, justify="left" if name == "part" else "right")
    for part, result in outcome.evaluations.items():
        table.add_row(part, str(result.y.numel()), f"{result.score:.2%}", f"{result.loss:.4f}")
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    if record.auroc is not None:
        console.print(f"area under the ROC curve (test) {record.auroc:.4f}")
    console.print(f"{record.epochs} epochs in {record.seconds:.1f} s, {record.seconds_per_epoch:.3f} s per epoch")
    console.print(f"model   {folder}")
    if page is not None:
        console.print(f"report  {page}")
