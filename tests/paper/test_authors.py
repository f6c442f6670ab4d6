"""The layers of the authors' code: each departure from the text, against what is written down about it."""

from __future__ import annotations

import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import edge_index, layer
from strategies import corner, graphs, seeds

from graph2tens.nn import G2TNConv
from graph2tens.paper.authors import AuthorsG2TANConv, AuthorsG2TNConv

authors = pytest.mark.parametrize("kind", ["authors' G2TN", "authors' G2TAN"])


@settings(max_examples=30)
@given(graphs(max_nodes=4), seeds(), st.booleans())
def test_a_node_that_the_walk_cannot_leave_sees_itself_or_nothing(graph, rng, increments):
    conv = layer("authors' G2TAN", 2, 4, 3, increments=increments)
    x = torch.tensor(rng.normal(size=(graph.n, 2)))
    trapped = [node for node in range(graph.n) if all(i != node or j == node for i, j in graph.edges)]
    expected = conv.functionals(x, edge_index(graph)).detach()
    if not increments:
        expected[trapped] = 0
    conv.stay_put = False
    torch.testing.assert_close(conv.functionals(x, edge_index(graph)), expected, rtol=0, atol=0)


@authors
@pytest.mark.parametrize("degree", [2, 3])
def test_the_norm_has_no_parameters_and_is_divided_by_the_degree(kind, degree):
    conv = layer(kind, 3, 4 * degree, degree=degree, mix=False, norm_affine=False, norm_eps=1e-3, bias=False)
    x, index = torch.randn(3, 3, dtype=torch.float64), edge_index(corner("triangle"))
    z = conv.functionals(x, index)
    want = (z - z.mean(-1, keepdim=True)) / (z.var(-1, keepdim=True, unbiased=False) + 1e-3).sqrt() / degree
    torch.testing.assert_close(conv(x, index), want.flatten(1))
    assert not any("norm" in name for name, _ in conv.named_parameters())


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_penalty_takes_the_first_components_of_a_degree(degree):
    conv = layer("authors' G2TN", 3, 5, degree=degree)
    assert conv.penalty().item() == pytest.approx(oracles.penalty(conv.components.detach().numpy()[::-1]))
    conv.prefixes = False
    assert conv.penalty().item() == pytest.approx(oracles.penalty(conv.components.detach().numpy()))


@pytest.mark.parametrize("prefixes", [True, False])
def test_initial_functionals_have_the_variance_of_their_level(prefixes):
    d, R = 40, 3000
    torch.manual_seed(0)
    u = AuthorsG2TNConv(d, R, degree=3, prefixes=prefixes).components.detach()
    variance = (u if prefixes else u.flip(0)).var(dim=(1, 2))
    for m in (1, 2, 3):
        assert variance[:m].prod().item() == pytest.approx(2 / (d**m + R), rel=0.02)


def test_every_projection_has_a_bias_where_it_acts_and_every_functional_its_own_lift():
    assert AuthorsG2TNConv(3, 4).projection_bias.shape == AuthorsG2TNConv(3, 4).coefficients.shape == (2, 4)
    assert AuthorsG2TNConv(3, 4, zero_start=False).projection_bias is None  # in increments alone it cancels
    assert AuthorsG2TANConv(3, 8, zero_start=False, increments=False).projection_bias is not None
    assert G2TNConv(3, 4).coefficients.shape == (2,)
    assert not hasattr(G2TNConv(3, 4), "projection_bias")
