"""Random features: right against the engine, the same bits in any company, named column by column."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from graph_lists import corner_data, rings_and_paths
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs, seeds, variants

import graph2tens as g2t
from graph2tens.sklearn import GraphTensFeatures
from graph2tens.sklearn.inputs import OneGraph, as_graphs
from graph2tens.sklearn.random_features import Walks, apply_layers, draw_layers

SMALL = {"n_layers": 3, "n_functionals": 5, "n_waves": 7, "random_state": 0}


@given(graphs(), st.integers(0, 3), st.integers(1, 4), variants(), seeds(), st.sampled_from([0.0, 0.4]))
@settings(max_examples=40)
def test_a_layer_is_low_rank_features_normalised(graph, length, degree, variant, rng, laziness):
    weights = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
    one = OneGraph(graph.n, graph.edges.T, weights)
    x = rng.normal(size=(graph.n, 3)).astype(np.float32)
    sizes = {"degree": degree, "rank": 6, "waves": 5, "frequency": (1.0, 4.0)}
    layers = draw_layers(int(rng.integers(99)), 1, 3, **sizes, time=variant["time"], size=1.5)
    ((outputs, waves),) = apply_layers(layers, x, Walks.of([one], laziness), length=length, **variant)
    walk = g2t.random_walk(torch.tensor(graph.edges.T), graph.n, torch.tensor(weights), laziness)
    components = torch.tensor(layers[0].components).double()
    exact = g2t.low_rank_features(torch.tensor(x).double(), walk, components, length=length, **variant, backend="reference")
    expected = exact - exact.mean(2, keepdim=True)
    spread = expected.square().mean(2, keepdim=True).sqrt()
    size = exact.abs().amax(2, keepdim=True)
    stable = (spread > 1e-3 * size).expand_as(expected).flatten(1)  # a spread of rounding errors is noise in both
    expected = torch.where(spread > 0, expected / spread, 0).flatten(1)
    np.testing.assert_allclose(outputs[stable.numpy()], expected[stable].numpy(), atol=2e-3)
    turns = outputs @ layers[0].frequencies + layers[0].phases
    np.testing.assert_allclose(waves, np.cos(2 * np.pi * turns), atol=1e-4)


def test_many_functionals_share_the_channels_of_the_layer_before():
    rng = np.random.default_rng(0)
    one = OneGraph(6, np.array([[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 3]]), np.ones(7))
    x = rng.normal(size=(6, 3)).astype(np.float32)
    layers = draw_layers(0, 2, 3, degree=2, rank=300, waves=10, frequency=(1.0, 4.0), time=False, size=1.0)
    assert [len(part) for part in layers[1].inputs] == [200, 200, 200]
    assert sorted(np.concatenate(layers[1].inputs)) == list(range(600))
    assert (np.count_nonzero(layers[1].components, axis=1) == 200).all()
    assert (np.count_nonzero(layers[1].frequencies, axis=0) == 200).all()
    options = {"length": 2, "increments": True, "zero_start": True, "time": False}
    found = list(apply_layers(layers, x, Walks.of([one], 0.0), **options))
    walk = g2t.random_walk(torch.tensor(one.edges), 6)
    raw = g2t.low_rank_features(torch.tensor(found[0][0]), walk, torch.tensor(layers[1].components), length=2)
    expected = (raw - raw.mean(2, keepdim=True)) / raw.std(2, keepdim=True, correction=0)
    np.testing.assert_allclose(found[1][0], expected.flatten(1).numpy(), atol=1e-3)
    turns = found[1][0] @ layers[1].frequencies + layers[1].phases
    np.testing.assert_allclose(found[1][1], np.cos(2 * np.pi * turns), atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"pooling": "both", "time": True}, {"functionals": "exact"}, {"pooling": None}], ids=str)
def test_a_graph_has_the_same_bits_in_any_company(options):
    data = corner_data() + corner_data(seed=1)
    features = GraphTensFeatures(**{**SMALL, "degree": 3, "walk_length": 2, **options}).fit(data)
    together = features.transform(data)
    one_by_one = np.concatenate([features.transform([graph]) for graph in data])
    np.testing.assert_array_equal(together, one_by_one)
    for batch_size, n_jobs in ((1, 1), (5, 2), (10_000, 3)):
        np.testing.assert_array_equal(features.set_params(batch_size=batch_size, n_jobs=n_jobs).transform(data), together)
    if options.get("pooling", "") is not None:
        np.testing.assert_array_equal(features.transform(data[::-1]), together[::-1])


def test_bits_stay_the_same_at_the_sizes_that_are_used():
    data = as_graphs(rings_and_paths(40)[0])
    features = GraphTensFeatures(n_layers=2, n_functionals=64, n_waves=100, random_state=1).fit(data)
    together = features.transform(data)
    np.testing.assert_array_equal(together[7:8], features.transform(data[7:8]))
    np.testing.assert_array_equal(together, features.set_params(batch_size=17, n_jobs=2).transform(data))


def test_the_random_state_decides_everything():
    data = corner_data()
    table = GraphTensFeatures(**SMALL).fit_transform(data)
    np.testing.assert_array_equal(table, GraphTensFeatures(**SMALL).fit_transform(data))
    assert not np.array_equal(table, GraphTensFeatures(**{**SMALL, "random_state": 1}).fit_transform(data))
    state = np.random.RandomState(0)
    first, second = (GraphTensFeatures(**{**SMALL, "random_state": state}).fit_transform(data) for _ in range(2))
    assert not np.array_equal(first, second)


def test_deeper_features_begin_with_the_shallow_ones():
    data = corner_data()
    shallow = GraphTensFeatures(**{**SMALL, "n_layers": 1}).fit_transform(data)
    deep = GraphTensFeatures(**SMALL).fit_transform(data)
    np.testing.assert_array_equal(deep[:, : shallow.shape[1]], shallow)


@pytest.mark.parametrize("pooling", ["sum", "mean", "sqrt", "both"])
def test_pooling_is_over_the_rows_of_a_graph(pooling):
    data = corner_data()
    nodes = GraphTensFeatures(**SMALL, pooling=None).fit_transform(data)
    ends = np.cumsum([graph.num_nodes for graph in data])
    parts = np.split(nodes.astype(np.float64), ends[:-1])
    expected = {
        "sum": [part.sum(0) for part in parts],
        "mean": [part.mean(0) for part in parts],
        "sqrt": [part.sum(0) / np.sqrt(len(part)) for part in parts],
        "both": [np.concatenate([part.sum(0), part.mean(0)]) for part in parts],
    }[pooling]
    np.testing.assert_allclose(GraphTensFeatures(**SMALL, pooling=pooling).fit_transform(data), np.array(expected), atol=1e-5)


def test_features_do_not_depend_on_the_numbering_of_nodes():
    graph = nx.gnp_random_graph(8, 0.4, seed=3)
    nx.set_node_attributes(graph, {i: "ab"[i % 2] for i in graph}, "label")
    other = nx.Graph()
    other.add_nodes_from((i, graph.nodes[i]) for i in [3, 1, 7, 0, 2, 5, 6, 4])
    other.add_edges_from(graph.edges)
    one, two = GraphTensFeatures(n_layers=4, n_functionals=32, n_waves=32, random_state=0).fit_transform([graph, other])
    np.testing.assert_allclose(one, two, atol=2e-3)


def test_the_degree_attribute_tells_regular_graphs_apart():
    data = [nx.cycle_graph(6), nx.complete_graph(6)]
    blind = GraphTensFeatures(**SMALL, degree_attribute=False).fit_transform(data)
    np.testing.assert_allclose(blind[0], blind[1], atol=1e-5)  # thirds and fifths of a constant are rounded
    seeing = GraphTensFeatures(**SMALL).fit_transform(data)
    assert np.abs(seeing[0] - seeing[1]).max() > 0.1


def test_waves_tell_distributions_apart_that_have_equal_means():
    # Attributes -1, 0, 1 against 0, 0, 0 on nodes that stay put: functionals of degree 1 have the same mean, waves have not.
    spread, still = (np.eye(3), np.array([[-1.0], [0], [1]])), (np.eye(3), np.zeros((3, 1)))
    features = GraphTensFeatures(0, 1, 1, 8, 8, degree_attribute=False, pooling="mean", random_state=0).fit([spread, still])
    one, two = features.transform([spread, still])
    wave = np.array(["wave" in name for name in features.get_feature_names_out()])
    np.testing.assert_allclose(one[~wave], two[~wave], atol=1e-6)
    assert np.abs(one[wave] - two[wave]).max() > 0.1


def test_columns_are_named_by_layer_degree_and_functional():
    features = GraphTensFeatures(n_layers=2, n_functionals=3, n_waves=2, random_state=0).fit(rings_and_paths(6)[0])
    names = features.get_feature_names_out().tolist()
    assert names[:3] == ["label=C", "label=N", "label=O"]
    assert "layer2_degree1_functional0" in names
    assert names[-2:] == ["layer2_wave0", "layer2_wave1"]
    assert len(set(names)) == len(names) == features.n_features_out_ == features.transform(rings_and_paths(6)[0]).shape[1]


def test_arguments_set_after_fit_act_from_the_next_fit_on():
    graphs = rings_and_paths(6)[0]
    features = GraphTensFeatures(n_layers=2, n_functionals=3, n_waves=2, random_state=0).fit(graphs)
    names, table = features.get_feature_names_out().tolist(), features.transform(graphs)
    features.set_params(n_layers=1, n_waves=5, pooling="both", structure="rings", walk_length=3)
    assert features.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(features.transform(graphs), table)
    features.fit(graphs)
    assert len(features.get_feature_names_out()) == features.transform(graphs).shape[1] != len(names)


@pytest.mark.parametrize(
    "options", [{"pooling": "both"}, {"pooling": None}, {"functionals": "exact", "time": True}, {"n_waves": 0}], ids=str
)
def test_pandas_output_carries_the_names(options):
    data = rings_and_paths(4)[0]
    features = GraphTensFeatures(**{**SMALL, **options}).set_output(transform="pandas")
    table = features.fit_transform(data)
    assert table.columns.tolist() == features.get_feature_names_out().tolist()
    np.testing.assert_array_equal(table.to_numpy(), features.set_output(transform="default").transform(data))


@given(graphs(max_nodes=4), st.integers(0, 3), variants(), seeds())
@settings(max_examples=20)
def test_exact_features_are_those_of_the_library(graph, length, variant, rng):
    weights = np.ones(len(graph.edges)) if graph.weights is None else graph.weights
    x = rng.normal(size=(graph.n, 2))
    one = OneGraph(graph.n, graph.edges.T, weights, x)
    features = GraphTensFeatures(length, 2, functionals="exact", degree_attribute=False, pooling="mean", **variant).fit([one])
    walk = g2t.random_walk(torch.tensor(graph.edges.T), graph.n, torch.tensor(weights))
    scaled = torch.from_numpy(features.encoder_.transform([one])[0]).double()
    expected = g2t.graph_features(scaled, walk, length=length, degree=2, **variant)
    np.testing.assert_allclose(features.transform([one]), expected.numpy(), rtol=1e-5, atol=1e-5)


def test_exact_features_name_their_words():
    features = GraphTensFeatures(2, 2, functionals="exact", degree_attribute=False).fit([(np.eye(2), np.ones((2, 2)))])
    assert features.get_feature_names_out()[-1] == "word(attribute1,attribute1)"
    assert features.n_features_out_ == 7


def test_exact_features_that_cannot_fit_are_refused():
    wide = [(np.eye(2), np.ones((2, 3000)))]
    with pytest.raises(ValueError, match="functionals='random' needs no tensor"):
        GraphTensFeatures(1, 4, functionals="exact").fit(wide)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("walk_length", -1),
        ("degree", 0),
        ("n_layers", -1),
        ("n_functionals", 0),
        ("n_waves", 1.5),
        ("pooling", "max"),
        ("functionals", "all"),
        ("handle_unknown", "use"),
        ("laziness", 1.0),
        ("frequency", (2.0, 1.0)),
        ("batch_size", 0),
    ],
)
def test_a_wrong_argument_is_named_in_fit_and_not_before(name, value):
    features = GraphTensFeatures(**{name: value})
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must"):
        features.fit(corner_data())


def test_a_generator_of_graphs_will_do():
    data = corner_data()
    expected = GraphTensFeatures(**SMALL).fit_transform(data)
    np.testing.assert_array_equal(GraphTensFeatures(**SMALL).fit_transform(graph for graph in data), expected)
    np.testing.assert_array_equal(GraphTensFeatures(**SMALL).fit(data).transform(graph for graph in data), expected)


@pytest.mark.parametrize("options", [{}, {"pooling": None}, {"batch_size": 1}, {"functionals": "exact"}], ids=str)
@pytest.mark.parametrize("size", [1e25, 1e200])
@pytest.mark.filterwarnings("error")
def test_attributes_beyond_all_bounds_are_refused_with_the_number_of_the_graph(options, size):
    adjacency, x = np.ones((3, 3)), np.array([[1.0, -2], [0, 1], [3, 0]])
    features = GraphTensFeatures(**{**SMALL, **options}).fit([(adjacency, x), (adjacency, 2 * x)])
    with pytest.raises(ValueError, match=r"graph 2 of `X` must have attributes of a size like those of the training graphs \(got"):
        features.transform([(adjacency, x), (adjacency, 3 * x), (adjacency, size * x), (adjacency, x)])


def test_attributes_of_any_size_give_features_of_the_same_size():
    adjacency, x = np.ones((3, 3)), np.array([[1.0, -2], [0, 1], [3, 0]])
    small = GraphTensFeatures(**SMALL).fit_transform([(adjacency, 1e-6 * x)])
    large = GraphTensFeatures(**SMALL).fit_transform([(adjacency, 1e6 * x)])
    np.testing.assert_allclose(small, large, atol=1e-3)
