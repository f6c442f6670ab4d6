"""The compiled softmax over the steps of a walk against PyTorch's operators and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import corner, graphs, seeds
from torch import Tensor

import graph2tens as g2t
from graph2tens.nn.attention import attention, by_operators, row_softmax


def problem(graph, rng, heads, own_prior, with_along, dtype=torch.float64):
    walk = g2t.random_walk(torch.tensor(graph.edges.T.copy()), num_nodes=graph.n, laziness=0.2)
    if own_prior:  # of each head, with steps that no head may take
        p = torch.tensor(rng.random((walk.num_edges, heads)))
        walk = walk.with_probabilities(p * (torch.tensor(rng.random(p.shape)) > 0.3) + (walk.row == walk.col).unsqueeze(1))
    source, target = (torch.tensor(3 * rng.normal(size=(graph.n, heads)), dtype=dtype, requires_grad=True) for _ in range(2))
    along = torch.tensor(rng.normal(size=(walk.num_edges, heads)), dtype=dtype, requires_grad=True) if with_along else None
    return walk, source, target, along


def prior_of(walk: g2t.RandomWalk, like: Tensor) -> Tensor:
    p = walk.probabilities.to(like.dtype)
    return p.unsqueeze(1) if p.dim() == 1 else p


@settings(max_examples=40)
@given(graphs(max_nodes=6), seeds(), st.integers(1, 3), st.booleans(), st.booleans())
def test_compiled_attention_is_that_of_the_operators(graph, rng, heads, own_prior, with_along):
    walk, source, target, along = problem(graph, rng, heads, own_prior, with_along)
    inputs = [source, target] + ([] if along is None else [along])
    got, want = attention(walk, source, target, along), by_operators(walk, source, target, along, prior_of(walk, source), 0.2)
    torch.testing.assert_close(got, want)
    weight = torch.tensor(rng.normal(size=got.shape))
    for one, other in zip(*(torch.autograd.grad((p * weight).sum(), inputs) for p in (got, want)), strict=True):
        torch.testing.assert_close(one, other)
    sums = torch.zeros(graph.n, heads, dtype=got.dtype).index_add(0, walk.row, got)
    torch.testing.assert_close(sums, torch.ones_like(sums))


@pytest.mark.parametrize("with_along", [False, True])
def test_adjoint_agrees_with_finite_differences(with_along):
    walk, source, target, along = problem(corner("directed"), np.random.default_rng(0), 2, False, with_along)
    inputs = (source, target) if along is None else (source, target, along)
    assert torch.autograd.gradcheck(lambda *given: attention(walk, *given), inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_large_scores_do_not_overflow(dtype):
    walk = g2t.random_walk(torch.tensor([[0, 0, 1], [1, 2, 0]]), num_nodes=3)
    source, target = torch.full((3, 1), 1e4, dtype=dtype), torch.tensor([[-1e4], [2e4], [2e4]], dtype=dtype)
    torch.testing.assert_close(attention(walk, source, target).squeeze(1), torch.tensor([0.5, 0.5, 1.0, 1.0], dtype=dtype))


def test_operator_is_well_registered():
    walk = g2t.random_walk(torch.tensor([[0, 0, 1], [1, 2, 0]]), num_nodes=3)
    source, target, along = (torch.randn(n, 2, requires_grad=True) for n in (3, 3, walk.num_edges))
    torch.library.opcheck(row_softmax, (source, target, along, prior_of(walk, source), walk.row_ptr, walk.col, 0.2))
