"""The network's estimators: numbers, several targets, labels with holes, and what they say about bad answers."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from graph_lists import rings_and_paths

from graph2tens.sklearn import G2TNClassifier, G2TNRegressor, GraphTensClassifier, GraphTensFeatures

SMALL = {"hidden_channels": 16, "num_layers": 1, "walk_length": 2, "batch_size": 16, "learning_rate": 0.02, "dropout": 0.0}
X, Y = rings_and_paths(48)
RING = (np.asarray(Y) == np.asarray(Y)[0]).astype(float)
SIZE = np.array([len(graph) for graph in X], dtype=float)


def with_holes(table, seed=0, share=0.3):
    table = np.array(table, dtype=float)
    table[np.random.default_rng(seed).random(table.shape) < share] = np.nan
    return table


def test_numbers_are_learnt_in_their_own_units():
    graphs = [nx.cycle_graph(n) for n in range(3, 35)] + [nx.star_graph(n) for n in range(3, 35)]
    share = np.array([1000 + 100 * max(dict(graph.degree).values()) / len(graph) for graph in graphs])
    network = G2TNRegressor(**SMALL, epochs=80, patience=None, random_state=0).fit(graphs, share)
    assert network.predict(graphs).shape == (64,)
    assert network.score(graphs, share) > 0.9
    assert pickle.loads(pickle.dumps(network)).predict(graphs[:3]).tolist() == network.predict(graphs[:3]).tolist()


def test_holes_in_a_table_of_numbers_are_neither_learnt_nor_scored():
    table = with_holes(np.stack([SIZE, 7 * RING], axis=1))
    table[5] = np.nan  # nothing is known of this graph
    options = {**SMALL, "epochs": 3, "patience": None, "random_state": 0}
    network = G2TNRegressor(**options).fit(X, table)
    assert network.predict(X).shape == (48, 2)
    assert np.isfinite(network.score(X, table))
    rest = [place for place in range(48) if place != 5]
    without = G2TNRegressor(**options).fit([X[place] for place in rest], table[rest])
    np.testing.assert_array_equal(network.predict(X), without.predict(X))


def test_labels_with_holes_are_learnt_one_by_one():
    labels = with_holes(np.stack([RING, 1 - RING, np.median(SIZE) < SIZE], axis=1))
    network = G2TNClassifier(**SMALL, epochs=60, patience=None, random_state=0).fit(X, labels)
    shares = network.predict_proba(X)
    assert shares.shape == network.decision_function(X).shape == (48, 3)
    np.testing.assert_array_equal(network.predict(X), (shares > 0.5).astype(int))
    np.testing.assert_array_equal(network.decision_function(X) > 0, shares > 0.5)
    assert (network.predict(X)[:, :2] == np.stack([RING, 1 - RING], axis=1)).mean() > 0.9
    assert network.score(X, labels) == (network.predict(X) == labels)[~np.isnan(labels)].mean()
    assert [classes.tolist() for classes in network.classes_] == [[0, 1]] * 3


def test_validation_data_with_holes_decides_when_to_stop():
    labels = with_holes(np.stack([RING, RING], axis=1))
    for network, y in ((G2TNClassifier, labels), (G2TNRegressor, labels * 10), (G2TNRegressor, SIZE)):
        fitted = network(**SMALL, epochs=4, patience=2, random_state=0).fit(X, y, X[::2], y[::2])
        assert len(fitted.history_) == fitted.n_iter_ <= 4


@pytest.mark.parametrize(
    ("network", "y", "y_val", "message"),
    [
        (G2TNRegressor, np.stack([SIZE, np.full(48, np.nan)], axis=1), None, "got 0 for target 1"),
        (G2TNRegressor, SIZE[:5], None, "one row for each of the 48 graphs"),
        (G2TNRegressor, SIZE, np.stack([SIZE, SIZE], axis=1), "`y_val` must have 1 targets"),
        (G2TNRegressor, SIZE, np.full(48, np.nan), "`y_val` must hold at least one known answer"),
        (G2TNClassifier, np.stack([RING, np.full(48, np.nan)], axis=1), None, "got 0 for target 1"),
        (G2TNClassifier, np.stack([RING, RING * 2], axis=1), None, "must hold 0, 1 or NaN"),
        (G2TNClassifier, np.stack([RING, RING], axis=1), np.stack([RING] * 3, axis=1), "`y_val` must have 2 labels"),
        (G2TNClassifier, RING.astype(int), np.full(48, 3), "must hold classes of `y`"),
    ],
)
def test_bad_answers_are_named(network, y, y_val, message):
    held_out = {} if y_val is None else {"X_val": X, "y_val": y_val}
    with pytest.raises(ValueError, match=message):
        network(**SMALL, epochs=1).fit(X, y, **held_out)


CLASSIFIERS = (
    G2TNClassifier(**SMALL, epochs=1, random_state=0),
    GraphTensClassifier(GraphTensFeatures(1, 1, 1, 4, 0), C=1.0, gamma=1.0, random_state=0),
)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=["network", "features"])
def test_a_class_with_one_member_is_named(classifier):
    with pytest.warns(UserWarning, match="class 'odd' of `y` has one member only"):
        classifier.fit(X, ["odd", *["a", "b"] * 23, "a"])
    labels = np.stack([RING, np.zeros(48)], axis=1)
    with pytest.warns(UserWarning, match="label 1 with value 1 of `y` is known of fewer than two graphs"):
        classifier.fit(X, labels)
    assert classifier.predict(X).shape == (48, 2)
    with pytest.raises(ValueError, match="graph 3"):
        classifier.fit([*X[:3], nx.Graph()], [0, 1, 0, 1])
