"""Heads beyond the SVM: landmarks against the exact kernel, streams, several labels with holes, class weights, calibrated probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from graph_lists import rings_and_paths
from sklearn.metrics import log_loss, roc_auc_score

from graph2tens.sklearn import (
    GraphTensClassifier,
    GraphTensFeatures,
    GraphTensRegressor,
    LandmarkGP,
    LeastSquaresClassifier,
    ValidatedGP,
)
from graph2tens.sklearn.heads.answers import Labels
from graph2tens.sklearn.heads.gaussian_process import Errors
from graph2tens.sklearn.heads.landmark_gp import blocks
from graph2tens.sklearn.heads.landmarks import Sums
from graph2tens.sklearn.heads.validated_svc import ValidatedSVC

FEATURES = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8)


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=n)


def three_labels(n=200, seed=0, unknown=0.2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    labels = np.stack([x[:, 0] > 0, x[:, 1] + 0.7 * rng.normal(size=n) > 1, x[:, 2] * x[:, 3] > 0], axis=1).astype(float)
    full = labels.copy()
    labels[rng.random(labels.shape) < unknown] = np.nan
    return x, labels, full


def test_with_all_rows_for_landmarks_nothing_is_approximated():
    x, y = table()
    validation = table(seed=1)
    both = np.stack([y, np.where(x[:, 2] > 1, np.nan, -y)], axis=1)
    both_val = np.stack([validation[1]] * 2, axis=1)
    exact = ValidatedGP(0.3, 0.05).fit(x, both, validation[0], both_val)
    landmarks = LandmarkGP(120, gamma=0.3, noise=0.05, random_state=0).fit(x, both, validation[0], both_val)
    new = table(seed=2)[0]
    np.testing.assert_allclose(landmarks.predict(new, return_std=True), exact.predict(new, return_std=True), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(landmarks.left_out_, exact.left_out_, atol=1e-3)
    np.testing.assert_allclose(landmarks.rmse_, exact.rmse_, rtol=1e-3)
    for process in (exact, landmarks):  # rows held out to choose by are landmarks too
        process.fit(x, both)
    np.testing.assert_allclose(landmarks.predict(new), exact.predict(new), atol=1e-3)


def test_rows_held_out_are_judged_by_their_weights():
    rng = np.random.default_rng(3)
    errors = Errors(rng.normal(size=(30, 2, 4)), rng.random((30, 4)) + 0.5)
    weights = np.repeat([[1, 3], [2, 1]], 15, axis=0)
    found = errors.judge(weights.astype(float))
    for target in (0, 1):
        rows = np.repeat(np.arange(30), weights[:, target])  # a row of weight 3 is three rows
        plain = Errors(errors.errors[rows][:, [target]], errors.variances[rows]).judge()
        for name in ("scale", "density", "error"):
            np.testing.assert_allclose(getattr(found, name)[[target]], getattr(plain, name))
    # where a rare class weighs more, the landmark process chooses by it: only those rows have a signal to follow
    x = rng.normal(size=(600, 3))
    rare, sign = np.arange(600) % 10 == 0, np.sign(x[:, 0])
    y = np.where(rare, 3 * sign, rng.normal(size=600) * 3)
    noises = [LandmarkGP(50, gamma=0.3, random_state=0).fit(x, y, weights=np.where(rare, w, 1.0)).noise_ for w in (1.0, 500.0)]
    assert noises[1] < noises[0]


@pytest.mark.parametrize("weights", ["equal", "holes", "any"])
def test_sums_do_not_depend_on_the_blocks(weights):
    rng = np.random.default_rng(0)
    kernel, y = rng.random((30, 4)), rng.normal(size=(30, 2))
    w = {"equal": np.ones((30, 2)), "holes": (rng.random((30, 2)) > 0.3) * 1.0, "any": rng.random((30, 2))}[weights]
    once, parts = Sums.zero(4, 2), Sums.zero(4, 2)
    once.add(kernel, y, w)
    parts.add(kernel[:7], y[:7], w[:7])
    parts.add(kernel[7:], y[7:], w[7:])
    expected = np.einsum("nt,ni,nj->tij", w, kernel, kernel)
    for sums in (once, parts):
        np.testing.assert_allclose(np.broadcast_to(sums.gram, (2, 4, 4)), expected)
        np.testing.assert_allclose(sums.product, kernel.T @ (w * y))
    assert len(once.gram) == (1 if weights == "equal" else 2)


def test_a_row_of_weight_2_is_the_mean_of_two_measurements():
    x, y = table(40)
    validation = table(seed=1)
    weighted = ValidatedGP(0.3, 0.05).fit(x, y, *validation, weights=np.where(np.arange(40) < 10, 2.0, 1.0))
    kernel = 1 / (1 + 0.3 / weighted.unit_ * np.square(weighted.table_[:, None].astype(float) - weighted.table_).sum(-1))
    scaled = (y - y.mean()) / y.std()
    alpha = np.linalg.solve(kernel + np.diag(np.where(np.arange(40) < 10, 0.025, 0.05)), scaled)
    np.testing.assert_allclose(weighted.predict(x), y.mean() + y.std() * kernel @ alpha, rtol=1e-6)
    landmarks = LandmarkGP(40, gamma=0.3, noise=0.05).fit(x, y, *validation, weights=np.where(np.arange(40) < 10, 2.0, 1.0))
    np.testing.assert_allclose(landmarks.predict(x), weighted.predict(x), atol=1e-3)
    # leaving a row out leaves its weight out too
    one = ValidatedGP(0.3, 0.05).fit(x, y, weights=np.full(40, 2.0))
    np.testing.assert_allclose(one.left_out_, ValidatedGP(0.3, 0.025).fit(x, y).left_out_)


def test_a_stream_learns_what_comes_later():
    x, y = table(1500)
    stream = LandmarkGP(60, random_state=0)
    for start in range(0, 1500, 500):
        stream.partial_fit(x[start : start + 500], y[start : start + 500])
    assert stream.n_rows_ == 1500
    first = LandmarkGP(60, random_state=0).fit(x[:500], y[:500])
    new, target = table(300, seed=3)
    assert stream.score(new, target) > first.score(new, target)
    mean, std = stream.predict(new, return_std=True)
    assert 0.8 < (np.abs(target - mean) < 1.645 * std).mean() < 0.97


def test_the_first_block_has_rows_of_every_target():
    known = np.zeros((5000, 2), dtype=bool)
    known[:, 0], known[[17, 4100, 4900], 1] = True, True
    found = list(blocks(known, np.random.RandomState(0), first=100, rows=1000))
    assert sorted(np.concatenate(found)) == list(range(5000))
    assert {17, 4100, 4900} <= set(found[0].tolist())
    assert len(found[0]) == 100


@pytest.mark.parametrize("landmarks", [5, 40, 100])
def test_the_first_block_has_as_many_landmarks_as_are_asked_for(landmarks, monkeypatch):
    monkeypatch.setattr("graph2tens.sklearn.heads.landmark_gp.FIRST", 20)
    x, y = table(100)
    assert len(LandmarkGP(landmarks, random_state=0).fit(x, y).landmarks_) == landmarks


@pytest.mark.parametrize("landmarks", [None, 100])
def test_labels_with_holes_are_learnt(landmarks):
    x, holes, full = three_labels(400)
    new, _, truth = three_labels(300, seed=1, unknown=0)
    classifier = LeastSquaresClassifier(landmarks, random_state=0).fit(x, holes)
    assert [classes.tolist() for classes in classifier.classes_] == [[0, 1]] * 3
    odds, shares = classifier.decision_function(new), classifier.predict_proba(new)
    assert odds.shape == shares.shape == (300, 3)
    np.testing.assert_array_equal(classifier.predict(new), (shares > 0.5).astype(int))
    np.testing.assert_array_equal(classifier.predict(new), (odds > 0).astype(int))
    found = [roc_auc_score(truth[:, label], odds[:, label]) for label in range(3)]
    complete = LeastSquaresClassifier(landmarks, random_state=0).fit(x, full)
    assert min(found) > 0.8
    assert (
        np.mean(found) > np.mean([roc_auc_score(truth[:, label], complete.decision_function(new)[:, label]) for label in range(3)]) - 0.05
    )
    assert classifier.score(x, holes) > 0.8


def test_probabilities_of_labels_are_calibrated():
    x, holes, _ = three_labels(800)
    new, _, truth = three_labels(2000, seed=1, unknown=0)
    shares = LeastSquaresClassifier().fit(x, holes).predict_proba(new)[:, 1]  # the label with noise
    base = truth[:, 1].mean()
    assert log_loss(truth[:, 1], shares) < log_loss(truth[:, 1], np.full(2000, base))
    for low, high in ((0, 0.1), (0.1, 0.5), (0.5, 1)):
        inside = (shares > low) & (shares < high)
        assert truth[inside, 1].mean() == pytest.approx(shares[inside].mean(), abs=0.15)


@pytest.mark.parametrize("landmarks", [None, 50])
def test_class_weights_move_the_border(landmarks):
    x, holes, _ = three_labels(300)
    plain, weighted, listed = (
        LeastSquaresClassifier(landmarks, class_weight=weight, random_state=0).fit(x, holes).predict(x)[:, 1].mean()
        for weight in (None, "balanced", [None, {0: 1.0, 1: 5.0}, None])
    )
    assert plain < weighted
    assert plain < listed
    with pytest.raises(ValueError, match="for each of the 3 labels"):
        LeastSquaresClassifier(class_weight=[None]).fit(x, holes)


def test_platt_keeps_the_order_even_if_predictions_are_no_use():
    labels = Labels.of(np.array([[0.0, 1], [1, 0], [0, 1], [1, 1]]), 4, None)
    upside_down = labels.calibrated(np.array([[1.0, 0], [-1, 0], [0.9, 0], [-0.8, 0]]), np.array([[-1.0, 1], [1, -1], [-1, 1], [1, 1]]))
    assert (upside_down.slope > 0).all()
    assert np.isfinite(upside_down.probabilities(np.zeros((2, 2)))).all()


@pytest.mark.parametrize("classes", [["b", "a"], ["x", "y", "z"], ["only"]], ids=str)
def test_least_squares_answers_classes_too(classes):
    x, _ = table(90)
    y = np.array(classes)[np.argsort(np.argsort(x[:, 0])) * len(classes) // 90]
    for classifier in (LeastSquaresClassifier(), LeastSquaresClassifier(40, random_state=0)):
        classifier.fit(x, y)
        assert classifier.score(x, y) > 0.9
        shares = classifier.predict_proba(x)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(classifier.classes_[shares.argmax(axis=1)], classifier.predict(x))


def test_a_stream_of_classes():
    x, _ = table(400)
    y = np.where(x[:, 0] > 0, "right", "left")
    y[x[:, 1] > 1.5] = "above"
    stream = LeastSquaresClassifier(60, random_state=0)
    few = np.flatnonzero(y != "above")[:60]
    stream.partial_fit(x[few], y[few], classes=["above", "left", "right"])
    for start in range(0, 400, 100):
        stream.partial_fit(x[start : start + 100], y[start : start + 100])
    assert stream.score(x, y) > 0.85
    with pytest.raises(ValueError, match="`y` must hold the classes of the first call"):
        stream.partial_fit(x[:2], ["below", "left"])
    assert not hasattr(LeastSquaresClassifier(), "partial_fit")
    with pytest.raises(ValueError, match="`class_weight` must be None or a dictionary"):
        LeastSquaresClassifier(9, class_weight="balanced").partial_fit(x, y)


def test_graphs_with_several_labels():
    graphs, kinds = rings_and_paths(40)
    labels = np.array([[kind == "ring", len(graph) > 6] for kind, graph in zip(kinds, graphs, strict=True)], dtype=float)
    labels[::5, 0] = np.nan
    for landmarks in ("auto", 20):
        classifier = GraphTensClassifier(FEATURES, landmarks=landmarks, random_state=0).fit(graphs, labels)
        assert classifier.predict(graphs).shape == classifier.predict_proba(graphs).shape == (40, 2)
        assert classifier.score(graphs, labels) > 0.9
    assert classifier.set_params(class_weight="balanced").fit(graphs, labels).score(graphs, labels) > 0.9


def test_many_graphs_take_landmarks_and_the_table_of_features_never_exists(monkeypatch):
    graphs, kinds = rings_and_paths(60)
    sizes = []
    transform = GraphTensFeatures.transform
    monkeypatch.setattr(GraphTensFeatures, "transform", lambda self, X: sizes.append(len(X)) or transform(self, X))
    monkeypatch.setattr("graph2tens.sklearn.with_features.EXACT", 50)
    monkeypatch.setattr("graph2tens.sklearn.with_features.LANDMARKS", 10)
    monkeypatch.setattr("graph2tens.sklearn.with_features.GRAPHS", 16)
    monkeypatch.setattr("graph2tens.sklearn.with_features.FIRST", 24)
    numbers = [len(graph) for graph in graphs]
    for estimator, y in ((GraphTensClassifier(FEATURES, random_state=0), kinds), (GraphTensRegressor(FEATURES, random_state=0), numbers)):
        sizes.clear()
        assert estimator.fit(graphs, y).score(graphs, y) > 0.8
        assert max(sizes) <= 40
        process = estimator.head_ if hasattr(estimator.head_, "landmarks_") else estimator.head_.gp_
        assert len(process.landmarks_) == 10
        assert process.n_rows_ == 60
        assert not hasattr(estimator.set_params(landmarks=None).fit(graphs, y).head_, "landmarks_")


def test_streams_of_graphs():
    graphs, kinds = rings_and_paths(60)
    classifier, regressor = GraphTensClassifier(FEATURES, random_state=0), GraphTensRegressor(FEATURES, random_state=0)
    for start in range(0, 60, 20):
        part = graphs[start : start + 20]
        classifier.partial_fit(part, kinds[start : start + 20])
        regressor.partial_fit(part, [len(graph) for graph in part])
    assert classifier.score(graphs, kinds) > 0.9
    assert regressor.score(graphs, [len(graph) for graph in graphs]) > 0.9
    assert not hasattr(GraphTensRegressor(landmarks=None), "partial_fit")
    anew = GraphTensClassifier(FEATURES, random_state=0).fit(graphs[:20], kinds[:20]).partial_fit(graphs, kinds)
    assert anew.head_.gp_.n_rows_ == 60


@pytest.mark.parametrize("landmarks", [0, "all", 1.5])
def test_a_wrong_number_of_landmarks_is_named(landmarks):
    graphs, kinds = rings_and_paths(12)
    with pytest.raises((ValueError, TypeError), match="`landmarks` must be"):
        GraphTensClassifier(FEATURES, landmarks=landmarks).fit(graphs, kinds)


def test_wrong_labels_are_named():
    x, holes, _ = three_labels(30)
    wrong = holes.copy()
    wrong[3, 1] = 2
    with pytest.raises(ValueError, match=r"got 2 in row 3, label 1"):
        LeastSquaresClassifier().fit(x, wrong)
    with pytest.raises(ValueError, match="got 0 for target 2"):
        LeastSquaresClassifier().fit(x, np.where(np.arange(3) == 2, np.nan, holes))
    with pytest.raises(ValueError, match="must have 3 labels, as before"):
        LeastSquaresClassifier().fit(x, holes, x, holes[:, :2])


@pytest.mark.parametrize(("rows", "divisions"), [(100, 3), (399, 3), (400, 1), (999, 1)])
def test_few_rows_are_divided_into_folds_several_times(rows, divisions):
    """With few rows the choice of C and width depends on who meets whom in a fold."""
    target = np.arange(rows) % 2
    folds = ValidatedSVC(random_state=0)._folds(target)
    assert len(folds) == 5 * divisions
    assert (np.bincount(np.concatenate([validation for _, validation in folds])) == divisions).all()
    assert len(ValidatedSVC(validation=5, random_state=0)._folds(target)) == 5  # what is asked for is done
