"""Training, validation and test parts, drawn class by class with a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from .dataset import DataError, GraphDataset, Integers


@dataclass(frozen=True, eq=False)
class Split:
    """Indices of graphs, or of nodes if the task is "node"; no index occurs twice."""

    train: Integers
    validation: Integers
    test: Integers

    def sizes(self) -> tuple[int, int, int]:
        return len(self.train), len(self.validation), len(self.test)

    def __repr__(self) -> str:
        return "Split(train={}, validation={}, test={})".format(*self.sizes())


def split(dataset: GraphDataset, seed: int = 0) -> Split:
    """The usual split of a data set: :func:`graph_split` of its graphs, or :func:`node_split` of the nodes of its graph."""
    kind = graph_split if dataset.task == "graph" else node_split
    return kind(dataset.labels, seed, class_names=dataset.class_names, name=dataset.name)


def graph_split(labels: Integers, seed: int, *, class_names: Sequence[str] = (), name: str = "the data set") -> Split:
    """80 - 10 - 10 %, stratified: scikit-learn's ``train_test_split`` sets the validation part aside, then the test part, with
    the same ``random_state``, which is what the authors' code does.

    Both parts have ceil(n / 10) graphs (of NCI1: 411 of 4,110), or one for each class if that is more.
    """
    labels = np.asarray(labels)
    counts = check_classes(labels, class_names, name)
    if counts.min() < 3:
        label = int(counts.argmin())
        raise DataError(f"{name}: class {_called(label, class_names)} has {_graphs(counts[label])}; the three parts need at least 3")
    size = max(-(-labels.size // 10), counts.size)
    if labels.size < 3 * size:
        raise DataError(f"{name}: {labels.size} graphs are too few for three parts with all {counts.size} classes in each")
    everything = np.arange(labels.size)
    rest, validation = stratified(everything, labels, name, test_size=size, random_state=seed)
    train, test = stratified(rest, labels, name, test_size=size, random_state=seed)
    return Split(train, validation, test)


def fold_split(dataset: GraphDataset, fold: int, folds: int) -> Split:
    """One fold of a cross-validation of graphs: fold number `fold` to test, the next one to validate, the others to learn from.

    The folds are drawn class by class, always the same for the same data, so that methods are compared on equal parts.
    """
    if dataset.task != "graph":
        raise DataError(f"{dataset.name}: folds are for data with a class for each graph; this has a class for each node")
    labels = dataset.labels
    counts = check_classes(labels, dataset.class_names, dataset.name)
    if not 3 <= folds <= counts.min():
        label = int(counts.argmin())
        name, graphs = _called(label, dataset.class_names), _graphs(counts[label])
        repair = "leave the class out" if counts[label] < 3 else f"the number of folds must lie between 3 and {counts[label]}"
        raise DataError(f"{dataset.name}: class {name} has {graphs}, which is too few for {folds} folds with some in each; {repair}")
    parts = [part for _, part in StratifiedKFold(folds, shuffle=True, random_state=0).split(labels, labels)]
    test, validation = parts[fold], parts[(fold + 1) % folds]
    rest = np.setdiff1d(np.arange(labels.size), np.concatenate([test, validation]))
    return Split(*(part.astype(np.int64) for part in (rest, validation, test)))


def node_split(
    labels: Integers,
    seed: int,
    *,
    train_per_class: int = 20,
    validation_per_class: int = 30,
    candidates: Integers | None = None,
    class_names: Sequence[str] = (),
    name: str = "the data set",
    where: str = "the graph",
) -> Split:
    """Equally many nodes of each class to train on and to validate with, the rest to test, drawn by ``numpy.random.default_rng(seed)``.

    Args:
        labels: the class of each node.
        seed: of the draws.
        train_per_class, validation_per_class: how many.
        candidates: nodes to draw from, by default all.
        class_names, name, where: how errors call the classes, the data and the candidates.
    """
    labels = np.asarray(labels)
    nodes = np.arange(labels.size) if candidates is None else np.asarray(candidates)
    counts = check_classes(labels[nodes], class_names, name, int(labels.max(initial=-1)) + 1)
    if counts.min() < train_per_class + validation_per_class:
        label = int(counts.argmin())
        raise DataError(
            f"{name}: class {_called(label, class_names)} has {counts[label]} nodes in {where}; "
            f"{train_per_class} for training and {validation_per_class} for validation are needed"
        )
    rng = np.random.default_rng(seed)
    members = [rng.permutation(nodes[labels[nodes] == label]) for label in range(counts.size)]
    first, second = train_per_class, train_per_class + validation_per_class
    parts = [np.concatenate([m[place] for m in members]) for place in (slice(0, first), slice(first, second), slice(second, None))]
    return Split(*(np.sort(part).astype(np.int64) for part in parts))


def stratified(index: Integers, labels: Integers, name: str, **options: int) -> tuple[Integers, Integers]:
    """scikit-learn's ``train_test_split`` of `index` by the classes' shares, with an error that names the data."""
    try:
        first, second = train_test_split(index, stratify=labels[index], **options)
    except ValueError as error:  # a class with one member left: scikit-learn says which rule is broken
        raise DataError(f"{name}: no stratified split of {index.size} ({' '.join(str(error).split())})") from error
    return np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)


def check_classes(labels: Integers, class_names: Sequence[str], name: str, num_classes: int = 0) -> Integers:
    """Members of each class; there must be two classes, and none without members."""
    counts = np.bincount(labels, minlength=num_classes)
    present = np.flatnonzero(counts)
    if present.size < 2:
        only = f"all are of class {_called(int(present[0]), class_names)}" if present.size else "nothing is labelled"
        raise DataError(f"{name}: at least two classes are needed to learn one from another ({only})")
    return counts


def _graphs(count: int) -> str:
    return "1 graph" if count == 1 else f"{count} graphs"


def _called(label: int, class_names: Sequence[str]) -> str:
    return repr(class_names[label]) if label < len(class_names) else str(label)
