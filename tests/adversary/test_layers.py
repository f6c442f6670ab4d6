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


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize(
    ("probabilities", "message"),
    [([1.0, -1.0, 2.0, 1.0], "not negative"), ([torch.nan, 0.5, 0.5, 1.0], "not negative"), ([0.0, 0.5, 0.5, 1.0], "none at node 0")],
)
def test_attention_refuses_walks_without_probabilities(backend, probabilities, message):
    walk = g2t.random_walk(torch.tensor([[0, 1, 1, 2], [1, 2, 0, 0]]), 3).with_probabilities(torch.tensor(probabilities))
    with pytest.raises(ValueError, match=message):
        G2TANConv(4, 8, backend=backend)(torch.randn(3, 4), walk)
