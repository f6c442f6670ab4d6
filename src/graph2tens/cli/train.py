"""`graph2tens train`: a data set in, a trained model and its accuracy out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .interrupts import Interrupts
from .options import DataRoot, Threads, check_choice, parse_seeds
from .training_display import Display, show_outcome

if TYPE_CHECKING:
    from ..datasets import GraphDataset, Split
    from ..training.config import Run
    from ..training.run import Outcome
    from ..training.state import Epoch, TrainingState

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
    seeds: Annotated[str | None, typer.Option(help="Several seeds, as 0-9 or 0,3,5-7: one run each, averaged and compared.")] = None,
    folds: Annotated[int | None, typer.Option(min=3, max=1000, help="Cross-validation of graphs: one run per fold.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for the model, or of several runs; by default one in runs/, named after data, model, protocol and seed.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue this run where it was interrupted or killed.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run that is in the folder already; other files stay.")] = False,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the training data.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Graphs in a batch; fewer than 128 where there are few graphs.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of Adam; falls to 0 along a cosine in graph tasks.")] = None,
    l2: Annotated[float | None, typer.Option(help="Weight of the penalty on the tensor norms of the functionals.")] = None,
    patience: Annotated[int | None, typer.Option(min=1, help="Stop after this many epochs without better validation loss.")] = None,
    width: Annotated[int | None, typer.Option(min=1, help="Functionals of each layer (and width of the network).")] = None,
    layers: Annotated[int | None, typer.Option(min=1, help="Number of layers.")] = None,
    walk_length: Annotated[int | None, typer.Option(min=0, help="Steps of the walker in each layer: how far a node looks.")] = None,
    degree: Annotated[int | None, typer.Option(min=1, help="Highest tensor degree: how many nodes of a walk interact.")] = None,
    dropout: Annotated[float | None, typer.Option(help="Share of features dropped in training.")] = None,
    edges: Annotated[
        bool | None,
        typer.Option(
            "--edges/--no-edges", show_default="if there are any", help="Read labels and attributes of edges (G2TN and G2TAN), or not."
        ),
    ] = None,
    khop: Annotated[int, typer.Option(min=0, help="Citation graphs: keep labelled nodes more than this many hops apart.")] = 0,
    data_root: DataRoot = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    devices: Annotated[int, typer.Option(min=1, help="Devices, one process per device, that share every batch.")] = 1,
    num_nodes: Annotated[int, typer.Option(min=1, help="Machines that share the work, started by torchrun or SLURM on each.")] = 1,
    precision: Annotated[str, typer.Option(help="32-true, 64-true, bf16-mixed, 16-mixed.")] = "32-true",
    threads: Threads = None,
    report: Annotated[bool, typer.Option(help="Write a page that shows the run.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record of the run as JSON.")] = False,
) -> None:
    """Train a model on a data set; without arguments on handwritten digits, which need no download.

    The folder OUT receives the best and the last weights (safetensors), model.json, which describes the model, and a report. Use the
    model with [bold]graph2tens predict OUT --data ...[/bold]. Stop with Ctrl-C whenever you like: the same command with --resume goes on
    from there and, with as many devices, ends with the same numbers as if it had never been stopped.

    Examples:

      graph2tens train

      graph2tens train NCI1 --model G2TAN --protocol authors --epochs 50

      graph2tens train path/to/my_graphs --walk-length 8 --seed 3

      graph2tens train path/to/my_graphs --folds 10
    """
    import torch

    from ..datasets import BUILT_IN, edges_as_nodes, fold_split, load
    from ..paper.protocols import DATASETS, MODELS, PROTOCOLS, base_run
    from ..paper.rivals import RIVALS
    from ..paper.splits import split_of
    from ..training.config import Cell, usual_batch_size
    from ..training.provenance import cores

    check_choice("--model", model, (*MODELS, *RIVALS))
    check_choice("--protocol", protocol, tuple(PROTOCOLS))
    check_choice("--device", device, DEVICES)
    if seeds is not None and folds is not None:
        raise typer.BadParameter("give --seeds or --folds: a fold is drawn without a seed.", param_hint="--folds")
    fabric = _fabric(device, devices, num_nodes, precision)
    torch.set_num_threads(threads or max(1, cores() // devices))
    data = load(dataset, data_root)
    plain = data
    if _wants_edges(edges, model, data):
        data = edges_as_nodes(data)
    name = dataset if data.task == "graph" and "/" in dataset else data.name
    run = base_run(Cell("train", name, model, khop=khop, protocol=protocol), seed, data.task)
    network = {"width": width, "layers": layers, "walk_length": walk_length, "degree": degree, "dropout": dropout}
    if model in RIVALS:
        _check_options_of_rival(model, network)
    else:  # ours have longer names for two of them
        network |= {"hidden_channels": network.pop("width"), "num_layers": network.pop("layers")}
    if batch_size is None and model in MODELS and data.task == "graph" and data.name not in (*DATASETS, *BUILT_IN):
        batch_size = usual_batch_size(len(data.graphs))
    training: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "l2": l2, "patience": patience}
    run = replace(
        run,
        network={**run.network, **{name: value for name, value in network.items() if value is not None}},
        training=replace(run.training, **{name: value for name, value in training.items() if value is not None}),
    )
    if folds is not None:
        run = replace(run, cell=run.cell._replace(table=f"{folds} folds"))
    if edges is False and _wants_edges(None, model, plain):  # not to be averaged with runs that read them
        run = replace(run, cell=run.cell._replace(variant="no edges"))
    numbers = list(range(folds)) if folds is not None else [seed] if seeds is None else parse_seeds(seeds)
    home = out or Path("runs") / (f"{data.name}-{model}-{protocol}" + (f"-{seed}" if seeds is None and folds is None else ""))
    several = seeds is not None or folds is not None
    records = []
    for number in numbers:
        one = replace(run, seed=number)
        parts = split_of(one, data) if folds is None else fold_split(data, number, folds)
        folder = home / f"{'seed' if folds is None else 'fold'}-{number}" if several else home
        outcome = _train_one(one, data, parts, folder, fabric, resume=resume, overwrite=overwrite, report=report, quiet=as_json)
        if not fabric.is_global_zero:
            continue
        records.append(outcome.record.to_dict())
        page = folder / "report.html" if report else None
        if as_json:
            print(json.dumps({**records[-1], "model_path": str(folder), "report": None if page is None else str(page)}), flush=True)
        elif not several:
            show_outcome(outcome, data, folder, page)
    if several and fabric.is_global_zero:
        _show_several(records, home, report, as_json)


def _wants_edges(edges: bool | None, model: str, data: GraphDataset) -> bool:
    """Whether edges get nodes of their own, by default if the data says something about them and the model is ours."""
    from ..datasets import has_edge_attributes
    from ..paper.protocols import MODELS

    if edges and model not in MODELS:
        raise typer.BadParameter(f"{model} is trained as its authors did, without labels of edges.", param_hint="--edges")
    if edges and not has_edge_attributes(data):
        raise typer.BadParameter(f"{data.name} says nothing about its edges.", param_hint="--edges")
    return has_edge_attributes(data) and model in MODELS if edges is None else edges


def _train_one(
    run: Run, data: GraphDataset, parts: Split, folder: Path, fabric: Any, *, resume: bool, overwrite: bool, report: bool, quiet: bool
) -> Outcome:
    from ..files import FolderInUseError
    from ..paper.authors import NETWORKS
    from ..report.own.write import write_own_report
    from ..training.checkpoint import RECORD, REPORT, STATE
    from ..training.session import train as train_run

    finished = resume and (folder / RECORD).exists()

    def write_page(outcome: Outcome) -> None:
        write_own_report([outcome.record.to_dict()], folder / REPORT)

    try:
        with Interrupts() as interrupts, Display(data, quiet or not fabric.is_global_zero) as display:

            def after_epoch(epoch: Epoch, state: TrainingState) -> None:
                interrupts.check()
                display.show(epoch, state)

            outcome = train_run(
                run,
                data,
                parts,
                folder=folder,
                resume=resume and (folder / STATE).exists() if folder.name.startswith(("seed-", "fold-")) else resume,
                overwrite=overwrite,
                networks=NETWORKS,
                fabric=fabric,
                on_start=display.start,
                on_epoch=after_epoch,
                on_end=write_page if report else None,
            )
    except KeyboardInterrupt:
        if fabric.is_global_zero:
            typer.echo(f"Stopped. The model so far is in {folder}; go on with the same command and --resume.", err=True)
        raise
    except FolderInUseError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from None
    if finished and fabric.is_global_zero:
        typer.echo(f"The run in {folder} is finished already; this is how it ended.", err=True)
    return outcome


def _show_several(records: list[dict[str, Any]], home: Path, report: bool, as_json: bool) -> None:
    """What several runs came to, and a page about all of them."""
    from ..report.own.data import collect_own
    from ..report.own.write import write_own_report
    from .summary import show_study

    page = write_own_report(records, home / "report.html") if report else None
    if not as_json:
        show_study(collect_own(records))
        typer.echo(f"models  {home}")
        if page is not None:
            typer.echo(f"report  {page}")


def _check_options_of_rival(model: str, given: dict[str, Any]) -> None:
    """Refuse an option that another system's network does not have."""
    import inspect

    from ..paper.rivals import RIVALS

    known = inspect.signature(RIVALS[model].network).parameters
    for name, value in given.items():
        if value is not None and name not in known:
            raise typer.BadParameter(f"{model} has no such setting.", param_hint=f"--{name.replace('_', '-')}")


def _fabric(device: str, devices: int, num_nodes: int, precision: str) -> Any:
    from lightning_fabric import Fabric

    from ..training.provenance import cores

    try:
        fabric = Fabric(accelerator=device, devices=devices, num_nodes=num_nodes, precision=precision)  # type: ignore[arg-type]
    except Exception as error:  # Fabric has several kinds for what a machine does not have
        raise ValueError(
            f"--device {device} --devices {devices} --num-nodes {num_nodes} --precision {precision} is not possible here: {error}"
        ) from None
    if devices * num_nodes > 1:
        if fabric.device.type == "cpu" and devices > cores():
            raise typer.BadParameter(f"{devices} processes on {cores()} cores would only wait for each other.", param_hint="--devices")
        fabric.launch()
    return fabric
