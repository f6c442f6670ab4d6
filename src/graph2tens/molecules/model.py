"""`MoleculeModel`: fitted to measured molecules, it predicts others, with error bars or probabilities and a flag for the unfamiliar."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from sklearn.base import clone
from torch_geometric.data import Data

from ..sklearn import GraphTensFeatures, GraphTensRegressor
from ..sklearn.base import EXACT
from ..sklearn.inputs import as_graphs
from ..sklearn.with_features import own_features
from . import storage
from .attributes import ATOM_COLUMNS, BOND_COLUMNS, from_molecule
from .classes import MoleculeClassifier
from .data import Measured
from .estimate import MANY, Row, auroc_of_folds, coverage, folds, forest, parts, rmse
from .novelty import Familiarity
from .two_views import fit_views

Matrix = NDArray[np.float64]
# of a classifier of many molecules, by the validation parts of HIV and Tox21: see docs/molecules.md
LANDMARKS, WIDTH, SHARE = 1000, 1.0, 0.5  # the last is that of pieces; few molecules do better without


def molecule_features(**changes: Any) -> GraphTensFeatures:
    """The features that did best on validation parts of several sets of molecules; see docs/molecules.md for what was tried."""
    chosen: dict[str, Any] = {"n_layers": 6, "n_functionals": 128, "n_waves": 512, "edges": "nodes", "pooling": "sqrt", "layer_decay": 0.7}
    return GraphTensFeatures(**{**chosen, **changes})


@dataclass(frozen=True, eq=False)
class Predictions:
    """For n molecules and T targets (for the classes of a single target: T classes).

    Attributes:
        values: (n, T) predicted numbers, or probabilities: of the second class of each target, or of each class of a single one.
        deviations: (n, T) standard deviations of a measurement; None for classification.
        similarity: (n,) Tanimoto similarity to the most similar training molecule, whose SMILES is in `nearest`.
        unlike: (n,) True where that is less than training molecules are similar to each other.
    """

    values: Matrix
    deviations: Matrix | None
    similarity: Matrix
    nearest: list[str]
    unlike: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MoleculeModel:
    """A fitted model.

    Attributes:
        estimator: the regressor or classifier, fitted.
        familiarity: fingerprints of the training molecules.
        task, targets, classes: as in :class:`~graph2tens.molecules.data.Measured`.
        salts: how molecules of several fragments are read.
        notes: what people may want to know: the estimate, counts, versions.
        table: features of the molecules it was fitted to, which the estimate needs again; not saved, None if unknown.
    """

    estimator: Any
    familiarity: Familiarity
    task: str
    targets: list[str]
    classes: list[list[str]]
    salts: str = "keep"
    notes: dict[str, Any] = field(default_factory=dict)
    table: NDArray[np.float32] | None = None

    @classmethod
    def fit(
        cls,
        data: Measured,
        *,
        features: GraphTensFeatures | None = None,
        walks_alone: bool = False,
        salts: str = "keep",
        n_jobs: int | None = None,
        seed: int = 0,
    ) -> MoleculeModel:
        """Fit to all molecules of `data`; `walks_alone` leaves out shared surroundings, which a regression may use too."""
        made = molecule_features() if features is None else features
        y = encoded(data)
        estimator: Any
        table = None
        if data.task == "classification":
            estimator = classifier(made, data, y, n_jobs, seed)
        else:
            estimator = GraphTensRegressor(made, n_jobs=n_jobs, random_state=seed)
            if len(y) <= EXACT:
                own = own_features(estimator)
                estimator.features_, estimator.head_, table = fit_views(own, as_graphs(data.graphs), y, seed, walks_alone)
            else:
                estimator.fit(data.graphs, y)
        return cls(estimator, Familiarity.fit(data.smiles, seed), data.task, data.targets, data.classes, salts, table=table)

    def predict(self, graphs: Sequence[Data], smiles: Sequence[str], n_jobs: int | None = None) -> Predictions:
        """Predictions for graphs of :func:`~graph2tens.molecules.parse` and their canonical SMILES; `n_jobs` threads, same bits."""
        self.estimator.features_.set_params(n_jobs=n_jobs)
        with np.errstate(invalid="ignore"):  # raised below
            values, deviations = answer(self.estimator, list(graphs))
        if not (np.isfinite(values).all() and (deviations is None or np.isfinite(deviations).all())):
            raise ValueError("the model gives no finite numbers: it is damaged. Fit it again, or get an unchanged copy.")
        similarity, nearest = self.familiarity.nearest(smiles)
        return Predictions(values, deviations, similarity, nearest, similarity < self.familiarity.least)

    @property
    def target_names(self) -> list[str]:
        """What the columns of predictions are: the targets, or the classes of a single one."""
        if self.task == "classification" and len(self.targets) == 1:
            return [f"{self.targets[0]}={name}" for name in self.classes[0]]
        return self.targets

    def target(self, name: str | None) -> int:
        """The number of a target by its name, which may be left out if there is one alone."""
        names = self.target_names
        if name is None and len(names) == 1:
            return 0
        if name is None and len(self.targets) == 1 and len(names) == 2:  # of two classes the shares of one are those of the other
            return 1
        if name not in names:
            raise ValueError(f"--target must be one of {', '.join(map(repr, names))} (got {name!r}).")
        return names.index(name)

    def save(self, folder: Path, estimate: str | None = None) -> None:
        """Write ``model.json`` and ``model.safetensors``, and the table ``estimate.csv`` if it is given."""
        known = {"task": self.task, "targets": self.targets, "classes": self.classes, "salts": self.salts, "notes": self.notes}
        columns = {"atom_columns": list(ATOM_COLUMNS), "bond_columns": list(BOND_COLUMNS)}
        storage.save(folder, {**known, **columns}, {"estimator": self.estimator, "familiarity": self.familiarity}, estimate)

    @classmethod
    def load(cls, folder: Path) -> MoleculeModel:
        """Read a model, and check that this version describes molecules as the one that fitted it."""
        text, state = storage.load(folder)
        if text.get("atom_columns") != list(ATOM_COLUMNS) or text.get("bond_columns") != list(BOND_COLUMNS):
            raise ValueError(f"{folder} was fitted by a version of graph2tens that describes atoms by other columns. Fit it again.")
        names = ("task", "targets", "classes", "salts", "notes")
        missing = [name for name in names if name not in text] + [name for name in ("estimator", "familiarity") if name not in state]
        if missing:
            raise ValueError(f"{folder} is not a complete model: {missing[0]!r} is missing.")
        made = cls(state["estimator"], state["familiarity"], **{name: text[name] for name in names})
        try:
            made.predict([from_molecule(Chem.MolFromSmiles("CO"))], ["CO"])
        except Exception as error:  # whatever a forged file makes fail, it is the file's fault: nothing was asked of it yet
            raise ValueError(f"{folder} is damaged: it cannot predict. Fit it again, or get an unchanged copy.") from error
        return made


def classifier(features: GraphTensFeatures, data: Measured, y: Matrix, n_jobs: int | None, seed: int) -> MoleculeClassifier:
    """Fitted; beyond some thousand molecules with landmarks, pieces, and weights for rare classes."""
    estimator = MoleculeClassifier(features, share=0.0, n_jobs=n_jobs, random_state=seed)
    if len(y) > EXACT:
        estimator.set_params(landmarks=LANDMARKS, gamma=WIDTH, rare=True, share=SHARE)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "label .* is known of fewer than two graphs")  # `measured` has named them
        return estimator.fit(data.graphs, y)


def encoded(data: Measured) -> Matrix:
    """Targets as the estimators take them: the class of a single target becomes a label of 0 and 1 for each class."""
    if data.task == "classification" and len(data.targets) == 1:
        return np.asarray(data.y[:, :1] == np.arange(len(data.classes[0])), dtype=np.float64)
    return data.y


def answer(estimator: Any, X: Any) -> tuple[Matrix, Matrix | None]:
    """What an estimator of graphs, or its head for a table, says: numbers and deviations, or probabilities and None."""
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X)), None
    values, deviations = estimator.predict(X, return_std=True)
    return np.asarray(values), np.asarray(deviations)


def cross_validate(
    model: MoleculeModel,
    data: Measured,
    *,
    split: str = "random",
    baselines: bool = True,
    n_jobs: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[list[Row], Matrix, Matrix | None]:
    """Scores on molecules not learnt from, and the predictions they rest on: NaN for molecules of folds that were not predicted.

    `data` is what the model was fitted to.

    The features, which no target has a part in, are those of the model; the head learns anew for every fold, its choices included. With
    more than 6,000 molecules, one fold of five is predicted.
    """
    y, fold = encoded(data), folds(data.smiles, split, seed)
    values, deviations = np.full(y.shape, np.nan), np.full(y.shape, np.nan)
    simple, mean = np.full(y.shape, np.nan), np.full(y.shape, np.nan)
    few = len(y) <= MANY
    features = model.estimator.features_
    table = None if not few else model.table if model.table is not None else features.transform(data.graphs)
    guess = forest(data.smiles, y, data.task, n_jobs) if baselines else None
    for number, (train, test) in enumerate(parts(fold)):
        progress(f"fold {number + 1}")
        learnt, asked = [data.graphs[place] for place in train], [data.graphs[place] for place in test]
        if table is None:
            found = answer(clone(model.estimator).fit(learnt, y[train]), asked)
        elif isinstance(model.estimator, MoleculeClassifier):
            found = model.estimator.again(learnt, y[train], table[train]).predict_proba(asked, table[test]), None
        else:
            found = answer(clone(model.estimator.head_).fit(table[train], y[train], groups=features.column_groups_), table[test])
        values[test] = found[0]
        if found[1] is not None:
            deviations[test] = found[1]
        mean[test] = np.nanmean(y[train], axis=0)
        if guess is not None:
            simple[test] = guess(train, test)
    seen = ~np.isnan(values[:, 0])
    regression = data.task == "regression"
    covered = coverage(y[seen], values[seen], deviations[seen]) if regression else None

    def score(predicted: Matrix) -> float:
        return rmse(y[seen], predicted[seen]) if regression else auroc_of_folds(y[seen], predicted[seen], fold[seen])

    rows = [Row("graph2tens", score(values), covered)]
    if guess is not None:
        some = "" if few else f" of {MANY:,}"
        rows.append(Row(f"random forest on Morgan counts{some}", score(simple)))
        rows.append(Row("always the mean" if regression else "always the same", score(mean) if regression else 0.5))
    return rows, values, deviations if regression else None
