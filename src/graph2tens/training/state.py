"""How far a training has come: what its epochs measured, the best weights so far, and whether it diverged."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch import Tensor

from .config import Training


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
