"""`G2TNClassifier` and `G2TNRegressor`: the paper's network with scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from ..training.objectives import Classification, Regression, SeveralLabels
from .inputs import OneGraph, as_graphs
from .network import GraphNetwork
from .targets import check_labels, check_numbers, check_targets, has_labels, known_classes, r2, share_right, warn_of_rare

Matrix = NDArray[np.float64]


class G2TNClassifier(ClassifierMixin, GraphNetwork):  # type: ignore[misc]
    """Classify graphs with :class:`graph2tens.nn.GraphTensNet`, trained by Adam with early stopping.

    One class per graph, or several labels per graph, some of them unknown.

    Args:
        conv: ``"G2TN"``, or ``"G2TAN"`` with attention.
        hidden_channels: width, and number of functionals, of a layer.
        num_layers: layers.
        walk_length: steps of a layer's walk.
        degree: highest tensor degree.
        dropout: after every layer.
        network_options: further keywords of the network.
        epochs: passes over the training graphs, at most.
        batch_size: graphs of a step; ``"auto"``: 128; below 1,000 graphs an eighth of them, at least 8, so that an epoch has 8 steps.
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
        classes_: class labels; for several labels a list with [0, 1] for each.
        network_: the trained network, on the CPU.
        history_: what every epoch measured, a list of :class:`~graph2tens.training.state.Epoch`.
        batch_size_, patience_: what was taken.
        n_iter_: epochs made; best_epoch_: the one whose weights were kept.
    """

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Train.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs`.
            y: (n,) classes, or (n, labels) of 1, 0, and NaN where unknown.
            X_val, y_val: graphs and answers that decide when to stop; by default some of X are set aside.
        """
        self._check_conv()
        graphs, held_out = as_graphs(X), _held_out(X_val, y_val)
        if has_labels(y):
            labels = check_labels(y, len(graphs))
            warn_of_rare(labels)
            width = labels.shape[1]
            self.classes_: Any = [np.array([0, 1])] * width
            held = None
            if held_out is not None:
                aim = check_labels(y_val, len(held_out[0]), "y_val", least=0)
                _check_width(aim, width, "labels")
                held = _known(held_out[0], aim)
            self._train(*_known(graphs, labels), width, SeveralLabels(), held)
            return self
        answers = check_targets(y, len(graphs))
        warn_of_rare(answers)
        self.classes_, target = np.unique(answers, return_inverse=True)
        validation = None
        if held_out is not None:
            known = known_classes(check_targets(y_val, len(held_out[0]), "y_val"), self.classes_)
            validation = held_out[0], torch.from_numpy(known)
        self._train(graphs, torch.from_numpy(target), max(self.classes_.size, 1), Classification(), validation)
        return self

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each class, in the order of ``classes_``; for several labels (n, labels), the probability of 1."""
        if self._several():
            return self._answers(X, SeveralLabels())
        found = self._answers(X, Classification())
        return found / found.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each graph, or (n, labels) of 0 and 1."""
        shares = self.predict_proba(X)
        if self._several():
            return (shares > 0.5).astype(np.int64)
        return self.classes_[shares.argmax(axis=1)]

    def decision_function(self, X: Any) -> Matrix:
        """The logarithm of the odds: (n,) for two classes, positive for the second; (n, classes) for more; (n, labels) for labels."""
        shares = np.clip(self.predict_proba(X), 1e-12, 1 - 1e-12)
        odds: Matrix = np.log(shares / (1 - shares))
        return odds[:, 1] if not self._several() and odds.shape[1] == 2 else odds

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right answers, of several labels among the known ones."""
        return share_right(y, self.predict(X), sample_weight)

    def _several(self) -> bool:
        return isinstance(getattr(self, "classes_", None), list)


class G2TNRegressor(RegressorMixin, GraphNetwork):  # type: ignore[misc]
    """Predict numbers for graphs with :class:`graph2tens.nn.GraphTensNet`, one or several for each, some of them unknown.

    Targets are scaled to mean 0 and variance 1, and the mean absolute error of the known ones is minimised by Adam with early stopping. The
    arguments are those of :class:`G2TNClassifier`. Where error bars are wanted, take :class:`GraphTensRegressor`.

    Attributes:
        network_: the trained network, on the CPU.
        shift_, spread_: (targets,) mean and standard deviation of the training targets.
        history_: what every epoch measured, a list of :class:`~graph2tens.training.state.Epoch`, in units of `spread_`.
        n_iter_: epochs made; best_epoch_: the one whose weights were kept.
    """

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Train.

        Args:
            X: list of graphs; see :mod:`graph2tens.sklearn.inputs`.
            y: (n,) or (n, targets) numbers, NaN where unknown.
            X_val, y_val: graphs and targets that decide when to stop; by default some of X are set aside.
        """
        self._check_conv()
        graphs, held_out = as_graphs(X), _held_out(X_val, y_val)
        numbers, self.single_ = check_numbers(y, len(graphs))
        self.shift_, spread = np.nanmean(numbers, axis=0), np.nanstd(numbers, axis=0)
        self.spread_ = np.where(spread > 0, spread, 1.0)
        validation = None
        if held_out is not None:
            aim, _ = check_numbers(y_val, len(held_out[0]), "y_val", least=0)
            _check_width(aim, numbers.shape[1], "targets")
            validation = _known(held_out[0], (aim - self.shift_) / self.spread_)
        self._train(*_known(graphs, (numbers - self.shift_) / self.spread_), numbers.shape[1], Regression(), validation)
        return self

    def predict(self, X: Any) -> Matrix:
        """Predictions (n,) or (n, targets)."""
        values: Matrix = self._answers(X, Regression()) * self.spread_ + self.shift_
        return values[:, 0] if self.single_ else values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of the known targets, the mean over the targets."""
        return r2(y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _held_out(X_val: Any, y_val: Any) -> tuple[list[OneGraph], Any] | None:
    if X_val is None:
        if y_val is not None:
            raise ValueError("`y_val` must come with `X_val`, the graphs it belongs to (got None).")
        return None
    return as_graphs(X_val), y_val


def _known(graphs: list[OneGraph], table: Matrix) -> tuple[list[OneGraph], torch.Tensor]:
    """The graphs of which something is known: a batch of others would have no loss."""
    some = np.flatnonzero(~np.isnan(table).all(axis=1))
    if not some.size:
        raise ValueError("`y_val` must hold at least one known answer (got NaN alone).")
    return [graphs[place] for place in some], torch.from_numpy(table[some]).float()


def _check_width(table: Matrix, width: int, what: str) -> None:
    if table.shape[1] != width:
        raise ValueError(f"`y_val` must have {width} {what}, as `y` has (got {table.shape[1]}).")
