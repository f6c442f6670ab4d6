"""Nodes of one graph: classes and numbers from few known ones, by place, words or numbers, in any form and by name."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from torch_geometric.utils import from_networkx

from graph2tens.sklearn import GraphTensNodeClassifier, GraphTensNodeRegressor
from graph2tens.sklearn.inputs import as_graphs
from graph2tens.sklearn.node_inputs import walk_matrix
from graph2tens.sklearn.nodes import hiding_places


def karate():
    return nx.karate_club_graph()


def blocks(words=False, seed=0):
    """Three communities of 20 nodes with attributes that say little."""
    rng = np.random.default_rng(seed)
    graph = nx.planted_partition_graph(3, 20, 0.4, 0.02, seed=seed)
    kinds = np.arange(60) // 20
    if words:
        x = (rng.random((60, 90)) < 0.05 + 0.1 * (np.arange(90) // 30 == kinds[:, None])).astype(float)
    else:
        x = rng.normal(size=(60, 3)) + 1.0 * np.eye(3)[kinds]
    return nx.to_numpy_array(graph), x, kinds


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore:attributes of networkx")
def test_the_karate_club_splits_as_it_did(seed):
    club = karate()
    found = GraphTensNodeClassifier(random_state=seed).fit(club, {0: "Mr. Hi", 33: "Officer"}).predict(by_name=True)
    assert sum(found[node] == club.nodes[node]["club"] for node in club) >= 31


@pytest.mark.parametrize("words", [False, True])
def test_few_labels_and_attributes_find_communities(words):
    adjacency, x, kinds = blocks(words)
    y = np.full(60, -1)
    y[[0, 1, 20, 21, 40, 41]] = kinds[[0, 1, 20, 21, 40, 41]]
    classifier = GraphTensNodeClassifier(random_state=0).fit((adjacency, x), y)
    assert classifier.kind_ == ("words" if words else "numbers")
    assert classifier.score(None, kinds) > 0.9
    other, x_other, kinds_other = blocks(words, seed=1)
    assert (classifier.predict((other, x_other)) == kinds_other).mean() > 0.7
    assert classifier.decision_function().shape == (60, 3)


def test_every_form_of_a_graph_and_of_y_gives_the_same_answers():
    adjacency, x, kinds = blocks()
    y = np.where(np.arange(60) % 7 == 0, kinds, -1)
    graph = nx.from_numpy_array(adjacency)
    nx.set_node_attributes(graph, dict(enumerate(x)), "x")
    data = from_networkx(graph)
    data.x = torch.from_numpy(x)
    data.edge_weight = data.pop("weight") if "weight" in data else None
    expected = GraphTensNodeClassifier().fit((adjacency, x), y).predict()
    named = nx.relabel_nodes(graph, {node: f"node {node}" for node in graph})
    mapping = {f"node {node}": int(kind) for node, kind in enumerate(y) if kind >= 0}
    for form, answers in ((graph, y), (data, torch.from_numpy(y)), (named, mapping), (graph, [None if k < 0 else k for k in y.tolist()])):
        np.testing.assert_array_equal(GraphTensNodeClassifier().fit(form, answers).predict(), expected)
    by_name = GraphTensNodeClassifier().fit(named, mapping).predict(by_name=True)
    assert by_name == {f"node {node}": kind for node, kind in enumerate(expected.tolist())}


def test_numbers_come_with_error_bars():
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(9, 9))
    place = np.array([divmod(node, 9) for node in range(81)], dtype=float)
    truth = np.sin(place[:, 0] / 3) + place[:, 1] / 5
    y = np.where(np.arange(81) % 4 == 0, truth, np.nan)
    regressor = GraphTensNodeRegressor(random_state=0).fit(grid, y)
    mean, std = regressor.predict(return_std=True)
    assert regressor.score(None, truth) > 0.7
    unknown = np.isnan(y)
    assert std[unknown].mean() > std[~unknown].mean() * 0.9
    assert regressor.predict(by_name=True)[4] == mean[4]
    with_numbers = GraphTensNodeRegressor().fit((nx.to_numpy_array(grid), place), y)
    assert with_numbers.score((nx.to_numpy_array(grid), place), truth) > 0.7
    by_name = {node: truth[node] for node in range(0, 81, 4)}
    np.testing.assert_array_equal(GraphTensNodeRegressor(random_state=0).fit(grid, by_name).predict(), mean)


def test_nine_of_ten_numbers_lie_inside_their_intervals():
    """Of grids with smooth, rough and random numbers, 20 or 50 of them known, with noise: on average over draws, for each of them."""
    shares = []
    for side, seed in ((9, 0), (9, 1), (9, 2), (14, 3), (14, 4), (14, 5)):
        rng, nodes = np.random.default_rng(seed), side * side
        grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
        one, other = np.divmod(np.arange(nodes), side)
        for pattern in (np.sin(one / 3) + other / 5, np.sin(1.2 * one) * np.cos(other), np.zeros(nodes)):
            truth = pattern + 0.1 * rng.normal(size=nodes)
            unknown = rng.random(nodes) > 0.25
            mean, std = GraphTensNodeRegressor(random_state=seed).fit(grid, np.where(unknown, np.nan, truth)).predict(return_std=True)
            shares.append((np.abs(truth - mean)[unknown] < 1.645 * std[unknown]).mean())
    # one draw of 20 known nodes may miss by much, since its errors are known from 20 errors; their mean may not
    of_patterns = np.reshape(shares, (-1, 3)).mean(axis=0)
    assert (np.abs(of_patterns - 0.9) < 0.05).all()
    assert min(shares) > 0.7


@pytest.mark.filterwarnings("ignore:attributes of networkx")
def test_the_graph_of_fit_is_known_again():
    club, known = karate(), {0: 0, 33: 1}
    classes = {node: int(club.nodes[node]["club"] == "Officer") for node in club}
    classifier = GraphTensNodeClassifier(random_state=0).fit(club, known)
    np.testing.assert_array_equal(classifier.predict(karate()), classifier.predict())
    np.testing.assert_array_equal(classifier.predict_proba(club), classifier.predict_proba())
    assert classifier.score(club, classes) == classifier.score(None, classes) > 0.9
    regressor = GraphTensNodeRegressor(random_state=0).fit(club, known)
    np.testing.assert_array_equal(regressor.predict(club, return_std=True), regressor.predict(return_std=True))
    club.remove_edge(0, 1)
    with pytest.raises(ValueError, match="another graph's have no answer"):
        classifier.predict(club)
    adjacency, x, kinds = blocks()
    y = np.where(np.arange(60) % 7 == 0, kinds, -1)
    with_attributes = GraphTensNodeClassifier().fit((adjacency, x), y)
    np.testing.assert_array_equal(with_attributes.decision_function((adjacency, x)), with_attributes.decision_function())
    assert (with_attributes.decision_function((adjacency, x + 1e-6)) != with_attributes.decision_function()).any()


def test_probabilities_of_nodes_agree_with_predictions_and_mean_what_they_say():
    adjacency, x, kinds = blocks()
    rng = np.random.default_rng(3)
    y = np.where(rng.random(60) < 0.4, kinds, -1)
    wrong = rng.random(60) < 0.25  # labels that are not to be trusted must make it less sure
    sure = GraphTensNodeClassifier().fit((adjacency, x), y)
    doubtful = GraphTensNodeClassifier().fit((adjacency, x), np.where((y >= 0) & wrong, (y + 1) % 3, y))
    unknown = y < 0
    for classifier in (sure, doubtful):
        shares = classifier.predict_proba()
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(classifier.classes_[shares.argmax(axis=1)], classifier.predict())
        assert classifier.predict_proba(by_name=True)[7] == shares[7].tolist()
    assert sure.predict_proba()[unknown].max(axis=1).mean() > 0.85
    assert doubtful.predict_proba()[unknown].max(axis=1).mean() < sure.predict_proba()[unknown].max(axis=1).mean() - 0.1
    assert sure.predict_proba((adjacency, x)).shape == (60, 3)


def test_a_class_with_one_known_node_is_never_hidden():
    fold = hiding_places(np.array([0, 0, 0, 1, 2, 2, *[3] * 11]))
    assert fold[3] == -1
    assert sorted(fold[:3]) == [0, 1, 2]
    assert np.bincount(fold[6:]).tolist() == [3, 2, 2, 2, 2]
    lone = GraphTensNodeClassifier(random_state=0).fit(nx.path_graph(6), {0: "a", 5: "b"})
    assert lone.temperature_ == 1
    assert lone.predict_proba(by_name=True)[0][0] > 0.5 > lone.predict_proba(by_name=True)[5][0]


def test_the_walk_may_stay_and_its_rows_sum_to_1():
    graph = as_graphs([np.array([[0, 3.0, 1], [0, 0, 0], [2, 0, 0]])])[0]
    P = walk_matrix(graph).toarray()
    np.testing.assert_allclose(P, [[2 / 6, 3 / 6, 1 / 6], [0, 1, 0], [0.5, 0, 0.5]])


@pytest.mark.filterwarnings("ignore:attributes of networkx")
def test_the_manners_of_scikit_learn():
    y = {0: 0, 33: 1}
    for estimator in (GraphTensNodeClassifier(random_state=0), GraphTensNodeRegressor(random_state=0)):
        with pytest.raises(NotFittedError):
            clone(estimator).predict()
        fitted = clone(estimator).fit(karate(), y)
        assert fitted.get_params() == estimator.get_params()
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(), fitted.predict())
        np.testing.assert_array_equal(clone(fitted).fit(karate(), y).predict(), fitted.predict())


@pytest.mark.filterwarnings("ignore:attributes of networkx")
@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        (GraphTensNodeClassifier(), {0: 0, "Zachary": 1}, "got 'Zachary', which is none"),
        (GraphTensNodeClassifier(), [0, 1], "one class for each of the 34 nodes"),
        (GraphTensNodeClassifier(), [-1] * 34, "all are -1"),
        (GraphTensNodeClassifier(), None, r"dictionary of the known nodes \(got None\)"),
        (GraphTensNodeClassifier(), np.zeros((34, 2)), r"got shape \(34, 2\)"),
        (GraphTensNodeClassifier(), np.array(["a", *[-1] * 32, "b"]), "got '-1' among others"),
        (GraphTensNodeClassifier(), {0: "a", 33: 1}, "got 'a' among others"),
        (GraphTensNodeClassifier(spreading="much"), {0: 0, 33: 1}, "`spreading` must"),
        (GraphTensNodeClassifier(), {0: "a", 5: "a"}, "at least 2 classes"),
        (GraphTensNodeClassifier(spreading=1.0), {0: 0, 33: 1}, "`spreading` must"),
        (GraphTensNodeClassifier(attributes="letters"), {0: 0, 33: 1}, "`attributes` must be one of"),
        (GraphTensNodeClassifier(attributes="words"), {0: 0, 33: 1}, "Did you mean 'identities'"),
        (GraphTensNodeRegressor(), np.full(34, np.nan), "at least 2 nodes"),
        (GraphTensNodeRegressor(), np.zeros(3), "one number for each of the 34 nodes"),
        (GraphTensNodeRegressor(), None, r"dictionary of the known nodes \(got None\)"),
        (GraphTensNodeRegressor(), {0: 1.0, 33: "many"}, "got 'many' for node 33"),
        (GraphTensNodeRegressor(), {0: 1.0, 33: np.inf}, "got inf for node 33"),
        (GraphTensNodeRegressor(noise=0), {0: 0, 33: 1}, "`noise` must"),
    ],
)
def test_what_is_wrong_is_named(estimator, y, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(karate(), y)


@pytest.mark.filterwarnings("ignore:attributes of networkx")
def test_unknown_is_said_in_several_ways():
    expected = GraphTensNodeClassifier(random_state=0).fit(karate(), {0: 0, 33: 1}).predict()
    for unknown in (-1, None, np.nan):
        y = np.array([0, *[unknown] * 32, 1], dtype=object)
        np.testing.assert_array_equal(GraphTensNodeClassifier(random_state=0).fit(karate(), y).predict(), expected)


def test_words_are_counts():
    adjacency, x, kinds = blocks()
    with pytest.raises(ValueError, match=r"needs counts, not negative .got -1.\. Did you mean 'numbers'"):
        GraphTensNodeClassifier(attributes="words").fit((adjacency, np.where(x == x.max(), -1.0, 0.0)), kinds)


@pytest.mark.filterwarnings("ignore:attributes of networkx")
def test_places_in_one_graph_are_none_in_another():
    classifier = GraphTensNodeClassifier(random_state=0).fit(karate(), {0: 0, 33: 1})
    with pytest.raises(ValueError, match="another graph's have no answer"):
        classifier.predict(nx.path_graph(5))
    adjacency, x, kinds = blocks()
    with pytest.raises(ValueError, match="must have 3 attributes"):
        GraphTensNodeClassifier().fit((adjacency, x), kinds).predict((adjacency, x[:, :2]))


@pytest.mark.parametrize("estimator", [GraphTensNodeClassifier, GraphTensNodeRegressor])
def test_a_score_warns_once(estimator):
    club = karate()
    with pytest.warns(UserWarning, match="'club' of nodes"):
        fitted = estimator(random_state=0).fit(club, {0: 0, 33: 1, 5: 0, 30: 1})
    with pytest.warns(UserWarning, match="'club' of nodes") as warned:
        fitted.score(club, {0: 0, 33: 1})
    assert len(warned) == 1


@pytest.mark.filterwarnings("ignore:attributes of networkx")
def test_nodes_of_one_class_can_be_judged():
    club = karate()
    fitted = GraphTensNodeClassifier(random_state=0).fit(club, {0: "Mr. Hi", 33: "Officer"})
    assert fitted.score(club, {1: "Mr. Hi"}) == fitted.score(None, {1: "Mr. Hi", 32: "Officer"}) == 1
    assert fitted.score(club, {1: "Officer"}) == 0


def test_a_list_of_one_graph_is_named():
    with pytest.raises(TypeError, match=r"`graph` must be one graph .* Did you mean graph\[0\]"):
        GraphTensNodeClassifier().fit([karate()], {0: 0, 33: 1})
