"""Low-rank features: every backend against worked cases, enumeration of walks and finite differences; arguments; precision."""

from __future__ import annotations

from functools import partial

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CORNER_GRAPHS, Graph, corner, graphs, seeds, variants
from torch import Tensor
from worked_cases import CASES, Case, assert_close

import graph2tens as g2t
from graph2tens.backends import available_backends
from graph2tens.walks import RandomWalk

every_backend = pytest.mark.parametrize("backend", available_backends())
FAST = ["torch", "numba"]


def walk_on(graph: Graph, laziness: float = 0.0) -> RandomWalk:
    edges = torch.tensor(graph.edges).reshape(-1, 2).T
    weights = None if graph.weights is None else torch.tensor(graph.weights)
    return g2t.random_walk(edges, num_nodes=graph.n, edge_weight=weights, laziness=laziness)


def dense(walk: RandomWalk) -> np.ndarray:
    """P as an array (n, n) or (n, n, H)."""
    p = walk.probabilities.detach()
    P = torch.zeros(walk.num_nodes, walk.num_nodes, *p.shape[1:], dtype=p.dtype)
    P[walk.row, walk.col] = p
    return P.numpy()


@every_backend
@pytest.mark.parametrize("case", CASES, ids=str)
def test_worked_cases(case: Case, backend: str):
    compute = partial(g2t.low_rank_features, case.x, case.walk, case.components, backend=backend)
    assert_close(compute(**case.options), case.expected_low_rank())
    for length, want in enumerate(case.expected("lowrank_by_k")):
        assert_close(compute(**case.options | {"length": length}), want.permute(2, 1, 0))
    if case.variant["increments"]:
        assert_close(compute(**case.options | {"zero_start": False}), case.expected_low_rank("lowrank_hat"))


@every_backend
@given(
    graph=graphs(max_nodes=4),
    rng=seeds(),
    variant=variants(),
    degree=st.integers(1, 2),
    length=st.integers(0, 3),
    heads=st.sampled_from([None, 1, 2]),
    stochastic=st.booleans(),
    own_coefficients=st.booleans(),
    with_bias=st.booleans(),
)
@settings(max_examples=25)
def test_is_the_expectation_over_walks(backend, graph, rng, variant, degree, length, heads, stochastic, own_coefficients, with_bias):
    walk, d, R = walk_on(graph), 2, 2
    if not stochastic:  # some edges weaker, some stronger
        shape = (walk.num_edges,) if heads is None else (walk.num_edges, heads)
        walk = walk.with_probabilities(torch.tensor(rng.uniform(0, 1.2, shape)), stochastic=False)
    elif heads is not None:
        walk = walk.with_probabilities(walk.probabilities.unsqueeze(1).repeat(1, heads), stochastic=True)
    x, components = rng.normal(size=(graph.n, d)), rng.normal(size=(degree, d + variant["time"], R))
    c = rng.normal(size=(degree, R)) if own_coefficients else None
    bias = rng.normal(size=(degree, R)) if with_bias else None
    expected = oracles.low_rank_features(x, dense(walk), components, length, coefficients=c, bias=bias, **variant)
    got = g2t.low_rank_features(
        torch.tensor(x), walk, torch.tensor(components), length=length, backend=backend, **variant,
        coefficients=None if c is None else torch.tensor(c), bias=None if bias is None else torch.tensor(bias),
    )  # fmt: skip
    torch.testing.assert_close(got, torch.tensor(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("degree", [4, 5])
def test_high_degrees_agree_with_the_exact_features(degree: int, backend: str):
    rng = np.random.default_rng(degree)
    walk, x, components = walk_on(corner("directed")), rng.normal(size=(4, 2)), rng.normal(size=(degree, 2, 3))
    expected = oracles.low_rank_features(x, dense(walk), components, 3)
    got = g2t.low_rank_features(torch.tensor(x), walk, torch.tensor(components), length=3, backend=backend)
    torch.testing.assert_close(got, torch.tensor(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("rank", [1, 3, 6, 20, 33])
def test_every_number_of_functionals_is_as_good(rank: int, backend: str):
    """Registers hold a power of two of them."""
    x, walk, components = random_problem("directed", degree=2, rank=rank)
    compute = partial(g2t.low_rank_features, x, walk, components, length=3)
    torch.testing.assert_close(compute(backend=backend), compute(backend="reference"))


def random_problem(name: str, degree: int, rank: int = 4, d: int = 3, time: bool = False) -> tuple[Tensor, RandomWalk, Tensor]:
    generator = torch.Generator().manual_seed(0)
    walk = walk_on(corner(name))
    x = torch.randn(walk.num_nodes, d, dtype=torch.float64, generator=generator)
    return x, walk, torch.randn(degree, d + time, rank, dtype=torch.float64, generator=generator)


def differentiable(walk: RandomWalk, heads: int, backend: str, **options):
    """The features as a function of every tensor that has a gradient, with free probabilities."""

    def compute(x: Tensor, components: Tensor, coefficients: Tensor, bias: Tensor, p: Tensor) -> Tensor:
        free = walk.with_probabilities(p, stochastic=False)
        return g2t.low_rank_features(x, free, components, coefficients=coefficients, bias=bias, backend=backend, **options)

    def inputs(x: Tensor, components: Tensor, own: bool) -> list[Tensor]:
        M, _, R = components.shape
        generator = torch.Generator().manual_seed(1)
        draw = partial(torch.rand, dtype=torch.float64, generator=generator)
        return [v.requires_grad_() for v in (x, components, draw(M, R) if own else draw(M), draw(M, R), draw(walk.num_edges, heads))]

    return compute, inputs


GRADIENT_CASES = [  # degree, heads, coefficients for each functional, variant
    pytest.param(1, 1, False, {}, id="degree1"),
    pytest.param(2, 2, True, {}, id="degree2-heads"),
    pytest.param(2, 1, False, {"time": True, "zero_start": False}, id="degree2-time-no_start"),
    pytest.param(3, 1, True, {"increments": False, "time": True}, id="degree3-no_increments-time"),
    pytest.param(4, 1, True, {}, id="degree4"),
]


@every_backend
@pytest.mark.parametrize(("degree", "heads", "own", "variant"), GRADIENT_CASES)
@pytest.mark.parametrize("recompute", [False, True], ids=["", "recompute"])
def test_backward_agrees_with_finite_differences(degree, heads, own, variant, recompute, backend):
    x, walk, components = random_problem("dangling", degree, rank=2, d=2, time=variant.get("time", False))
    compute, inputs = differentiable(walk, heads, backend, length=3, recompute=recompute, **variant)
    assert torch.autograd.gradcheck(compute, inputs(x, components, own))


@every_backend
@pytest.mark.parametrize("name", sorted(CORNER_GRAPHS))
def test_gradients_on_corner_graphs_agree_with_the_reference(name: str, backend: str):
    x, walk, components = random_problem(name, degree=2)
    gradients = []
    for which in (backend, "reference"):
        compute, inputs = differentiable(walk, 1, which, length=2)
        given_inputs = inputs(x.clone(), components.clone(), own=True)
        out = compute(*given_inputs)
        gradients.append(torch.autograd.grad((out * torch.arange(out.numel()).view_as(out).sin()).sum(), given_inputs))
    for got, want in zip(*gradients, strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("backend", ["reference", "torch"])
@pytest.mark.parametrize("degree", [2, 4])
def test_second_derivatives_agree_with_finite_differences(degree: int, backend: str):
    x, walk, components = random_problem("one_edge", degree, rank=1, d=1)
    compute, inputs = differentiable(walk, 1, backend, length=2)
    assert torch.autograd.gradgradcheck(compute, inputs(x, components, own=False))


def test_second_derivatives_of_the_fused_backend_are_refused_by_name():
    x, walk, components = random_problem("path", degree=2)
    out = g2t.low_rank_features(x.requires_grad_(), walk, components, length=2, backend="numba")
    (gradient,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="backend='torch'"):
        gradient.sum().backward()


@every_backend
def test_gradients_through_a_softmax_agree_whether_level_zero_is_carried_or_not(backend: str):
    x, walk, components = random_problem("star", degree=2)
    scores = torch.randn(walk.num_edges, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()
    gradients = []
    for stochastic in (True, False):
        raised = scores.exp()
        p = raised / torch.zeros(walk.num_nodes, 2, dtype=raised.dtype).index_add(0, walk.row, raised)[walk.row]
        out = g2t.low_rank_features(x, walk.with_probabilities(p, stochastic), components, length=3, backend=backend)
        gradients.append(torch.autograd.grad(out.square().sum(), scores)[0])
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("time", [False, True], ids=["", "time"])
@pytest.mark.parametrize("wanted", [(0, 1), (0, 1, 2, 3, 4)], ids=["components", "everything"])
def test_low_degrees_by_plain_diffusion_have_the_gradients_of_the_reference(wanted, time, degree, backend, monkeypatch):
    """Where rows of P sum to 1, degrees 1 and 2 are computed in other variables, and keep states only for gradients of P and the clock."""
    x, walk, components = random_problem("directed", degree, time=time)
    M, R = degree, components.size(2)
    generator = torch.Generator().manual_seed(5)
    scores, c, bias = (torch.rand(*shape, dtype=torch.float64, generator=generator) for shape in ((walk.num_edges, 2), (M, R), (M, R)))
    inputs = [x, components, c, bias, scores]
    for index in wanted:
        inputs[index].requires_grad_()

    def gradients(backend: str, **options) -> list[Tensor]:
        raised = scores.exp()
        p = raised / torch.zeros(walk.num_nodes, 2, dtype=raised.dtype).index_add(0, walk.row, raised)[walk.row]
        given = {"length": 4, "time": time, "coefficients": c, "bias": bias, "backend": backend} | options
        out = g2t.low_rank_features(x, walk.with_probabilities(p, stochastic=True), components, **given)
        weights = torch.arange(out.numel()).view_as(out).sin()
        return [out, *torch.autograd.grad((out * weights).sum(), [inputs[index] for index in wanted], materialize_grads=True)]

    for cache, start, recompute in ((2**21, True, False), (0, True, False), (0, False, True)):
        monkeypatch.setattr("graph2tens.backends.numba_cpu._CACHE_BYTES", cache)
        expected = gradients("reference", zero_start=start)
        for got, want in zip(gradients(backend, zero_start=start, recompute=recompute), expected, strict=True):
            torch.testing.assert_close(got, want)


@every_backend
@pytest.mark.parametrize("shared", [True, False], ids=["common_offset", "offset_of_each_graph"])
def test_float32_keeps_its_digits_at_an_offset_of_1000(shared: bool, backend: str):
    generator = torch.Generator().manual_seed(0)
    n, graphs_, d = 60, 3, 16
    edges = torch.randint(0, n // graphs_, (2, 200), generator=generator)
    edges = torch.cat([edges + g * (n // graphs_) for g in range(graphs_)], dim=1)
    batch = torch.arange(graphs_).repeat_interleave(n // graphs_)
    offset = torch.tensor(1e3) if shared else torch.tensor([1e3, -1e3, 0.0])[batch].unsqueeze(1)
    # Rounded to float32 first, so that the error measured is the computation's own.
    x = torch.randn(n, d, generator=generator) + offset
    components = torch.randn(2, d, 8, generator=generator) / d**0.5
    walk = g2t.random_walk(edges, num_nodes=n, batch=None if shared else batch)
    for zero_start in (False, True):
        compute = partial(g2t.low_rank_features, walk=walk, length=5, zero_start=zero_start, backend=backend)
        want = compute(x.double(), components=components.double())
        got = compute(x, components=components).double()
        error = (got - want).square().mean((0, 2)).sqrt() / want.square().mean((0, 2)).sqrt()
        assert error.max() < 1e-4, error


def test_centring_is_what_keeps_them():
    """Without the batch two graphs far apart share a centre that fits neither, and the digits are gone: the test above can fail."""
    generator = torch.Generator().manual_seed(0)
    edges = torch.cat([torch.randint(0, 20, (2, 80), generator=generator) + 20 * g for g in range(2)], dim=1)
    x = torch.randn(40, 16, generator=generator) + torch.tensor([1e3, -1e3]).repeat_interleave(20).unsqueeze(1)
    components = torch.randn(2, 16, 8, generator=generator) / 4
    compute = partial(g2t.low_rank_features, walk=g2t.random_walk(edges, num_nodes=40), length=5, zero_start=False, backend="torch")
    want = compute(x.double(), components=components.double())
    error = (compute(x, components=components).double() - want).square().mean().sqrt() / want.square().mean().sqrt()
    assert error > 1e-3


@every_backend
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_types_compute_in_float32_and_come_back(dtype: torch.dtype, backend: str):
    x, walk, components = random_problem("triangle", degree=2)
    x, components = x.to(dtype), components.to(dtype).requires_grad_()
    out = g2t.low_rank_features(x, walk, components, length=3, backend=backend)
    wide = g2t.low_rank_features(x.float(), walk, components.float(), length=3, backend=backend)
    assert out.dtype == dtype
    torch.testing.assert_close(out, wide.to(dtype), rtol=0, atol=0)
    out.float().sum().backward()
    assert components.grad is not None
    assert components.grad.dtype == dtype


def test_autocast_does_not_round_the_projections():
    x, walk, components = (value.float() if isinstance(value, Tensor) else value for value in random_problem("triangle", degree=2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = g2t.low_rank_features(x, walk, components, length=3)
    torch.testing.assert_close(inside, g2t.low_rank_features(x, walk, components, length=3), rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_forward_mode_is_refused_where_it_would_be_wrong(backend: str):
    x, walk, components = random_problem("triangle", degree=2)
    with pytest.raises(NotImplementedError, match="backend='reference'"):
        torch.func.jvp(lambda x: g2t.low_rank_features(x, walk, components, length=2, backend=backend), (x,), (x,))


@every_backend
def test_a_walk_first_used_in_inference_mode_serves_training(backend: str):
    x, walk, components = random_problem("triangle", degree=2)
    with torch.inference_mode():
        g2t.low_rank_features(x, walk, components, length=2, backend=backend)
    g2t.low_rank_features(x.requires_grad_(), walk, components.requires_grad_(), length=2, backend=backend).sum().backward()
    assert x.grad is not None


@every_backend
def test_nothing_in_nothing_out(backend: str):
    components = torch.ones(2, 3, 4, requires_grad=True)
    empty, two = g2t.random_walk(torch.empty(2, 0, dtype=torch.int64), num_nodes=0), g2t.random_walk(torch.tensor([[0], [1]]), num_nodes=2)
    for name in ("auto", backend):
        assert g2t.low_rank_features(torch.empty(0, 3), empty, components, length=2, backend=name).shape == (0, 2, 4)
        assert g2t.low_rank_features(torch.ones(2, 3), two, components[..., :0], length=2, backend=name).shape == (2, 2, 0)
    alone = g2t.random_walk(torch.empty(2, 0, dtype=torch.int64), num_nodes=2)
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    for length in (0, 3):  # two nodes that stay put: the start factor alone is left
        out = g2t.low_rank_features(x, alone, components, length=length, backend=backend)
        torch.testing.assert_close(out[:, :, 0], torch.tensor([[6.0, 18.0], [0.0, 0.0]]))
    still = g2t.low_rank_features(x, alone, components, length=0, zero_start=False, backend=backend)
    torch.testing.assert_close(still, torch.zeros(2, 2, 4))


@every_backend
@pytest.mark.parametrize("increments", [True, False])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_sparse_attributes_give_what_dense_ones_give(increments: bool, backend: str):
    x, walk, components = random_problem("directed", degree=2)
    x = torch.where(x > 0.3, x, 0.0)
    components.requires_grad_()
    results = []
    for attributes in (x, x.to_sparse_csr()):
        out = g2t.low_rank_features(attributes, walk, components, length=3, increments=increments, backend=backend)
        results.append((out, torch.autograd.grad(out.square().sum(), components)[0]))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got, want)


def test_a_sparse_x_that_wants_a_gradient_is_refused():
    x, walk, components = random_problem("directed", degree=2)
    with pytest.raises(ValueError, match="gets no gradient"):
        g2t.low_rank_features(x.to_sparse_csr().requires_grad_(), walk, components, length=3)


BAD = {
    "components_two_axes": (ValueError, "`components` must have shape", lambda x, w, u: {"components": u[0]}),
    "components_swapped": (ValueError, r"Did you pass \(in_channels, degree, rank\)", lambda x, w, u: {"components": u.transpose(0, 1)}),
    "components_time": (ValueError, "in_channels=4, the time coordinate first", lambda x, w, u: {"time": True}),
    "components_integers": (TypeError, "`components` must be of a floating type", lambda x, w, u: {"components": u.long()}),
    "components_list": (TypeError, "`components` must be a torch.Tensor", lambda x, w, u: {"components": u.tolist()}),
    "components_nan": (ValueError, "`components` must be finite", lambda x, w, u: {"components": u * float("nan")}),
    "degree_zero": (ValueError, "degree >= 1", lambda x, w, u: {"components": u[:0]}),
    "x_rows": (ValueError, "one row for each of the walk's 4 nodes", lambda x, w, u: {"x": x[1:]}),
    "x_nan": (ValueError, "`x` must be finite .* at node 2", lambda x, w, u: {"x": x.index_fill(0, torch.tensor([2]), float("nan"))}),
    "x_infinite": (ValueError, "`x` must be finite", lambda x, w, u: {"x": x / 0}),
    "x_integers": (TypeError, "`x` must be of a floating type", lambda x, w, u: {"x": x.long()}),
    "walk": (TypeError, "`walk` must be a RandomWalk", lambda x, w, u: {"walk": w.matrix()}),
    "length_negative": (ValueError, "`length` must be at least 0", lambda x, w, u: {"length": -1}),
    "length_float": (TypeError, "`length` must be an integer", lambda x, w, u: {"length": 2.5}),
    "flag": (TypeError, "`increments` must be True or False", lambda x, w, u: {"increments": "no"}),
    "coefficients_shape": (ValueError, r"shape \(2,\) or \(2, 4\)", lambda x, w, u: {"coefficients": torch.ones(3)}),
    "coefficients_nan": (ValueError, "`coefficients` must be finite", lambda x, w, u: {"coefficients": torch.ones(2) * float("nan")}),
    "bias_shape": (ValueError, r"`bias` must have shape \(degree, rank\) = \(2, 4\)", lambda x, w, u: {"bias": torch.ones(4)}),
    "bias_nan": (ValueError, "`bias` must be finite", lambda x, w, u: {"bias": torch.full((2, 4), float("nan"))}),
    "heads": (ValueError, "multiple of the walk's heads.*rank 4 and 3 heads",
              lambda x, w, u: {"walk": w.with_probabilities(w.probabilities.unsqueeze(1).expand(-1, 3))}),
    "backend": (ValueError, "'reference', 'torch', 'numba'.*got 'cuda'", lambda x, w, u: {"backend": "cuda"}),
}  # fmt: skip


@pytest.mark.parametrize(("error", "message", "change"), BAD.values(), ids=BAD)
def test_bad_arguments_are_named(error, message, change):
    x, walk, components = random_problem("directed", degree=2)
    arguments = {"x": x, "walk": walk, "components": components, "length": 2} | change(x, walk, components)
    with pytest.raises(error, match=message):
        g2t.low_rank_features(**arguments)


def test_a_batch_that_cuts_through_an_edge_is_refused():
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    with pytest.raises(ValueError, match=r"both ends of an edge the same graph \(got 0 and 1 for nodes 1 and 2\)"):
        g2t.random_walk(edges, num_nodes=4, batch=torch.tensor([0, 0, 1, 1]))


@every_backend
def test_a_walk_without_any_step_has_gradients(backend: str):
    """Rows of P may be empty where they need not sum to 1; then nothing is left but the start factor."""
    nothing = torch.empty(0, dtype=torch.int64)
    p = torch.empty(0, dtype=torch.float64, requires_grad=True)
    walk = RandomWalk(2, torch.zeros(3, dtype=torch.int64), nothing, p, nothing, stochastic=False)
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    out = g2t.low_rank_features(x, walk, torch.ones(2, 3, 4, dtype=torch.float64), length=0, backend=backend)
    gradient, of_p = torch.autograd.grad(out.sum(), (x, p), allow_unused=True, materialize_grads=True)
    assert bool(torch.isfinite(gradient).all())
    assert of_p.shape == (0,)
