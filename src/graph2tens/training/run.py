"""One run from its description to its record: split, scale, train, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from lightning_fabric.utilities.seed import seed_everything
from torch import nn

from ..checks import check_fits
from ..datasets import AttributeScaler, GraphDataset, Split, fit_scaler, split
from ..nn import GraphTensNet
from .config import Run
from .fabric import Opener
from .judged import judged_on
from .loop import Evaluation, evaluate, fit
from .objectives import Classification, Objective, auroc
from .provenance import reset_peak_memory
from .records import PARTS, Record
from .state import Epoch, TrainingState
from .tasks import GraphTask, NodeTask, wants_raw_attributes

CURVE_POINTS = 50

Networks = Mapping[str, Callable[..., nn.Module]]
NETWORKS: Networks = MappingProxyType({"GraphTensNet": GraphTensNet})
"""What ``Run.builder`` names: functions of (in_channels, out_channels, **run.network) that make a network."""


@dataclass(frozen=True)
class Prepared:
    """A run ready to start: data split, scaled and joined, the network with its initial weights."""

    run: Run
    dataset: GraphDataset
    network: nn.Module
    scaler: AttributeScaler
    split: Split
    task: GraphTask | NodeTask
    fabric: Fabric
    started: float


@dataclass(frozen=True)
class Outcome:
    """What a run leaves behind: the trained network, how it got there and what it is worth."""

    network: nn.Module
    state: TrainingState
    evaluations: dict[str, Evaluation]
    record: Record


def prepare(
    run: Run,
    dataset: GraphDataset,
    parts: Split | None = None,
    *,
    networks: Networks = NETWORKS,
    objective: Objective | None = None,
    fabric: Fabric | None = None,
) -> Prepared:
    """Everything before the first step. What is wrong with run or data shows here, and nothing has been written yet.

    Args:
        parts: which graphs or nodes are for what; by default :func:`graph2tens.datasets.split` with the run's seed.
        networks: what ``run.builder`` may name.
        objective: what is learnt; by default the class of each graph, or node.
        fabric: devices, precision, processes; by default one thread of control on the CPU.
    """
    if run.builder not in networks:
        raise ValueError(f"`builder` must be one of {', '.join(networks)} (got {run.builder!r}).")
    fabric = fabric or Fabric(accelerator="cpu", devices=1)
    reset_peak_memory()
    started = time.perf_counter()
    parts = parts or split(dataset, run.seed)
    _check_memory(networks[run.builder], run, dataset)
    seed_everything(run.seed, verbose=False)
    network = networks[run.builder](dataset.num_features, dataset.num_classes, **run.network)
    scaler = AttributeScaler.identity(dataset.num_features) if wants_raw_attributes(network) else fit_scaler(dataset, parts)
    objective = objective or Classification()
    task: GraphTask | NodeTask
    if dataset.task == "node":
        task = NodeTask(dataset, parts, scaler, network, fabric.device, objective)
    elif run.training.batch_size is None:
        raise ValueError(f"`batch_size` must be given to classify graphs, as {dataset.name} wants (got None).")
    else:
        task = GraphTask(dataset, parts, scaler, run.training.batch_size, network, fabric.device, objective)
    return Prepared(run, dataset, network, scaler, parts, task, fabric, started)


def _check_memory(builder: Callable[..., nn.Module], run: Run, dataset: GraphDataset) -> None:
    """Refuse, before anything is allocated, a network that cannot fit: it is built on PyTorch's meta device, which has no memory."""
    with torch.device("meta"):
        network = builder(dataset.num_features, dataset.num_classes, **run.network)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    # Weights, gradients, the optimiser's two moments, the best weights so far. What a batch needs on top is not known beforehand.
    sizes = ", ".join(f"{name}={value}" for name, value in run.network.items() if type(value) is int)
    check_fits(5 * parameters, f"training {parameters:,} parameters ({sizes})", "Choose a smaller width or fewer layers.", itemsize=4)


def perform(
    prepared: Prepared,
    *,
    state_path: Path | None = None,
    resume: bool = False,
    save_every: float = 10.0,
    on_epoch: Callable[[Epoch, TrainingState], None] | None = None,
    curve_points: int = CURVE_POINTS,
) -> Outcome:
    """Do a run: train its network in place, then judge it. Of its curve the record keeps `curve_points` epochs at most.

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
    evaluations = {part: evaluate(judged, task.batches(part), task.objective) for part in PARTS}
    test, metric = evaluations["test"], task.objective.metric
    answers = test.predictions.argmax(1).cpu().numpy() if metric == "accuracy" else None
    record = Record.make(
        run.cell,
        run.seed,
        {part: result.score for part, result in evaluations.items()},
        device=fabric.device,
        metric=metric,
        auroc=auroc(test.predictions.double().cpu().numpy(), test.y.cpu().numpy()) if metric == "accuracy" else None,
        epochs=state.epoch,
        best_epoch=state.best_epoch if run.training.ends_with_best else state.epoch,
        epochs_limit=run.epochs_limit,
        seconds=state.seconds + time.perf_counter() - prepared.started,
        seconds_per_epoch=float(np.median([epoch.seconds for epoch in state.history])),
        curve=_curve(state.history, metric, curve_points),
        options=run.options(),
        judged=judged_on(prepared.dataset, prepared.split, answers),
    )
    return Outcome(network, state, evaluations, record)


def _curve(history: list[Epoch], metric: str, points: int) -> dict[str, list[Any]]:
    """At most `points` epochs, evenly spread, first and last included; a score that is not finite becomes None."""
    chosen = np.unique(np.linspace(0, len(history) - 1, min(points, len(history))).round().astype(int))
    names = {"train_loss": "train_loss", "validation_loss": "validation_loss", "validation_score": f"validation_{metric}"}
    curve: dict[str, list[Any]] = {"epoch": [history[place].epoch for place in chosen]}
    for name, key in names.items():
        values = [getattr(history[place], name) for place in chosen]
        curve[key] = [round(value, 5) if np.isfinite(value) else None for value in values]
    return curve
