"""The manners of scikit-learn, for every estimator, and what the classifiers learn."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import torch
from graph_lists import corner_data, rings_and_paths
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch_geometric.data import Data

from graph2tens.sklearn import (
    G2TNClassifier,
    G2TNRegressor,
    GraphTensClassifier,
    GraphTensFeatures,
    GraphTensKernel,
    GraphTensRegressor,
    LandmarkGP,
    LeastSquaresClassifier,
    ValidatedGP,
    ValidatedSVC,
    WeisfeilerLehman,
)

FEATURES = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8)
NETWORK = {"hidden_channels": 8, "num_layers": 1, "walk_length": 2, "epochs": 3, "batch_size": 8, "network_options": {"post_channels": 8}}
ESTIMATORS: dict[str, BaseEstimator] = {
    "features": clone(FEATURES).set_params(random_state=0),
    "kernel": GraphTensKernel(walk_length=2, random_state=0),
    "rbf kernel": GraphTensKernel("rbf", features=FEATURES, random_state=0),
    "Weisfeiler-Lehman": WeisfeilerLehman(2),
    "classifier": GraphTensClassifier(FEATURES, C=(1, 10), gamma=(1,), random_state=0),
    "regressor": GraphTensRegressor(FEATURES, random_state=0),
    "network": G2TNClassifier(**NETWORK, random_state=0),
    "network regressor": G2TNRegressor(**NETWORK, random_state=0),
}
each = pytest.mark.parametrize("estimator", [pytest.param(one, id=name) for name, one in ESTIMATORS.items()])
each_classifier = pytest.mark.parametrize("name", ["classifier", "network"])
X, Y = rings_and_paths(24)


@parametrize_with_checks(
    [ValidatedSVC(), ValidatedGP(), LandmarkGP(), LeastSquaresClassifier(), *(clone(estimator) for estimator in ESTIMATORS.values())]
)
def test_the_checks_of_scikit_learn_that_apply_to_graphs(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def targets(estimator, graphs=X):
    """Classes, or for regressors numbers."""
    return [len(graph) + 0.5 for graph in graphs] if is_regressor(estimator) else [Y[place % 24] for place in range(len(graphs))]


def outcome(estimator, graphs):
    answer = next(getattr(estimator, name) for name in ("predict_proba", "transform", "predict") if hasattr(estimator, name))
    found = answer(graphs)
    return found.toarray() if hasattr(found, "toarray") else np.asarray(found)


@each
def test_arguments_are_stored_untouched_and_fit_does_not_change_them(estimator):
    estimator = clone(estimator)
    before = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    assert all(getattr(estimator, name) is value for name, value in estimator.get_params(deep=False).items())
    assert not [name for name in vars(estimator) if name.endswith("_")]
    assert estimator.fit(X, targets(estimator)) is estimator
    assert {name: repr(value) for name, value in estimator.get_params(deep=False).items()} == before


@each
def test_fitting_again_gives_the_same_bits(estimator):
    estimator = clone(estimator).fit(X, targets(estimator))
    first = outcome(estimator, X)
    np.testing.assert_array_equal(outcome(estimator.fit(X, targets(estimator)), X), first)
    np.testing.assert_array_equal(outcome(clone(estimator).fit(list(X), np.array(targets(estimator))), X), first)


@each
def test_a_pickle_is_as_good_as_the_original(estimator):
    estimator = clone(estimator).fit(X, targets(estimator))
    np.testing.assert_array_equal(outcome(pickle.loads(pickle.dumps(estimator)), X), outcome(estimator, X))


@each
def test_before_fit_nothing_works(estimator):
    with pytest.raises(NotFittedError):
        outcome(clone(estimator), X)


@each
def test_the_callers_random_numbers_are_left_alone(estimator):
    numpy_before, torch_before = np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    outcome(clone(estimator).fit(X, targets(estimator)), X)
    numpy_after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(numpy_after[1], numpy_before[1])
    assert numpy_after[2] == numpy_before[2]
    assert torch.equal(torch.get_rng_state(), torch_before)


@each
def test_the_input_is_left_alone(estimator):
    data = corner_data()
    before = [(graph.x.clone(), graph.edge_index.clone()) for graph in data]
    outcome(clone(estimator).fit(data, targets(estimator, data)), data)
    for graph, (x, edge_index) in zip(data, before, strict=True):
        assert torch.equal(graph.x, x)
        assert torch.equal(graph.edge_index, edge_index)


@pytest.mark.parametrize("name", ["features", "kernel", "rbf kernel", "classifier", "regressor"])
def test_jobs_do_not_change_a_bit(name):
    one, two = (clone(ESTIMATORS[name]).set_params(n_jobs=jobs).fit(X, targets(ESTIMATORS[name])) for jobs in (1, 2))
    np.testing.assert_array_equal(outcome(one, X), outcome(two, X))


def test_features_go_into_a_pipeline_and_a_grid_search():
    pipeline = make_pipeline(clone(ESTIMATORS["features"]), StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipeline, {"graphtensfeatures__n_layers": [0, 2]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    assert search.predict(X[:2]).tolist() == Y[:2]


def test_classifiers_can_be_cross_validated_and_searched():
    assert cross_val_score(ESTIMATORS["classifier"], X, Y, cv=3).mean() > 0.9
    search = GridSearchCV(ESTIMATORS["classifier"], {"features__n_layers": [1, 2]}, cv=2).fit(np.array(X, dtype=object), Y)
    assert search.best_estimator_.features_.n_layers in (1, 2)


@each_classifier
def test_probabilities_follow_the_classes(name):
    classifier = clone(ESTIMATORS[name]).fit(X, Y)
    assert classifier.classes_.tolist() == ["path", "ring"]
    shares = classifier.predict_proba(X)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_array_equal(classifier.classes_[shares.argmax(1)], classifier.predict(X))
    assert classifier.score(X, Y) == np.mean(classifier.predict(X) == Y)


@each_classifier
@pytest.mark.filterwarnings("ignore:class 'rare'")
@pytest.mark.parametrize("labels", ["numbers", "booleans", "three", "one", "rare"])
def test_any_classes_will_do(name, labels):
    y = {
        "numbers": np.array([place % 2 * 5 - 2 for place in range(24)]),
        "booleans": np.arange(24) % 2 == 0,
        "three": np.array(list("abc") * 8),
        "one": np.zeros(24, dtype=int),
        "rare": np.array(["common"] * 23 + ["rare"]),
    }[labels]
    classifier = clone(ESTIMATORS[name]).fit(X, y)
    assert classifier.classes_.tolist() == np.unique(y).tolist()
    assert classifier.predict(X).dtype == y.dtype
    assert classifier.predict_proba(X).shape == (24, np.unique(y).size)
    assert np.isfinite(classifier.predict_proba(X)).all()


@each_classifier
def test_wrong_targets_are_named(name):
    for y, message in [(None, "`y` must"), (Y[:5], "one class for each of the 24 graphs"), (np.linspace(0, 1, 24), "Unknown label type")]:
        with pytest.raises(ValueError, match=message):
            clone(ESTIMATORS[name]).fit(X, y)
    with pytest.raises(ValueError, match="`y_val` must hold classes of `y`"):
        clone(ESTIMATORS[name]).fit(X, Y, X[:1], ["spiral"])
    with pytest.raises(ValueError, match="`y_val` must come with `X_val`"):
        clone(ESTIMATORS[name]).fit(X, Y, y_val=Y)


def test_the_classifier_chooses_by_the_validation_data_alone_and_does_not_train_on_it():
    classifier = GraphTensClassifier(FEATURES, C=(0.1, 1, 10), gamma=(0.3, 3), random_state=0)
    classifier.fit(X[:16], Y[:16], X[16:], Y[16:])
    assert classifier.head_.svc_.shape_fit_[0] == 16
    best = max(classifier.head_.validation_table_, key=lambda row: row["log_likelihood"])
    assert (best["C"], best["gamma"]) == (classifier.head_.C_, classifier.head_.gamma_)
    assert best["accuracy"] == classifier.head_.validation_accuracy_ == classifier.score(X[16:], Y[16:])
    # other validation answers, other choice of temperature; the same training data, the same columns
    turned = clone(classifier).fit(X[:16], Y[:16], X[16:], Y[16:][::-1])
    np.testing.assert_array_equal(turned.head_.standardiser_.shift, classifier.head_.standardiser_.shift)
    assert turned.head_.validation_accuracy_ < classifier.head_.validation_accuracy_


@pytest.mark.parametrize(("validation", "refit", "trained"), [(0.25, True, 24), (0.25, False, 18), (4, True, 24), ("auto", False, 24)])
def test_graphs_set_aside_are_trained_on_after_the_choice(validation, refit, trained):
    classifier = GraphTensClassifier(FEATURES, C=(1,), gamma=(1,), validation=validation, refit=refit, random_state=0).fit(X, Y)
    assert classifier.head_.svc_.shape_fit_[0] == trained


@pytest.mark.parametrize("validation", [0, -1, 1, True, "all"])
def test_a_wrong_way_to_validate_is_named(validation):
    with pytest.raises(ValueError, match="`validation` must be"):
        GraphTensClassifier(FEATURES, validation=validation).fit(X, Y)


@pytest.mark.parametrize("classes", [[1, 2, 3], [-1, 0, 1], ["a", "b", "c"]], ids=str)
def test_class_weights_are_those_of_the_users_classes(classes):
    table, y = np.random.default_rng(0).normal(size=(30, 2)), np.array(classes * 10)
    svm = ValidatedSVC(1.0, 1.0, class_weight={classes[1]: 50.0}, random_state=0).fit(table, y)
    assert svm.svc_.class_weight_.tolist() == [1, 50, 1]
    assert (svm.predict(table) == classes[1]).mean() > 0.5
    with pytest.raises(ValueError, match="not in class_weight"):
        ValidatedSVC(class_weight={"other": 2.0}).fit(table, y)


def test_the_classifier_hands_class_weights_on_and_a_fold_may_lack_a_class():
    weighted = GraphTensClassifier(FEATURES, C=1, gamma=1, class_weight={"ring": 9.0}, random_state=0).fit(X, Y)
    assert weighted.head_.svc_.class_weight_.tolist() == [1, 9]
    rare = ["rare", *Y[1:]]
    weighted = GraphTensClassifier(FEATURES, C=1, gamma=1, class_weight={"rare": 9.0}, random_state=0).fit(X, rare)
    assert weighted.head_.svc_.class_weight_.tolist() == [1, 9, 1]


def test_a_number_is_the_only_candidate():
    search = GridSearchCV(GraphTensClassifier(FEATURES, gamma=0.5, random_state=0), {"C": [1, 10.0]}, cv=2, error_score="raise").fit(X, Y)
    svm = search.best_estimator_.head_
    assert [(row["C"], row["gamma"]) for row in svm.validation_table_] == [(search.best_params_["C"], 0.5)]
    one, same = (GraphTensClassifier(FEATURES, C=C, gamma=np.float32(0.5), random_state=0).fit(X, Y) for C in (3, [3.0]))
    np.testing.assert_array_equal(one.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize("name", ["C", "gamma"])
@pytest.mark.parametrize(
    "value", [(), "scale", ["1", "2"], None, 0, [1.0, -1.0], np.nan, np.inf, True, [[1.0]], [[1.0], [1.0, 2.0]]], ids=str
)
def test_wrong_candidates_are_named(name, value):
    if (name, value) != ("gamma", None):  # which stands for the candidates of the head
        with pytest.raises(ValueError, match=f"`{name}` must be a positive number or a list of them"):
            GraphTensClassifier(FEATURES, **{name: value}).fit(X, Y)
    with pytest.raises(ValueError, match=f"`{name}` must"):
        ValidatedSVC(**{name: value}).fit(np.eye(4), [0, 1, 0, 1])


def test_to_search_over_the_features_they_must_be_given():
    with pytest.raises(ValueError, match=r"`features` must be given to set `features__degree` .*features=GraphTensFeatures\(\)"):
        GridSearchCV(GraphTensClassifier(), {"features__degree": [1, 2]}).fit(X, Y)
    given = GraphTensClassifier().set_params(features=GraphTensFeatures(), features__degree=3)
    assert given.features.degree == 3
    assert given.set_params(C=2.0) is given


def test_decisions_have_the_shape_of_scikit_learns():
    two = clone(ESTIMATORS["classifier"]).fit(X, Y)
    assert two.decision_function(X).shape == (24,)
    np.testing.assert_array_equal(two.decision_function(X) > 0, two.predict(X) == "ring")
    three = clone(ESTIMATORS["classifier"]).fit(X, list("abc") * 8)
    assert three.decision_function(X).shape == (24, 3)


def test_the_classifier_is_not_certain_after_few_graphs():
    sure = clone(ESTIMATORS["classifier"]).fit(X, Y)
    assert 0.5 < sure.predict_proba(X).max(axis=1).mean() < 0.999


def test_the_network_learns_and_stops_early():
    data, y = rings_and_paths(60)
    network = G2TNClassifier(
        hidden_channels=16, num_layers=2, walk_length=3, epochs=200, batch_size=16, patience=15, learning_rate=0.01, random_state=0
    ).fit(data, y, X_val=data[::3], y_val=y[::3])
    assert network.score(data, y) > 0.9
    assert network.n_iter_ < 200
    assert network.best_epoch_ == network.n_iter_ - 15
    assert len(network.history_) == network.n_iter_


def test_the_network_walks_with_attention_too_and_reports_progress(capsys):
    network = G2TNClassifier("G2TAN", **{**NETWORK, "network_options": {"heads": 2}, "verbose": 2, "patience": None}).fit(X, Y)
    assert capsys.readouterr().err.count("epoch ") == 3
    assert network.predict(X[:3]).shape == (3,)
    with pytest.raises(ValueError, match="`conv` must be 'G2TN' or 'G2TAN'"):
        G2TNClassifier("GCN").fit(X, Y)


def test_the_network_takes_an_edge_of_weight_2_for_two_edges():
    def star(weight=None, edges=((0, 0, 1, 2), (1, 2, 0, 0))):
        return Data(x=torch.tensor([[0.0], [1.0], [2.0]]), edge_index=torch.tensor(edges), edge_weight=weight)

    network = G2TNClassifier(**NETWORK, degree_attribute=False, random_state=0).fit([star(), star(torch.ones(4))] * 4, [0, 1] * 4)
    weighted, doubled = star(torch.tensor([2.0, 1, 1, 1])), star(edges=((0, 0, 0, 1, 2), (1, 1, 2, 0, 0)))
    plain, ones, heavy, double = network.predict_proba([star(), star(torch.ones(4)), weighted, doubled])
    np.testing.assert_array_equal(plain, ones)
    np.testing.assert_allclose(heavy, double, rtol=1e-5)
    assert abs(heavy - plain).max() > 1e-4


def test_progress_is_shown_when_asked_for(capsys):
    clone(FEATURES).set_params(verbose=10, batch_size=20).fit_transform(X)
    assert "Done" in "".join(capsys.readouterr())


def test_a_network_of_few_graphs_is_not_stopped_by_the_noise_of_a_few_validation_graphs():
    """Below 1,000 graphs all are trained on, in small batches, to the last epoch; before, a network stopped after a dozen steps."""
    few = G2TNClassifier(**{**NETWORK, "epochs": 2}, random_state=0).fit(X, Y)
    assert few.patience_ is None
    assert few.n_iter_ == 2
    many = G2TNClassifier()
    many._settle(1000, validated=False)
    assert (many.batch_size_, many.patience_) == (128, 30)
    many._settle(200, validated=False)
    assert (many.batch_size_, many.patience_) == (25, None)
    many._settle(200, validated=True)  # whoever gives graphs to validate by wants them used
    assert many.patience_ == 30
    with pytest.raises(ValueError, match="`patience` must be a number or 'auto'"):
        G2TNClassifier(patience="never").fit(X, Y)
