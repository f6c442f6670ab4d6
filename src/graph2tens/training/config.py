"""What a run is: frozen dataclasses, checked when they are made. An ablation is an edit of a base run, not a copied block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..nn import PROTOCOLS as NETWORKS

MODELS = ("G2TN", "G2TAN")
PROTOCOLS = tuple(NETWORKS)

KEY = ("table", "dataset", "model", "variant", "khop", "protocol", "seed", "epochs_limit")
"""Fields that tell recorded runs apart. `epochs_limit` is None for a full run, so a trial with ``--epochs 1`` never passes for one."""


@dataclass(frozen=True)
class Training:
    r"""How a model is fitted: Adam on :math:`\mathrm{CE} + \lambda\,\mathrm{penalty}`.

    Args:
        epochs: passes over the training data, at most.
        batch_size: graphs in a batch; None for node tasks, whose one graph is the batch.
        learning_rate: of the first step.
        schedule: ``cosine`` lets the rate fall to 0 over all steps, :math:`\eta_t = \eta_0 (1 + \cos(\pi t / T)) / 2`; or ``constant``.
        l2: :math:`\lambda`, the weight of the model's penalty (tensor norms of the functionals).
        loss: ``mean`` or ``sum`` of the cross-entropy over a batch. Under ``sum`` the same `l2` is weaker by the batch size.
        patience: stop after so many epochs without a better validation loss and go back to the best; None to use the last weights.
        watch_penalty: the watched validation loss contains the penalty.
        epsilon: of Adam; Keras has 1e-7 where PyTorch has 1e-8.
    """

    epochs: int = 200
    batch_size: int | None = 128
    learning_rate: float = 1e-3
    schedule: str = "cosine"
    l2: float = 1e-4
    loss: str = "mean"
    patience: int | None = None
    watch_penalty: bool = False
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _positive("epochs", self.epochs, int)
        if self.batch_size is not None:
            _positive("batch_size", self.batch_size, int)
        if self.patience is not None:
            _positive("patience", self.patience, int)
        _positive("learning_rate", self.learning_rate, float)
        _positive("epsilon", self.epsilon, float)
        _one_of("schedule", self.schedule, ("cosine", "constant"))
        _one_of("loss", self.loss, ("mean", "sum"))
        if not (isinstance(self.l2, (int, float)) and 0 <= self.l2 < math.inf):
            raise ValueError(f"`l2` must be a number >= 0 (got {self.l2!r}).")

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of step number `step` (from 0) out of `steps`."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * step / steps))


@dataclass(frozen=True)
class Run:
    """One training run, fully described: the same run gives the same numbers on the same machine.

    Args:
        dataset: a name that :func:`graph2tens.datasets.load` knows, or a folder in TU format.
        model: ``G2TN`` or ``G2TAN``.
        protocol: ``paper`` (as the text says) or ``authors`` (as their code does); it decides split and scaling here, and the defaults of
            `network` and `training` in the tables.
        seed: drives the split, the initial weights, the order of batches and dropout.
        khop: distance that labelled nodes keep from each other in a sanitised split; 0 for the plain split.
        variant: name of the ablation, ``base`` for none.
        table: the table the run belongs to.
        network: keywords of :class:`graph2tens.nn.GraphTensNet`.
        training: how it is fitted.
        split: the protocol whose split is taken, if it is not the run's own.
        epochs_limit: the table's number of epochs was overridden by this one; None for the full number.
    """

    dataset: str
    model: str = "G2TN"
    protocol: str = "paper"
    seed: int = 0
    khop: int = 0
    variant: str = "base"
    table: str = "train"
    network: Mapping[str, Any] = field(default_factory=dict, hash=False)
    training: Training = field(default_factory=Training)
    split: str | None = None
    epochs_limit: int | None = None

    def __post_init__(self) -> None:
        _one_of("model", self.model, MODELS)
        _one_of("protocol", self.protocol, PROTOCOLS)
        _one_of("split", self.split, (None, *PROTOCOLS))
        for name, lowest in (("seed", 0), ("khop", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
                raise ValueError(f"`{name}` must be an integer >= {lowest} (got {value!r}).")
        object.__setattr__(self, "network", dict(self.network))  # our own: a caller's later edits do not reach in

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this run apart from the others of its table."""
        return tuple(getattr(self, name) for name in KEY)

    def options(self) -> dict[str, Any]:
        """The full configuration as plain JSON."""
        options = {"network": dict(self.network), "training": asdict(self.training)}
        return options if self.split is None else {**options, "split": self.split}

    def __str__(self) -> str:
        hops = f" {self.khop}-hop" if self.khop else ""
        variant = "" if self.variant == "base" else f" {self.variant}"
        return f"{self.dataset}{hops} {self.model}{variant} seed {self.seed}"


def _positive(name: str, value: Any, kind: type) -> None:
    wanted = "a positive integer" if kind is int else "a positive number"
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)) or not 0 < value < math.inf:
        raise ValueError(f"`{name}` must be {wanted} (got {value!r}).")


def _one_of(name: str, value: Any, choices: tuple[str | None, ...]) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(str, choices))} (got {value!r}).")
