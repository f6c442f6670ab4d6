"""The kernel against exact features, and the properties a kernel must have."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from graph_lists import corner_data, rings_and_paths
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from strategies import graphs, seeds, variants

import graph2tens as g2t
from graph2tens.sklearn import GraphTensFeatures, GraphTensKernel, WeisfeilerLehman
from graph2tens.sklearn.inputs import OneGraph
from graph2tens.sklearn.walk_kernel import WalkKernel

FEW = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8, random_state=0)
KERNELS = {
    "walk": GraphTensKernel(walk_length=2),
    "walk time": GraphTensKernel(walk_length=2, time=True, degree=3, batch_size=7),
    "walk raw": GraphTensKernel(walk_length=2, normalize=False, increments=False),
    "walk rbf attributes": GraphTensKernel(walk_length=2, attribute_kernel="rbf"),
    "rbf": GraphTensKernel("rbf", features=FEW),
}
each_kernel = pytest.mark.parametrize("kernel", [pytest.param(kernel, id=name) for name, kernel in KERNELS.items()])


def as_one(graph, x=None) -> OneGraph:
    return OneGraph(graph.n, graph.edges.T, np.ones(len(graph.edges)) if graph.weights is None else graph.weights, x)


def walk_of(one: OneGraph) -> g2t.RandomWalk:
    return g2t.random_walk(torch.tensor(one.edges), one.num_nodes, torch.tensor(one.weights))


def order_one(degree: int) -> torch.Tensor:
    return torch.tensor([1.0] + [0.0] * (degree - 1), dtype=torch.float64)


@given(graphs(max_nodes=4), graphs(max_nodes=4), st.integers(0, 3), st.integers(1, 3), variants(), seeds())
@settings(max_examples=40)
def test_the_recursion_gives_inner_products_of_exact_features(one, other, length, degree, variant, rng):
    tables = [rng.normal(size=(graph.n, 2)) for graph in (one, other)]
    walks = [walk_of(as_one(graph)) for graph in (one, other)]
    P, Q = (walk.matrix().to_dense().numpy() for walk in walks)
    got = WalkKernel(length, degree, **variant).levels(P, Q, tables[0] @ tables[1].T)
    exact = [
        g2t.node_features(torch.tensor(x), walk, length=length, degree=degree, coefficients=order_one(degree), **variant).numpy()
        for x, walk in zip(tables, walks, strict=True)
    ]
    width, start = 2 + variant["time"], 0
    for m, level in enumerate(got):
        part = slice(start, start + width**m)
        np.testing.assert_allclose(level, exact[0][:, part] @ exact[1][:, part].T, atol=1e-9, rtol=1e-9)
        start += width**m


def test_the_kernel_is_the_inner_product_of_graph_features():
    data = corner_data()
    kernel = GraphTensKernel(walk_length=3, degree=2, normalize=False, batch_size=6).fit(data)
    psi = []
    for graph in data:
        x = torch.from_numpy(kernel.encoder_.transform([_read(graph)])[0]).double()
        walk = g2t.random_walk(graph.edge_index, graph.num_nodes)
        psi.append(g2t.graph_features(x, walk, length=3, degree=2, coefficients=order_one(2))[0].numpy())
    expected = np.array(psi) @ np.array(psi).T
    np.testing.assert_allclose(kernel.transform(data), expected, rtol=1e-6)
    np.testing.assert_allclose(kernel.fit_transform(data), expected, rtol=1e-6)


def _read(graph) -> OneGraph:
    from graph2tens.sklearn.inputs import as_graphs

    return as_graphs([graph])[0]


@each_kernel
def test_a_gram_matrix_is_symmetric_and_positive(kernel):
    gram = clone(kernel).fit_transform(corner_data())
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() > -1e-9 * np.abs(gram).max()
    if kernel.normalize:
        np.testing.assert_allclose(np.diag(gram), 1)


@each_kernel
def test_the_transformer_the_call_and_the_gram_matrix_agree(kernel):
    data = corner_data()
    fitted = clone(kernel)
    gram = fitted.fit_transform(data)
    np.testing.assert_allclose(fitted.transform(data), gram, atol=1e-6)
    np.testing.assert_allclose(fitted(data), gram, atol=1e-6)
    np.testing.assert_allclose(clone(kernel)(data), gram, atol=1e-6)
    np.testing.assert_allclose(fitted(data[:3], data[2:]), gram[:3, 2:], atol=1e-6)
    np.testing.assert_allclose(clone(kernel)(data, data), gram, atol=1e-6)
    assert fitted.transform(data[:2]).shape == (2, len(data))


@pytest.mark.parametrize("name", ["walk", "walk time", "walk raw"])
def test_the_bits_do_not_depend_on_blocks_and_jobs(name):
    data = corner_data()
    gram = clone(KERNELS[name]).set_params(batch_size=1000).fit(data[:6]).transform(data)
    for batch_size, n_jobs in ((1, 1), (5, 2), (9, 3)):
        other = clone(KERNELS[name]).set_params(batch_size=batch_size, n_jobs=n_jobs).fit(data[:6])
        np.testing.assert_array_equal(other.transform(data), gram)


def test_any_gram_matrix_of_attributes_will_do():
    data = corner_data()

    def gaussian(x, y):
        return np.exp(-np.square(x[:, None] - y[None]).sum(-1) / x.shape[1])

    own = GraphTensKernel(walk_length=2, attribute_kernel=gaussian).fit_transform(data)
    np.testing.assert_allclose(own, GraphTensKernel(walk_length=2, attribute_kernel="rbf").fit_transform(data))
    with pytest.raises(ValueError, match="`attribute_kernel` must return a Gram matrix of shape"):
        GraphTensKernel(attribute_kernel=lambda x, y: np.ones(3)).fit(data)


@each_kernel
def test_an_svm_learns_from_the_kernel(kernel):
    data, y = rings_and_paths(30)
    machine = make_pipeline(clone(kernel), SVC(kernel="precomputed", C=100)).fit(data[:20], y[:20])
    assert machine.score(data[20:], y[20:]) >= 0.8


@pytest.mark.parametrize(("name", "value"), [("kernel", "linear"), ("walk_length", -1), ("degree", 0), ("gamma", 0.0), ("batch_size", 0)])
def test_a_wrong_argument_is_named(name, value):
    with pytest.raises((ValueError, TypeError), match=f"`{name}` must"):
        GraphTensKernel(**{name: value}).fit(corner_data())


def test_columns_of_the_kernel_are_the_training_graphs():
    table = GraphTensKernel(walk_length=1).set_output(transform="pandas").fit(corner_data()[:3]).transform(corner_data()[:2])
    assert table.columns.tolist() == ["graph0", "graph1", "graph2"]


# Weisfeiler-Lehman


def test_refinement_counts_trees_as_by_hand():
    path = nx.path_graph(3)  # ends and middle differ after one round
    table = WeisfeilerLehman(1).fit_transform([path, nx.complete_graph(3)]).toarray()
    np.testing.assert_array_equal(table, [[3, 2, 1], [3, 0, 3]])  # a node of a triangle looks like the middle of a path


def test_refinement_does_not_tell_six_from_two_threes():
    hexagon, triangles = nx.cycle_graph(6), nx.union(nx.cycle_graph(3), nx.cycle_graph(range(3, 6)))
    table = WeisfeilerLehman(4).fit_transform([hexagon, triangles]).toarray()
    np.testing.assert_array_equal(table[0], table[1])


def test_colours_that_training_did_not_see_are_not_counted():
    data, _ = rings_and_paths(6)
    wl = WeisfeilerLehman(3)
    counts = wl.fit_transform(data)
    np.testing.assert_array_equal(wl.transform(data).toarray(), counts.toarray())
    strange = nx.path_graph(2)
    nx.set_node_attributes(strange, "Xe", "label")
    assert wl.transform([strange]).sum() == 0
    assert len(wl.get_feature_names_out()) == counts.shape[1]


def test_the_inner_product_counts_pairs_of_equal_trees():
    data, _ = rings_and_paths(8)
    counts = WeisfeilerLehman(2).fit_transform(data)
    gram = (counts @ counts.T).toarray()
    for a, b in itertools.product(range(8), repeat=2):
        expected = 0
        for h in range(3):
            trees = [[_tree(graph, node, h) for node in graph] for graph in (data[a], data[b])]
            expected += sum(one == other for one in trees[0] for other in trees[1])
        assert gram[a, b] == expected


def _tree(graph: nx.Graph, node: object, depth: int) -> object:
    label = graph.nodes[node]["label"]
    return (label, tuple(sorted(_tree(graph, other, depth - 1) for other in graph[node]))) if depth else (label, ())
