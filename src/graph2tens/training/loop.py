r"""The training loop: an optimiser on a task's loss plus the model's penalty, on whatever devices and in as many processes as Fabric has.

Everything that decides the outcome is saved between epochs, the random generators of all processes included. A run that is killed and
resumed with as many processes therefore ends with the same bits as one that was left alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from .checkpoint import restore, save_state, snapshot
from .config import Training
from .fabric import Opener, all_generators, outputs_of, sum_over_processes
from .objectives import Objective
from .state import DivergedError, Epoch, TrainingState
from .tasks import Batch, Task


def fit(
    fabric: Fabric,
    model: nn.Module,
    task: Task,
    training: Training,
    *,
    seed: int = 0,
    state_path: Path | None = None,
    save_every: float = 10.0,
    resume: bool = False,
    started: float | None = None,
    on_epoch: Callable[[Epoch, TrainingState], None] | None = None,
) -> TrainingState:
    """Train `model` in place. It ends with its best weights if `training` says so, with its last ones otherwise.

    Args:
        fabric: devices, precision, processes.
        model: called with ``*batch.inputs, **batch.keywords``, returns a row of outputs for each example. It may have ``penalty()``, which
            ``training.l2`` weighs, and ``parameter_groups(weight_decay)``, which the optimiser gets.
        task: the batches and the objective.
        training: how.
        seed: of the order of batches. Initial weights are the caller's, and dropout draws from torch's global generator.
        state_path: where the state is saved between epochs.
        save_every: seconds from one save to the next, so that short epochs are not spent writing.
        resume: continue from the state at `state_path`.
        started: when this session began, by ``time.perf_counter()``; None for now.
        on_epoch: is told about every epoch.

    Raises:
        DivergedError: the state is saved before that, with the best weights in the place of the last.
    """
    session = time.perf_counter() if started is None else started
    bare = model
    optimizer = make_optimizer(model, training)
    model, optimizer = fabric.setup(Opener(model), optimizer)
    shuffling = torch.Generator().manual_seed(seed)
    state = TrainingState()
    if resume:
        if state_path is None:
            raise ValueError("`resume` needs `state_path`, the file to continue from (got None).")
        state = restore(state_path, bare, optimizer, shuffling, fabric)

    def save() -> None:
        """Called by all processes, since each has generators of its own; the first one writes."""
        if state_path is None:
            return
        generators = all_generators(fabric)
        if fabric.is_global_zero:
            elapsed = state.seconds + time.perf_counter() - session
            save_state(state_path, {**snapshot(state, bare, optimizer, shuffling), **generators, "seconds": elapsed})

    if not resume:
        save()  # so that an interruption of the first epoch leaves something to continue from, too
    saved = time.monotonic()
    while not state.finished(training) and not state.diverged:
        epoch_started = time.perf_counter()
        try:
            train_loss, train_score = _train_epoch(fabric, model, bare, optimizer, task, training, state.epoch, shuffling)
            validation = evaluate(model, task.batches("validation"), task.objective)
            if not math.isfinite(validation.loss):
                raise FloatingPointError("the validation loss")
        except (FloatingPointError, ValueError) as error:
            # Layers refuse what is not finite with a ValueError about their input; before the first step that is the data's fault.
            if isinstance(error, ValueError) and ("finite" not in str(error) or not _has_stepped(optimizer)):
                raise
            what = str(error) if isinstance(error, FloatingPointError) else "what a layer was given"
            state.diverged = (
                f"training diverged at epoch {state.epoch + 1} ({what} is not finite, learning rate {training.learning_rate:.3g})"
            )
            break
        state.epoch += 1
        _keep_if_better(state, bare, _watched(bare, task, training, validation))
        seconds = time.perf_counter() - epoch_started
        epoch = Epoch(state.epoch, train_loss, train_score, validation.loss, validation.score, seconds)
        state.history.append(epoch)
        due = time.monotonic() - saved >= save_every
        if fabric.broadcast(due) if fabric.world_size > 1 else due:  # the clocks of processes differ
            save()
            saved = time.monotonic()
        if on_epoch is not None:
            on_epoch(epoch, state)
    if state.diverged and state.best_weights:
        bare.load_state_dict(state.best_weights)
    save()
    if state.diverged:
        raise DivergedError(state)
    if training.ends_with_best and state.best_weights:
        bare.load_state_dict(state.best_weights)
    return state


def make_optimizer(model: nn.Module, training: Training) -> Any:
    """Adam or AdamW over the model's parameters, or over the groups of parameters that the model itself makes."""
    groups = getattr(model, "parameter_groups", None)
    parameters = model.parameters() if groups is None else groups(training.weight_decay)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[training.optimiser]
    return kind(parameters, lr=training.learning_rate, eps=training.epsilon, weight_decay=training.weight_decay)


def _train_epoch(
    fabric: Fabric, model: Any, bare: nn.Module, optimizer: Any, task: Task, training: Training, epoch: int, shuffling: torch.Generator
) -> tuple[float, float]:
    """One pass over the training data; returns mean loss and score of its steps."""
    model.train()
    steps, objective = task.steps_per_epoch, task.objective
    totals = torch.zeros(3, dtype=torch.float64)  # of loss, score, entries
    for step, batch in enumerate(task.training_batches(shuffling, fabric.global_rank, fabric.world_size)):
        for group in optimizer.param_groups:
            group["lr"] = training.rate(epoch * steps + step, steps)
        optimizer.zero_grad(set_to_none=True)
        outputs = outputs_of(model, batch)
        mean, size = objective.loss(outputs, batch.y), objective.count(batch.y)
        # Fabric averages gradients over processes, so the sum over the batch is the sum here times their number.
        loss = mean * (batch.weight if training.loss == "mean" else size * fabric.world_size * (batch.weight > 0))
        fabric.backward(loss + training.l2 * _penalty(bare) if training.l2 else loss)
        optimizer.step()
        value = float(mean.detach())
        if not math.isfinite(sum_over_processes(fabric, value)):  # all processes must leave the loop together
            raise FloatingPointError("the training loss")
        totals += torch.tensor([value * size, objective.score(outputs.detach(), batch.y) * size, size], dtype=torch.float64)
    if fabric.world_size > 1:
        fabric.all_reduce(totals, reduce_op="sum")  # in place
    loss_sum, score_sum, count = totals.tolist()
    return loss_sum / count, score_sum / count


@dataclass(frozen=True)
class Evaluation:
    """Judgement of a model on one part of the data: mean loss, score, and what it said (probabilities, or values) beside the truth."""

    loss: float
    score: float
    predictions: Tensor
    y: Tensor


@torch.no_grad()
def all_outputs(model: nn.Module, batches: Iterable[Batch]) -> tuple[Tensor, Tensor]:
    """Outputs of a model, an :class:`Opener` or Fabric's wrapping of one, for all `batches`, dropout off; and the truth."""
    model.eval()
    found = [(outputs_of(model, batch).float(), batch.y) for batch in batches]
    return torch.cat([outputs for outputs, _ in found]), torch.cat([y for _, y in found])


def evaluate(model: nn.Module, batches: Iterable[Batch], objective: Objective) -> Evaluation:
    """Judge the :func:`all_outputs` of a model."""
    outputs, y = all_outputs(model, batches)
    return Evaluation(float(objective.loss(outputs, y)), objective.score(outputs, y), objective.predictions(outputs), y)


@torch.no_grad()
def _watched(model: nn.Module, task: Task, training: Training, validation: Evaluation) -> float:
    """What decides which epoch is the best one; lower is better."""
    if training.watch == "score":
        return -validation.score if task.objective.higher_is_better else validation.score
    return validation.loss + (float(training.l2 * _penalty(model)) if training.watch_penalty else 0.0)


def _keep_if_better(state: TrainingState, model: nn.Module, watched: float) -> None:
    if watched < state.best:
        state.best_epoch, state.best = state.epoch, watched
        state.best_weights = {name: value.detach().clone() for name, value in model.state_dict().items()}


def _penalty(model: Any) -> Tensor | float:
    return model.penalty() if hasattr(model, "penalty") else 0.0


def _has_stepped(optimizer: Any) -> bool:
    return bool(optimizer.state_dict()["state"])
