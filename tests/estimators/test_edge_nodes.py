"""Edges as nodes in the estimators' features: what they see, and columns that count in groups."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graph2tens as g2t
from graph2tens.sklearn import GraphTensFeatures
from graph2tens.sklearn.heads.distances import Standardiser

SMALL = {"n_layers": 2, "n_functionals": 4, "n_waves": 4, "random_state": 0}


def ring(bonds, directed=False):
    """A ring whose edges have these attributes, in this order."""
    n = len(bonds)
    here, there = torch.arange(n), (torch.arange(n) + 1) % n
    one_way, attr = torch.stack([here, there]), torch.tensor(bonds, dtype=torch.float)[:, None]
    if directed:
        return Data(x=torch.ones(n, 1), edge_index=one_way, edge_attr=attr)
    return Data(x=torch.ones(n, 1), edge_index=torch.cat([one_way, one_way.flip(0)], 1), edge_attr=torch.cat([attr, attr]))


def test_the_order_of_bonds_along_a_ring_is_seen():
    alternating, halves = ring([1, 2, 1, 2, 1, 2, 1, 2]), ring([1, 1, 1, 1, 2, 2, 2, 2])
    table = GraphTensFeatures(**SMALL).fit_transform([alternating, halves])
    assert np.abs(table[0] - table[1]).max() > 0.1
    turned = ring([2, 1, 1, 1, 1, 2, 2, 2])
    fitted = GraphTensFeatures(**SMALL).fit([alternating, halves])
    np.testing.assert_allclose(fitted.transform([turned]), fitted.transform([halves]), atol=1e-4)


def test_exact_features_are_those_of_the_divided_graph():
    graph = ring([0.25, 0.5, 1.0])
    features = GraphTensFeatures(functionals="exact", walk_length=3, degree_attribute=False, pooling="mean").fit([graph])
    divided = g2t.subdivide(graph.edge_index, 3, graph.edge_attr)
    x = divided.attributes(graph.x, graph.edge_attr).double()
    x[:, 1] /= 1.0  # min-max over the training graphs, where atoms have 0 and the largest bond has 1
    expected = g2t.graph_features(x, g2t.random_walk(divided.edge_index, divided.num_nodes), length=3, degree=2)
    np.testing.assert_allclose(features.transform([graph])[0], expected[0].numpy(), rtol=1e-5)


def test_directed_graphs_are_recognised_and_must_stay_so():
    undirected = GraphTensFeatures(**SMALL).fit([ring([1, 2, 3])])
    directed = GraphTensFeatures(**SMALL).fit([ring([1, 2, 3]), ring([1, 2, 3], directed=True)])
    assert not undirected.edge_nodes_.directed
    assert directed.edge_nodes_.directed
    with pytest.raises(ValueError, match=r"graph 1 of `X` must be undirected, as the training graphs are"):
        undirected.transform([ring([1, 2, 3]), ring([1, 2, 3], directed=True)])


def test_labels_of_nodes_and_edges_are_told_apart():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, 1, "label")
    nx.set_edge_attributes(graph, {(0, 1): 1, (1, 2): 2}, "label")
    features = GraphTensFeatures(**SMALL).fit([graph])
    assert set(features.encoder_.labels) == {1, ("edge", 1), ("edge", 2)}
    assert features.encoder_.names[:3] == ["label=1", "edge_label=1", "edge_label=2"]
    alone = nx.empty_graph(1)
    nx.set_node_attributes(alone, 1, "label")
    assert np.isfinite(features.transform([alone])).all()


def test_graphs_without_the_labels_of_the_others_are_named():
    def path(nodes, edges):
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, dict.fromkeys(graph, "C") if nodes else {}, "label")
        nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, "single") if edges else {}, "label")
        return graph

    both, alone = path(True, True), nx.empty_graph(1)
    nx.set_node_attributes(alone, "C", "label")
    fitted = GraphTensFeatures(**SMALL).fit([both, alone])
    for other, what in ((path(False, True), "node"), (path(True, False), "edge"), (path(False, False), "node")):
        with pytest.raises(ValueError, match=rf"graph 1 of `X` must have a label on every {what}, as the training graphs have"):
            fitted.transform([both, other])
        with pytest.raises(ValueError, match=rf"all graphs must have labels of {what}s, or none"):
            GraphTensFeatures(**SMALL).fit([both, other])
    only_edges = GraphTensFeatures(**SMALL).fit([path(False, True)])
    assert np.isfinite(only_edges.transform([path(False, True), nx.empty_graph(2)])).all()


def test_edges_without_attributes_stay_edges_unless_asked():
    plain = [nx.path_graph(4), nx.star_graph(3)]
    assert GraphTensFeatures(**SMALL).fit(plain).edge_nodes_ is None
    assert GraphTensFeatures(edges="nodes", **SMALL).fit(plain).edge_nodes_ is not None
    assert GraphTensFeatures(edges="mean", **SMALL).fit([ring([1, 2])]).edge_nodes_ is None
    for graph in plain:
        rows = GraphTensFeatures(edges="nodes", pooling=None, **SMALL).fit_transform([graph])
        assert len(rows) == graph.number_of_nodes() + graph.number_of_edges()


def test_other_edge_attributes_than_in_training_are_refused():
    features = GraphTensFeatures(**SMALL).fit([ring([1, 2, 3])])
    other = ring([1, 2, 3])
    other.edge_attr = torch.ones(6, 2)
    with pytest.raises(ValueError, match="graph 0 of `X` must have 1 edge attributes"):
        features.transform([other])
    other.edge_attr = None
    with pytest.raises(ValueError, match="graph 0 of `X` must have 1 edge attributes"):
        features.transform([other])


@pytest.mark.parametrize("pooling", ["sqrt", "both"])
def test_groups_cover_all_columns_and_have_the_variance_of_their_weight(pooling):
    graphs = [ring(np.random.default_rng(seed).integers(1, 3, size=4 + seed % 5).tolist()) for seed in range(30)]
    features = GraphTensFeatures(layer_decay=0.5, pooling=pooling, **SMALL)
    table = features.fit_transform(graphs)
    groups = features.column_groups_
    assert sorted(np.concatenate([columns for columns, _ in groups]).tolist()) == list(range(table.shape[1]))
    assert [weight for _, weight in groups] == [1, 1, 1, 0.5, 0.5]
    scaled = Standardiser.fit(table, groups).transform(table)
    for columns, weight in groups:
        np.testing.assert_allclose(scaled[:, columns].var(axis=0).sum(), weight, rtol=1e-4)
    assert GraphTensFeatures(**SMALL).fit(graphs).column_groups_ is None


@pytest.mark.parametrize(("name", "value"), [("edges", "both"), ("layer_decay", 0.0), ("layer_decay", 1.5)])
def test_wrong_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        GraphTensFeatures(**SMALL, **{name: value}).fit([ring([1, 2, 3])])
