"""One run from its description to its record: load, split, scale, train, judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from lightning_fabric.utilities.seed import seed_everything

from ..datasets import AttributeScaler, GraphDataset, Split, fit_scaler, split
from ..nn import GraphTensNet
from .config import Run
from .loop import Epoch, Evaluation, Opener, TrainingState, evaluate, fit
from .provenance import commit, machine, peak_memory_mib, reset_peak_memory, versions
from .store import Record
from .tasks import GraphTask, NodeTask

CURVE_POINTS = 50


@dataclass(frozen=True)
class Prepared:
    """A run ready to start: data split, scaled and joined, the network with its initial weights."""

    run: Run
    network: GraphTensNet
    scaler: AttributeScaler
    split: Split
    task: GraphTask | NodeTask
    fabric: Fabric
    started: float


@dataclass(frozen=True)
class Outcome:
    """What a run leaves behind beside its trained network: how it got there and what it is worth."""

    state: TrainingState
    evaluations: dict[str, Evaluation]
    record: Record


def prepare(run: Run, dataset: GraphDataset, fabric: Fabric | None = None) -> Prepared:
    """Everything before the first step. What is wrong with run or data shows here, and nothing has been written yet."""
    fabric = fabric or Fabric(accelerator="cpu", devices=1)
    reset_peak_memory()
    started = time.perf_counter()
    parts = split(dataset, run.split or run.protocol, run.seed, run.khop)  # type: ignore[arg-type]
    scaler = fit_scaler(dataset, parts)
    seed_everything(run.seed, verbose=False)
    network = GraphTensNet(dataset.num_features, dataset.num_classes, **run.network)
    return Prepared(run, network, scaler, parts, _task(run, dataset, parts, scaler, network, fabric.device), fabric, started)


def perform(
    prepared: Prepared,
    *,
    state_path: Path | None = None,
    resume: bool = False,
    save_every: float = 10.0,
    on_epoch: Callable[[Epoch, TrainingState], None] | None = None,
) -> Outcome:
    """Do a run: train its network in place, then judge it.

    Deterministic: the seed decides split, initial weights, the order of batches and dropout. Equal numbers to the last bit need the same
    machine, libraries and number of threads. For the arguments see :func:`graph2tens.training.loop.fit`.
    """
    run, network, task, fabric = prepared.run, prepared.network, prepared.task, prepared.fabric
    state = fit(
        fabric,
        network,
        task,
        run.training,
        seed=run.seed,
        state_path=state_path,
        save_every=save_every,
        resume=resume,
        started=prepared.started,
        on_epoch=on_epoch,
    )
    judged = fabric.setup_module(Opener(network))  # evaluated in the precision it was trained in
    evaluations = {part: evaluate(judged, task.batches(part)) for part in ("train", "validation", "test")}
    seconds = state.seconds + time.perf_counter() - prepared.started
    return Outcome(state, evaluations, _record(run, state, evaluations, fabric.device, seconds))


def _task(
    run: Run, dataset: GraphDataset, parts: Split, scaler: AttributeScaler, network: GraphTensNet, device: torch.device
) -> GraphTask | NodeTask:
    """The data of a run as the loop wants it."""
    if dataset.task == "node":
        return NodeTask(dataset, parts, scaler, network, device)
    if run.training.batch_size is None:
        raise ValueError(f"`batch_size` must be given to classify graphs, as {dataset.name} wants (got None).")
    return GraphTask(dataset, parts, scaler, run.training.batch_size, network, device)


def _record(run: Run, state: TrainingState, evaluations: dict[str, Evaluation], device: torch.device, seconds: float) -> Record:
    """The line that is kept of a run."""
    epoch_seconds = [epoch.seconds for epoch in state.history]
    return {
        "table": run.table,
        "dataset": run.dataset,
        "model": run.model,
        "variant": run.variant,
        "khop": run.khop,
        "protocol": run.protocol,
        "seed": run.seed,
        "epochs_limit": run.epochs_limit,
        **{f"{part}_accuracy": result.accuracy for part, result in evaluations.items()},
        "test_auroc": auroc(evaluations["test"]),
        "epochs": state.epoch,
        "best_epoch": state.best_epoch if run.training.patience is not None else state.epoch,
        "seconds": round(seconds, 3),
        "seconds_per_epoch": round(float(np.median(epoch_seconds)), 5),
        "peak_memory_mib": round(peak_memory_mib(), 1),
        "curve": _curve(state.history),
        "options": run.options(),
        "commit": commit(),
        "versions": versions(),
        "machine": machine(device),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def auroc(result: Evaluation) -> float | None:
    """Area under the ROC curve, for several classes the mean over one against the rest; None where a class is missing."""
    from sklearn.metrics import roc_auc_score

    y, probabilities = result.y.cpu().numpy(), result.probabilities.double().cpu().numpy()
    if len(np.unique(y)) < probabilities.shape[1] or not np.isfinite(probabilities).all():
        return None
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(np.mean([roc_auc_score(y == label, probabilities[:, label]) for label in range(probabilities.shape[1])]))


def _curve(history: list[Epoch]) -> dict[str, list[Any]]:
    """At most 50 epochs, evenly spread, first and last included; a value that is not finite (a diverged run) becomes None."""
    chosen = np.unique(np.linspace(0, len(history) - 1, min(CURVE_POINTS, len(history))).round().astype(int))
    names = ("train_loss", "validation_loss", "validation_accuracy")
    curve: dict[str, list[Any]] = {"epoch": [history[place].epoch for place in chosen]}
    for name in names:
        values = [getattr(history[place], name) for place in chosen]
        curve[name] = [round(value, 5) if np.isfinite(value) else None for value in values]
    return curve
