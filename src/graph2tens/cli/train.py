"""`graph2tens train`: a data set in, a trained model and its accuracy out."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .interrupts import Interrupts

if TYPE_CHECKING:
    from ..datasets import GraphDataset
    from ..training.config import Run
    from ..training.loop import Epoch, TrainingState
    from ..training.run import Outcome


def train(
    dataset: Annotated[
        str, typer.Argument(help="digits, long-range, NCI1, Cora, ..., or a folder with your own data in TU format (see docs/training.md).")
    ] = "digits",
    model: Annotated[str, typer.Option(help="G2TN: the walker takes all neighbours alike. G2TAN: it learns which to prefer.")] = "G2TN",
    protocol: Annotated[str, typer.Option(help="Settings as in the paper's text (paper) or in its authors' code (authors).")] = "paper",
    seed: Annotated[int, typer.Option(min=0, help="Drives split, initial weights and optimiser; the same seed gives the same model.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for the model; by default runs/DATASET-MODEL-PROTOCOL-SEED.")] = None,
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
    data_root: Annotated[Path | None, typer.Option(help="Folder with data sets; see `graph2tens info`.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    devices: Annotated[int, typer.Option(min=1, help="Devices, a process each, that share every batch.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true, 64-true, bf16-mixed, 16-mixed.")] = "32-true",
    threads: Annotated[int | None, typer.Option(min=1, help="Threads on the CPU; by default all cores.")] = None,
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
    from ..datasets import load
    from ..paper.reproduce import use_threads
    from ..paper.tables import base_run
    from ..training.config import MODELS, PROTOCOLS
    from ..training.provenance import cores

    for name, value, known in (("--model", model, MODELS), ("--protocol", protocol, PROTOCOLS), ("--device", device, DEVICES)):
        if value not in known:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(known)}.", param_hint=name)
    fabric = _fabric(device, devices, precision)
    use_threads(threads or max(1, cores() // devices))
    data = load(dataset, data_root)
    run = base_run(dataset if data.task == "graph" and "/" in dataset else data.name, model, protocol, seed, data.task, khop=khop)
    network = {"hidden_channels": width, "num_layers": layers, "walk_length": walk_length, "degree": degree, "dropout": dropout}
    training: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "l2": l2, "patience": patience}
    run = replace(
        run,
        network={**run.network, **{name: value for name, value in network.items() if value is not None}},
        training=replace(run.training, **{name: value for name, value in training.items() if value is not None}),
    )
    folder = out or Path("runs") / f"{data.name}-{model}-{protocol}-{seed}"
    outcome = _train(run, data, folder, fabric, resume, overwrite, quiet=as_json)
    if not fabric.is_global_zero:
        return
    page = _report(folder, outcome) if report else None
    if as_json:
        print(json.dumps({**outcome.record, "model_path": str(folder), "report": None if page is None else str(page)}))
    else:
        _show(outcome, data, folder, page)


DEVICES = ("auto", "cpu", "cuda", "mps")


def _fabric(device: str, devices: int, precision: str) -> Any:
    from lightning_fabric import Fabric

    try:
        fabric = Fabric(accelerator=device, devices=devices, precision=precision)  # type: ignore[arg-type]
    except Exception as error:  # Fabric has several kinds for what a machine does not have
        raise ValueError(f"--device {device} --devices {devices} --precision {precision} is not possible here: {error}") from None
    if devices > 1:
        fabric.launch()
    return fabric


def _train(run: Run, data: GraphDataset, folder: Path, fabric: Any, resume: bool, overwrite: bool, quiet: bool) -> Outcome:
    from ..training.checkpoint import RECORD, STATE, remove_run
    from ..training.run import perform, prepare
    from ..training.saved import export, same_run, save_model_description

    if resume:
        same_run(folder, run, data)
    elif (folder / STATE).exists() and not overwrite:
        raise ValueError(f"{folder} holds a run already. Continue it with --resume, replace it with --overwrite, or choose another --out.")
    prepared = prepare(run, data, fabric)
    if fabric.is_global_zero:
        if not resume:
            if overwrite and (folder / STATE).exists():
                remove_run(folder)
            save_model_description(folder, prepared, data)
        if not quiet:
            _introduce(prepared, data)
    try:
        with Interrupts() as interrupts, _Display(run, quiet or not fabric.is_global_zero) as display:

            def after_epoch(epoch: Epoch, state: TrainingState) -> None:
                interrupts.check()
                display.show(epoch, state)

            outcome = perform(prepared, state_path=folder / STATE, resume=resume, on_epoch=after_epoch)
    except KeyboardInterrupt:
        if fabric.is_global_zero:
            export(folder)
            typer.echo(f"Stopped. The model so far is in {folder}; go on with the same command and --resume.", err=True)
        raise
    if fabric.is_global_zero and not (resume and (folder / RECORD).exists()):
        export(folder)
        (folder / RECORD).write_text(json.dumps(outcome.record, indent=1) + "\n")
    elif fabric.is_global_zero:  # it had been finished: when, by which code and how fast stays as it was written down then
        typer.echo(f"The run in {folder} is finished already; this is how it ended.", err=True)
        outcome = replace(outcome, record=json.loads((folder / RECORD).read_text()))
    return outcome


def _introduce(prepared: Any, data: GraphDataset) -> None:
    from rich.console import Console

    parameters = sum(parameter.numel() for parameter in prepared.network.parameters())
    sizes = prepared.split.sizes()
    what = "nodes" if data.task == "node" else "graphs"
    run = prepared.run
    Console(stderr=True, highlight=False).print(
        f"[bold]{run.model}[/bold] on [bold]{data.name}[/bold], protocol {run.protocol}, seed {run.seed}: {sizes[0]} {what} to learn from, "
        f"{sizes[1]} to validate, {sizes[2]} to test; {data.num_features} attributes, {data.num_classes} classes, {parameters:,} parameters"
    )


class _Display:
    """A bar over epochs with loss, accuracies, time of an epoch and time left."""

    def __init__(self, run: Run, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("epoch"),
            MofNCompleteColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=Console(stderr=True), disable=quiet)
        self.task = self.progress.add_task("", total=run.training.epochs, facts="")
        self.last = time.monotonic()

    def __enter__(self) -> _Display:
        self.progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.progress.stop()

    def show(self, epoch: Epoch, state: TrainingState) -> None:
        if self.progress.finished or (time.monotonic() - self.last < 0.1 and epoch.epoch < state.epoch):
            return
        facts = f"loss {epoch.train_loss:.3f}  accuracy {epoch.train_accuracy:.1%}  validation {epoch.validation_accuracy:.1%}"
        self.progress.update(self.task, completed=epoch.epoch, facts=f"{facts}  {epoch.seconds:.2f} s/epoch")
        self.last = time.monotonic()


def _report(folder: Path, outcome: Outcome) -> Path:
    from ..paper.report.page import write_report
    from ..training.checkpoint import REPORT

    return write_report([outcome.record], folder / REPORT)


def _show(outcome: Outcome, data: GraphDataset, folder: Path, page: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    record = outcome.record
    table = Table(title=f"{record['model']} on {data.name}", title_justify="left")
    for name in ("part", "size", "accuracy", "loss"):
        table.add_column(name, justify="left" if name == "part" else "right")
    for part, result in outcome.evaluations.items():
        table.add_row(part, str(result.y.numel()), f"{result.accuracy:.2%}", f"{result.loss:.4f}")
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    if record["test_auroc"] is not None:
        console.print(f"area under the ROC curve (test) {record['test_auroc']:.4f}")
    console.print(f"{record['epochs']} epochs in {record['seconds']:.1f} s, {record['seconds_per_epoch']:.3f} s each")
    console.print(f"model   {folder}")
    if page is not None:
        console.print(f"report  {page}")
