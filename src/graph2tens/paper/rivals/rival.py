"""What a rival is: a network, the settings its authors trained it with, and where both come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from ...training.config import Training


@dataclass(frozen=True)
class Rival:
    """A system of the paper's tables, or a cheap further one.

    Args:
        network: called with the numbers of attributes and classes and with `options`.
        training: as its authors trained it.
        task: "graph" or "node".
        source: where network and settings come from.
        options: keywords of the network.
        printed: its name in each of the paper's tables that has it.
    """

    network: Callable[..., nn.Module]
    training: Training
    task: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    printed: Mapping[str, str] = field(default_factory=dict, hash=False)
