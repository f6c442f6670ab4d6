"""The worked cases, through the public names."""

from __future__ import annotations

import pytest
import torch
from worked_cases import CASES, Case, assert_close

import graph2tens as g2t

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def test_all_28_cases_are_here():
    assert len(CASES) == 28


@every_case
def test_transition_matrix(case: Case):
    assert_close(case.walk.matrix().to_dense(), case.expected("P"))


@every_case
def test_node_features(case: Case):
    assert_close(g2t.node_features(case.x, case.walk, degree=case.degree, **case.options), case.expected_features("phi"))


@every_case
def test_graph_features(case: Case):
    assert_close(g2t.graph_features(case.x, case.walk, degree=case.degree, **case.options), case.expected_features("graph_phi"))


@every_case
def test_forward_features(case: Case):
    forward = g2t.forward_features(case.x, case.walk, degree=case.degree, **case.options)
    assert_close(forward, case.expected_features("forward"))
    assert_close(forward[:, 0], case.expected("prob_end"))


@every_case
def test_enumerated_walks(case: Case):
    nodes, probability = g2t.enumerate_walks(case.walk, case.length)
    assert len(nodes) == case.data["expected"]["n_walks"]
    seen = g2t.sequence_features(case.x[nodes], degree=case.degree, coefficients=case.coefficients, **case.variant)
    expectation = torch.zeros(case.n, seen.size(1), dtype=seen.dtype).index_add(0, nodes[:, 0], probability[:, None] * seen)
    assert_close(expectation, case.expected_features("phi"))


@pytest.mark.parametrize("case", [case for case in CASES if "adj_power" in case.data["expected"]], ids=str)
def test_powers_of_the_tensor_adjacency(case: Case):
    want = case.data["expected"]["adj_power"]
    options = {name: case.variant[name] for name in ("increments", "time")}
    adjacency = g2t.tensor_adjacency(
        case.x, case.edge_index, case.edge_weight, degree=case.degree, coefficients=case.coefficients, **options
    )
    flat = torch.cat([torch.tensor(level, dtype=torch.float64).flatten() for level in want["tensors"]])
    assert_close((adjacency ** want["k"])[want["i"], want["j"]], flat)
