"""Exact and sampled diffusion: the expectation over walks, its invariances, and what it can tell apart."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CORNER_GRAPHS, corner, graphs, laziness, seeds, variants
from test_operators import attributes
from test_walks import walk_on
from torch.autograd import gradcheck
from torch.testing import assert_close

import graph2tens as g2t
from graph2tens import diffusion

every_corner = pytest.mark.parametrize("graph", [pytest.param(corner(name), id=name) for name in CORNER_GRAPHS])
EVERY_VARIANT = [
    pytest.param(
        {"increments": i, "zero_start": z, "time": t}, id="-".join(n for n, on in (("diff", i), ("start", z), ("time", t)) if on) or "none"
    )
    for i in (False, True)
    for z in (False, True)
    for t in (False, True)
]
every_variant = pytest.mark.parametrize("variant", EVERY_VARIANT)


@settings(max_examples=120)
@given(graphs(), laziness(), st.integers(0, 3), st.integers(0, 3), variants(), st.booleans(), seeds())
def test_features_are_the_expectation_over_walks(graph, lazy, length, degree, variant, own_coefficients, rng):
    walk, x = walk_on(graph, lazy), rng.normal(size=(graph.n, 2))
    c = rng.normal(size=degree) if own_coefficients else None
    options = {"length": length, "degree": degree, "coefficients": None if c is None else torch.tensor(c), **variant}
    problem = (x, oracles.transition_matrix(graph.n, graph.edges, graph.weights, lazy), length, degree, c)
    assert_close(g2t.node_features(torch.tensor(x), walk, **options), torch.tensor(oracles.node_features(*problem, **variant)))
    assert_close(g2t.graph_features(torch.tensor(x), walk, **options)[0], torch.tensor(oracles.graph_features(*problem, **variant)))
    assert_close(g2t.forward_features(torch.tensor(x), walk, **options), torch.tensor(oracles.forward_features(*problem, **variant)))


@settings(max_examples=30)
@given(graphs(), st.integers(0, 3), variants(), seeds())
def test_probabilities_that_do_not_sum_to_one_are_taken_as_they_are(graph, length, variant, rng):
    walk, x = walk_on(graph), rng.normal(size=(graph.n, 2))
    kept = rng.random(walk.num_edges) * rng.integers(0, 2, walk.num_edges)
    P = np.zeros((graph.n, graph.n))
    P[walk.row.numpy(), walk.col.numpy()] = kept
    got = g2t.node_features(torch.tensor(x), walk.with_probabilities(torch.tensor(kept)), length=length, degree=2, **variant)
    assert_close(got, torch.tensor(oracles.node_features(x, P, length, 2, **variant)))


@every_variant
@every_corner
def test_forward_features_sum_to_the_graph_feature(graph, variant):
    walk, x = walk_on(graph, 0.1), attributes(graph)
    options = {"length": 3, "degree": 3, **variant}
    assert_close(g2t.forward_features(x, walk, **options).sum(0), g2t.graph_features(x, walk, **options)[0])


@every_variant
@every_corner
def test_relabelling_nodes_moves_rows_and_leaves_the_graph_feature(graph, variant):
    x, options = attributes(graph), {"length": 3, "degree": 3, **variant}
    order = torch.tensor(np.random.default_rng(0).permutation(graph.n))
    relabelled = graph._replace(edges=order.numpy()[graph.edges])
    moved = torch.empty_like(x).index_copy(0, order, x)
    for features in (g2t.node_features, g2t.forward_features):
        assert_close(features(moved, walk_on(relabelled), **options)[order], features(x, walk_on(graph), **options))
    assert_close(g2t.graph_features(moved, walk_on(relabelled), **options), g2t.graph_features(x, walk_on(graph), **options))


@every_corner
def test_a_common_shift_is_invisible_without_zero_start_and_seen_with_it(graph):
    walk, x, shift = walk_on(graph), attributes(graph), torch.tensor([0.5, -2.0], dtype=torch.float64)
    for time in (False, True):
        options = {"length": 3, "degree": 3, "time": time}
        assert_close(
            g2t.node_features(x + shift, walk, zero_start=False, **options), g2t.node_features(x, walk, zero_start=False, **options)
        )
        difference = g2t.node_features(x + shift, walk, **options) - g2t.node_features(x, walk, **options)
        first = g2t.TensorAlgebra(2 + time, 3).levels(difference)[1][:, time:]
        assert_close(first, shift.expand_as(first))  # level 1 is E[f(B_k)], which moves along


def test_level_one_is_classical_diffusion():
    graph = corner("directed")
    walk, x = walk_on(graph), attributes(graph)
    for length in range(5):
        seen = g2t.TensorAlgebra(2, 2).levels(g2t.node_features(x, walk, length=length, degree=2))[1]
        assert_close(seen, torch.linalg.matrix_power(walk.matrix().to_dense(), length) @ x)


def test_time_is_needed_to_characterise_the_walk():
    """One edge {a, b} walked twice, against two nodes a, b that stay put: equal without time, apart with time from degree 3 on."""
    x = torch.tensor([[0.3], [1.7]], dtype=torch.float64)
    edge, apart = g2t.random_walk(torch.tensor([[0, 1], [1, 0]])), g2t.random_walk(torch.zeros(2, 0, dtype=torch.int64), num_nodes=2)
    for zero_start in (True, False):
        options = {"length": 2, "degree": 6, "zero_start": zero_start}
        assert_close(g2t.node_features(x, edge, **options), g2t.node_features(x, apart, **options))
        options = {"length": 2, "degree": 3, "zero_start": zero_start, "time": True}
        gap = g2t.TensorAlgebra(2, 3).levels(g2t.graph_features(x, edge, **options) - g2t.graph_features(x, apart, **options))
        assert [bool(level.abs().max() > 1e-9) for level in gap] == [False, False, False, True]


@settings(max_examples=30)
@given(graphs(max_nodes=4, weighted=False), graphs(max_nodes=4, weighted=False), variants(), seeds())
def test_a_disjoint_union_is_each_graph_alone(first, second, variant, rng):
    options = {"length": 3, "degree": 2, **variant}
    x = torch.tensor(rng.normal(size=(first.n + second.n, 2)))
    batch = torch.tensor([0] * first.n + [1] * second.n)
    union = torch.tensor(np.concatenate([first.edges, second.edges + first.n]).T)
    alone = [(x[: first.n], walk_on(first)), (x[first.n :], walk_on(second))]
    walk = g2t.random_walk(union, num_nodes=len(x), batch=batch)
    assert_close(g2t.node_features(x, walk, **options), torch.cat([g2t.node_features(*graph, **options) for graph in alone]))
    expected = torch.cat([g2t.graph_features(*graph, **options) for graph in alone])
    assert_close(g2t.graph_features(x, walk, **options), expected)  # by the walk's own batch
    assert_close(g2t.graph_features(x, g2t.random_walk(union, num_nodes=len(x)), batch, **options), expected)


def test_graphs_without_nodes_get_zeros():
    walk = walk_on(corner("path"))
    x = attributes(corner("path"))
    features = g2t.graph_features(x, walk, torch.tensor([0, 0, 2]), length=2, degree=2)
    assert features.shape == (3, 7)
    assert features[1].tolist() == [0.0] * 7
    nobody = g2t.random_walk(torch.zeros(2, 0, dtype=torch.int64), num_nodes=0)
    assert g2t.node_features(torch.zeros(0, 2), nobody, length=2, degree=2).shape == (0, 7)
    assert g2t.graph_features(torch.zeros(0, 2), nobody, length=2, degree=2).tolist() == [[0.0] * 7]


@every_variant
def test_gradients_agree_with_finite_differences(variant):
    graph = corner("dangling")
    edges, x = torch.tensor(graph.edges.T), attributes(graph, 1).requires_grad_()
    weights = torch.rand(len(graph.edges), dtype=torch.float64, generator=torch.Generator().manual_seed(0)).add(0.5).requires_grad_()
    c = torch.tensor([0.7, -0.4], dtype=torch.float64, requires_grad=True)
    for features in (g2t.node_features, g2t.forward_features, g2t.graph_features):

        def value(x, w, c, features=features):
            return features(x, g2t.random_walk(edges, graph.n, w), length=2, degree=2, coefficients=c, **variant)

        assert gradcheck(value, (x, weights, c))


@every_variant
def test_single_precision_gives_six_digits(variant):
    graph = corner("self_loop")
    walk, x, options = walk_on(graph), attributes(graph), {"length": 4, "degree": 3, **variant}
    for features in (g2t.node_features, g2t.forward_features, g2t.graph_features):
        single = features(x.float(), walk.to(torch.float32), **options)
        assert single.dtype == torch.float32
        assert_close(single.double(), features(x, walk, **options), rtol=1e-5, atol=1e-5)
        assert_close(features(x.float(), walk, **options), single)  # a walk in float64 serves attributes in float32


def test_edges_taken_in_chunks_give_the_same(monkeypatch):
    graph = corner("star")
    walk, x, options = walk_on(graph), attributes(graph), {"length": 3, "degree": 2}
    whole = [g2t.node_features(x, walk, **options), g2t.forward_features(x, walk, **options)]
    monkeypatch.setattr(diffusion, "_CHUNK_NUMBERS", 15)  # two edges of seven numbers
    assert_close([g2t.node_features(x, walk, **options), g2t.forward_features(x, walk, **options)], whole)


# --- Monte Carlo ------------------------------------------------------------------------------------------------------------


def monte_carlo(samples: int, repetitions: int, **variant: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Errors of the estimate, and the standard errors it claims, over independent repetitions; only entries that are random."""
    graph = corner("directed")
    walk, x, options = walk_on(graph, 0.2), attributes(graph, 1, seed=4), {"length": 3, "degree": 2, **variant}
    exact = g2t.node_features(x, walk, **options)
    runs = [
        g2t.sampled_node_features(x, walk, samples=samples, generator=torch.Generator().manual_seed(seed), **options)
        for seed in range(repetitions)
    ]
    errors = torch.stack([estimate - exact for estimate, _ in runs])
    claimed = torch.stack([error for _, error in runs])
    random = claimed.amin(0) > 1e-12
    assert_close(errors[:, ~random], torch.zeros_like(errors[:, ~random]))
    return errors[:, random], claimed[:, random]


@pytest.mark.parametrize("variant", [{}, {"time": True}, {"increments": False}, {"zero_start": False}], ids=str)
def test_monte_carlo_error_falls_like_one_over_the_root_of_samples(variant):
    few, _ = monte_carlo(50, 60, **variant)
    many, _ = monte_carlo(50 * 16, 60, **variant)
    ratio = float(few.square().mean().sqrt() / many.square().mean().sqrt())
    assert 3.2 < ratio < 5.0  # 4 expected; a rate of 1/samples would give 16, a bias 1


@pytest.mark.parametrize("variant", [{}, {"time": True}, {"increments": False}], ids=str)
def test_standard_error_is_the_spread_of_the_estimate(variant):
    errors, claimed = monte_carlo(200, 60, **variant)
    assert 0.85 < float((errors / claimed).square().mean()) < 1.15
    assert float((errors / claimed).mean(0).abs().max()) < 4.5 / 60**0.5  # unbiased, entry by entry


@pytest.mark.parametrize("chunk", [1, 100, 2**24])
def test_rounds_add_up_to_mean_and_standard_error_of_all_samples(chunk, monkeypatch):
    graph, samples, drawn = corner("star"), 23, []
    walk, x = walk_on(graph), attributes(graph)

    def recorded(*arguments):
        drawn.append(g2t.sample_walks(*arguments))
        return drawn[-1]

    monkeypatch.setattr(diffusion, "_CHUNK_NUMBERS", chunk)
    monkeypatch.setattr(diffusion, "sample_walks", recorded)
    estimate, error = g2t.sampled_node_features(x, walk, samples=samples, length=3, degree=2)
    seen = g2t.sequence_features(x[torch.cat(drawn)], degree=2).view(samples, graph.n, -1)
    assert_close(estimate, seen.mean(0))
    assert_close(error, seen.std(0) / samples**0.5)


def test_sampling_is_repeatable_by_its_generator():
    walk, x = walk_on(corner("star")), attributes(corner("star"))
    runs = [
        g2t.sampled_node_features(x, walk, samples=10, length=2, degree=2, generator=torch.Generator().manual_seed(seed))[0]
        for seed in (0, 0, 1)
    ]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


# --- errors -----------------------------------------------------------------------------------------------------------------

NODES = torch.ones(3, 2, dtype=torch.float64)


@pytest.mark.parametrize("features", [g2t.node_features, g2t.graph_features, g2t.forward_features, g2t.sampled_node_features])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x": NODES.tolist()}, TypeError, r"`x` must be a torch\.Tensor .*got list"),
        ({"x": NODES.numpy()}, TypeError, r"`x` must be a torch\.Tensor .*got ndarray.*torch\.as_tensor\(x\)"),
        ({"x": NODES.long()}, TypeError, r"`x` must be of a floating type \(got torch\.int64\)"),
        ({"x": NODES.to(torch.complex64)}, TypeError, r"`x` must be of a floating type"),
        ({"x": NODES[:, 0]}, ValueError, r"shape \(nodes, attributes\).*got \(3,\).*x\.unsqueeze\(1\)"),
        ({"x": NODES[:, :0]}, ValueError, r"at least one attribute"),
        ({"x": NODES[:2]}, ValueError, r"one row for each of the walk's 3 nodes \(got 2 rows\)"),
        ({"x": NODES.to_sparse()}, TypeError, r"`x` must be a dense"),
        ({"x": NODES.to("meta")}, ValueError, r"must be on one device \(got meta and cpu\).*walk\.to\(x\.device\)"),
        ({"x": torch.tensor([[0.0, 0], [0, float("nan")], [0, 0]])}, ValueError, r"`x` must be finite .*at node 1"),
        ({"walk": torch.tensor([[0], [1]])}, TypeError, r"`walk` must be a RandomWalk, as `random_walk\(.*got Tensor"),
        ({"length": -1}, ValueError, r"`length` must be at least 0 \(the number of steps\) \(got -1\)"),
        ({"length": 1.5}, TypeError, r"`length` must be an integer"),
        ({"degree": -1}, ValueError, r"`degree` must be at least 0"),
        ({"degree": None}, TypeError, r"`degree` must be an integer"),
        ({"degree": 200}, ValueError, r"would take over 10\^60 numbers"),
        ({"degree": 29}, ValueError, r"3 nodes with 2 coordinates up to degree 29 would take 9,663,676,407 numbers.*`low_rank_features`"),
        ({"time": 1}, TypeError, r"`time` must be True or False \(got 1\)"),
        ({"zero_start": None}, TypeError, r"`zero_start` must be True or False"),
        ({"coefficients": torch.ones(3)}, ValueError, r"`coefficients` must hold c_1, \.\.\., c_M, shape \(2,\)"),
        ({"coefficients": torch.ones(2, 4)}, ValueError, r"`coefficients` must hold c_1"),
        ({"coefficients": torch.ones(2, dtype=torch.complex64)}, TypeError, r"`coefficients` must be real"),
    ],
)
def test_bad_arguments_are_named(features, arguments, error, message, monkeypatch):
    monkeypatch.setattr("graph2tens.checks.physical_memory", lambda: 2**34)
    samples = {"samples": 5} if features is g2t.sampled_node_features else {}
    walk = g2t.random_walk(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    with pytest.raises(error, match=message):
        features(**{"x": NODES, "walk": walk, "length": 2, "degree": 2, **samples, **arguments})


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        (torch.tensor([0, 0]), ValueError, r"`batch` must hold the graph of each of the 3 nodes"),
        (torch.tensor([0, 0, -1]), ValueError, r"`batch` must not be negative"),
        (torch.tensor([0.0, 0, 1]), TypeError, r"`batch` must hold integers"),
        (torch.tensor([True, False, True]), TypeError, r"`batch` must hold integers"),
        (torch.tensor([0, 0, 10**13]), ValueError, r"the features of 10,000,000,000,001 graphs would take"),
    ],
)
def test_bad_batches_are_named(batch, error, message):
    with pytest.raises(error, match=message):
        g2t.graph_features(NODES, g2t.random_walk(torch.tensor([[0, 1], [1, 2]])), batch, length=2, degree=2)


def test_other_misuse_is_named():
    walk = g2t.random_walk(torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(ValueError, match=r"`samples` must be at least 2 \(a standard error needs two\)"):
        g2t.sampled_node_features(NODES, walk, samples=1, length=2, degree=2)
    with pytest.raises(ValueError, match=r"`walk` must have one probability for each step \(got 2 heads\)"):
        g2t.node_features(NODES, walk.with_probabilities(torch.ones(3, 2)), length=2, degree=2)
    with pytest.raises(TypeError, match=r"degre"):
        g2t.graph_features(NODES, walk, length=2, degre=2)
