"""Splits of citation graphs: as the text says, as the authors drew them; sanitised ones keep their distance."""

from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from node_data import assert_disjoint, node_dataset
from sklearn.model_selection import train_test_split
from strategies import graphs

from graph2tens.datasets import DataError, load, split
from graph2tens.paper.sanitise import independent_set, largest_component
from graph2tens.paper.splits import protocol_split

DATA = os.environ.get("GRAPH2TENS_DATA")


def test_graphs_are_split_alike_by_both_protocols_and_by_the_library():
    dataset = load("digits")
    one, other, plain = protocol_split(dataset, "paper", 0), protocol_split(dataset, "authors", 0), split(dataset, 0)
    assert one.test.tolist() == other.test.tolist() == plain.test.tolist()


class TestNodes:
    @pytest.mark.parametrize("seed", range(3))
    def test_the_paper_takes_20_and_30_of_each_class_from_the_largest_component(self, seed):
        dataset = node_dataset()
        labels = dataset.labels
        parts = protocol_split(dataset, "paper", seed)
        component = largest_component(dataset[0].edge_index, 600)
        assert_disjoint(parts, component)
        assert np.bincount(labels[parts.train]).tolist() == [20] * 3
        assert np.bincount(labels[parts.validation]).tolist() == [30] * 3

    @pytest.mark.parametrize("seed", range(3))
    def test_the_authors_take_shares_from_the_whole_graph_as_scikit_learn_draws_them(self, seed):
        dataset = node_dataset()
        labels = dataset.labels
        parts = protocol_split(dataset, "authors", seed)
        assert_disjoint(parts, range(600))
        train, rest = train_test_split(np.arange(600), train_size=60, stratify=labels, random_state=seed)
        validation, test = train_test_split(rest, train_size=90, stratify=labels[rest], random_state=seed)
        assert parts.train.tolist() == train.tolist()
        assert parts.validation.tolist() == validation.tolist()
        assert parts.test.tolist() == test.tolist()
        assert np.abs(np.bincount(labels[parts.train]) - np.bincount(labels) / 10).max() <= 1

    @pytest.mark.parametrize("protocol", ["paper", "authors"])
    @pytest.mark.parametrize("khop", [1, 2])
    def test_no_two_nodes_of_a_sanitised_split_are_within_k_hops(self, protocol, khop):
        dataset = node_dataset(2000, num_classes=2, shares=(0.5, 0.5))
        parts = protocol_split(dataset, protocol, 3, khop)
        again = protocol_split(dataset, protocol, 3, khop)
        assert parts.test.tolist() == again.test.tolist() != protocol_split(dataset, protocol, 4, khop).test.tolist()
        chosen = set(np.concatenate([parts.train, parts.validation, parts.test]).tolist())
        assert len(chosen) == sum(parts.sizes())
        graph = nx.Graph(dataset[0].edge_index.T.tolist())
        graph.add_nodes_from(range(2000))
        for node in chosen:
            assert chosen.intersection(nx.single_source_shortest_path_length(graph, node, khop)) == {node}
        universe = largest_component(dataset[0].edge_index, 2000) if protocol == "paper" else range(2000)
        for node in set(universe) - chosen:  # maximal: every other node is near a chosen one
            assert chosen.intersection(nx.single_source_shortest_path_length(graph, node, khop))

    def test_what_cannot_be_split_is_refused_by_name(self):
        rare = node_dataset(shares=(0.6, 0.35, 0.05))
        with pytest.raises(DataError, match=r"random: class 'c' has \d+ nodes in the largest component; 20 for training and 30 for"):
            protocol_split(rare, "paper", 0)
        with pytest.raises(DataError, match=r"random: class '[abc]' has \d+ nodes in the 2-hop sanitised set"):
            protocol_split(node_dataset(), "paper", 0, khop=2)
        with pytest.raises(DataError, match=r"random: the 2-hop sanitised set has \d+ nodes, too few for 60 to train, 90 to validate"):
            protocol_split(node_dataset(300), "authors", 0, khop=2)
        with pytest.raises(DataError, match="at least two classes"):
            protocol_split(node_dataset(shares=(1, 0, 0)), "authors", 0)

    def test_arguments_are_checked(self):
        with pytest.raises(ValueError, match="`protocol` must be 'paper' or 'authors'"):
            protocol_split(node_dataset(), "ours", 0)
        with pytest.raises(ValueError, match=r"`khop` must be a whole number, at least 0 \(got -1\)"):
            protocol_split(node_dataset(), "paper", 0, khop=-1)
        with pytest.raises(ValueError, match="a data set of graphs"):
            protocol_split(load("long-range"), "paper", 0, khop=1)


@given(graphs(max_nodes=9, max_edges=16, weighted=False), st.integers(1, 3), st.integers(0, 20))
def test_the_independent_set_is_networkx_s_on_the_power_graph_draw_for_draw(graph, hops, seed):
    undirected = np.zeros((graph.n, graph.n))
    undirected[graph.edges[:, 0], graph.edges[:, 1]] = 1
    power = np.linalg.matrix_power(undirected + undirected.T + np.eye(graph.n), hops) > 0
    np.fill_diagonal(power, False)
    expected = nx.maximal_independent_set(nx.Graph(power), seed=seed)
    assert independent_set(torch.tensor(graph.edges.T.reshape(2, -1)), graph.n, hops, seed).tolist() == expected


def test_the_independent_set_of_a_large_graph_is_networkx_s_too():
    """Large enough for the set of available nodes to shrink and list its members in another order."""
    graph = nx.gnp_random_graph(3000, 1e-3, seed=1)
    edges = torch.tensor(list(graph.edges)).T
    for seed in range(3):
        assert independent_set(edges, 3000, 1, seed).tolist() == nx.maximal_independent_set(graph, seed=seed)


# Read off the accuracies of the authors' runs, which must be multiples of 1 / size; seeds that leave one possibility only.
AUTHORS_TEST_SIZES = {
    ("NCI1", 0): {0: 411, 1: 411},
    ("NCI109", 0): {0: 413, 1: 413},
    ("Cora", 0): {0: 2358},
    ("Cora", 1): {0: 909, 1: 876, 2: 879, 3: 909},
    ("CiteSeer", 1): {0: 1352, 1: 1380, 2: 1344, 3: 1367},
    ("CiteSeer", 2): {1: 633, 3: 634, 4: 659, 5: 642},
    ("PubMed", 1): {3: 13769, 5: 13892},
    ("PubMed", 2): {0: 2242, 1: 2245, 2: 2217, 3: 2216},
}


@pytest.mark.parametrize(("name", "khop"), [pytest.param(*key, id=f"{key[0]}-{key[1]}") for key in AUTHORS_TEST_SIZES])
def test_sizes_are_those_of_the_authors_runs(name, khop):
    if not (DATA and (Path(DATA) / name).is_dir()):
        pytest.skip(f"GRAPH2TENS_DATA has no {name}")
    dataset = load(name, DATA)
    for seed, size in AUTHORS_TEST_SIZES[name, khop].items():
        assert len(protocol_split(dataset, "authors", seed, khop).test) == size
