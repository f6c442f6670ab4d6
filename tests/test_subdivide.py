"""A node on every edge, against walks that are listed with their edges, by hand."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CORNER_GRAPHS, Graph, corner, graphs, seeds, variants
from torch_geometric.data import Batch, Data

import graph2tens as g2t


def walks_with_edges(graph: Graph, length: int, directed: bool) -> list[list[tuple[list[tuple[str, int]], float]]]:
    """For each node, every walk of `length` steps over nodes ("n", i) and edges ("e", edge), with its probability, from the rules in
    words: a node takes a listed edge by weight; a directed edge leads to its head, an undirected one to either end."""
    weights = np.ones(len(graph.edges)) if graph.weights is None else graph.weights

    def steps(place: tuple[str, int]) -> list[tuple[tuple[str, int], float]]:
        kind, number = place
        if kind == "e":
            i, j = graph.edges[number]
            ends = [int(j)] if directed or i == j else [int(i), int(j)]
            return [(("n", end), 1 / len(ends)) for end in ends]
        leaving = [e for e, (i, _) in enumerate(graph.edges) if i == number]
        total = sum(weights[e] for e in leaving)
        return [(("e", e), weights[e] / total) for e in leaving] or [(place, 1.0)]

    found = []
    for node in range(graph.n):
        walks: list[tuple[list[tuple[str, int]], float]] = [([("n", node)], 1.0)]
        for _ in range(length):
            walks = [([*path, after], p * q) for path, p in walks for after, q in steps(path[-1])]
        found.append(walks)
    return found


def expected_features(graph, x, edge_x, length, degree, directed, **variant):
    """(n, 1 + .. + D^M): the expected feature of those walks, attributes of nodes and edges in columns of their own."""
    d, e = x.shape[1], edge_x.shape[1]
    rows = []
    for walks in walks_with_edges(graph, length, directed):
        points = np.zeros((len(walks), length + 1, d + e))
        for k, (path, _) in enumerate(walks):
            for t, (kind, number) in enumerate(path):
                if kind == "n":
                    points[k, t, :d] = x[number]
                else:
                    points[k, t, d:] = edge_x[number]
        levels = oracles.sequence_levels(points, degree, **variant)
        rows.append(np.array([p for _, p in walks]) @ np.concatenate([level.reshape(len(walks), -1) for level in levels], axis=1))
    return np.array(rows)


def divided_features(graph, x, edge_x, length, degree, directed, **variant):
    weight = None if graph.weights is None else torch.tensor(graph.weights)
    divided = g2t.subdivide(torch.tensor(graph.edges).T, graph.n, torch.tensor(edge_x), weight, directed=directed)
    walk = g2t.random_walk(divided.edge_index, divided.num_nodes, divided.edge_weight)
    attributes = divided.attributes(torch.tensor(x), torch.tensor(edge_x))
    return g2t.node_features(attributes, walk, length=length, degree=degree, **variant)[: graph.n].numpy()


def both_ways(graph: Graph, rng: np.random.Generator, columns: int) -> tuple[Graph, np.ndarray]:
    """The graph with every edge in both directions, shuffled, and attributes that are the same both ways."""
    ends = [(int(i), int(j)) for i, j in graph.edges]
    weights = np.ones(len(ends)) if graph.weights is None else graph.weights
    values = rng.integers(0, 2, size=(len(ends), columns)).astype(float)  # few values, so that parallel edges may be alike
    listed = [(edge, w, v) for edge, w, v in zip(ends, weights, values, strict=True)]
    listed += [((j, i), w, v) for (i, j), w, v in listed if i != j]
    order = rng.permutation(len(listed))
    edges = np.array([listed[k][0] for k in order], dtype=np.int64).reshape(-1, 2)
    table = np.array([listed[k][2] for k in order]).reshape(-1, columns)
    return Graph(graph.n, edges, None if graph.weights is None else np.array([listed[k][1] for k in order])), table


@settings(max_examples=40, deadline=None)
@given(graphs(max_nodes=4, max_edges=5), st.integers(0, 4), seeds(), variants())
def test_directed_edges_are_read_in_the_order_of_the_walk(graph, length, rng, variant):
    x, edge_x = rng.normal(size=(graph.n, 2)), rng.normal(size=(len(graph.edges), 1))
    got = divided_features(graph, x, edge_x, length, 2, True, **variant)
    np.testing.assert_allclose(got, expected_features(graph, x, edge_x, length, 2, True, **variant), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(graphs(max_nodes=4, max_edges=4), st.integers(0, 4), seeds(), variants())
def test_undirected_edges_are_places_to_go_on_or_turn_back(graph, length, rng, variant):
    graph, edge_x = both_ways(graph, rng, 2)
    x = rng.normal(size=(graph.n, 1))
    got = divided_features(graph, x, edge_x, length, 2, False, **variant)
    np.testing.assert_allclose(got, expected_features(graph, x, edge_x, length, 2, False, **variant), atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(graphs(max_nodes=5, max_edges=8))
def test_two_steps_over_directed_edges_are_one_step_of_the_graph(graph):
    weight = None if graph.weights is None else torch.tensor(graph.weights)
    index = torch.tensor(graph.edges).T
    divided = g2t.subdivide(index, graph.n, None, weight, directed=True)
    P = g2t.random_walk(divided.edge_index, divided.num_nodes, divided.edge_weight).matrix().to_dense()
    before = g2t.random_walk(index, graph.n, weight).matrix().to_dense()
    torch.testing.assert_close((P @ P)[: graph.n, : graph.n], before)


def test_low_rank_features_and_layers_read_edges():
    rng = np.random.default_rng(0)
    graph, edge_x = both_ways(corner("triangle"), rng, 2)
    data = Data(x=torch.randn(3, 2), edge_index=torch.tensor(graph.edges).T, edge_attr=torch.tensor(edge_x).float())
    made = g2t.nn.Subdivide()(data)
    components = torch.randn(2, 4, 5)
    walk = g2t.random_walk(made.edge_index, made.num_nodes)
    slow, fast = (g2t.low_rank_features(made.x, walk, components, length=4, backend=name) for name in ("reference", "auto"))
    torch.testing.assert_close(slow, fast)
    layer = g2t.nn.G2TNConv(4, 8)
    before = layer(made.x, made.edge_index)[: data.num_nodes]
    made.x[data.num_nodes :, 2:] += 1  # other bonds, same atoms
    assert not torch.allclose(before, layer(made.x, made.edge_index)[: data.num_nodes])


def test_the_transform_keeps_graphs_apart_and_marks_the_nodes_of_edges():
    one = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=torch.tensor([[2.0], [2.0]]), y=torch.tensor([3]))
    alone = Data(x=torch.ones(1, 1), edge_index=torch.zeros(2, 0, dtype=torch.long), edge_attr=torch.zeros(0, 1), y=torch.tensor([4]))
    batch = Batch.from_data_list([g2t.nn.Subdivide()(graph) for graph in (one, alone)])
    assert batch.batch.tolist() == [0, 0, 0, 1]
    assert batch.y.tolist() == [3, 4]
    assert batch.x.tolist() == [[1, 0], [1, 0], [0, 2], [1, 0]]
    assert batch.on_edge.tolist() == [False, False, True, False]
    assert "edge_attr" not in batch
    assert one.num_nodes == 2, "the graph that was given stays as it was"


@pytest.mark.parametrize("name", [name for name in CORNER_GRAPHS if name != "parallel"])
def test_corner_graphs(name):
    graph = corner(name)
    symmetric = {tuple(edge) for edge in graph.edges} == {tuple(edge[::-1]) for edge in graph.edges}
    index = torch.tensor(graph.edges).T.reshape(2, -1)
    assert g2t.subdivide(index, graph.n, directed=True).num_nodes == graph.n + len(graph.edges)
    if symmetric:
        pairs = {tuple(sorted(map(int, edge))) for edge in graph.edges}
        assert g2t.subdivide(index, graph.n).num_nodes == graph.n + len(pairs)
    else:
        with pytest.raises(ValueError, match="directed=True"):
            g2t.subdivide(index, graph.n)


def test_gradients_reach_the_attributes_of_both_kinds():
    divided = g2t.subdivide(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
    x, edge_attr = torch.randn(3, 2, dtype=torch.double, requires_grad=True), torch.randn(4, 1, dtype=torch.double)
    edge_attr = torch.cat([edge_attr[:1], edge_attr[:1], edge_attr[2:3], edge_attr[2:3]]).requires_grad_()
    walk = g2t.random_walk(divided.edge_index, divided.num_nodes)
    components = torch.randn(2, 3, 2, dtype=torch.double)

    def value(x):
        return g2t.low_rank_features(divided.attributes(x, edge_attr), walk, components, length=3)

    assert torch.autograd.gradcheck(value, (x,))
    value(x).sum().backward()
    assert edge_attr.grad.count_nonzero()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: g2t.subdivide(torch.tensor([[0], [1]]), 2), "without its opposite"),
        (lambda: g2t.subdivide(torch.tensor([[0, 1], [1, 0]]), 2, torch.tensor([1.0, 2.0])), "equal weights and attributes"),
        (lambda: g2t.subdivide(torch.tensor([[0, 1], [1, 0]]), 2, torch.ones(3, 1)), "one row for each of the 2 edges"),
        (lambda: g2t.subdivide(torch.tensor([[0, 1], [1, 0]]), 2, torch.tensor([1.0, float("nan")])), "must be finite"),
        (lambda: g2t.subdivide(torch.tensor([[0, 1], [1, 0]]), 2).attributes(torch.ones(3, 1), None), "each of the 2 nodes"),
    ],
)
def test_what_is_wrong_is_said(call, said):
    with pytest.raises(ValueError, match=said):
        call()
