"""What is wrong or odd about the answers and labels given to estimators is named, in our own words."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from graph2tens.sklearn import GraphTensClassifier, GraphTensFeatures, GraphTensRegressor

FEATURES = GraphTensFeatures(n_layers=1, n_functionals=4, n_waves=4)


def atoms(letters: Sequence[str]) -> nx.Graph:
    graph = nx.path_graph(len(letters))
    nx.set_node_attributes(graph, dict(enumerate(letters)), "label")
    return graph


GRAPHS = [atoms("C" * n + "O") for n in range(2, 8)] + [atoms("C" * n + "N") for n in range(2, 8)]
CLASSES = ["acid"] * 6 + ["base"] * 6


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([*CLASSES[:-1], None], "got None for graph 11"),
        ([*CLASSES[:-1], float("nan")], "got nan for graph 11"),
        (np.array([0.0] * 6 + [1.0] * 5 + [np.nan]), "got nan for graph 11"),
        (np.linspace(0, 1, 12), r"must hold classes \(got numbers such as 0\.0\)\. Did you mean a regressor"),
        (np.zeros((12, 1, 1)), r"one class for each of the 12 graphs .got shape \(12, 1, 1\)"),
    ],
)
def test_classes_that_are_none_are_named(y, message):
    with pytest.raises(ValueError, match=f"`y` must hold .*{message}|{message}"):
        GraphTensClassifier(FEATURES).fit(GRAPHS, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1] * 6 + ["base"] * 6, "all words or all numbers .got 1 and 'base'"),
        ([Fraction(1, 2)] * 6 + [Fraction(1, 3)] * 6, r"words or whole numbers \(got Fraction"),
        ([("a", 1)] * 6 + [("b", 2)] * 6, "0, 1 or NaN for unknown, .*Did you mean one class for each graph"),
    ],
)
def test_classes_of_odd_kinds_are_named(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        GraphTensClassifier(FEATURES).fit(GRAPHS, y)


@pytest.mark.parametrize(("dtype", "kind"), [("Int64", "i"), ("UInt8", "u"), ("boolean", "b")])
def test_classes_of_pandas_keep_their_kind(dtype, kind):
    pandas = pytest.importorskip("pandas")
    classifier = GraphTensClassifier(FEATURES, random_state=0).fit(GRAPHS, pandas.Series([0] * 6 + [1] * 6, dtype=dtype))
    assert classifier.classes_.dtype.kind == classifier.predict(GRAPHS).dtype.kind == kind


def test_one_class_only_is_a_warning():
    with pytest.warns(UserWarning, match="one class only, 'acid'"):
        classifier = GraphTensClassifier(FEATURES, random_state=0).fit(GRAPHS, ["acid"] * 12)
    assert set(classifier.predict(GRAPHS)) == {"acid"}
    with pytest.warns(UserWarning, match="one class only, 7:"):  # as the user wrote it, not as NumPy shows it
        GraphTensClassifier(FEATURES, random_state=0).fit(GRAPHS, [7] * 12)


def test_a_class_that_comes_late_in_a_stream_is_named():
    classifier = GraphTensClassifier(FEATURES, landmarks=4, random_state=0).partial_fit(GRAPHS[:6], CLASSES[:6])
    with pytest.raises(ValueError, match=r"\['acid'\] .got 'base'.; its argument `classes`"):
        classifier.partial_fit(GRAPHS, CLASSES)


@pytest.mark.parametrize("regressor", [GraphTensRegressor(FEATURES), GraphTensRegressor(FEATURES, landmarks=4)])
def test_numbers_whose_squares_are_infinite_are_named(regressor):
    with pytest.raises(ValueError, match=r"at most 1e\+150, whose squares exist .got 1.2e\+301"):
        regressor.fit(GRAPHS, 1e300 * np.arange(1, 13))


def test_numpys_names_of_numbers_stay_out_of_messages():
    with pytest.warns(UserWarning, match="one class only, 3: "):
        classifier = GraphTensClassifier(FEATURES, random_state=0).fit(GRAPHS, np.full(12, 3))
    with pytest.raises(ValueError, match=r"must hold classes of `y`, \[3\] \(got 4\)"):
        classifier.fit(GRAPHS, np.full(12, 3), GRAPHS, np.full(12, 4))


def test_scores_want_a_class_for_each_graph():
    classifier = GraphTensClassifier(FEATURES, random_state=0).fit(GRAPHS, CLASSES)
    assert classifier.score(GRAPHS, CLASSES) == np.mean(classifier.predict(GRAPHS) == np.array(CLASSES))
    weight = np.arange(12)
    right = classifier.predict(GRAPHS) == np.array(CLASSES)
    assert classifier.score(GRAPHS, CLASSES, weight) == pytest.approx((right * weight).sum() / weight.sum())
    with pytest.raises(ValueError, match=r"one class for each of the 12 graphs \(got 5"):
        classifier.score(GRAPHS, CLASSES[:5])


@pytest.mark.parametrize("estimator", [GraphTensClassifier, GraphTensRegressor])
def test_labels_that_no_training_graph_has_are_named(estimator):
    y = CLASSES if estimator is GraphTensClassifier else np.arange(12.0)
    fitted = estimator(FEATURES, random_state=0).fit(GRAPHS, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(GRAPHS)
    with pytest.warns(UserWarning, match="the labels 'Br', 'F' occur in no training graph and are ignored"):
        fitted.predict([atoms(["C", "F"]), atoms(["C", "Br", "O"])])
    strict = estimator(GraphTensFeatures(n_layers=1, n_functionals=4, n_waves=4, handle_unknown="error"), random_state=0).fit(GRAPHS, y)
    with pytest.raises(ValueError, match="which no training graph has"):
        strict.predict([atoms(["F"])])


@pytest.mark.parametrize("hole", [float("nan"), None])
def test_unknown_numbers_of_graphs_are_counted(hole):
    y = [hole, hole, *map(float, range(10))]
    with pytest.warns(UserWarning, match="`y` is NaN for 2 of 12 graphs, which teach nothing"):
        GraphTensRegressor(FEATURES, random_state=0).fit(GRAPHS, y)


def test_labels_of_edges_are_named_too():
    graphs = [atoms("CO"), atoms("CCO")]
    for graph in graphs:
        nx.set_edge_attributes(graph, "single", "label")
    other = atoms("CO")
    nx.set_edge_attributes(other, "double", "label")
    for edges in ("nodes", "mean"):
        features = GraphTensFeatures(n_layers=1, n_functionals=4, n_waves=4, edges=edges).fit(graphs)
        with pytest.warns(UserWarning, match="labels 'double'( of edges)? occur in no training graph"):
            features.transform([other])
