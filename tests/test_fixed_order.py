"""The recursion in a fixed order: its numbers are the reference's, its bits depend on nothing but a functional and what walks reach."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import graph2tens as g2t
from graph2tens.backends import fixed_order

N, D, R = 30, 3, 5


@pytest.fixture(params=["alike", "weighted"])
def walk(request) -> g2t.walks.RandomWalk:
    rng = np.random.default_rng(0)
    edges = torch.from_numpy(np.unique(rng.integers(0, N, (2, 80)), axis=1))
    return g2t.random_walk(edges, N, torch.from_numpy(rng.random(edges.shape[1])) if request.param == "weighted" else None)


def project(x, u):
    """(n, M, R), by sums in the order of the attributes, as `fixed_order.walk` wants it."""
    return sum((x[:, k, None, None] * u[None, :, k] for k in range(1, D)), start=x[:, 0, None, None] * u[None, :, 0])


def levels(walk, x, u, c, shift=0.0, *, time=False, increments=True, start=True, **options):
    """By `fixed_order.walk`, from projections of x - shift."""
    u = u.flip(0).numpy()
    tau, u = (u[:, 0], u[:, 1:]) if time else (np.zeros_like(u[:, 0]), u)
    shift = np.full(D, shift if increments else 0.0, u.dtype)
    a, offset = project(x.numpy() - shift, u), project(shift[None], u)[0]
    alike = len(walk.probabilities.unique()) <= len(walk.row_ptr.diff().unique())
    p = np.zeros(0) if alike else walk.probabilities.numpy()
    pattern = fixed_order.Pattern(walk.row_ptr.numpy(), walk.col.numpy(), p)
    every_c = np.concatenate([np.ones((1, u.shape[2]), u.dtype), c.numpy()])
    return fixed_order.walk(pattern, a, tau, every_c, increments=increments, offset=offset if start or not increments else None, **options)


@pytest.mark.parametrize("length", [0, 1, 2, 5])
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize(
    "variant", [{}, {"start": False}, {"increments": False}, {"time": True}, {"time": True, "increments": False}], ids=str
)
def test_levels_are_those_of_the_reference(walk, degree, variant, length):
    torch.manual_seed(0)
    x, u = torch.randn(N, D).double() + 2, torch.randn(degree, D + variant.get("time", 0), R).double()
    c, told = torch.randn(degree, R).double(), []
    found = levels(walk, x, u, c, 1.7, length=length, on_step=told.append, **variant)
    names = {"start": "zero_start"}
    options = {names.get(name, name): value for name, value in variant.items()}
    want = g2t.low_rank_features(x, walk, u, length=length, coefficients=c, backend="reference", **options)
    torch.testing.assert_close(torch.from_numpy(found), want, rtol=1e-9, atol=1e-9)
    assert told == list(range(1, length + 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_bits_depend_on_no_other_functional_and_no_thread(walk, degree, dtype):
    torch.manual_seed(0)
    x, u, c = torch.randn(N, D, dtype=dtype), torch.randn(degree, D, 19, dtype=dtype), torch.randn(degree, 19, dtype=dtype)
    want = levels(walk, x, u, c, length=3)
    np.testing.assert_array_equal(levels(walk, x, u, c, length=3, num_threads=3), want)
    for left, right in ((0, 1), (1, 9), (9, 19)):
        np.testing.assert_array_equal(levels(walk, x, u[..., left:right], c[:, left:right], length=3), want[..., left:right])


def test_features_have_digits_left_where_attributes_share_an_offset(walk):
    """An offset returns in the start factor, whose size is what digits are to be counted by."""
    torch.manual_seed(0)
    x, u, c = torch.randn(N, D).double() + 1e3, torch.randn(2, D, R).double(), torch.ones(2, R).double() / torch.tensor([[1.0], [2.0]])
    want = levels(walk, x, u, c, 1e3, length=5)
    single = [tensor.float() for tensor in (x - 1e3, u, c)]
    pattern = fixed_order.Pattern(walk.row_ptr.numpy(), walk.col.numpy(), walk.probabilities.numpy().astype(np.float32))
    u = single[1].flip(0).numpy()
    a, offset = project(single[0].numpy(), u), project(np.full((1, D), 1e3, np.float32), u)[0]
    every_c = np.concatenate([np.ones((1, R), np.float32), single[2].numpy()])
    found = fixed_order.walk(pattern, a, np.zeros_like(offset), every_c, length=5, increments=True, offset=offset)
    rms = np.sqrt((want**2).mean(axis=(0, 2), keepdims=True))
    assert (np.abs(found - want) / rms).max() < 2e-6
