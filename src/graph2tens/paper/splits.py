"""Training, validation and test parts as in the paper's text and as in the authors' code, sanitised ones included."""

from __future__ import annotations

import numpy as np

from ..datasets import DataError, GraphDataset, Split, graph_split, node_split
from ..datasets.dataset import Integers
from ..datasets.splits import check_classes, stratified
from ..training.config import Run
from .protocols import PROTOCOLS
from .sanitise import independent_set, largest_component

TRAIN_PER_CLASS, VALIDATION_PER_CLASS = 20, 30  # nodes, in the citation graphs


def split_of(run: Run, dataset: GraphDataset) -> Split:
    """The split of a run, by its protocol unless it names another one's."""
    return protocol_split(dataset, run.split or run.cell.protocol, run.seed, run.cell.khop)


def protocol_split(dataset: GraphDataset, protocol: str = "paper", seed: int = 0, khop: int = 0) -> Split:
    """The split of a data set that a run with this protocol and seed uses.

    Graphs: :func:`~graph2tens.datasets.graph_split` in both protocols. Nodes: few to train on, the rest to test.

    - `paper`: from the largest connected component, 20 nodes of each of the C classes for training, 30 of each for validation
      (:func:`~graph2tens.datasets.node_split`).
    - `authors`: from the whole graph, 20 C nodes for training, then 30 C for validation, both stratified by the classes' shares, by
      scikit-learn's ``train_test_split`` with ``random_state=seed``.

    With `khop` = k > 0 the nodes come from a random independent set (:func:`~graph2tens.paper.sanitise.independent_set`) of that
    component or graph, drawn with the same seed: no two nodes of the three parts are within k hops of each other.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"`protocol` must be {' or '.join(map(repr, PROTOCOLS))} (got {protocol!r}).")
    if isinstance(khop, bool) or not isinstance(khop, int) or khop < 0:
        raise ValueError(f"`khop` must be a whole number, at least 0 (got {khop!r}).")
    if dataset.task == "graph":
        if khop:
            raise ValueError(f"`khop`={khop} sanitises the split of nodes, but {dataset.name} is a data set of graphs.")
        return graph_split(dataset.labels, seed, class_names=dataset.class_names, name=dataset.name)
    nodes, where = _candidates(dataset, protocol, seed, khop)
    labels, name = dataset.labels, dataset.name
    if protocol == "paper":
        try:
            return node_split(
                labels,
                seed,
                train_per_class=TRAIN_PER_CLASS,
                validation_per_class=VALIDATION_PER_CLASS,
                candidates=nodes,
                class_names=dataset.class_names,
                name=name,
                where=where,
            )
        except DataError as error:
            raise DataError(f"{error} (protocol 'authors' takes shares)") from None
    check_classes(labels[nodes], dataset.class_names, name, dataset.num_classes)
    train_size, validation_size = TRAIN_PER_CLASS * dataset.num_classes, VALIDATION_PER_CLASS * dataset.num_classes
    if nodes.size <= train_size + validation_size:
        raise DataError(
            f"{name}: {where} has {nodes.size} nodes, too few for {train_size} to train, {validation_size} to validate and a test"
        )
    train, rest = stratified(nodes, labels, name, train_size=train_size, random_state=seed)
    validation, test = stratified(rest, labels, name, train_size=validation_size, random_state=seed)
    return Split(train, validation, test)


def _candidates(dataset: GraphDataset, protocol: str, seed: int, khop: int) -> tuple[Integers, str]:
    """The nodes that a split is drawn from, and what they are."""
    edge_index, n = dataset.graphs[0].edge_index, dataset.labels.size
    nodes, where = np.arange(n), "the graph"
    if protocol == "paper":
        nodes, where = largest_component(edge_index, n), "the largest component"
    if not khop:
        return nodes, where
    inside = np.full(n, -1)
    inside[nodes] = np.arange(nodes.size)
    kept = inside[edge_index.numpy()]
    within = edge_index.new_tensor(kept[:, (kept >= 0).all(axis=0)])
    return nodes[independent_set(within, nodes.size, khop, seed)], f"the {khop}-hop sanitised set"
