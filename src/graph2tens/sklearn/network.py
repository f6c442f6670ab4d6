"""What `G2TNClassifier` and `G2TNRegressor` share: the paper's network, trained on graphs in whatever form they come."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch_geometric.data import Data

from ..datasets import AttributeScaler, CollatedGraphs, GraphDataset, Split
from ..nn import GraphTensNet
from ..training.config import FEW_GRAPHS, Training, usual_batch_size
from ..training.fabric import Opener
from ..training.loop import all_outputs, fit
from ..training.objectives import Objective
from ..training.state import Epoch, TrainingState
from ..training.tasks import Batch, GraphTask, as_batch, walk_options
from .base import GraphInput
from .encoding import Encoder
from .inputs import OneGraph, as_graphs
from .targets import set_aside

PATIENCE = 30


@dataclass(eq=False, repr=False)
class GraphNetwork(GraphInput, BaseEstimator):  # type: ignore[misc]
    """A :class:`graph2tens.nn.GraphTensNet` for graphs, trained by Adam with early stopping."""

    conv: str = "G2TN"
    _: KW_ONLY
    hidden_channels: int = 128
    num_layers: int = 4
    walk_length: int = 5
    degree: int = 2
    dropout: float = 0.1
    network_options: Mapping[str, Any] | None = None
    epochs: int = 200
    batch_size: int | str = "auto"
    learning_rate: float = 1e-3
    l2: float = 1e-4
    patience: int | str | None = "auto"
    validation_fraction: float = 0.1
    degree_attribute: bool = True
    handle_unknown: str = "ignore"
    device: str = "cpu"
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _train(
        self, graphs: list[OneGraph], y: Tensor, outputs: int, objective: Objective, held_out: tuple[list[OneGraph], Tensor] | None
    ) -> None:
        """Targets `y` have a row for each graph; `held_out` are graphs and targets to stop by, if the caller has any."""
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        self._settle(len(graphs), held_out is not None)
        train, validation = self._parts(y, random)
        if held_out is not None:
            train, validation = np.arange(len(graphs)), np.arange(len(graphs), len(graphs) + len(held_out[0]))
            graphs, y = [*graphs, *held_out[0]], torch.cat([y, held_out[1]])
        self.encoder_ = Encoder.fit(
            [graphs[place] for place in train], degree_attribute=self.degree_attribute, handle_unknown=self.handle_unknown
        )
        columns = len(self.encoder_.names)
        dataset, scaler = GraphDataset("the graphs", self._data(graphs), outputs, columns, "graph"), AttributeScaler.identity(columns)
        fabric = Fabric(accelerator=self.device, devices=1)
        with torch.random.fork_rng():  # neither read nor change the caller's random numbers
            torch.manual_seed(seed)
            self.network_ = self._network(outputs)
            parts = Split(train, validation, validation)
            task = _TaskWithTargets(y, dataset, parts, scaler, self.batch_size_, self.network_, fabric.device, objective)
            training = Training(
                epochs=self.epochs, batch_size=self.batch_size_, learning_rate=self.learning_rate, l2=self.l2, patience=self.patience_
            )
            state = fit(fabric, self.network_, task, training, seed=seed, on_epoch=partial(self._report, objective.metric))
        self.network_ = self.network_.cpu().eval()
        self.history_, self.n_iter_, self.best_epoch_ = state.history, state.epoch, state.best_epoch

    def _answers(self, X: Any, objective: Objective) -> NDArray[np.float64]:
        """(n, outputs) of a trained network: probabilities, or values."""
        check_is_fitted(self, "network_")
        graphs = CollatedGraphs(self._data(as_graphs(X)), **(walk_options(self.network_) or {}))
        batches = (as_batch(batch) for batch in graphs.batches(range(len(graphs)), 2 * self.batch_size_))
        outputs, _ = all_outputs(Opener(self.network_), batches)
        return objective.predictions(outputs).double().numpy()

    def _check_conv(self) -> None:
        if self.conv not in ("G2TN", "G2TAN"):
            raise ValueError(f"`conv` must be 'G2TN' or 'G2TAN' (got {self.conv!r}).")

    def _network(self, outputs: int) -> GraphTensNet:
        return GraphTensNet(
            len(self.encoder_.names),
            outputs,
            conv=self.conv,
            hidden_channels=self.hidden_channels,
            num_layers=self.num_layers,
            dropout=self.dropout,
            walk_length=self.walk_length,
            degree=self.degree,
            **(self.network_options or {}),
        )

    def _settle(self, count: int, validated: bool) -> None:
        """What ``"auto"`` means for this number of graphs; validation graphs that the caller gives are used."""
        for name in ("batch_size", "patience"):
            if isinstance(getattr(self, name), str) and getattr(self, name) != "auto":
                raise ValueError(f"`{name}` must be a number or 'auto' (got {getattr(self, name)!r}).")
        self.batch_size_ = usual_batch_size(count) if isinstance(self.batch_size, str) else self.batch_size
        self.patience_ = (None if count < FEW_GRAPHS and not validated else PATIENCE) if isinstance(self.patience, str) else self.patience

    def _parts(self, y: Tensor, random: np.random.RandomState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to train on and rows to stop by; without early stopping they are the same."""
        everything = np.arange(len(y))
        if self.patience_ is None or len(y) < 2:
            return everything, everything
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"`validation_fraction` must lie in (0, 1) (got {self.validation_fraction!r}).")
        classes = y.numpy() if y.ndim == 1 else np.zeros(len(y), dtype=np.int64)  # only classes have shares to keep
        return set_aside(classes, self.validation_fraction, random)

    def _data(self, graphs: list[OneGraph]) -> list[Data]:
        return [
            Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(graph.edges), edge_weight=torch.from_numpy(graph.weights))
            for x, graph in zip(self.encoder_.transform(graphs), graphs, strict=True)
        ]

    def _report(self, metric: str, epoch: Epoch, state: TrainingState) -> None:
        if self.verbose > 1 or (self.verbose and epoch.epoch % 10 == 1):
            print(
                f"epoch {epoch.epoch}: training loss {epoch.train_loss:.4f}, validation loss {epoch.validation_loss:.4f}, "
                f"{metric} {epoch.validation_score:.4f}, {epoch.seconds:.2f} s",
                file=sys.stderr,
            )


class _TaskWithTargets(GraphTask):
    """Graphs whose targets stand in a table of their own: a class, or several numbers, for each."""

    def __init__(self, y: Tensor, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._y = y

    def _batch(self, index: NDArray[np.int64], weight: float = 1.0) -> Batch:
        return replace(super()._batch(index, weight), y=self._y[torch.from_numpy(index)].to(self._device))
