"""Matrices over H: powers, products, Theorem 1 as linear algebra, gradients and errors."""

from __future__ import annotations

import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CORNER_GRAPHS, Graph, corner, graphs, laziness, seeds
from test_walks import walk_on
from torch.autograd import gradcheck
from torch.testing import assert_close

import graph2tens as g2t

every_corner = pytest.mark.parametrize("graph", [pytest.param(corner(name), id=name) for name in CORNER_GRAPHS])


def attributes(graph: Graph, dim: int = 2, seed: int = 0) -> torch.Tensor:
    return torch.randn(graph.n, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def ones(matrix: g2t.TensorMatrix) -> torch.Tensor:
    return matrix.algebra.one(matrix.num_nodes, dtype=torch.float64)


def dense(matrix: g2t.TensorMatrix) -> torch.Tensor:
    full = torch.zeros(matrix.num_nodes, matrix.num_nodes, matrix.algebra.size, dtype=torch.float64)
    full[matrix.index[0], matrix.index[1]] = matrix.values
    return full


@settings(max_examples=40)
@given(graphs(max_nodes=4), st.integers(0, 3), st.integers(1, 3), seeds())
def test_powers_of_the_tensor_adjacency_sum_over_walks(graph, length, degree, rng):
    x = rng.normal(size=(graph.n, 2))
    weights = None if graph.weights is None else torch.tensor(graph.weights)
    power = g2t.tensor_adjacency(torch.tensor(x), torch.tensor(graph.edges.T), weights, degree=degree) ** length
    entries = oracles.adjacency_power(x, graph.n, graph.edges, graph.weights, length, degree)
    assert set(map(tuple, power.index.T.tolist())) == entries.keys()
    for (i, j), expected in entries.items():
        assert_close(power[i, j], torch.tensor(expected))


@settings(max_examples=40)
@given(graphs(max_nodes=4), laziness(), st.integers(0, 3), st.integers(1, 3), st.booleans(), st.booleans(), seeds())
def test_theorem_1_backward_and_forward(graph, lazy, length, degree, increments, zero_start, rng):
    """P~^k applied from the left to 1 and from the right to the start is the expectation over walks, given its start or end."""
    walk, x = walk_on(graph, lazy), rng.normal(size=(graph.n, 2))
    transition = g2t.tensor_transition(torch.tensor(x), walk, degree=degree, increments=increments)
    start = transition.algebra.lift(torch.tensor(x)) if zero_start or not increments else ones(transition)
    P = oracles.transition_matrix(graph.n, graph.edges, graph.weights, lazy)
    variant = {"increments": increments, "zero_start": zero_start}

    backward = transition.algebra.mul(start, transition**length @ ones(transition))
    assert_close(backward, torch.tensor(oracles.node_features(x, P, length, degree, **variant)))
    forward = (start / graph.n) @ transition**length
    assert_close(forward, torch.tensor(oracles.forward_features(x, P, length, degree, **variant)))


@given(graphs(max_nodes=4), laziness(), st.integers(1, 4))
def test_laplacian_generates_the_backward_diffusion(graph, lazy, length):
    walk, x = walk_on(graph, lazy), attributes(graph)
    laplacian = g2t.hypoelliptic_laplacian(x, walk, degree=3)
    v = ones(laplacian)
    for _ in range(length):
        v = v - laplacian @ v
    assert_close(v, g2t.node_features(x, walk, length=length, degree=3, zero_start=False))


def test_with_time_and_without_increments_every_step_has_its_own_laplacian():
    graph = corner("directed")
    walk, x = walk_on(graph, 0.0), attributes(graph)
    v = ones(g2t.hypoelliptic_laplacian(x, walk, degree=2, increments=False, time=True))
    for step in (3, 2, 1):  # the last step of a walk acts first
        v = v - g2t.hypoelliptic_laplacian(x, walk, degree=2, increments=False, time=True, step=step) @ v
    algebra = g2t.TensorAlgebra(x.size(1) + 1, 2)
    start = algebra.lift(torch.cat([torch.zeros(graph.n, 1, dtype=x.dtype), x], dim=1))
    assert_close(algebra.mul(start, v), g2t.node_features(x, walk, length=3, degree=2, increments=False, time=True))


def test_laplacian_has_one_minus_the_probability_to_stay_on_its_diagonal():
    graph = corner("self_loop")
    laplacian = g2t.hypoelliptic_laplacian(attributes(graph), walk_on(graph, 0.25), degree=2)
    P = torch.tensor(oracles.transition_matrix(graph.n, graph.edges, None, 0.25))
    for i in range(graph.n):
        assert_close(laplacian[i, i], (1 - P[i, i]) * laplacian.algebra.one(dtype=torch.float64))


@every_corner
def test_time_without_increments_has_one_operator_a_step(graph):
    walk, x, length = walk_on(graph), attributes(graph, 1), 3
    options = {"degree": 2, "time": True, "increments": False}
    steps = [g2t.tensor_transition(x, walk, step=t, **options) for t in range(1, length + 1)]
    start = steps[0].algebra.lift(torch.cat([torch.zeros_like(x), x], dim=1))
    product = steps[0] @ steps[1] @ steps[2]
    assert_close(steps[0].algebra.mul(start, product @ ones(product)), g2t.node_features(x, walk, length=length, **options))


@every_corner
def test_products_are_those_of_dense_matrices(graph):
    A = g2t.tensor_transition(attributes(graph), walk_on(graph), degree=2)
    B = g2t.tensor_transition(attributes(graph, seed=1), walk_on(graph, 0.5), degree=2)
    a, b, H = dense(A), dense(B), A.algebra
    by_hand = sum((H.mul(a[:, None, k], b[None, k, :]) for k in range(graph.n)), torch.zeros_like(a))
    v = torch.randn(graph.n, H.size, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    assert_close(dense(A @ B), by_hand)
    assert_close(dense(A + B), a + b)
    assert_close(dense(A - B), a - b)
    assert_close(dense(-A), -a)
    assert_close(A @ v, H.mul(a, v[None]).sum(1))
    assert_close(v @ A, H.mul(v[:, None], a).sum(0))
    assert_close((A @ B) @ v, A @ (B @ v))
    assert_close((v @ A) @ B, v @ (A @ B))
    assert_close(dense(A**0 @ A), a)


def test_matrices_store_no_more_than_the_graph_has():
    n = 2000
    cycle = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    walk = g2t.random_walk(torch.cat([cycle, cycle.flip(0)], dim=1), num_nodes=n)
    transition = g2t.tensor_transition(torch.randn(n, 1, dtype=torch.float64), walk, degree=1)
    assert len(transition.values) == 2 * n
    assert len((transition**3).values) == 4 * n  # a walker is 1 or 3 steps away


def test_entries_outside_the_pattern_are_zero():
    transition = g2t.tensor_transition(attributes(corner("path")), walk_on(corner("path")), degree=2)
    assert transition[0, 2].tolist() == [0.0] * 7
    with pytest.raises(IndexError, match=r"entry \(0, 3\) lies outside a matrix of 3 nodes"):
        transition[0, 3]


def test_gradients_agree_with_finite_differences():
    graph = corner("parallel")
    edges, x = torch.tensor(graph.edges.T), attributes(graph).requires_grad_()
    weights = torch.rand(len(graph.edges), dtype=torch.float64, generator=torch.Generator().manual_seed(0)).add(0.5).requires_grad_()
    c = torch.tensor([0.7, -0.4], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x, w, c: (g2t.tensor_adjacency(x, edges, w, degree=2, coefficients=c) ** 2).values, (x, weights, c))


def test_adjacency_takes_signed_weights_and_is_not_completed():
    graph = corner("dangling")
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0])
    adjacency = g2t.tensor_adjacency(attributes(graph), torch.tensor(graph.edges.T), weights, degree=1)
    A = torch.zeros(4, 4, dtype=torch.float64)
    A[tuple(graph.edges.T)] = weights.double()
    assert_close(dense(adjacency)[..., 0], A)
    assert adjacency[3, 3].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, x, e: m @ torch.zeros(3, 6).double(), ValueError, r"vector over H must have shape \(3, 7\) \(got \(3, 6\)\)"),
        (lambda m, x, e: m @ torch.zeros(3, 7), ValueError, r"must be torch\.float64 on cpu.*got torch\.float32"),
        (lambda m, x, e: m @ 2, ValueError, r"vector over H must have shape"),
        (lambda m, x, e: m + 2, TypeError, r"expected a TensorMatrix \(got int\)"),
        (lambda m, x, e: m**-1, ValueError, r"`exponent` must be at least 0"),
        (lambda m, x, e: m @ g2t.tensor_adjacency(x, e, degree=3), ValueError, r"must share algebra and nodes"),
        (lambda m, x, e: g2t.tensor_adjacency(x, e.T, degree=2), ValueError, r"Did you pass \(E, 2\)"),
        (lambda m, x, e: g2t.tensor_adjacency(x, e + 1, degree=2), ValueError, r"Are the nodes numbered from 1"),
        (
            lambda m, x, e: g2t.tensor_adjacency(x, e, torch.tensor([1.0, 2, 3, float("inf")]), degree=2),
            ValueError,
            r"`edge_weight` .*finite",
        ),
        (lambda m, x, e: g2t.tensor_adjacency(x, e, degree=2, step=0), ValueError, r"`step` must be at least 1"),
        (
            lambda m, x, e: g2t.tensor_transition(x, g2t.random_walk(e).with_probabilities(torch.ones(4, 2)), degree=2),
            ValueError,
            "2 heads",
        ),
        (lambda m, x, e: g2t.tensor_transition(x, e, degree=2), TypeError, r"`walk` must be a RandomWalk"),
        (lambda m, x, e: g2t.tensor_adjacency(x, e, degree=28), ValueError, r"edges would take 2,147,483,644 numbers \(16 GiB\)"),
    ],
)
def test_bad_arguments_are_named(call, error, message, monkeypatch):
    monkeypatch.setattr("graph2tens.checks.physical_memory", lambda: 2**33)
    edges, x = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.ones(3, 2, dtype=torch.float64)
    with pytest.raises(error, match=message):
        call(g2t.tensor_adjacency(x, edges, degree=2), x, edges)
