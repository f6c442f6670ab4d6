"""Features of sequences: against the oracle, against a signature library, their invariances and gradients."""

from __future__ import annotations

import numpy as np
import oracles
import pysiglib
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds, variants
from torch.autograd import gradcheck
from torch.testing import assert_close

import graph2tens as g2t


@given(variants(), st.integers(0, 4), st.integers(1, 3), st.integers(0, 4), st.booleans(), seeds())
def test_features_are_the_ordered_product_of_lifted_factors(variant, length, dim, degree, own_coefficients, rng):
    points = rng.normal(size=(3, length + 1, dim))
    c = rng.normal(size=degree) if own_coefficients else None
    got = g2t.sequence_features(torch.tensor(points), degree=degree, coefficients=None if c is None else torch.tensor(c), **variant)
    assert_close(got, torch.tensor(np.concatenate(oracles.sequence_levels(points, degree, c, **variant), axis=1)))


@given(st.integers(1, 6), st.integers(1, 3), st.integers(1, 4), st.booleans(), seeds())
def test_with_increments_they_are_the_path_signature(length, dim, degree, time, rng):
    points = rng.normal(size=(4, length + 1, dim))
    clock = np.broadcast_to(np.arange(length + 1.0)[None, :, None], (4, length + 1, 1))
    path = np.concatenate([clock, points], axis=2) if time else points
    got = g2t.sequence_features(torch.tensor(points), degree=degree, zero_start=False, time=time)
    assert_close(got[:, 1:], torch.tensor(pysiglib.sig(path, degree)))


@given(st.integers(0, 5), st.integers(1, 3), st.integers(1, 4), seeds())
def test_zero_start_is_the_signature_of_the_path_that_begins_at_zero(length, dim, degree, rng):
    points = rng.normal(size=(4, length + 1, dim))
    path = np.concatenate([np.zeros((4, 1, dim)), points], axis=1)
    got = g2t.sequence_features(torch.tensor(points), degree=degree)
    assert_close(got[:, 1:], torch.tensor(pysiglib.sig(path, degree)))


@given(seeds())
def test_standing_still_is_seen_by_time_alone(rng):
    points = torch.tensor(rng.normal(size=(5, 2)))
    lingering = points[[0, 1, 1, 2, 3, 3, 3, 4]]
    assert_close(g2t.sequence_features(points, degree=3), g2t.sequence_features(lingering, degree=3))
    assert not torch.allclose(g2t.sequence_features(points, degree=3, time=True), g2t.sequence_features(lingering, degree=3, time=True))


@given(seeds())
def test_going_back_the_same_way_leaves_no_trace(rng):
    points = torch.tensor(rng.normal(size=(4, 2)))
    there_and_back = torch.cat([points, points.flip(0)[1:]])
    features = g2t.sequence_features(there_and_back, degree=4, zero_start=False)
    assert_close(features, g2t.TensorAlgebra(2, 4).one(dtype=torch.float64))


@given(seeds())
def test_joined_paths_multiply(rng):
    points = torch.tensor(rng.normal(size=(7, 2)))
    options = {"degree": 4, "zero_start": False}
    both = g2t.TensorAlgebra(2, 4).mul(g2t.sequence_features(points[:4], **options), g2t.sequence_features(points[3:], **options))
    assert_close(both, g2t.sequence_features(points, **options))


@given(st.integers(0, 3), st.integers(1, 3), seeds())
def test_without_increments_zero_start_changes_nothing(length, degree, rng):
    points = torch.tensor(rng.normal(size=(2, length + 1, 2)))
    features = [g2t.sequence_features(points, degree=degree, increments=False, zero_start=start) for start in (True, False)]
    assert torch.equal(*features)


def test_leading_axes_are_batch_axes():
    points = torch.randn(2, 3, 4, 2, generator=torch.Generator().manual_seed(0))
    features = g2t.sequence_features(points, degree=2)
    assert features.shape == (2, 3, 7)
    assert features.dtype == torch.float32
    assert_close(features[1, 2], g2t.sequence_features(points[1, 2], degree=2))


@pytest.mark.parametrize("time", [False, True])
@pytest.mark.parametrize("increments", [False, True])
def test_gradients_agree_with_finite_differences(increments, time):
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(2, 3, 2, dtype=torch.float64, generator=generator, requires_grad=True)
    c = torch.randn(3, dtype=torch.float64, generator=generator, requires_grad=True)
    assert gradcheck(lambda p, c: g2t.sequence_features(p, degree=3, increments=increments, time=time, coefficients=c), (points, c))


@pytest.mark.parametrize(
    ("sequences", "options", "error", "message"),
    [
        ([[0.0]], {}, TypeError, r"`sequences` must be a torch\.Tensor .*got list"),
        (torch.ones(2, 1, dtype=torch.int64), {}, TypeError, r"`sequences` must be of a floating type"),
        (torch.ones(3), {}, ValueError, r"shape \(\*, length \+ 1, d\).*got \(3,\)"),
        (torch.ones(3, 0, 2), {}, ValueError, r"at least one point"),
        (torch.ones(3, 2), {"degree": -1}, ValueError, r"`degree` must be at least 0"),
        (torch.ones(3, 2), {"increments": 1}, TypeError, r"`increments` must be True or False \(got 1\)"),
        (torch.ones(3, 2), {"time": "yes"}, TypeError, r"`time` must be True or False"),
        (torch.ones(3, 2), {"coefficients": torch.ones(1)}, ValueError, r"`coefficients` must hold c_1"),
        (torch.ones(1, 1, 1, 2).expand(10**9, 1, 3, 2), {}, ValueError, r"these sequences would take 7,000,000,000 numbers"),
    ],
)
def test_bad_arguments_are_named(sequences, options, error, message, monkeypatch):
    monkeypatch.setattr("graph2tens.checks.physical_memory", lambda: 2**34)
    with pytest.raises(error, match=message):
        g2t.sequence_features(sequences, **{"degree": 2, **options})
