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


@every_case
def test_low_rank_features_of_graphs_and_of_higher_rank(case: Case):
    features = g2t.low_rank_features(case.x, case.walk, case.components, **case.options)
    assert_close(features.mean(0).T, case.expected("lowrank_graph"))
    assert_close(torch.einsum("imr,rm->i", features, case.mix), case.expected("rankR"))


@every_case
def test_functionals_of_the_forward_features(case: Case):
    """Degree m pairs with the last m components, and as a prefix with the first m."""
    forward = g2t.forward_features(case.x, case.walk, degree=case.degree, **case.options)
    levels = g2t.TensorAlgebra(case.components.size(1), case.degree).levels(forward)[1:]
    for name, first in (("lowrank_forward", False), ("lowrank_forward_prefix", True)):
        paired = []
        for m, level in enumerate(levels, start=1):
            value = level.reshape(case.n, *[case.components.size(1)] * m).unsqueeze(-1).expand(*[-1] * (m + 1), case.components.size(2))
            for u in case.components[:m] if first else case.components[-m:]:
                value = torch.einsum("id...r,dr->i...r", value, u)
            paired.append(value)
        assert_close(torch.stack(paired, dim=1), case.expected_low_rank(name))


@every_case
def test_penalty(case: Case):
    options = {"degree": case.degree, "rank": case.components.size(2), "time": case.variant["time"], "normalize": False}
    layer = g2t.nn.G2TNConv(case.x.size(1), 4, **options).double()
    with torch.no_grad():
        layer.components.copy_(case.components)
    penalty = case.data["lambda"] * layer.penalty().item()
    assert penalty == pytest.approx(case.data["expected"]["l2_penalty"], rel=1e-9)
