r"""The training loop: Adam on cross-entropy plus the penalty of tensor norms, on whatever device and in as many processes as Fabric has.

Everything that decides the outcome is saved between epochs. A run on one device that is killed and resumed therefore ends with the same
bits as one that was left alone. Of several processes only the first one's generators are saved, so that dropout goes on differently.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .checkpoint import load_state, save_state
from .config import Training


@dataclass(frozen=True)
class Batch:
    """What a model is called with, and what it should have said.

    Attributes:
        inputs: positional arguments of the model.
        y: (B,) classes of the rows that count.
        rows: those rows of the model's output: the labelled nodes of a node task; None for all.
        weight: of this process' share of a batch: its size over the average share. 1 for a single process.
    """

    inputs: tuple[Any, ...]
    y: Tensor
    rows: Tensor | None = None
    weight: float = 1.0


class Task(Protocol):
    """Data as the loop needs it: shuffled batches to learn from, fixed ones to be judged by."""

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
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass
class TrainingState:
    """All that the rest of a run depends on besides the data; `seconds` is what earlier sessions of a resumed run took."""

    epoch: int = 0
    best_epoch: int = 0
    best_loss: float = float("inf")
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    history: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0

    def finished(self, training: Training) -> bool:
        """All epochs done, or none better for too long."""
        waited = self.epoch - self.best_epoch
        return self.epoch >= training.epochs or (training.patience is not None and self.epoch > 0 and waited >= training.patience)


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
    """Train `model` in place. It ends with its best weights if `training` has a patience, with its last ones otherwise.

    Args:
        fabric: devices, precision, processes.
        model: called with ``*batch.inputs``, returns a row of logits each; ``model.penalty()`` is what ``training.l2`` weighs.
        task: the batches.
        training: how.
        seed: of the order of batches. Initial weights are the caller's, and dropout draws from torch's global generator.
        state_path: where the state is saved between epochs.
        save_every: seconds from one save to the next, so that short epochs are not spent writing.
        resume: continue from the state at `state_path`.
        started: when this session began, by ``time.perf_counter()``; None for now.
        on_epoch: is told about every epoch.
    """
    session = time.perf_counter() if started is None else started
    bare = model
    optimizer: Any = torch.optim.Adam(model.parameters(), lr=training.learning_rate, eps=training.epsilon)
    model, optimizer = fabric.setup(Opener(model), optimizer)
    shuffling = torch.Generator().manual_seed(seed)
    state = TrainingState()
    if resume:
        if state_path is None:
            raise ValueError("`resume` needs `state_path`, the file to continue from (got None).")
        state = _restore(load_state(state_path), bare, optimizer, shuffling)

    def save() -> None:
        if state_path is not None and fabric.is_global_zero:
            elapsed = state.seconds + time.perf_counter() - session
            save_state(state_path, {**_snapshot(state, bare, optimizer, shuffling), "seconds": elapsed})

    if not resume:
        save()  # so that an interruption of the first epoch leaves something to continue from, too
    saved = time.monotonic()
    while not state.finished(training):
        started = time.perf_counter()
        train_loss, train_accuracy = _train_epoch(fabric, model, bare.penalty, optimizer, task, training, state.epoch, shuffling)
        validation = evaluate(model, task.batches("validation"))
        state.epoch += 1
        watched = validation.loss + (training.l2 * _penalty(bare) if training.watch_penalty else 0.0)
        if watched < state.best_loss:  # never true for NaN, so a diverged run keeps its best weights
            state.best_epoch, state.best_loss = state.epoch, watched
            state.best_weights = {name: value.detach().clone() for name, value in bare.state_dict().items()}
        seconds = time.perf_counter() - started
        epoch = Epoch(state.epoch, train_loss, train_accuracy, validation.loss, validation.accuracy, seconds)
        state.history.append(epoch)
        if time.monotonic() - saved >= save_every:
            save()
            saved = time.monotonic()
        if on_epoch is not None:
            on_epoch(epoch, state)
    save()
    if training.patience is not None and state.best_weights:
        bare.load_state_dict(state.best_weights)
    return state


def _train_epoch(
    fabric: Fabric,
    model: Any,
    penalty: Any,
    optimizer: Any,
    task: Task,
    training: Training,
    epoch: int,
    shuffling: torch.Generator,
) -> tuple[float, float]:
    """One pass over the training data; returns mean cross-entropy and accuracy of its steps."""
    model.train()
    steps = task.steps_per_epoch
    totals = torch.zeros(3, dtype=torch.float64)  # of loss, right answers, answers
    for step, batch in enumerate(task.training_batches(shuffling, fabric.global_rank, fabric.world_size)):
        for group in optimizer.param_groups:
            group["lr"] = training.rate(epoch * steps + step, training.epochs * steps)
        optimizer.zero_grad(set_to_none=True)
        logits = _logits(model, batch)
        mean = cross_entropy(logits, batch.y)
        size = batch.y.numel()
        # Fabric averages gradients over processes, so the sum over the batch is the sum here times their number.
        loss = mean * (batch.weight if training.loss == "mean" else size * fabric.world_size * (batch.weight > 0))
        fabric.backward(loss + training.l2 * penalty() if training.l2 else loss)
        optimizer.step()
        right = (logits.detach().argmax(1) == batch.y).sum()
        totals += torch.tensor([float(mean.detach()) * size, float(right), size], dtype=torch.float64)
    if fabric.world_size > 1:
        fabric.all_reduce(totals, reduce_op="sum")  # in place
    loss_sum, right_sum, count = totals.tolist()
    return loss_sum / count, right_sum / count


@dataclass(frozen=True)
class Evaluation:
    """Judgement of a model on one part of the data: mean cross-entropy, share of right answers, and the answers themselves."""

    loss: float
    accuracy: float
    probabilities: Tensor
    y: Tensor


@torch.no_grad()
def evaluate(model: nn.Module, batches: Iterable[Batch]) -> Evaluation:
    """Apply a model, an :class:`Opener` or Fabric's wrapping of one, to `batches`, dropout off."""
    model.eval()
    outputs, targets = [], []
    for batch in batches:
        outputs.append(_logits(model, batch).float())
        targets.append(batch.y)
    logits, y = torch.cat(outputs), torch.cat(targets)
    accuracy = float((logits.argmax(1) == y).double().mean())
    return Evaluation(float(cross_entropy(logits, y)), accuracy, logits.softmax(1), y)


@torch.no_grad()
def _penalty(model: Any) -> float:
    return float(model.penalty())


class Sealed:
    """An argument that Fabric passes on as it is: it would take a frozen dataclass (a walk) apart to convert what is inside, and fail."""

    def __init__(self, content: Any) -> None:
        self.content = content


class Opener(nn.Module):
    """A network that is given sealed arguments."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *arguments: Any) -> Tensor:
        logits: Tensor = self.network(*(argument.content if isinstance(argument, Sealed) else argument for argument in arguments))
        return logits


def _logits(model: Any, batch: Batch) -> Tensor:
    logits: Tensor = model(*(argument if isinstance(argument, Tensor) else Sealed(argument) for argument in batch.inputs))
    return logits if batch.rows is None else logits[batch.rows]


def _snapshot(state: TrainingState, model: nn.Module, optimizer: Any, shuffling: torch.Generator) -> dict[str, Any]:
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "shuffling": shuffling.get_state(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        **{name: getattr(state, name) for name in ("epoch", "best_epoch", "best_loss", "best_weights")},
        "history": [asdict(epoch) for epoch in state.history],
    }


def _restore(saved: dict[str, Any], model: nn.Module, optimizer: Any, shuffling: torch.Generator) -> TrainingState:
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    shuffling.set_state(saved["shuffling"])
    torch.set_rng_state(saved["random"])
    if saved["random_cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(saved["random_cuda"])
    history = [Epoch(**epoch) for epoch in saved["history"]]
    seconds = saved.get("seconds", sum(epoch.seconds for epoch in history))  # states of earlier versions do not have it
    return TrainingState(saved["epoch"], saved["best_epoch"], saved["best_loss"], saved["best_weights"], history, seconds)
