"""Walks: the transition matrix, sampling, enumeration, and what is refused."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import CORNER_GRAPHS, Graph, corner, graphs, laziness
from torch.autograd import gradcheck
from torch.testing import assert_close

import graph2tens as g2t

every_corner = pytest.mark.parametrize("graph", [pytest.param(corner(name), id=name) for name in CORNER_GRAPHS])
EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def walk_on(graph: Graph, lazy: float = 0.0) -> g2t.RandomWalk:
    weights = None if graph.weights is None else torch.tensor(graph.weights)
    return g2t.random_walk(torch.tensor(graph.edges.T), num_nodes=graph.n, edge_weight=weights, laziness=lazy)


@given(graphs(), laziness())
def test_transition_matrix_is_that_of_the_oracle(graph, lazy):
    walk = walk_on(graph, lazy)
    expected = torch.tensor(oracles.transition_matrix(graph.n, graph.edges, graph.weights, lazy))
    assert_close(walk.matrix().to_dense(), expected)
    assert_close(walk.matrix().to_dense().sum(1), torch.ones(graph.n, dtype=torch.float64))


@given(graphs(), laziness())
def test_entries_are_sorted_and_the_transpose_points_back(graph, lazy):
    walk = walk_on(graph, lazy)
    keys = walk.row * graph.n + walk.col
    assert bool((keys.diff() > 0).all())
    assert walk.row_ptr.tolist() == [int((walk.row < i).sum()) for i in range(graph.n + 1)]
    pointer, origin, position = walk.transpose
    for j in range(graph.n):
        entries = position[pointer[j] : pointer[j + 1]]
        assert walk.col[entries].tolist() == [j] * len(entries)
        assert walk.row[entries].tolist() == origin[pointer[j] : pointer[j + 1]].tolist()
    assert sorted(position.tolist()) == list(range(walk.num_edges))


@given(graphs(), laziness())
def test_edge_position_finds_the_entry_of_every_given_edge(graph, lazy):
    walk = walk_on(graph, lazy)
    assert walk.row[walk.edge_position].tolist() == graph.edges[:, 0].tolist()
    assert walk.col[walk.edge_position].tolist() == graph.edges[:, 1].tolist()


def test_walker_steps_from_the_first_row_to_the_second():
    walk = g2t.random_walk(torch.tensor([[0], [1]]), num_nodes=2)
    assert walk.matrix().to_dense().tolist() == [[0, 1], [0, 1]]  # node 1 has no out-edge and stays put


def test_parallel_edges_add_and_laziness_joins_self_loops():
    walk = g2t.random_walk(torch.tensor([[0, 0, 0], [1, 1, 0]]), num_nodes=2, laziness=0.5)
    assert walk.num_edges == 3
    assert_close(walk.matrix().to_dense(), torch.tensor([[2 / 3, 1 / 3], [0, 1]], dtype=torch.float64))


def test_number_of_nodes_defaults_to_the_highest_index():
    assert g2t.random_walk(EDGES).num_nodes == 3
    assert g2t.random_walk(torch.zeros(2, 0)).num_nodes == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_probabilities_have_the_type_of_the_weights(dtype):
    assert g2t.random_walk(EDGES, edge_weight=torch.ones(4, dtype=dtype)).probabilities.dtype == dtype
    assert g2t.random_walk(EDGES).probabilities.dtype == torch.float64


def test_probabilities_are_differentiable_in_the_weights():
    edges = torch.tensor([[0, 0, 0, 1, 2, 2], [1, 2, 1, 0, 2, 1]])
    weights = torch.tensor([0.7, 1.2, 0.4, 1.0, 2.0, 0.3], dtype=torch.float64, requires_grad=True)
    for lazy in (0.0, 0.3):
        assert gradcheck(lambda w, lazy=lazy: g2t.random_walk(edges, 4, w, lazy).probabilities, (weights,))


def test_walk_moves_between_types_and_devices():
    walk = g2t.random_walk(EDGES, batch=torch.tensor([0, 0, 0]))
    assert walk.to(torch.float32).probabilities.dtype == torch.float32
    assert walk.to("cpu") is walk
    assert walk.to("meta").device.type == "meta"
    assert walk.to("meta").batch.is_meta
    assert repr(walk) == "RandomWalk(num_nodes=3, num_edges=4)"
    assert repr(walk.with_probabilities(torch.ones(4, 2))) == "RandomWalk(num_nodes=3, num_edges=4, heads=2)"


# --- sampling ---------------------------------------------------------------------------------------------------------------


@every_corner
def test_sampled_walks_take_only_possible_steps(graph):
    walk = walk_on(graph)
    start = torch.arange(graph.n).repeat(50)
    nodes = g2t.sample_walks(walk, start, 4, torch.Generator().manual_seed(0))
    P = walk.matrix().to_dense()
    assert nodes.shape == (len(start), 5)
    assert nodes[:, 0].tolist() == start.tolist()
    assert bool((P[nodes[:, :-1], nodes[:, 1:]] > 0).all())


def test_edges_of_probability_zero_are_never_taken():
    # zero at the beginning, in the middle, twice and at the end of a row, and in the last row
    edges = torch.tensor([[0] * 6 + [1] * 2 + [2] * 2, [0, 1, 2, 3, 4, 5, 0, 1, 0, 1]])
    weights = torch.tensor([0.0, 1.0, 0.0, 0.0, 1e-3, 0.0, 0.0, 1.0, 1.0, 0.0])
    walk = g2t.random_walk(edges, num_nodes=6, edge_weight=weights)
    drawn = g2t.sample_walks(walk, torch.zeros(200_000, dtype=torch.int64), 1, torch.Generator().manual_seed(0))[:, 1]
    assert set(drawn.tolist()) == {1, 4}
    last = g2t.sample_walks(walk, torch.tensor([1, 2] * 1000), 1, torch.Generator().manual_seed(0))
    assert set(map(tuple, last.tolist())) == {(1, 1), (2, 0)}


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_extreme_random_numbers_stay_in_the_row(uniform, monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda size, **_: torch.full(size, uniform, dtype=torch.float64))
    n = 1000
    edges = torch.stack([torch.arange(n).repeat_interleave(3), (torch.arange(3 * n) * 7) % n])
    weights = torch.tensor([0.0, 1.0, 0.0]).repeat(n)  # the first and the last step of a row are impossible
    walk = g2t.random_walk(edges, num_nodes=n, edge_weight=weights)
    nodes = g2t.sample_walks(walk, torch.arange(n), 1)
    assert bool((walk.matrix().to_dense()[nodes[:, 0], nodes[:, 1]] > 0).all())


def test_sampled_frequencies_are_the_probabilities():
    graph = Graph(4, np.array([(0, 1), (0, 2), (0, 3), (1, 0), (2, 3), (3, 3), (3, 0)]), np.array([1.0, 2.0, 4.0, 1.0, 1.0, 0.5, 1.5]))
    walk, count = walk_on(graph, 0.2), 40_000
    nodes = g2t.sample_walks(walk, torch.zeros(count, dtype=torch.int64), 2, torch.Generator().manual_seed(1))
    seen = Counter(map(tuple, nodes.tolist()))
    paths, probabilities = oracles.all_walks(oracles.transition_matrix(4, graph.edges, graph.weights, 0.2), 2)
    expected = {tuple(path): p for path, p in zip(paths.tolist(), probabilities, strict=True) if path[0] == 0}
    assert seen.keys() <= expected.keys()
    for path, p in expected.items():
        assert abs(seen[path] / count - p) < 5 * np.sqrt(p * (1 - p) / count)


def test_a_generator_makes_sampling_repeatable():
    walk, start = g2t.random_walk(EDGES), torch.ones(100, dtype=torch.int64)
    draws = [g2t.sample_walks(walk, start, 3, torch.Generator().manual_seed(seed)).tolist() for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


# --- enumeration ------------------------------------------------------------------------------------------------------------


@given(graphs(), st.integers(0, 3), laziness())
def test_enumerated_walks_are_those_of_the_oracle(graph, length, lazy):
    nodes, probabilities = g2t.enumerate_walks(walk_on(graph, lazy), length)
    expected_nodes, expected = oracles.all_walks(oracles.transition_matrix(graph.n, graph.edges, graph.weights, lazy), length)
    got = dict(zip(map(tuple, nodes.tolist()), probabilities.tolist(), strict=True))
    assert len(got) == len(nodes) == len(expected_nodes)
    for path, probability in zip(expected_nodes.tolist(), expected, strict=True):
        assert got[tuple(path)] == pytest.approx(probability)
    assert_close(
        torch.zeros(graph.n, dtype=torch.float64).index_add(0, nodes[:, 0], probabilities), torch.ones(graph.n, dtype=torch.float64)
    )


# --- errors -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"edge_index": [[0], [1]]}, TypeError, r"`edge_index` must be a torch\.Tensor of shape \(2, E\) \(got list\)"),
        ({"edge_index": EDGES.double()}, TypeError, r"`edge_index` must hold integers \(got torch\.float64\).*edge_index\.long\(\)"),
        ({"edge_index": EDGES.bool()}, TypeError, r"`edge_index` must hold integers"),
        ({"edge_index": EDGES.to_sparse()}, TypeError, r"`edge_index` must be a dense"),
        ({"edge_index": EDGES.to("meta")}, ValueError, r"`edge_index` must hold data"),
        ({"edge_index": EDGES.T}, ValueError, r"shape \(2, E\).*got \(4, 2\).*Did you pass \(E, 2\)\? Then give edge_index\.T"),
        ({"edge_index": EDGES[0]}, ValueError, r"`edge_index` must have shape \(2, E\).*got \(4,\)"),
        ({"num_nodes": 2}, ValueError, r"nodes in \[0, 2\) for num_nodes=2 \(got node 2\)\. Are the nodes numbered from 1\?"),
        ({"edge_index": EDGES - 1}, ValueError, r"`edge_index` must hold nodes .*\(got node -1\)"),
        ({"num_nodes": -1}, ValueError, r"`num_nodes` must be at least 0 \(got -1\)"),
        ({"num_nodes": 3.0}, TypeError, r"`num_nodes` must be an integer"),
        ({"num_nodes": 10**15}, ValueError, r"1,000,000,000,000,000 nodes would take .* numbers"),
        ({"edge_weight": [1.0] * 4}, TypeError, r"`edge_weight` must be a torch\.Tensor"),
        ({"edge_weight": torch.ones(3)}, ValueError, r"one weight for each of the 4 edges, shape \(4,\) \(got \(3,\)\)"),
        ({"edge_weight": torch.ones(4, 1)}, ValueError, r"got \(4, 1\)\)\. Did you mean edge_weight\.squeeze\(1\)"),
        ({"edge_weight": torch.tensor([1.0, -2.0, 1.0, 1.0])}, ValueError, r"`edge_weight` must not be negative \(got -2\.0 at edge 1\)"),
        ({"edge_weight": torch.tensor([1.0, 1.0, float("nan"), 1.0])}, ValueError, r"`edge_weight` must be finite .*at edge 2"),
        ({"edge_weight": torch.tensor([1.0, 0.0, 0.0, 1.0])}, ValueError, r"positive sum at every node .*\(got 0 at node 1\).*Drop edges"),
        ({"edge_weight": torch.full((4,), 3e38)}, ValueError, r"finite sum at every node \(got an overflow at node 1\)"),
        ({"edge_weight": torch.ones(4, dtype=torch.complex64)}, TypeError, r"`edge_weight` must be real"),
        ({"laziness": 1}, ValueError, r"`laziness` must lie in \[0, 1\).*\(got 1\)"),
        ({"laziness": -0.1}, ValueError, r"`laziness` must lie in \[0, 1\)"),
        ({"laziness": float("nan")}, ValueError, r"`laziness` must lie in \[0, 1\)"),
        ({"laziness": "half"}, TypeError, r"`laziness` must be a number"),
        ({"batch": torch.zeros(2, dtype=torch.int64)}, ValueError, r"`batch` must hold the graph of each of the 3 nodes.*got \(2,\)"),
        ({"batch": torch.zeros(3)}, TypeError, r"`batch` must hold integers"),
        ({"batch": [0, 0, 0]}, TypeError, r"`batch` must be a torch\.Tensor"),
        ({"batch": torch.tensor([0, -1, 0])}, ValueError, r"`batch` must not be negative \(got -1\)"),
    ],
)
def test_bad_graphs_are_named(arguments, error, message, monkeypatch):
    monkeypatch.setattr("graph2tens.checks.physical_memory", lambda: 2**34)
    with pytest.raises(error, match=message):
        g2t.random_walk(**{"edge_index": EDGES, **arguments})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda w: g2t.sample_walks(w, torch.tensor([3]), 1), ValueError, r"`start` must hold nodes in \[0, 3\) \(got 3\)"),
        (lambda w: g2t.sample_walks(w, torch.tensor([-1]), 1), ValueError, r"`start` must hold nodes in \[0, 3\) \(got -1\)"),
        (lambda w: g2t.sample_walks(w, torch.tensor([0.5]), 1), ValueError, r"`start` must be a vector of integers"),
        (lambda w: g2t.sample_walks(w, torch.tensor(0), 1), ValueError, r"`start` must be a vector of integers.*got shape \(\)"),
        (lambda w: g2t.sample_walks(w, 0, 1), TypeError, r"`start` must be a torch\.Tensor"),
        (lambda w: g2t.sample_walks(w, torch.tensor([0]), -1), ValueError, r"`length` must be at least 0"),
        (lambda w: g2t.sample_walks(None, torch.tensor([0]), 1), TypeError, r"`walk` must be a RandomWalk.*got NoneType"),
        (lambda w: g2t.sample_walks(w.with_probabilities(torch.ones(4, 2)), torch.tensor([0]), 1), ValueError, r"got 2 heads"),
        (lambda w: g2t.sample_walks(w.with_probabilities(torch.ones(4)), torch.tensor([0]), 1), ValueError, r"sum 2\.0 at node 1"),
        (
            lambda w: g2t.sample_walks(w.with_probabilities(torch.tensor([1.0, -1, 2, 1])), torch.tensor([0]), 1),
            ValueError,
            r"not negative",
        ),
        (lambda w: g2t.enumerate_walks(w, 1.5), TypeError, r"`length` must be an integer"),
        (lambda w: g2t.enumerate_walks(w, 100), ValueError, r"there are 3,377,699,720,527,872 walks .*use `sample_walks`"),
        (lambda w: w.with_probabilities(torch.ones(3)), ValueError, r"`probabilities` must have shape \(4,\) or \(4, heads\).*got \(3,\)"),
        (lambda w: w.with_probabilities([1.0] * 4), TypeError, r"`probabilities` must be a torch\.Tensor"),
        (lambda w: w.with_probabilities(torch.ones(4, 2)).matrix(), ValueError, r"got 2 heads"),
    ],
)
def test_bad_uses_of_a_walk_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(g2t.random_walk(EDGES))


def features_on(walk: g2t.RandomWalk) -> torch.Tensor:
    x = torch.arange(2.0 * walk.num_nodes).view(-1, 2).sin()
    return g2t.low_rank_features(x, walk, torch.ones(2, 2, 4), length=3)


def test_a_walk_owns_its_arrays():
    edges, batch = EDGES.clone(), torch.zeros(3, dtype=torch.int64)
    walk = g2t.random_walk(edges, num_nodes=3, batch=batch)
    before = features_on(walk)
    edges += 10**9
    batch += 10**8
    assert torch.equal(features_on(walk), before)
    assert walk.col.tolist() == [1, 0, 2, 1]
    assert walk.graphs[0].tolist() == [0, 0, 0]


def test_replaced_arrays_do_not_meet_what_was_derived_from_the_old():
    walk = g2t.random_walk(EDGES, num_nodes=3)
    features_on(walk)
    _ = walk.transpose
    small = {"row_ptr": torch.tensor([0, 0, 0, 1]), "col": torch.tensor([0]), "probabilities": torch.ones(1)}
    other = dataclasses.replace(walk, **small, edge_position=torch.tensor([0]), stochastic=False)
    assert other.row.tolist() == [2]
    assert other.transpose[0].tolist() == [0, 1, 1, 1]
    fresh = g2t.RandomWalk(3, **small, edge_position=torch.tensor([0]), stochastic=False)
    assert torch.equal(features_on(other), features_on(fresh))


BROKEN = {
    "col": (torch.tensor([1, 0, 7, 1]), "got 7"),
    "edge_position": (torch.tensor([0, 1, 2, -1]), "got -1"),
    "row_ptr": (torch.tensor([0, 3, 1, 4]), "must rise from 0"),
    "batch": (torch.tensor([0, -1, 0]), "got -1"),
    "probabilities": (torch.ones(3), "one row for each"),
    "num_nodes": (9, "must have 10 and 9"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_wrong_arrays_are_refused_wherever_a_walk_is_made(name, tmp_path):
    walk = g2t.random_walk(EDGES, num_nodes=3)
    value, message = BROKEN[name]
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(walk, **{name: value})
    object.__setattr__(walk, name, value)  # a file may hold anything
    torch.save(walk, tmp_path / "walk.pt")
    with pytest.raises(ValueError, match=message):
        torch.load(tmp_path / "walk.pt", weights_only=True)
    with pytest.raises(ValueError, match=message):
        pickle.loads(pickle.dumps(walk))


def test_a_walk_that_was_used_is_saved_without_what_was_derived(tmp_path):
    walk = g2t.random_walk(EDGES, num_nodes=3)
    g2t.low_rank_features(torch.ones(3, 2), walk, torch.ones(2, 2, 4), length=1, backend="torch")
    assert walk.derived
    torch.save(walk, tmp_path / "walk.pt")
    loaded = torch.load(tmp_path / "walk.pt", weights_only=True)
    assert not loaded.derived
    assert torch.equal(features_on(loaded), features_on(walk))


def test_a_saved_walk_is_read_where_only_walks_were_imported(tmp_path):
    torch.save(g2t.random_walk(EDGES, num_nodes=3), tmp_path / "walk.pt")
    program = f"import graph2tens, torch; graph2tens.RandomWalk; print(torch.load({str(tmp_path / 'walk.pt')!r}, weights_only=True))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert said.stdout.startswith("RandomWalk(num_nodes=3"), said.stderr


def test_a_walk_made_in_inference_mode_can_be_trained_with():
    with torch.inference_mode():
        walk = g2t.random_walk(EDGES.clone(), num_nodes=3, edge_weight=torch.ones(4), batch=torch.zeros(3, dtype=torch.int64))
    x = torch.ones(3, 2, requires_grad=True)
    for backend in ("numba", "torch"):
        g2t.low_rank_features(x, walk, torch.ones(2, 2, 4), length=2, backend=backend).sum().backward()
    assert x.grad is not None


@given(graphs(), graphs(), laziness())
def test_a_union_walks_on_each_graph_as_before(one, other, lazy):
    walks = [walk_on(one, lazy), walk_on(other, lazy).to(torch.float64)]
    union = g2t.RandomWalk.union(walks)
    expected = torch.block_diag(*(walk.matrix().to_dense().double() for walk in walks))
    assert_close(union.matrix().to_dense().double(), expected)
    assert union.batch.tolist() == [0] * one.n + [1] * other.n
    assert torch.equal(union.edge_position, torch.cat([walks[0].edge_position, walks[1].edge_position + walks[0].num_edges]))


def test_a_union_needs_walks_of_one_kind():
    walk = g2t.random_walk(EDGES, num_nodes=3)
    with pytest.raises(ValueError, match="at least one"):
        g2t.RandomWalk.union([])
    with pytest.raises(ValueError, match="same number of heads"):
        g2t.RandomWalk.union([walk, walk.with_probabilities(torch.ones(4, 2))])


PEAK = """
import torch, graph2tens as g2t

def memory(name):
    with open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

# arrays beyond 32 MB, which the heap of glibc gives back at once
edges = torch.randint(0, 600_000, (2, 6_000_000), generator=torch.Generator().manual_seed(0))
g2t.random_walk(edges[:, :1000], 600_000)  # what is loaded on first use
with open("/proc/self/clear_refs", "w") as peaks:
    peaks.write("5")  # the highest memory so far is forgotten
before = memory("VmRSS")
walk = g2t.random_walk(edges, 600_000)
print((memory("VmHWM") - before) / edges.size(1))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="only Linux forgets the highest memory of a process")
def test_a_walk_is_made_in_at_most_60_bytes_for_each_edge():
    """Of edges in random order; the walk itself keeps 24."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert 24 < float(done.stdout) < 60
