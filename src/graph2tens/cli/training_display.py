"""What a training shows on the terminal: what is trained, a bar over the epochs, and the result."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..datasets import GraphDataset
    from ..training.run import Outcome, Prepared
    from ..training.state import Epoch, TrainingState


def _found(data: GraphDataset) -> str:
    """What the files said about nodes and edges, and what of it is used: a missing file is easily overlooked."""
    known, unused = data.encoding, any(graph.edge_attr is not None for graph in data.graphs)
    parts = [f"{known.num_attributes} attributes"] * bool(known.num_attributes)
    parts += [f"labels with {sum(map(len, known.node_labels))} values"] * bool(known.node_labels)
    nodes = " and ".join(parts) or (
        "their degrees alone, as there is no file of node labels or attributes" if known.degrees else "attributes"
    )
    if known.edges:
        parts = [f"{known.num_edge_attributes} attributes"] * bool(known.num_edge_attributes)
        parts += [f"labels with {sum(map(len, known.edge_labels))} values"] * bool(known.edge_labels)
        return f"Nodes are described by {nodes}, edges by {' and '.join(parts)}: each edge is a node between its ends (--no-edges: is not)."
    return f"Nodes are described by {nodes}." + " Labels and attributes of edges are there, but not used." * unused


def _not_found(data: GraphDataset) -> str:
    """Optional files that are not there."""
    from ..datasets.tu import OPTIONAL

    if not Path(data.source).is_dir():
        return ""
    missing = [f"{data.name}_{kind}.txt" for kind in OPTIONAL if not (Path(data.source) / f"{data.name}_{kind}.txt").is_file()]
    return f"Not there: {', '.join(missing)}." if missing else ""


WIDE = 110  # columns of a terminal from which on a long bar and the pace fit beside the scores


class Display:
    """What will be trained, then a bar over epochs with loss, accuracies, time per epoch and time left."""

    def __init__(self, data: GraphDataset, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True, highlight=False)
        self.narrow = console.width < WIDE
        bar, facts = BarColumn(bar_width=8 if self.narrow else 24), TextColumn("{task.fields[facts]}")
        columns = (TextColumn("epoch"), MofNCompleteColumn(), bar, facts, TimeRemainingColumn())
        self.data, self.quiet = data, quiet
        self.progress = Progress(*columns, console=console, disable=quiet)
        self.last = time.monotonic()

    def __enter__(self) -> Display:
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
            if what == "graphs":
                self.progress.console.print(_found(data))
                if missing := _not_found(data):
                    self.progress.console.print(missing)
        self.task = self.progress.add_task("", total=run.training.epochs, facts="")
        self.progress.start()

    def show(self, epoch: Epoch, state: TrainingState) -> None:
        if self.progress.finished or (time.monotonic() - self.last < 0.1 and epoch.epoch < state.epoch):
            return
        gap = " " if self.narrow else "  "
        scores = (f"loss {epoch.train_loss:.3f}", f"accuracy {epoch.train_score:.1%}", f"validation {epoch.validation_score:.1%}")
        facts = gap.join(scores)
        pace = "" if self.narrow else f"  {epoch.seconds:.2f} s/epoch"
        self.progress.update(self.task, completed=epoch.epoch, facts=facts + pace)
        self.last = time.monotonic()


def _times(epochs: int, seconds: float, training: float) -> str:
    """Times that add up: what all took is what the epochs took and the rest, in which kernels are compiled and the model is judged."""
    shown = min(training, seconds)
    each = "1 epoch" if epochs == 1 else f"{epochs} epochs"
    pace = "" if epochs == 1 else f", {shown / epochs:.2f} s each"
    return f"{each} in {shown:.1f} s{pace}; with all that came before and after {seconds:.1f} s"


def show_outcome(outcome: Outcome, data: GraphDataset, folder: Path, page: Path | None) -> None:
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
    console.print(_times(record.epochs or 1, record.seconds or 0.0, sum(epoch.seconds for epoch in outcome.state.history)))
    console.print(f"model   {folder}")
    if page is not None:
        console.print(f"report  {page}")
