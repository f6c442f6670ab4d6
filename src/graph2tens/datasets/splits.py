"""Training, validation and test parts, as in the paper's text (`paper`) and as in the authors' code (`authors`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.model_selection import train_test_split

from .dataset import DataError, GraphDataset, Integers
from .sanitise import independent_set, largest_component

Protocol = Literal["paper", "authors"]
TRAIN_PER_CLASS, VALIDATION_PER_CLASS = 20, 30  # nodes, in the citation graphs


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


def split(dataset: GraphDataset, protocol: Protocol = "paper", seed: int = 0, khop: int = 0) -> Split:
    """The split of a data set that a run with this protocol and seed uses.

    Graph classification: :func:`graph_split` in both protocols. Node classification: :func:`node_split`; `khop` = k > 0 sanitises it,
    no two nodes of the three parts are within k hops of each other.
    """
    if protocol not in ("paper", "authors"):
        raise ValueError(f"`protocol` must be 'paper' or 'authors' (got {protocol!r}).")
    if isinstance(khop, bool) or not isinstance(khop, int) or khop < 0:
        raise ValueError(f"`khop` must be a whole number, at least 0 (got {khop!r}).")
    if dataset.task == "node":
        return node_split(dataset, protocol, seed, khop)
    if khop:
        raise ValueError(f"`khop`={khop} sanitises the split of nodes, but {dataset.name} is a data set of graphs.")
    return graph_split(dataset.labels, seed, class_names=dataset.class_names, name=dataset.name)


def graph_split(labels: Integers, seed: int, *, class_names: Sequence[str] = (), name: str = "the data set") -> Split:
    """80 - 10 - 10 %, stratified: scikit-learn's ``train_test_split`` sets the validation part aside, then the test part, with
    the same ``random_state``, which is what the authors' code does.

    Both parts have ceil(n / 10) graphs (of NCI1: 411 of 4,110), or one for each class if that is more.
    """
    labels = np.asarray(labels)
    counts = _check_classes(labels, class_names, name)
    if counts.min() < 3:
        label = int(counts.argmin())
        raise DataError(f"{name}: class {_called(label, class_names)} has {counts[label]} graphs; the three parts need at least 3")
    size = max(-(-labels.size // 10), counts.size)
    if labels.size < 3 * size:
        raise DataError(f"{name}: {labels.size} graphs are too few for three parts with all {counts.size} classes in each")
    everything = np.arange(labels.size)
    rest, validation = _stratified(everything, labels, name, test_size=size, random_state=seed)
    train, test = _stratified(rest, labels, name, test_size=size, random_state=seed)
    return Split(train, validation, test)


def node_split(dataset: GraphDataset, protocol: Protocol, seed: int, khop: int = 0) -> Split:
    """Few nodes to train on, the rest to test.

    - `paper`: from the largest connected component, 20 nodes of each of the C classes for training, 30 of each for validation, drawn by
      ``numpy.random.default_rng(seed)``.
    - `authors`: from the whole graph, 20 C nodes for training, then 30 C for validation, both stratified by the classes' shares, by
      scikit-learn's ``train_test_split`` with ``random_state=seed``.

    With `khop` the nodes come from a random independent set (:func:`~graph2tens.datasets.sanitise.independent_set`) of that
    component or graph, drawn with the same seed.
    """
    graph, labels, name = dataset.graphs[0], dataset.labels, dataset.name
    n = labels.size
    edge_index = graph.edge_index
    nodes = np.arange(n)
    if protocol == "paper":
        nodes = largest_component(edge_index, n)
    if khop:
        if protocol == "paper":
            inside = np.full(n, -1)
            inside[nodes] = np.arange(nodes.size)
            kept = inside[edge_index.numpy()]
            within = graph.edge_index.new_tensor(kept[:, (kept >= 0).all(axis=0)])
            nodes = nodes[independent_set(within, nodes.size, khop, seed)]
        else:
            nodes = independent_set(edge_index, n, khop, seed)
    counts = np.bincount(labels[nodes], minlength=dataset.num_classes)
    _check_classes(labels[nodes], dataset.class_names, name, dataset.num_classes)
    where = f"the {khop}-hop sanitised set" if khop else "the largest component" if protocol == "paper" else "the graph"
    if protocol == "paper":
        needed = TRAIN_PER_CLASS + VALIDATION_PER_CLASS
        if counts.min() < needed:
            label = int(counts.argmin())
            raise DataError(
                f"{name}: class {_called(label, dataset.class_names)} has {counts[label]} nodes in {where}; "
                f"{TRAIN_PER_CLASS} for training and {VALIDATION_PER_CLASS} for validation are needed (protocol 'authors' takes shares)"
            )
        return _per_class(nodes, labels[nodes], dataset.num_classes, seed)
    train_size, validation_size = TRAIN_PER_CLASS * dataset.num_classes, VALIDATION_PER_CLASS * dataset.num_classes
    if nodes.size <= train_size + validation_size:
        raise DataError(
            f"{name}: {where} has {nodes.size} nodes, too few for {train_size} to train, {validation_size} to validate and a test"
        )
    train, rest = _stratified(nodes, labels, name, train_size=train_size, random_state=seed)
    validation, test = _stratified(rest, labels, name, train_size=validation_size, random_state=seed)
    return Split(train, validation, test)


def _per_class(nodes: Integers, labels: Integers, num_classes: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    members = [rng.permutation(nodes[labels == label]) for label in range(num_classes)]
    first, second = TRAIN_PER_CLASS, TRAIN_PER_CLASS + VALIDATION_PER_CLASS
    parts = [np.concatenate([m[place] for m in members]) for place in (slice(0, first), slice(first, second), slice(second, None))]
    return Split(*(np.sort(part).astype(np.int64) for part in parts))


def _stratified(index: Integers, labels: Integers, name: str, **options: int) -> tuple[Integers, Integers]:
    try:
        first, second = train_test_split(index, stratify=labels[index], **options)
    except ValueError as error:  # a class with one member left: scikit-learn says which rule is broken
        raise DataError(f"{name}: no stratified split of {index.size} ({' '.join(str(error).split())})") from error
    return np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)


def _check_classes(labels: Integers, class_names: Sequence[str], name: str, num_classes: int = 0) -> Integers:
    """Members of each class; there must be two classes, and none without members."""
    counts = np.bincount(labels, minlength=num_classes)
    present = np.flatnonzero(counts)
    if present.size < 2:
        only = f"all are of class {_called(int(present[0]), class_names)}" if present.size else "nothing is labelled"
        raise DataError(f"{name}: at least two classes are needed to learn one from another ({only})")
    return counts


def _called(label: int, class_names: Sequence[str]) -> str:
    return repr(class_names[label]) if label < len(class_names) else str(label)
