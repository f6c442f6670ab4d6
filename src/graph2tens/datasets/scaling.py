"""Scaling of attribute columns, fitted on training data and kept with the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .dataset import GraphDataset
from .splits import Split


@dataclass(frozen=True, eq=False)
class AttributeScaler:
    """``(x - shift) * scale``, column by column.

    :meth:`fit` takes columns without negative entries to [0, 1] (so that 0 stays 0 where it occurs, and indicator columns stay
    as they are) and standardises the others: what the authors' code does. A column that is constant in the training data is
    shifted to 0 and not stretched.

    Attributes:
        shift, scale: (d,) float64.
    """

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, x: Tensor) -> AttributeScaler:
        """Fit to the rows of x (n, d), those of training data."""
        values = x.detach().cpu().numpy().astype(np.float64)
        if values.ndim != 2 or not len(values):
            raise ValueError(f"`x` must have shape (nodes, attributes) with at least one node (got {tuple(x.shape)}).")
        least, most = values.min(axis=0), values.max(axis=0)
        nonnegative = least >= 0
        shift = np.where(nonnegative, least, values.mean(axis=0))
        spread = np.where(nonnegative, most - least, values.std(axis=0))
        constant = spread <= 10 * np.finfo(np.float64).eps * np.maximum(np.abs(least), np.abs(most))
        return cls(shift, 1 / np.where(constant, 1.0, spread))

    @classmethod
    def identity(cls, num_features: int) -> AttributeScaler:
        return cls(np.zeros(num_features), np.ones(num_features))

    def transform(self, x: Tensor) -> Tensor:
        """Scale x (..., d); type and device stay."""
        if x.size(-1) != self.shift.size:
            raise ValueError(f"`x` must have the {self.shift.size} columns the scaler was fitted to (got {tuple(x.shape)}).")
        shift, scale = (torch.as_tensor(v, device=x.device) for v in (self.shift, self.scale))
        return ((x.double() - shift) * scale).to(x.dtype)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; floats survive exactly."""
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist()}

    def __repr__(self) -> str:
        return f"AttributeScaler({self.shift.size} columns)"


def fit_scaler(dataset: GraphDataset, split: Split) -> AttributeScaler:
    """The scaler of a run: fitted on the training graphs, or, if the task is "node", on the one graph there is.

    A model for nodes is trained with the attributes of all nodes before it, so all are training data (only labels are held back);
    the authors fit on all nodes too.
    """
    graphs = dataset.graphs if dataset.task == "node" else dataset[split.train]
    return AttributeScaler.fit(torch.cat([graph.x for graph in graphs]))
