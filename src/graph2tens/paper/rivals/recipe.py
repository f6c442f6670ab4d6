"""What a rival is: a network, the settings its authors trained it with, and where its printed numbers came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn


@dataclass(frozen=True)
class Recipe:
    """How a rival's authors trained it.

    Args:
        epochs: passes over the training data, at most.
        batch_size: graphs in a batch; None on one graph.
        learning_rate: of the first step.
        optimiser: ``adam`` or ``adamw``.
        weight_decay: of the optimiser, on all parameters. Adam adds it to the gradient (an L2 term of half that weight), AdamW does not.
        l2: weight of the network's ``penalty()``, a sum of squares.
        schedule: ``constant``, ``cosine`` (to 0 over all steps) or ``halving`` (every 50 epochs).
        patience: stop after so many epochs without a better validation part; None for all epochs.
        watch: what "better" means, and which epoch's weights are kept: ``loss`` (of validation, with the penalty) or ``accuracy``; None
            to keep the last weights.
        scaling: of attributes: ``range`` as for G2TN, ``binary`` (which words occur) or ``rows`` (each row divided by its sum).
    """

    epochs: int
    learning_rate: float
    batch_size: int | None = None
    optimiser: str = "adam"
    weight_decay: float = 0.0
    l2: float = 0.0
    schedule: str = "constant"
    patience: int | None = None
    watch: str | None = "loss"
    scaling: str = "range"


@dataclass(frozen=True)
class Rival:
    """A system of the paper's tables, or a cheap further one.

    Args:
        network: called with the numbers of attributes and classes and with `options`.
        recipe: how it is trained.
        task: "graph" or "node".
        options: keywords of the network.
        printed: its name in each of the paper's tables that has it.
        source: where network and settings come from.
    """

    network: Callable[..., nn.Module]
    recipe: Recipe
    task: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    printed: Mapping[str, str] = field(default_factory=dict, hash=False)
