"""Rings and returns as attributes: right against networkx and powers of P, the same for every numbering, seen by features and kernel."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from graph2tens.sklearn import GraphTensFeatures, WeisfeilerLehman
from graph2tens.sklearn.inputs import as_graphs
from graph2tens.sklearn.structure import return_probabilities, ring_sizes

SMALL = {"n_layers": 2, "n_functionals": 4, "n_waves": 4, "random_state": 0}


def smallest_rings(graph):
    """By removing each edge and asking networkx for the shortest way around."""
    found = np.zeros((len(graph), 7))
    for a, b in graph.edges:
        rest = graph.copy()
        rest.remove_edge(a, b)
        if nx.has_path(rest, a, b):
            size = nx.shortest_path_length(rest, a, b) + 1
            if size <= 16:
                found[[a, b], min(size, 9) - 3] = 1
    return found


@given(st.integers(1, 14), st.integers(0, 99), st.floats(0.05, 0.5))
@settings(max_examples=40)
def test_rings_are_the_shortest_ways_around(n, seed, p):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    np.testing.assert_array_equal(ring_sizes(as_graphs([graph])[0]), smallest_rings(graph))
    one_way = nx.DiGraph(list(graph.edges))
    one_way.add_nodes_from(graph)
    order = list(one_way)
    np.testing.assert_array_equal(ring_sizes(as_graphs([one_way])[0]), smallest_rings(graph)[order])


@pytest.mark.parametrize(("size", "column"), [(3, 0), (8, 5), (9, 6), (16, 6), (17, None)])
def test_a_ring_has_the_column_of_its_size(size, column):
    expected = np.zeros((size, 7))
    if column is not None:
        expected[:, column] = 1
    np.testing.assert_array_equal(ring_sizes(as_graphs([nx.cycle_graph(size)])[0]), expected)


def test_fused_rings_self_loops_and_lonely_nodes():
    naphthalene = nx.cycle_graph(10)
    naphthalene.add_edge(0, 5)
    naphthalene.add_edge(3, 3)
    naphthalene.add_node(10)
    found = ring_sizes(as_graphs([naphthalene])[0])
    np.testing.assert_array_equal(found[:10], np.eye(7)[[3] * 10])
    np.testing.assert_array_equal(found[10], 0)


def test_returns_are_the_diagonals_of_powers():
    graph = as_graphs([np.array([[0, 2.0, 1], [1, 0, 0], [0, 0, 0]])])[0]
    P = np.array([[0, 2 / 3, 1 / 3], [1, 0, 0], [0, 0, 1]])
    expected = [np.diagonal(np.linalg.matrix_power(P, k)) for k in range(1, 11)]
    np.testing.assert_allclose(return_probabilities(graph), np.array(expected).T)


@pytest.mark.parametrize("structure", ["rings", "returns", "returns, rings"])
def test_structure_tells_apart_what_walks_cannot(structure):
    # two triangles against a hexagon: all nodes have degree 2, so walks and Weisfeiler-Lehman see the same everywhere
    pair = [nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), nx.cycle_graph(6)]
    for blind, seeing in ((GraphTensFeatures(**SMALL), GraphTensFeatures(structure=structure, **SMALL)), (WeisfeilerLehman(), None)):
        one, two = np.asarray(blind.fit_transform(pair).toarray() if seeing is None else blind.fit_transform(pair))
        np.testing.assert_allclose(one, two, atol=1e-5)
        if seeing is None:
            seeing = WeisfeilerLehman(structure=structure)
            one, two = seeing.fit_transform(pair).toarray()
        else:
            one, two = seeing.fit_transform(pair)
        assert np.abs(one - two).max() > 0.1


def test_columns_of_structure_have_names_also_beside_attributes_of_edges():
    graph = nx.cycle_graph(4)
    nx.set_node_attributes(graph, 0.5, "x")
    nx.set_edge_attributes(graph, 1.5, "x")
    for options in ({"edges": "mean"}, {"edges": "nodes"}):
        features = GraphTensFeatures(structure="rings", **options, **SMALL).fit([graph])
        names = features.get_feature_names_out().tolist()
        assert names[:3] == ["attribute0", "ring3", "ring4"]
        assert len(set(names)) == len(names) == features.transform([graph]).shape[1]
        ring4 = features.transform([graph])[0, names.index("ring4")]
        # `sqrt` pooling of four nodes, of eight with those on edges; the column is scaled by its largest value
        assert ring4 == pytest.approx(0 if options["edges"] == "mean" else 4 / np.sqrt(8))


@pytest.mark.parametrize("structure", ["ring", None, "rings;returns"])
def test_unknown_structure_is_named(structure):
    for estimator in (GraphTensFeatures(structure=structure), WeisfeilerLehman(structure=structure)):
        with pytest.raises(ValueError, match="`structure` must be"):
            estimator.fit([nx.path_graph(3)])


def test_arguments_set_after_fit_act_from_the_next_fit_on():
    graphs = [nx.cycle_graph(5), nx.path_graph(4)]
    features = GraphTensFeatures(**SMALL).fit(graphs)
    before, names = features.transform(graphs), features.get_feature_names_out().tolist()
    features.set_params(degree=3, n_functionals=7, n_waves=1, pooling="both", walk_length=4, structure="rings", time=True, n_layers=5)
    assert features.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(features.transform(graphs), before)
    assert features.fit(graphs).transform(graphs).shape[1] == len(features.get_feature_names_out()) != len(names)


def test_counts_go_into_any_estimator_of_scikit_learn():
    graphs = [nx.path_graph(n) for n in range(3, 9)] + [nx.star_graph(n) for n in range(3, 9)]
    y = [0] * 6 + [1] * 6
    assert make_pipeline(WeisfeilerLehman(), SVC(kernel="linear")).fit(graphs, y).score(graphs, y) == 1
