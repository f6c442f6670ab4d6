"""`G2TNClassifier`: the paper's network with the manners of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from ..datasets import AttributeScaler, CollatedGraphs, GraphDataset, Split
from ..nn import GraphTensNet
from ..training.config import FEW_GRAPHS, Training, usual_batch_size
from ..training.loop import Epoch, Opener, TrainingState, evaluate, fit
from ..training.objectives import Classification
from ..training.tasks import GraphTask, as_batch, walk_options
from .base import GraphInput
from .encoding import Encoder
from .inputs import OneGraph, as_graphs
from .targets import check_targets, known_classes, set_aside

PATIENCE = 30


class G2TNClassifier(GraphInput, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify graphs with :class:`graph2tens.nn.GraphTensNet`, trained by Adam with early stopping.

    Args:
        conv: ``"G2TN"``, or ``"G2TAN"`` with attention.
        hidden_channels: width, and number of functionals, of a layer.
        num_layers: layers.
        walk_length: steps of a layer's walk.
        degree: highest tensor degree.
        dropout: after every layer.
        network_options: further keywords of the network.
        epochs: passes over the training graphs, at most.
        batch_size: graphs of a step; ``"auto"``: 128, and below 1,000 graphs so few that an epoch has 8 steps, at least 8 graphs.
        learning_rate: of the first step; it falls to 0 along a cosine.
        l2: weight of the tensor-norm penalty.
        patience: epochs without a better validation loss after which training stops; the best weights are kept. None trains to the
            last epoch, on all graphs. ``"auto"``: 30, and None below 1,000 graphs: the loss of a tenth of them is noise, by which
            training would stop before the network has learnt anything.
        validation_fraction: share of the graphs that is set aside for early stopping if :meth:`fit` gets no validation data.
        degree_attribute, handle_unknown: as in :class:`GraphTensFeatures`.
        device: ``"cpu"``, ``"cuda"``, ``"mps"`` or ``"auto"``.
        random_state: an integer makes everything reproducible on one machine.
        verbose: 1 prints an epoch in ten, 2 every epoch.

    Attributes:
        classes_: class labels.
        network_: the trained network, on the CPU.
        history_: what every epoch measured, a list of :class:`~graph2tens.training.loop.Epoch`.
        batch_size_, patience_: what was taken.
        n_iter_: epochs made; best_epoch_: the one whose weights were kept.
    """

    def __init__(
        self,
        conv: str = "G2TN",
        *,
        hidden_channels: int = 128,
        num_layers: int = 4,
        walk_length: int = 5,
        degree: int = 2,
        dropout: float = 0.1,
        network_options: Mapping[str, Any] | None = None,
        epochs: int = 200,
        batch_size: int | str = "auto",
        learning_rate: float = 1e-3,
        l2: float = 1e-4,
        patience: int | str | None = "auto",
        validation_fraction: float = 0.1,
        degree_attribute: bool = True,
        handle_unknown: str = "ignore",
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.conv = conv
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.walk_length = walk_length
        self.degree = degree
        self.dropout = dropout
        self.network_options = network_options
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.l2 = l2
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.degree_attribute = degree_attribute
        self.handle_unknown = handle_unknown
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Train.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs`.
            y: their classes.
            X_val, y_val: graphs and classes that decide when to stop; by default some of X are set aside.
        """
        if self.conv not in ("G2TN", "G2TAN"):
            raise ValueError(f"`conv` must be 'G2TN' or 'G2TAN' (got {self.conv!r}).")
        graphs = as_graphs(X)
        self.classes_, target = np.unique(check_targets(y, len(graphs)), return_inverse=True)
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        self._settle(len(graphs), X_val is not None)
        train, validation = self._parts(target, random)
        if X_val is not None:
            held_out = as_graphs(X_val)
            target = np.concatenate([target, known_classes(check_targets(y_val, len(held_out), "y_val"), self.classes_)])
            train, validation = np.arange(len(graphs)), np.arange(len(graphs), target.size)
            graphs = [*graphs, *held_out]
        elif y_val is not None:
            raise ValueError("`y_val` must come with `X_val`, the graphs it belongs to (got None).")
        fitted = [graphs[place] for place in train]
        self.encoder_ = Encoder.fit(fitted, degree_attribute=self.degree_attribute, handle_unknown=self.handle_unknown)
        dataset = GraphDataset("the graphs", self._data(graphs, target), max(self.classes_.size, 1), len(self.encoder_.names), "graph")
        fabric = Fabric(accelerator=self.device, devices=1)
        with torch.random.fork_rng():  # neither read nor change the caller's random numbers
            torch.manual_seed(seed)
            self.network_ = self._network()
            task = GraphTask(
                dataset, Split(train, validation, validation), self._no_scaling(), self.batch_size_, self.network_, fabric.device
            )
            state = fit(fabric, self.network_, task, self._training(), seed=seed, on_epoch=self._report)
        self.network_ = self.network_.cpu().eval()
        self.history_, self.n_iter_, self.best_epoch_ = state.history, state.epoch, state.best_epoch
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, in the order of ``classes_``."""
        check_is_fitted(self, "network_")
        graphs = CollatedGraphs(self._data(as_graphs(X)), **(walk_options(self.network_) or {}))
        batches = (as_batch(batch) for batch in graphs.batches(range(len(graphs)), 2 * self.batch_size_))
        found = evaluate(Opener(self.network_), batches, Classification()).predictions.double().numpy()
        shares: NDArray[np.float64] = found / found.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each graph."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]  # type: ignore[no-any-return]

    def _network(self) -> GraphTensNet:
        return GraphTensNet(
            len(self.encoder_.names),
            self.classes_.size,
            conv=self.conv,
            hidden_channels=self.hidden_channels,
            num_layers=self.num_layers,
            dropout=self.dropout,
            walk_length=self.walk_length,
            degree=self.degree,
            **(self.network_options or {}),
        )

    def _training(self) -> Training:
        return Training(
            epochs=self.epochs, batch_size=self.batch_size_, learning_rate=self.learning_rate, l2=self.l2, patience=self.patience_
        )

    def _settle(self, count: int, validated: bool) -> None:
        """What ``"auto"`` means for so many graphs; graphs to validate by that the caller gives are used."""
        for name in ("batch_size", "patience"):
            if isinstance(getattr(self, name), str) and getattr(self, name) != "auto":
                raise ValueError(f"`{name}` must be a number or 'auto' (got {getattr(self, name)!r}).")
        self.batch_size_ = usual_batch_size(count) if isinstance(self.batch_size, str) else self.batch_size
        self.patience_ = (None if count < FEW_GRAPHS and not validated else PATIENCE) if isinstance(self.patience, str) else self.patience

    def _parts(self, target: NDArray[np.int64], random: np.random.RandomState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to train on and rows to stop by; without early stopping they are the same."""
        everything = np.arange(target.size)
        if self.patience_ is None or target.size < 2:
            return everything, everything
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"`validation_fraction` must lie in (0, 1) (got {self.validation_fraction!r}).")
        return set_aside(target, self.validation_fraction, random)

    def _data(self, graphs: list[OneGraph], target: NDArray[np.int64] | None = None) -> list[Data]:
        tables = self.encoder_.transform(graphs)
        found = []
        for place, (x, graph) in enumerate(zip(tables, graphs, strict=True)):
            data = Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(graph.edges), edge_weight=torch.from_numpy(graph.weights))
            if target is not None:
                data.y = torch.tensor([target[place]])
            found.append(data)
        return found

    def _no_scaling(self) -> AttributeScaler:
        return AttributeScaler.identity(len(self.encoder_.names))  # the encoder scales

    def _report(self, epoch: Epoch, state: TrainingState) -> None:
        if self.verbose > 1 or (self.verbose and epoch.epoch % 10 == 1):
            print(
                f"epoch {epoch.epoch}: training loss {epoch.train_loss:.4f}, validation loss {epoch.validation_loss:.4f}, "
                f"accuracy {epoch.validation_score:.4f}, {epoch.seconds:.2f} s",
                file=sys.stderr,
            )
