"""What a run is: frozen dataclasses, checked when they are made. A variant is an edit of a run (``dataclasses.replace``), not a copy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

OPTIMISERS = ("adam", "adamw")
SCHEDULES = ("cosine", "step", "constant")


FEW_GRAPHS = 1000  # below which batches are smaller, so that an epoch has several steps


def usual_batch_size(graphs: int) -> int:
    """128, as for the paper's data sets; with few graphs an eighth of them, at least 8: 200 epochs of two steps teach a network little."""
    return 128 if graphs >= FEW_GRAPHS else min(128, max(8, graphs // 8))


class Cell(NamedTuple):
    """What a run is, up to its seed: the cell of a table that its result is averaged into."""

    table: str
    dataset: str
    model: str
    variant: str = "base"
    khop: int = 0
    protocol: str = ""


KEY = (*Cell._fields, "seed", "epochs_limit")
"""Fields that tell recorded runs apart. `epochs_limit` is None for a full run, so a trial with ``--epochs 1`` never passes for one."""


@dataclass(frozen=True)
class Training:
    r"""How a model is fitted: Adam on the loss of the objective plus :math:`\lambda` times the model's penalty.

    Args:
        epochs: passes over the training data, at most.
        batch_size: graphs in a batch; None for node tasks, whose one graph is the batch.
        learning_rate: of the first step.
        schedule: ``cosine`` lets the rate fall to 0 over all steps, :math:`\eta_t = \eta_0 (1 + \cos(\pi t / T)) / 2`; ``step``
            multiplies it by `gamma` every `step_epochs` epochs; or ``constant``.
        l2: :math:`\lambda`, the weight of ``model.penalty()``, for models that have one.
        loss: ``mean`` or ``sum`` of the loss over a batch. Under ``sum`` the same `l2` is weaker by the batch size.
        patience: stop after this many epochs without a better validation result and go back to the best weights; None for all epochs.
        keep_best: go back to the best weights even if there is no patience; without either the last weights count.
        watch: what "better" means, a lower validation ``loss`` or a better validation ``score``.
        watch_penalty: the watched loss contains the penalty.
        optimiser: ``adam`` or ``adamw``.
        weight_decay: of the optimiser; a model with ``parameter_groups(weight_decay)`` decides which parameters decay.
        epsilon: of the optimiser; Keras has 1e-7 where PyTorch has 1e-8.
        gamma, step_epochs: of the schedule ``step``.
    """

    epochs: int = 200
    batch_size: int | None = 128
    learning_rate: float = 1e-3
    schedule: str = "cosine"
    l2: float = 1e-4
    loss: str = "mean"
    patience: int | None = None
    keep_best: bool = False
    watch: str = "loss"
    watch_penalty: bool = False
    optimiser: str = "adam"
    weight_decay: float = 0.0
    epsilon: float = 1e-8
    gamma: float = 0.5
    step_epochs: int = 50

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience", "step_epochs"):
            if getattr(self, name) is not None or name in ("epochs", "step_epochs"):
                _check_integer(name, getattr(self, name), 1)
        for name, least in (("learning_rate", None), ("epsilon", None), ("gamma", None), ("l2", 0), ("weight_decay", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf or (least is None and not value):
                raise ValueError(f"`{name}` must be a {'positive number' if least is None else 'number >= 0'} (got {value!r}).")
        choices = {"schedule": SCHEDULES, "loss": ("mean", "sum"), "watch": ("loss", "score"), "optimiser": OPTIMISERS}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"`{name}` must be one of {', '.join(known)} (got {getattr(self, name)!r}).")

    @property
    def ends_with_best(self) -> bool:
        """Whether the best weights are the result, or the last ones."""
        return self.keep_best or self.patience is not None

    def rate(self, step: int, steps_per_epoch: int) -> float:
        """The learning rate of step number `step`, counted from 0 over all epochs."""
        if self.schedule == "cosine":
            return self.learning_rate * 0.5 * (1 + math.cos(math.pi * step / (self.epochs * steps_per_epoch)))
        if self.schedule == "step":
            return self.learning_rate * self.gamma ** (step // steps_per_epoch // self.step_epochs)
        return self.learning_rate


@dataclass(frozen=True)
class Run:
    """One training run, fully described: the same run gives the same numbers on the same machine.

    Args:
        cell: what is trained on what, as the records name it.
        seed: drives the split, the initial weights, the order of batches and dropout.
        network: keywords of the network.
        builder: name of the network's class or function; see :data:`graph2tens.training.NETWORKS`.
        training: how it is fitted.
        split: the name of a way to split the data, for those who have several; None for the usual one.
        epochs_limit: the number of epochs, if it is another one than the cell's own; None for the full number.
    """

    cell: Cell
    seed: int = 0
    network: Mapping[str, Any] = field(default_factory=dict, hash=False)
    builder: str = "GraphTensNet"
    training: Training = field(default_factory=Training)
    split: str | None = None
    epochs_limit: int | None = None

    def __post_init__(self) -> None:
        _check_integer("seed", self.seed, 0)
        _check_integer("khop", self.cell.khop, 0)
        object.__setattr__(self, "network", dict(self.network))  # our own: a caller's later edits do not reach in

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this run apart from others, in the order of :data:`KEY`."""
        return (*self.cell, self.seed, self.epochs_limit)

    def options(self) -> dict[str, Any]:
        """The full configuration as plain JSON."""
        options = {"network": dict(self.network), "training": asdict(self.training)}
        return options if self.split is None else {**options, "split": self.split}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "cell": self.cell._asdict()}

    def __str__(self) -> str:
        hops = f" {self.cell.khop}-hop" if self.cell.khop else ""
        variant = "" if self.cell.variant == "base" else f" {self.cell.variant}"
        return f"{self.cell.dataset}{hops} {self.cell.model}{variant} seed {self.seed}"


def _check_integer(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"`{name}` must be an integer >= {least} (got {value!r}).")
