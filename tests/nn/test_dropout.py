"""Dropout from sixteen bits an entry is dropout."""

from __future__ import annotations

import math

import pytest
import torch

from graph2tens.nn.dropout import dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(7, 3), (301, 129), (0, 4), (5,)])
def test_entries_are_dropped_or_scaled(p, shape):
    torch.manual_seed(0)
    x = torch.rand(shape, dtype=torch.float64) + 1
    y = dropout(x, p, training=True)
    kept = y != 0
    torch.testing.assert_close(y[kept], x[kept] / (1 - p), rtol=1e-4, atol=0)
    if x.numel() > 1000:
        assert abs(kept.double().mean().item() - (1 - p)) < 5 * math.sqrt(p * (1 - p) / x.numel())


def test_the_mean_is_kept_and_entries_are_independent():
    torch.manual_seed(0)
    draws = torch.stack([dropout(torch.ones(4, 8), 0.3, training=True).flatten() for _ in range(4000)])
    error = 5 * math.sqrt(0.3 / 0.7 / 4000)
    torch.testing.assert_close(draws.mean(0), torch.ones(32), atol=error, rtol=0)
    correlation = torch.corrcoef(draws.T) - torch.eye(32)
    assert correlation.abs().max() < 6 / math.sqrt(4000)


def test_seeds_decide_and_evaluation_drops_nothing():
    x = torch.randn(50, 4)
    draws = []
    for _ in range(2):
        torch.manual_seed(3)
        draws.append((dropout(x, 0.5, training=True), dropout(x, 0.5, training=True)))
    assert torch.equal(draws[0][0], draws[1][0])
    assert not torch.equal(draws[0][0], draws[0][1])
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x


def test_gradient_is_the_mask():
    x = torch.randn(20, 6, requires_grad=True)
    y = dropout(x, 0.4, training=True)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x, y)
