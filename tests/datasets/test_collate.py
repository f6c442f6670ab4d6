"""Batches cut from the collated data set are the batches PyG collates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs
from torch.testing import assert_close
from torch_geometric.data import Batch, Data

from graph2tens.datasets import AttributeScaler, CollatedGraphs, DataError
from graph2tens.nn.transition import as_walk


def data_of(graph, seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(
        x=torch.tensor(rng.normal(size=(graph.n, 2)), dtype=torch.float32),
        edge_index=torch.tensor(graph.edges.T.reshape(2, -1)),
        edge_weight=None if graph.weights is None else torch.tensor(graph.weights),
        y=torch.tensor([seed % 3]),
    )


def assert_same_walk(got, expected) -> None:
    assert got.num_nodes == expected.num_nodes
    for name in ("row_ptr", "col", "row", "edge_position", "batch", "probabilities"):
        assert_close(getattr(got, name), getattr(expected, name))
    for one, other in zip(got.transpose, expected.transpose, strict=True):
        assert_close(one, other)


@given(
    st.lists(graphs(max_nodes=5), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.booleans(),
    st.sampled_from([0.0, 0.25]),
)
def test_a_batch_is_what_pyg_collates_with_its_walk(drawn, index, self_loops, laziness):
    data = [data_of(graph, seed) for seed, graph in enumerate(drawn)]
    index = [i % len(data) for i in index]
    alike = [data[i].clone() for i in index]
    for graph in alike:
        if graph.edge_weight is None:
            graph.edge_weight = torch.ones(graph.num_edges, dtype=torch.float64)
    expected = Batch.from_data_list(alike)
    got = CollatedGraphs(data, self_loops=self_loops, laziness=laziness).batch(index)
    assert got.num_graphs == expected.num_graphs
    for name in ("x", "edge_index", "batch", "y"):
        assert_close(getattr(got, name), getattr(expected, name))
    options = {"self_loops": self_loops, "laziness": laziness, "batch": expected.batch}
    walk = as_walk(expected.edge_index, expected.num_nodes, expected.edge_weight, **options)
    assert_same_walk(got.walk, walk.to(torch.float32))


def test_batches_take_the_index_in_order_and_keep_the_rest():
    data = [Data(x=torch.full((2, 1), float(i)), edge_index=torch.tensor([[0, 1], [1, 0]])) for i in range(7)]
    parts = list(CollatedGraphs(data).batches(torch.tensor([6, 0, 5, 1, 4]), 2))
    assert [part.num_graphs for part in parts] == [2, 2, 1]
    assert torch.cat([part.x for part in parts])[::2].flatten().tolist() == [6, 0, 5, 1, 4]
    assert parts[0].y is None


def test_labels_of_nodes_are_cut_with_the_nodes():
    data = Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([2, 0, 1]))
    assert CollatedGraphs([data]).batch([0]).y.tolist() == [2, 0, 1]


def test_the_scaler_is_applied_once_and_the_graphs_stay_as_they_are():
    data = Data(x=torch.tensor([[1.0], [3.0]]), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0]))
    collated = CollatedGraphs([data], scaler=AttributeScaler.fit(data.x))
    assert collated.batch([0]).x.tolist() == [[0.0], [1.0]]
    assert collated.batch([0, 0]).x.tolist() == [[0.0], [1.0], [0.0], [1.0]]
    assert data.x.tolist() == [[1.0], [3.0]]


def test_a_batch_is_a_copy():
    collated = CollatedGraphs([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))])
    collated.batch([0]).x.zero_()
    assert collated.batch([0]).x.sum() == 2


def weighted(weight):
    return Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=weight)


@pytest.mark.parametrize(
    ("graphs", "complaint"),
    [
        pytest.param([], "no graphs", id="none"),
        pytest.param([Data(x=torch.ones(1, 2)), Data(x=torch.ones(1, 3))], r"graph 1: x must have shape \(nodes, 2\)", id="width"),
        pytest.param([Data(edge_index=torch.zeros(2, 0).long())], "graph 0: x must be given", id="no_x"),
        pytest.param([Data(x=torch.ones(1, 2)), Data(x=torch.ones(0, 2))], "graph 1: has no nodes", id="empty"),
        pytest.param([Data(x=torch.ones(1, 2), y=torch.tensor([1])), Data(x=torch.ones(1, 2))], "graph 1: all graphs", id="label"),
        pytest.param([weighted(torch.ones(2)), weighted(torch.ones(2, 1))], r"graph 1: edge_weight must have shape \(2,\)", id="weight"),
    ],
)
def test_graphs_that_do_not_fit_together_are_named(graphs, complaint):
    with pytest.raises(DataError, match=complaint):
        CollatedGraphs(graphs)


@pytest.mark.parametrize(("index", "complaint"), [([], "at least one graph"), ([-1], r"\[0, 1\) .got -1 to -1"), ([0, 1], "got 0 to 1")])
def test_an_index_outside_of_the_data_set_is_refused(index, complaint):
    collated = CollatedGraphs([Data(x=torch.ones(1, 2), edge_index=torch.zeros(2, 0).long())])
    with pytest.raises(ValueError, match=complaint):
        collated.batch(index)
