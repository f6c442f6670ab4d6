r"""The training loop: an optimiser on a task's loss plus the model's penalty, on whatever devices and in as many processes as Fabric has.

Everything that decides the outcome is saved between epochs, the random generators of all processes included. A run that is killed and
resumed with as many processes therefore ends with the same bits as one that was left alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from ..contents import checked
from .checkpoint import REPAIR, check_optimizer, check_weights, load_state, save_state
from .config import Training
from .objectives import Objective


@dataclass(frozen=True)
class Batch:
    """What a model is called with, and what it should have said.

    Attributes:
        inputs: positional arguments of the model.
        y: the truth, a row for each row of the output that counts.
        rows: those rows of the model's output: the labelled nodes of a node task; None for all.
        weight: of this process' share of a batch: its size over the average share. 1 for a single process.
        keywords: keyword arguments of the model.
    """

    inputs: tuple[Any, ...]
    y: Tensor
    rows: Tensor | None = None
    weight: float = 1.0
    keywords: Mapping[str, Any] = field(default_factory=dict)


class Task(Protocol):
    """Data as the loop needs it: shuffled batches to learn from, fixed ones to be judged by, and the objective."""

    @property
    def objective(self) -> Objective: ...

    @property
    def steps_per_epoch(self) -> int: ...

    def training_batches(self, generator: torch.Generator, rank: int = 0, world_size: int = 1) -> Iterable[Batch]: ...

    def batches(self, part: str) -> Iterable[Batch]:
        """The batches of ``train``, ``validation`` or ``test``, in fixed order."""
        ...


@dataclass(frozen=True)
class Epoch:
    """What one epoch measured. Training values are those of the steps as they were made (dropout on), so they lag behind."""

    epoch: int
    train_loss: float
    train_score: float
    validation_loss: float
    validation_score: float
    seconds: float


@dataclass
class TrainingState:
    """All that the rest of a run depends on besides the data; `seconds` is what earlier sessions of a resumed run took."""

    epoch: int = 0
    best_epoch: int = 0
    best: float = math.inf  # of what is watched: a loss, or a score with its sign turned so that lower is better
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    history: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0
    diverged: str = ""  # what happened, if training diverged

    def finished(self, training: Training) -> bool:
        """All epochs done, or none better for too long."""
        waited = self.epoch - self.best_epoch
        return self.epoch >= training.epochs or (training.patience is not None and self.epoch > 0 and waited >= training.patience)


class DivergedError(ValueError):
    """Training ended because loss or weights were no longer finite; `state` has the best weights before that, if there are any."""

    def __init__(self, state: TrainingState) -> None:
        kept = f"The best weights, of epoch {state.best_epoch}, are kept." if state.best_weights else "No epoch ended before that."
        super().__init__(f"{state.diverged}. {kept} Try a lower learning rate.")
        self.state = state


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
        state = _restore(state_path, bare, optimizer, shuffling, fabric)

    def save() -> None:
        """Called by all processes, since each has generators of its own; the first one writes."""
        if state_path is None:
            return
        generators = all_generators(fabric)
        if fabric.is_global_zero:
            elapsed = state.seconds + time.perf_counter() - session
            save_state(state_path, {**_snapshot(state, bare, optimizer, shuffling), **generators, "seconds": elapsed})

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
        outputs = _outputs(model, batch)
        mean, size = objective.loss(outputs, batch.y), objective.count(batch.y)
        # Fabric averages gradients over processes, so the sum over the batch is the sum here times their number.
        loss = mean * (batch.weight if training.loss == "mean" else size * fabric.world_size * (batch.weight > 0))
        fabric.backward(loss + training.l2 * _penalty(bare) if training.l2 else loss)
        optimizer.step()
        value = float(mean.detach())
        if not math.isfinite(_over_all(fabric, value)):  # all processes must leave the loop together
            raise FloatingPointError("the training loss")
        totals += torch.tensor([value * size, objective.score(outputs.detach(), batch.y) * size, size], dtype=torch.float64)
    if fabric.world_size > 1:
        fabric.all_reduce(totals, reduce_op="sum")  # in place
    loss_sum, score_sum, count = totals.tolist()
    return loss_sum / count, score_sum / count


def _over_all(fabric: Fabric, value: float) -> float:
    """The sum of all processes' values."""
    if fabric.world_size == 1:
        return value
    total = torch.tensor(value, dtype=torch.float64)
    fabric.all_reduce(total, reduce_op="sum")
    return float(total)


@dataclass(frozen=True)
class Evaluation:
    """Judgement of a model on one part of the data: mean loss, score, and what it said (probabilities, or values) beside the truth."""

    loss: float
    score: float
    predictions: Tensor
    y: Tensor


@torch.no_grad()
def evaluate(model: nn.Module, batches: Iterable[Batch], objective: Objective) -> Evaluation:
    """Apply a model, an :class:`Opener` or Fabric's wrapping of one, to `batches`, dropout off."""
    model.eval()
    found, truth = [], []
    for batch in batches:
        found.append(_outputs(model, batch).float())
        truth.append(batch.y)
    outputs, y = torch.cat(found), torch.cat(truth)
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


class Sealed:
    """An argument that Fabric passes on as it is: it would take a frozen dataclass (a walk) apart to convert what is inside, and fail."""

    def __init__(self, content: Any) -> None:
        self.content = content


class Opener(nn.Module):
    """A network that is given sealed arguments."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *arguments: Any, **keywords: Any) -> Tensor:
        opened = (argument.content if isinstance(argument, Sealed) else argument for argument in arguments)
        return self.network(*opened, **keywords)


def _outputs(model: Any, batch: Batch) -> Tensor:
    sealed = (argument if isinstance(argument, Tensor) else Sealed(argument) for argument in batch.inputs)
    outputs: Tensor = model(*sealed, **batch.keywords)
    return outputs if batch.rows is None else outputs[batch.rows]


_KEPT = ("epoch", "best_epoch", "best", "best_weights", "diverged")


def _snapshot(state: TrainingState, model: nn.Module, optimizer: Any, shuffling: torch.Generator) -> dict[str, Any]:
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "shuffling": shuffling.get_state(),
        **{name: getattr(state, name) for name in _KEPT},
        "history": [asdict(epoch) for epoch in state.history],
    }


def all_generators(fabric: Fabric) -> dict[str, list[Tensor]]:
    """States of the global generators of every process, in the order of their ranks: the CPU's, and that of the process' CUDA device."""
    on_cuda = fabric.device.type == "cuda"
    own = {"random": torch.get_rng_state(), **({"random_cuda": torch.cuda.get_rng_state(fabric.device)} if on_cuda else {})}
    found: dict[str, list[Tensor]] = {"random": [], "random_cuda": []}
    for name, state in own.items():
        # (processes, bytes); gathering goes over the device that Fabric's processes talk through
        gathered: Any = fabric.all_gather(state.to(fabric.device)) if fabric.world_size > 1 else state.unsqueeze(0)
        found[name] = [row.clone() for row in gathered.cpu()]
    return found


def _restore(path: Path, model: nn.Module, optimizer: Any, shuffling: torch.Generator, fabric: Fabric) -> TrainingState:
    """Continue from the file at `path`; everything in it is checked before anything is changed."""
    saved = load_state(path)
    unlike = f"{path} does not fit the network"
    wanted = model.state_dict()
    for weights in (saved.model, saved.best_weights):
        if weights or weights is saved.model:
            check_weights(weights, wanted, unlike)
    check_optimizer(saved.optimizer, optimizer, path)
    history = checked(list[Epoch], saved.history, path, REPAIR)
    if len(saved.random) != fabric.world_size:
        raise ValueError(
            f"a run of {len(saved.random)} processes must be resumed with as many (got {fabric.world_size}): "
            "each has its own random numbers. Give the --devices and --num-nodes of the first session."
        )
    random = saved.random[fabric.global_rank]
    for name, stored in (("shuffling", saved.shuffling), ("random", random)):
        try:
            torch.Generator().set_state(stored.clone())  # torch crashes on the state of a generator that is a view
        except (RuntimeError, TypeError):
            raise ValueError(f"{path}, field `{name}`: must be the state of a generator of random numbers. {REPAIR}") from None
    model.load_state_dict(saved.model)
    optimizer.load_state_dict(saved.optimizer)
    shuffling.set_state(saved.shuffling)
    torch.set_rng_state(random.clone())
    if saved.random_cuda and fabric.device.type == "cuda":
        torch.cuda.set_rng_state(saved.random_cuda[fabric.global_rank], fabric.device)
    return TrainingState(**{name: getattr(saved, name) for name in _KEPT}, history=history, seconds=saved.seconds)
