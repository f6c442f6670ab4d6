"""The truncated tensor algebra: its laws, its layout, its gradients, its errors."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.testing import assert_close

from graph2tens import TensorAlgebra

algebras = st.builds(TensorAlgebra, st.integers(1, 3), st.integers(0, 4))


def elements(algebra: TensorAlgebra, count: int, seed: int, scalar: float | None = None) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(2, algebra.size, dtype=torch.float64, generator=generator) for _ in range(count)]
    for a in drawn if scalar is not None else []:
        a[..., 0] = scalar
    return drawn


def vectors(algebra: TensorAlgebra, count: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(2, algebra.dim, dtype=torch.float64, generator=generator) for _ in range(count)]


@given(algebras, st.integers(0, 999))
def test_product_is_associative_bilinear_and_has_a_unit(algebra, seed):
    a, b, c = elements(algebra, 3, seed)
    one = algebra.one(dtype=torch.float64)
    assert_close(algebra.mul(algebra.mul(a, b), c), algebra.mul(a, algebra.mul(b, c)))
    assert_close(algebra.mul(a, 2 * b + c), 2 * algebra.mul(a, b) + algebra.mul(a, c))
    assert_close(algebra.mul(2 * b + c, a), 2 * algebra.mul(b, a) + algebra.mul(c, a))
    assert_close(algebra.mul(one, a), a)
    assert_close(algebra.mul(a, one), a)


@given(algebras, st.integers(0, 999))
def test_product_is_the_sum_of_tensor_products_of_levels(algebra, seed):
    a, b = elements(algebra, 2, seed)
    levels = oracles.product([level.numpy() for level in algebra.levels(a)], [level.numpy() for level in algebra.levels(b)])
    assert_close(algebra.mul(a, b), torch.tensor(np.concatenate(levels, axis=1)))


def test_product_does_not_commute():
    algebra = TensorAlgebra(2, 2)
    a, b = vectors(algebra, 2, 0)
    assert not torch.allclose(algebra.mul(algebra.exp(a), algebra.exp(b)), algebra.mul(algebra.exp(b), algebra.exp(a)))


@given(algebras, st.integers(0, 999))
def test_log_and_exp_undo_each_other(algebra, seed):
    (a,) = elements(algebra, 1, seed, scalar=0.7)
    if algebra.size == algebra.dim:
        return  # dim=1, degree=0: a scalar is taken for a vector there
    assert_close(algebra.log(algebra.exp(a)), a)
    assert_close(algebra.exp(algebra.log(a)), a)


@given(st.builds(TensorAlgebra, st.integers(1, 3), st.integers(1, 4)), st.integers(0, 999))
def test_log_of_the_exponential_of_a_vector_is_the_vector_on_level_one(algebra, seed):
    (x,) = vectors(algebra, 1, seed)
    levels = algebra.levels(algebra.log(algebra.exp(x)))
    assert_close(levels[1], x)
    for m, level in enumerate(levels):
        if m != 1:
            assert_close(level, torch.zeros_like(level))


def test_log_of_a_product_of_exponentials_starts_as_baker_campbell_hausdorff_says():
    algebra = TensorAlgebra(3, 2)
    x, y = vectors(algebra, 2, 5)
    _, first, second = algebra.levels(algebra.log(algebra.mul(algebra.exp(x), algebra.exp(y))))
    bracket = x.unsqueeze(-1) * y.unsqueeze(-2) - y.unsqueeze(-1) * x.unsqueeze(-2)
    assert_close(first, x + y)
    assert_close(second, bracket.flatten(-2) / 2)


@given(algebras, st.integers(0, 999), st.sampled_from([-1.3, 0.8]))
def test_inverse_is_one_from_both_sides(algebra, seed, scalar):
    (a,) = elements(algebra, 1, seed, scalar=scalar)
    one = algebra.one(2, dtype=torch.float64)
    assert_close(algebra.mul(a, algebra.inverse(a)), one, rtol=1e-6, atol=1e-6)
    assert_close(algebra.mul(algebra.inverse(a), a), one, rtol=1e-6, atol=1e-6)


@given(algebras, st.integers(0, 999))
def test_inverse_of_an_exponential_is_the_exponential_of_the_negative(algebra, seed):
    (x,) = vectors(algebra, 1, seed)
    assert_close(algebra.inverse(algebra.lift(x)), algebra.lift(-x))


@given(algebras, st.integers(0, 999), st.booleans())
def test_lift_is_the_lift_of_the_oracle_and_lift_mul_its_product(algebra, seed, own_coefficients):
    (x,), (a,) = vectors(algebra, 1, seed), elements(algebra, 1, seed)
    c = torch.randn(algebra.degree, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) if own_coefficients else None
    expected = oracles.lift(x.numpy(), algebra.degree, None if c is None else c.numpy())
    assert_close(algebra.lift(x, c), torch.tensor(np.concatenate(expected, axis=1)))
    assert_close(algebra.lift_mul(x, a, c), algebra.mul(algebra.lift(x, c), a))


def shuffles(u: tuple[int, ...], v: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All interleavings of two words, with repetition."""
    if not u or not v:
        return [u + v]
    return [(u[0], *w) for w in shuffles(u[1:], v)] + [(v[0], *w) for w in shuffles(u, v[1:])]


@pytest.mark.parametrize(("p", "q"), [(1, 1), (1, 2), (2, 2), (1, 3)])
def test_products_of_exponentials_satisfy_the_shuffle_identity(p, q):
    algebra = TensorAlgebra(2, p + q)
    x, y, z = vectors(algebra, 3, 1)
    path = algebra.mul(algebra.exp(x), algebra.mul(algebra.exp(y), algebra.exp(z)))
    other_lift = algebra.mul(algebra.lift(x, torch.ones(p + q)), algebra.lift(y, torch.ones(p + q)))
    violated = False
    for u, v in itertools.product(itertools.product(range(2), repeat=p), itertools.product(range(2), repeat=q)):

        def sides(a, u=u, v=v):
            left = coordinate(algebra, a, u) * coordinate(algebra, a, v)
            return left, sum(coordinate(algebra, a, w) for w in shuffles(u, v))

        assert_close(*sides(path))
        violated |= not torch.allclose(*sides(other_lift))
    assert violated  # the identity belongs to the exponential, not to every lift


def coordinate(algebra: TensorAlgebra, a: torch.Tensor, word: tuple[int, ...]) -> torch.Tensor:
    position = 0
    for letter in word:
        position = position * algebra.dim + letter
    return algebra.levels(a)[len(word)][..., position]


def test_levels_lie_one_after_the_other_in_c_order():
    algebra = TensorAlgebra(2, 2)
    lifted = algebra.lift(torch.tensor([3.0, 5.0]), torch.ones(2))
    assert lifted.tolist() == [1, 3, 5, 9, 15, 15, 25]
    assert [level.tolist() for level in algebra.levels(lifted)] == [[1], [3, 5], [9, 15, 15, 25]]
    assert algebra.mul(algebra.lift(torch.tensor([1.0, 0.0])), algebra.lift(torch.tensor([0.0, 1.0]))).tolist() == [1, 1, 1, 0.5, 1, 0, 0.5]


@pytest.mark.parametrize(("dim", "degree", "size"), [(1, 0, 1), (1, 5, 6), (3, 0, 1), (2, 3, 15), (7, 2, 57)])
def test_size(dim, degree, size):
    assert TensorAlgebra(dim, degree).size == size == TensorAlgebra(dim, degree).one().numel()


def test_inner_product_and_norm_make_levels_orthogonal():
    algebra = TensorAlgebra(2, 3)
    a, b = elements(algebra, 2, 3)
    by_level = sum((u * v).sum(-1) for u, v in zip(algebra.levels(a), algebra.levels(b), strict=True))
    assert_close(algebra.inner(a, b), by_level)
    assert_close(algebra.norm(a) ** 2, algebra.inner(a, a))


def test_leading_axes_broadcast():
    algebra = TensorAlgebra(2, 3)
    a, b = torch.randn(4, 1, algebra.size), torch.randn(3, algebra.size)
    x = torch.randn(5, 1, 1, 2)
    assert algebra.mul(a, b).shape == (4, 3, algebra.size)
    assert algebra.lift_mul(x, a).shape == (5, 4, 1, algebra.size)
    assert algebra.inner(a, b).shape == (4, 3)
    assert_close(algebra.mul(a, b)[2, 1], algebra.mul(a[2, 0], b[1]))
    assert_close(algebra.lift_mul(x, a)[4, 2, 0], algebra.mul(algebra.lift(x[4, 0, 0]), a[2, 0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_type_of_the_input_is_kept(dtype):
    algebra = TensorAlgebra(2, 3)
    x, a = torch.randn(3, 2, dtype=dtype), algebra.exp(torch.randn(3, 2, dtype=dtype))
    results = [algebra.lift(x), algebra.mul(a, a), algebra.log(a), algebra.exp(a), algebra.inverse(a), algebra.norm(a)]
    results += [algebra.lift_mul(x, a, torch.ones(3, dtype=torch.float64)), algebra.inner(a, a), algebra.one(dtype=dtype)]
    assert {result.dtype for result in results} == {dtype}


@pytest.mark.parametrize("degree", [1, 3])
def test_gradients_agree_with_finite_differences(degree):
    algebra = TensorAlgebra(2, degree)
    a, b = (element.requires_grad_() for element in elements(algebra, 2, 0, scalar=1.2))
    x = vectors(algebra, 1, 1)[0].requires_grad_()
    c = torch.randn(degree, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    for function, inputs in [
        (algebra.mul, (a, b)),
        (algebra.exp, (x,)),
        (algebra.exp, (a,)),
        (algebra.log, (a,)),
        (algebra.inverse, (a,)),
        (algebra.lift, (x, c)),
        (algebra.lift_mul, (x, a, c)),
        (algebra.inner, (a, b)),
        (algebra.norm, (a,)),
    ]:
        assert gradcheck(function, inputs)


@pytest.mark.parametrize(
    ("dim", "degree", "error", "message"),
    [
        (0, 2, ValueError, r"`dim` must be at least 1 .*\(got 0\)"),
        (2, -1, ValueError, r"`degree` must be at least 0 .*\(got -1\)"),
        (2.0, 2, TypeError, r"`dim` must be an integer .*got 2\.0 of type float"),
        (2, True, TypeError, r"`degree` must be an integer .*got True"),
        (2, "3", TypeError, r"`degree` must be an integer"),
        (10, 12, ValueError, r"would take 1,111,111,111,111 numbers \(8,278 GiB\).*Lower `degree`"),
        (2, 100, ValueError, r"would take over 10\^30 numbers"),
        (3, 10**9, ValueError, r"would take over 10\^100 numbers"),
    ],
)
def test_impossible_algebras_are_refused(dim, degree, error, message, monkeypatch):
    monkeypatch.setattr("graph2tens.checks.physical_memory", lambda: 2**34)
    with pytest.raises(error, match=message):
        TensorAlgebra(dim, degree)


def test_numpy_integers_do_not_overflow():
    algebra = TensorAlgebra(np.int8(100), np.int8(3))
    assert algebra.size == 1_010_101
    assert algebra == TensorAlgebra(100, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda h: h.lift([1.0, 2.0]), TypeError, r"`x` must be a torch\.Tensor.*got list.*as_tensor"),
        (lambda h: h.lift(torch.tensor([1, 2])), TypeError, r"`x` must be of a floating type \(got torch\.int64\)"),
        (lambda h: h.lift(torch.zeros(3)), ValueError, r"`x` must hold vectors of dimension 2 .*got shape \(3,\)"),
        (lambda h: h.lift(torch.tensor(1.0)), ValueError, r"`x` must hold vectors of dimension 2"),
        (lambda h: h.lift(torch.eye(2).to_sparse()), TypeError, r"`x` must be a dense.*x\.to_dense\(\)"),
        (lambda h: h.lift(torch.zeros(2), torch.ones(3)), ValueError, r"`coefficients` must hold c_1.*shape \(2,\).*got \(3,\).*c_0"),
        (lambda h: h.lift(torch.zeros(2), torch.tensor([1, float("nan")])), ValueError, r"`coefficients` must be finite"),
        (lambda h: h.lift(torch.zeros(2), "ab"), TypeError, r"`coefficients` must be a tensor"),
        (lambda h: h.mul(h.one(), torch.zeros(6)), ValueError, r"`b` must be an element of .*7 entries \(got shape \(6,\)\)"),
        (lambda h: h.mul(h.one(2), h.one(3)), ValueError, r"leading axes of `a` and `b` must broadcast.*\(2, 7\) and \(3, 7\)"),
        (lambda h: h.lift_mul(torch.zeros(2, 2), h.one(3)), ValueError, r"leading axes of `x` and `a` must broadcast"),
        (lambda h: h.inner(h.one(), None), TypeError, r"`b` must be a torch\.Tensor"),
        (lambda h: h.log(torch.zeros(7, dtype=torch.complex64)), TypeError, r"`a` must be of a floating type"),
        (lambda h: h.levels(torch.zeros(7, 2)), ValueError, r"`a` must be an element of"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(TensorAlgebra(2, 2))
