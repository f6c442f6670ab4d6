"""Walks and attributes that layers cannot or should not refuse."""

from __future__ import annotations

import pytest
import torch
from torch_geometric import EdgeIndex

import graph2tens as g2t
from graph2tens.backends import available_backends
from graph2tens.nn import G2TANConv, G2TNConv


@pytest.mark.parametrize("order", [None, "row", "col"])
@pytest.mark.parametrize("edges", [0, 1, 2, 3])
@pytest.mark.parametrize("layer", [G2TNConv, G2TANConv])
def test_an_edge_index_of_pyg_with_few_edges_is_a_graph_like_any_other(layer, edges, order):
    plain = torch.tensor([[0, 1, 2], [1, 2, 0]])[:, :edges]
    if order == "col":
        plain = plain[:, plain[1].argsort()]
    conv, x = layer(4, 8), torch.randn(3, 4)
    wrapped = EdgeIndex(plain.contiguous(), sparse_size=(3, 3), sort_order=order)
    torch.testing.assert_close(conv(x, wrapped), conv(x, plain))
    torch.testing.assert_close(g2t.random_walk(wrapped, 3).probabilities, g2t.random_walk(plain, 3).probabilities)


@pytest.mark.parametrize("backend", [name for name in available_backends() if name != "reference"])
@pytest.mark.parametrize("batched", [False, True])
def test_backends_agree_on_attributes_near_the_end_of_the_range(backend, batched):
    torch.manual_seed(0)
    n = 200
    batch = torch.arange(n) // 50 if batched else torch.zeros(n, dtype=torch.long)
    edges = torch.randint(0, n, (2, 2000))
    edges = edges[:, batch[edges[0]] == batch[edges[1]]]
    walk = g2t.random_walk(edges, n, batch=batch).to(torch.float32)
    x, components = torch.rand(n, 4) * 1e38, torch.randn(2, 4, 3) * 1e-38
    expected = g2t.low_rank_features(x, walk, components, length=2, backend="reference")
    assert bool(torch.isfinite(expected).all())
    torch.testing.assert_close(g2t.low_rank_features(x, walk, components, length=2, backend=backend), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("backend", available_backends())
@pytest.mark.parametrize("increments", [True, False])
def test_backends_agree_up_to_the_largest_attributes_and_refuse_larger_ones(backend, increments):
    torch.manual_seed(0)
    n, limit = 50, torch.finfo(torch.float32).max / 2
    walk = g2t.random_walk(torch.randint(0, n, (2, 300)), n).to(torch.float32)
    x, components = torch.where(torch.rand(n, 4) < 0.5, -limit, limit), torch.randn(2, 4, 3) * 1e-38
    options = {"length": 3, "increments": increments}
    exact = g2t.low_rank_features(x.double(), walk.to(torch.float64), components.double(), backend="reference", **options)
    got = g2t.low_rank_features(x, walk, components, backend=backend, **options)
    torch.testing.assert_close(got.double(), exact, rtol=1e-4, atol=1e-4)
    x[7, 2] = 3e38
    small = torch.zeros_like(x)
    small[7, 2] = 3e38
    with pytest.raises(ValueError, match=r"between -1.7e\+38 and 1.7e\+38, .* torch.float32 \(got 3e\+38 at node 7\).*x.double\(\)"):
        g2t.low_rank_features(x, walk, components, backend=backend, **options)
    with pytest.raises(ValueError, match=r"got 3e.38 at node 7"):
        g2t.low_rank_features(small.bfloat16(), walk, components, backend=backend, **options)
    with pytest.raises(ValueError, match=r"got 3e.38 at node 7"):
        g2t.node_features(x, walk, length=1, degree=1)
    g2t.low_rank_features(x.double(), walk, components, backend=backend, **options)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_what_is_not_finite_is_still_told_by_its_node(bad, dtype):
    x = torch.ones(4, 2, dtype=dtype)
    x[2, 1] = bad
    with pytest.raises(ValueError, match=r"`x` must be finite .got NaN or infinity at node 2"):
        g2t.low_rank_features(x, g2t.random_walk(torch.tensor([[0], [1]]), 4), torch.ones(1, 2, 3, dtype=dtype), length=1)


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize(
    ("probabilities", "message"),
    [([1.0, -1.0, 2.0, 1.0], "not negative"), ([torch.nan, 0.5, 0.5, 1.0], "not negative"), ([0.0, 0.5, 0.5, 1.0], "none at node 0")],
)
def test_attention_refuses_walks_without_probabilities(backend, probabilities, message):
    walk = g2t.random_walk(torch.tensor([[0, 1, 1, 2], [1, 2, 0, 0]]), 3).with_probabilities(torch.tensor(probabilities))
    with pytest.raises(ValueError, match=message):
        G2TANConv(4, 8, backend=backend)(torch.randn(3, 4), walk)
