"""Numbers for graphs: the Gaussian process against its peer and against refits, targets with holes, error bars that hold."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from graph_lists import rings_and_paths
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RationalQuadratic, WhiteKernel
from sklearn.model_selection import GridSearchCV

from graph2tens.sklearn import GraphTensFeatures, GraphTensRegressor, ValidatedGP
from graph2tens.sklearn.heads.gaussian_process import Spectrum, held_out, leave_one_out

FEATURES = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8)


def table(n=60, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=n)


def test_a_gaussian_process_agrees_with_that_of_scikit_learn():
    x, y = table()
    ours = ValidatedGP(0.5, 0.02).fit(x, y)
    standard, target = ours.standardiser_.transform(x).astype(float), (y - y.mean()) / y.std()
    kernel = RationalQuadratic(alpha=1, length_scale=np.sqrt(ours.unit_ / 0.5 / 2)) + WhiteKernel(0.02)
    peer = GaussianProcessRegressor(kernel, optimizer=None, alpha=0).fit(standard, target)
    new = table(seed=1)[0]
    mean, std = peer.predict(ours.standardiser_.transform(new).astype(float), return_std=True)
    found, error = ours.predict(new, return_std=True)
    np.testing.assert_allclose(found, y.mean() + y.std() * mean, atol=1e-4)
    # the peer's signal has variance 1, ours the one that leave-one-out errors ask for
    np.testing.assert_allclose(error / std, error[0] / std[0], rtol=1e-4)


def test_leave_one_out_is_a_refit_without_the_row():
    rng = np.random.default_rng(0)
    points, y, noises = rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), np.array([0.01, 0.5])
    kernel = np.exp(-np.square(points[:, None] - points).sum(-1))
    at_once = leave_one_out(Spectrum.of(kernel.copy()), y, noises)
    for row in range(9):
        others = np.delete(np.arange(9), row)
        refit = Spectrum.of(kernel[np.ix_(others, others)])
        alone = held_out(refit, y[others], noises, kernel[[row]][:, others], y[[row]])
        np.testing.assert_allclose(at_once.errors[row], alone.errors[0], atol=1e-9)
        np.testing.assert_allclose(at_once.variances[row], alone.variances[0], atol=1e-9)


def test_the_choice_has_the_highest_density_and_is_told():
    x, y = table()
    head = ValidatedGP(gamma=(0.01, 0.3, 10), noise=(1e-3, 0.1, 10)).fit(x, y)
    assert len(head.scores_) == 9
    best = max(head.scores_, key=lambda row: row["density"])
    assert (best["gamma"], best["noise"], best["rmse"]) == (head.gamma_, head.noise_, head.rmse_)
    assert 0.05 < head.rmse_ < 0.4


def test_validation_data_of_the_caller_decides_and_is_not_learnt_from():
    x, y = table()
    choose = ValidatedGP(gamma=(0.01, 0.3, 10)).fit(x[:40], y[:40], x[40:], y[40:])
    assert choose.table_.shape[0] == 40
    same = ValidatedGP(gamma=choose.gamma_, noise=choose.noise_).fit(x[:40], y[:40])
    np.testing.assert_allclose(choose.predict(x), same.predict(x))
    assert choose.rmse_ == pytest.approx(np.sqrt(np.square(choose.predict(x[40:]) - y[40:]).mean()), rel=1e-6)
    holes = np.where(np.arange(20) < 5, np.nan, y[40:])
    known = ValidatedGP().fit(x[:40], y[:40], x[45:], y[45:])
    found = ValidatedGP().fit(x[:40], y[:40], x[40:], holes)
    np.testing.assert_allclose([row["density"] for row in found.scores_], [row["density"] for row in known.scores_], rtol=1e-6)


def test_several_targets_are_learnt_as_each_alone():
    x, y = table()
    both = np.stack([y, 100 - 7 * y**2], axis=1)
    together = ValidatedGP().fit(x, both)
    mean, std = together.predict(x, return_std=True)
    for target in (0, 1):
        alone = ValidatedGP().fit(x, both[:, target])
        assert (alone.gamma_, alone.noise_) == (together.gamma_[target], together.noise_[target])
        np.testing.assert_allclose(alone.predict(x, return_std=True), (mean[:, target], std[:, target]), rtol=1e-6)
    assert together.score(x, both) == pytest.approx(np.mean([ValidatedGP().fit(x, column).score(x, column) for column in both.T]))


def test_rows_without_a_target_do_not_count_for_it():
    x, y = table()
    unknown = np.arange(60) % 3 == 0
    holes = np.stack([np.where(unknown, np.nan, y), y, np.where(unknown, np.nan, -y)], axis=1)
    head = ValidatedGP().fit(x, holes)
    assert sorted(part.rows.size for part in head.parts_ for _ in part.columns) == [40, 40, 60]
    assert head.gamma_[0] == head.gamma_[2]
    np.testing.assert_allclose(head.predict(x)[:, 0], -head.predict(x)[:, 2], atol=1e-9)
    other = np.where(np.isnan(holes), np.nan, holes)
    other[unknown, 1] = 99.0
    np.testing.assert_array_equal(ValidatedGP().fit(x, other).predict(x)[:, 0], head.predict(x)[:, 0])
    assert np.isfinite(head.score(x, holes))


@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_nine_tenths_of_new_measurements_lie_inside_their_interval(noise):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 2))
    y = np.sin(2 * x[:, 0]) * x[:, 1] + noise * rng.normal(size=500)
    mean, std = ValidatedGP().fit(x[:200], y[:200]).predict(x[200:], return_std=True)
    assert 0.85 < (np.abs(y[200:] - mean) < 1.645 * std).mean() < 0.95


def test_a_target_that_never_changes_is_predicted_without_doubt():
    mean, std = ValidatedGP().fit(table()[0], np.full(60, 5.0)).predict(table(seed=2)[0], return_std=True)
    np.testing.assert_allclose(mean, 5)
    assert (std < 1e-9).all()


def test_a_regressor_learns_the_size_of_graphs_and_doubts_what_is_far_away():
    graphs = [nx.path_graph(n) for n in range(3, 33)]
    regressor = GraphTensRegressor(FEATURES, random_state=0).fit(graphs[::2], [len(graph) for graph in graphs[::2]])
    mean, std = regressor.predict([*graphs[1::2], nx.complete_graph(40)], return_std=True)
    assert np.abs(mean[1:-1] - [len(graph) for graph in graphs[3::2]]).max() < 0.2
    assert std[-1] > 3 * std[1:-1].max()
    assert regressor.score(graphs, [len(graph) for graph in graphs]) > 0.99


def test_regressors_can_be_searched():
    graphs, _ = rings_and_paths(24)
    search = GridSearchCV(GraphTensRegressor(FEATURES, random_state=0), {"features__n_layers": [1, 2]}, cv=2, error_score="raise")
    assert search.fit(graphs, [len(graph) for graph in graphs]).best_score_ > 0.5


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "`y` must hold numbers"),
        (np.ones(5), "one row for each of the 24 graphs"),
        (np.stack([np.arange(24.0), np.full(24, np.nan)], axis=1), r"got 0 for target 1, the others are NaN"),
        (np.full(24, np.inf), "infinity"),
        (np.ones((24, 2, 2)), "dim 3|must have shape"),
        (["ring"] * 24, "`y` must hold numbers .*'ring'.*Did you mean a classifier"),
    ],
    ids=["none", "short", "all unknown", "infinite", "cube", "words"],
)
def test_wrong_numbers_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        GraphTensRegressor(FEATURES).fit(rings_and_paths(24)[0], y)


def test_wrong_validation_data_is_named():
    x, y = table()
    with pytest.raises(ValueError, match="`y_val` must come with `X_val`"):
        ValidatedGP().fit(x, y, y_val=y)
    with pytest.raises(ValueError, match="must have 1 targets, as before"):
        ValidatedGP().fit(x, y, x, np.stack([y, y], axis=1))
