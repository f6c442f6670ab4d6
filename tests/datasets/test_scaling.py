"""Attribute scaling: what scikit-learn's scalers do, fitted on training data alone."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from torch.testing import assert_close

from graph2tens.datasets import AttributeScaler, fit_scaler, load, split


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_it_is_min_max_for_columns_without_negative_entries_and_standardisation_for_the_others(n, seed):
    rng = np.random.default_rng(seed)
    x = np.stack([rng.random(n) * 5 + 1, rng.normal(size=n) - 3, rng.integers(0, 2, n), rng.normal(size=n)], axis=1)
    unseen = rng.normal(size=(5, 4)) * 3
    negative = (x < 0).any(axis=0)
    expected = unseen.copy()
    for mask, scaler in ((~negative, MinMaxScaler()), (negative, StandardScaler())):
        if mask.any():
            expected[:, mask] = scaler.fit(x[:, mask]).transform(unseen[:, mask])
    assert_close(AttributeScaler.fit(torch.tensor(x)).transform(torch.tensor(unseen)), torch.tensor(expected))


def test_constant_columns_go_to_zero_and_stay_finite():
    x = torch.tensor([[0.0, 5.0, -2.0]] * 4)
    scaler = AttributeScaler.fit(x)
    assert scaler.transform(x).abs().max() == 0
    assert scaler.transform(torch.tensor([[1.0, 6.0, -1.0]])).tolist() == [[1.0, 1.0, 1.0]]


def test_it_survives_json_bit_by_bit_and_keeps_the_type():
    x = torch.rand(9, 3, generator=torch.Generator().manual_seed(0))
    scaler = AttributeScaler.fit(x)
    stored = json.loads(json.dumps(scaler.to_dict()))
    other = AttributeScaler(np.array(stored["shift"]), np.array(stored["scale"]))
    assert torch.equal(other.transform(x), scaler.transform(x))
    assert scaler.transform(x).dtype == torch.float32
    assert torch.equal(AttributeScaler.identity(3).transform(x), x)
    with pytest.raises(ValueError, match=r"3 columns the scaler was fitted to \(got \(2, 4\)\)"):
        scaler.transform(torch.ones(2, 4))


def test_only_training_graphs_count():
    dataset = load("long-range")
    parts = split(dataset, seed=0)
    fitted = fit_scaler(dataset, parts)
    for i in np.concatenate([parts.validation, parts.test]):
        dataset[int(i)].x += 1000
    assert fit_scaler(dataset, parts).to_dict() == fitted.to_dict()
    dataset[int(parts.train[0])].x += 1000
    assert fit_scaler(dataset, parts).to_dict() != fitted.to_dict()
