"""G2TNConv and G2TANConv: they are the exact theory with parameters, and they behave as graph layers must."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import KINDS, all_kinds, both, dense, edge_index, from_oracle, layer
from strategies import CORNER_GRAPHS, corner, graphs, seeds, variants
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from worked_cases import CASES, Case, assert_close

import graph2tens as g2t
from graph2tens.nn import G2TANConv, G2TNConv


@all_kinds
@settings(max_examples=25)
@given(graphs(max_nodes=4), seeds(), variants(), st.integers(0, 3), st.integers(1, 3), st.booleans())
def test_functionals_are_those_of_the_expected_walk(kind, graph, rng, variant, length, degree, lift):
    conv = layer(
        kind,
        2,
        4,
        length,
        degree,
        learn_lift=lift,
        backend="auto" if degree == 2 else "reference",  # backends have their own tests; each degree would be compiled anew here
        seed=int(rng.integers(99)),
        **variant,
    )
    x = torch.tensor(rng.normal(size=(graph.n, 2)))
    weight = None if graph.weights is None else torch.tensor(graph.weights)
    P = dense(conv.transition(x, conv.walk(edge_index(graph), graph.n, weight)))
    if kind.endswith("G2TN"):  # nothing is read out here: the whole way from the edges is the oracle's
        np.testing.assert_allclose(P[:, :, 0], oracles.transition_matrix(graph.n, graph.edges, graph.weights), atol=1e-12)
    got = conv.functionals(x, edge_index(graph), weight).detach().numpy()
    np.testing.assert_allclose(got, from_oracle(conv, x, P), rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(graphs(max_nodes=5), seeds(), st.booleans(), st.sampled_from([0.0, 0.3]), st.booleans())
def test_attention_is_a_softmax_over_the_steps_of_the_walk(graph, rng, self_loops, laziness, with_edge_attr):
    conv = layer("G2TAN", 2, 4, 2, 2, self_loops=self_loops, laziness=laziness, edge_dim=3 if with_edge_attr else None)
    assert isinstance(conv, G2TANConv)
    x = torch.tensor(rng.normal(size=(graph.n, 2)))
    edge_attr = torch.tensor(rng.normal(size=(len(graph.edges), 3))) if with_edge_attr else None
    weight = None if graph.weights is None else torch.tensor(graph.weights)
    got = dense(conv.transition(x, conv.walk(edge_index(graph), graph.n, weight), edge_attr))

    edges, weights = graph.edges.tolist(), [1.0] * len(graph.edges) if graph.weights is None else list(graph.weights)
    if self_loops:
        missing = [i for i in range(graph.n) if [i, i] not in edges]
        edges, weights = edges + [[i, i] for i in missing], weights + [1.0] * len(missing)
    prior = oracles.transition_matrix(graph.n, edges, weights, laziness)
    (source, target), along = conv.attention.detach().numpy(), conv.edge_attention
    for head in range(2):
        for i in range(graph.n):
            score = np.zeros(graph.n)
            for j in range(graph.n):
                score[j] = x[i].numpy() @ source[:, head] + x[j].numpy() @ target[:, head]
                parallel = [e for e, edge in enumerate(graph.edges.tolist()) if edge == [i, j]]
                if along is not None and edge_attr is not None and parallel:
                    score[j] += edge_attr[parallel].mean(0).numpy() @ along.detach().numpy()[:, head]
            unnormalised = prior[i] * np.exp(np.where(score > 0, score, 0.2 * score))
            np.testing.assert_allclose(got[i, :, head], unnormalised / unnormalised.sum(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_worked_cases(case: Case):
    """The whole layer, walk and attention included, against numbers that were computed outside the package."""
    kind = G2TNConv if case.attention is None else G2TANConv
    heads = {} if case.attention is None else {"heads": 1, "negative_slope": case.attention["slope"]}
    M, _, R = case.components.shape
    conv = kind(
        case.x.size(1),
        R,
        walk_length=case.length,
        degree=M,
        learn_lift=case.coefficients is not None,
        normalize=False,
        laziness=case.data["graph"]["lazy"],
        **case.variant,
        **heads,
    ).double()
    with torch.no_grad():
        conv.components.copy_(case.components)
        if case.coefficients is not None:
            conv.coefficients.copy_(case.coefficients)
        if case.attention is not None:
            conv.attention.copy_(torch.tensor([case.attention["w_s"], case.attention["w_t"]], dtype=torch.float64).unsqueeze(2))
    assert_close(conv.functionals(case.x, case.edge_index, case.edge_weight), case.expected_low_rank())


@both
def test_output_is_norm_then_mix(kind):
    """The folded scale and shift of the norm change nothing of what is written in the class's formula."""
    conv = layer(kind, 3, 6, rank=4)  # which is no multiple of 6, so that nothing else could be meant
    x, index = torch.randn(4, 3, dtype=torch.float64), edge_index(corner("directed"))
    z = conv.functionals(x, index)
    normed = torch.nn.functional.layer_norm(z, (4,)).flatten(1) * conv.norm_weight + conv.norm_bias
    torch.testing.assert_close(conv(x, index), normed @ conv.mix_weight.T + x @ conv.root + conv.bias)


@both
def test_by_default_degrees_are_added_to_a_map_of_the_nodes_own_attributes(kind):
    conv, (x, index) = layer(kind, 3, 4), (torch.randn(4, 3, dtype=torch.float64), edge_index(corner("directed")))
    torch.testing.assert_close(conv(x, index), conv.functionals(x, index).sum(1) + x @ conv.root + conv.bias)
    sparse = x.to_sparse_csr()
    torch.testing.assert_close(conv(sparse, index), conv(x, index))
    assert conv.norm_weight is conv.mix_weight is layer(kind, 3, 4, root_weight=False).root is None


@both
def test_without_mixing_the_degrees_stand_side_by_side(kind):
    conv = layer(kind, 3, 8, mix=False, normalize=False, root_weight=False, bias=False)
    x, index = torch.randn(4, 3, dtype=torch.float64), edge_index(corner("path"))[:, [0, 1, 2, 3]]
    torch.testing.assert_close(conv(x, index), torch.cat([conv.functionals(x, index)[:, 0], conv.functionals(x, index)[:, 1]], dim=1))
    assert conv.rank == 4


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_penalty_is_the_sum_of_squared_tensor_norms(degree):
    conv = layer("G2TN", 3, 5, degree=degree)
    assert conv.penalty().item() == pytest.approx(oracles.penalty(conv.components.detach().numpy()))


def test_initial_functionals_have_the_variance_of_their_level():
    d, R = 40, 3000
    torch.manual_seed(0)
    u = G2TNConv(d, R, degree=3).components.detach().flip(0)
    variance = u.var(dim=(1, 2))
    for m in (1, 2, 3):
        assert variance[:m].prod().item() == pytest.approx(2 / (d**m + R), rel=0.02)
    assert u.abs().amax(dim=(1, 2)).tolist() == pytest.approx([math.sqrt(3 * v) for v in variance.tolist()], rel=0.02)


@both
@settings(max_examples=25)
@given(graphs(max_nodes=6), seeds())
def test_renumbering_the_nodes_renumbers_the_output(kind, graph, rng):
    conv = layer(kind, 2, 4)
    x, index = torch.tensor(rng.normal(size=(graph.n, 2))), edge_index(graph)
    weight = None if graph.weights is None else torch.tensor(graph.weights)
    new_number = torch.tensor(rng.permutation(graph.n))
    moved = torch.empty_like(x)
    moved[new_number] = x
    torch.testing.assert_close(conv(moved, new_number[index], weight)[new_number], conv(x, index, weight))


@both
@settings(max_examples=25)
@given(graphs(max_nodes=6), seeds())
def test_order_of_the_edges_does_not_matter(kind, graph, rng):
    conv = layer(kind, 2, 4)
    x, index, order = torch.tensor(rng.normal(size=(graph.n, 2))), edge_index(graph), torch.tensor(rng.permutation(len(graph.edges)))
    weight = None if graph.weights is None else torch.tensor(graph.weights)
    torch.testing.assert_close(conv(x, index[:, order], None if weight is None else weight[order]), conv(x, index, weight))


@both
def test_a_batch_of_graphs_gives_what_each_graph_gives_alone(kind):
    conv, rng = layer(kind, 3, 4), np.random.default_rng(0)
    data = [Data(x=torch.tensor(rng.normal(size=(n, 3))), edge_index=edge_index(corner(name))) for name, (n, _) in CORNER_GRAPHS.items()]
    batch = Batch.from_data_list(data)
    torch.testing.assert_close(conv(batch.x, batch.edge_index), torch.cat([conv(each.x, each.edge_index) for each in data]))


@both
def test_no_nodes_at_all(kind):
    conv = layer(kind, 3, 4)
    out = conv(torch.empty(0, 3, dtype=torch.float64), torch.empty(2, 0, dtype=torch.long))
    assert out.shape == (0, 4)


@all_kinds
@pytest.mark.parametrize("name", CORNER_GRAPHS)
@pytest.mark.parametrize("increments", [True, False], ids=["increments", "attributes"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_features_give_no_nan_in_output_or_gradient(kind, name, increments, value):
    """All functionals of a node are alike then, and the norm divides by their spread."""
    graph = corner(name)
    torch.manual_seed(0)
    conv = KINDS[kind](3, 4, increments=increments)
    x = torch.full((graph.n, 3), value, requires_grad=True)
    out = conv(x, edge_index(graph))
    out.square().sum().backward()
    assert out.isfinite().all()
    assert all(tensor.grad is not None and tensor.grad.isfinite().all() for tensor in (x, *conv.parameters()))


FORMS = {
    "EdgeIndex": lambda index, n: EdgeIndex(index, sparse_size=(n, n)),
    "sorted EdgeIndex": lambda index, n: EdgeIndex(index, sparse_size=(n, n)).sort_by("row").values,
    "coo": lambda index, n: torch.sparse_coo_tensor(index, torch.ones(index.size(1), dtype=torch.float64), (n, n)),
    "csr": lambda index, n: torch.sparse_coo_tensor(index, torch.ones(index.size(1), dtype=torch.float64), (n, n)).to_sparse_csr(),
    "csc": lambda index, n: torch.sparse_coo_tensor(index, torch.ones(index.size(1), dtype=torch.float64), (n, n)).to_sparse_csc(),
    "int32": lambda index, n: index.int(),
    "RandomWalk": lambda index, n: g2t.random_walk(index, num_nodes=n),
}


@both
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["directed", "parallel", "isolated"])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_every_form_of_a_graph_is_the_same_graph(kind, form, name):
    graph = corner(name)
    conv, index = layer(kind, 3, 4), edge_index(graph)
    x = torch.randn(graph.n, 3, dtype=torch.float64)
    torch.testing.assert_close(conv(x, FORMS[form](index, graph.n)), conv(x, index))


@both
@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_attributes_are_the_same_attributes(kind):
    """The words of a citation graph fill 1 % of x; the projections read only those."""
    x, index = (torch.rand(4, 6, dtype=torch.float64) > 0.7).double(), edge_index(corner("directed"))
    conv = layer(kind, 6, 4, increments=False)
    want, got = conv(x, index), conv(x.to_sparse_csr(), index)
    torch.testing.assert_close(got, want)
    for one, other in zip(*(torch.autograd.grad(out.square().sum(), list(conv.parameters())) for out in (want, got)), strict=True):
        torch.testing.assert_close(one, other)


@both
def test_direction_node_reads_from_where_its_edges_point_to(kind):
    """The one difference from PyG: on the edge 0 -> 1, node 0 sees node 1 and not the other way round."""
    conv, index = layer(kind, 1, 2), torch.tensor([[0], [1]])
    x = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    moved = torch.tensor([[1.0], [5.0]], dtype=torch.float64)
    assert not torch.allclose(conv.functionals(x, index)[0], conv.functionals(moved, index)[0])
    moved = torch.tensor([[7.0], [2.0]], dtype=torch.float64)
    torch.testing.assert_close(conv.functionals(x, index)[1], conv.functionals(moved, index)[1])


@both
def test_self_loops_are_added_where_there_are_none(kind):
    conv = layer(kind, 2, 4, self_loops=True)
    by_hand = layer(kind, 2, 4)
    x, index = torch.randn(3, 2, dtype=torch.float64), edge_index(corner("self_loop"))  # loops at 0 and 2
    looped = torch.cat([index, torch.tensor([[1], [1]])], dim=1)
    torch.testing.assert_close(conv(x, index), by_hand(x, looped))
    walk = conv.walk(index, 3, torch.full((6,), 2.0, dtype=torch.float64))
    assert walk.edge_position.numel() == index.size(1)
    np.testing.assert_allclose(dense(walk)[1, :, 0], [0.4, 0.2, 0.4])


def test_a_walk_of_any_length_is_lost_with_the_given_probability():
    for length in (1, 5):
        assert (1 - G2TANConv(2, 4, walk_length=length, dropout=0.6).step_dropout) ** length == pytest.approx(0.4)
    torch.manual_seed(0)
    conv, x = G2TANConv(2, 40, 40, walk_length=4, dropout=0.6), torch.randn(400, 2)
    ring = torch.stack([torch.arange(400), (torch.arange(400) + 1) % 400])  # one walk from every node
    kept = conv.train().transition(x, conv.walk(ring, 400)).probabilities > 0
    whole = torch.stack([kept.roll(-step, 0) for step in range(4)]).all(0)
    assert whole.float().mean().item() == pytest.approx(0.4, abs=0.03)


def test_dropped_steps_are_not_normalised_again():
    conv = G2TANConv(2, 4, heads=2, step_dropout=0.5, walk_length=3)
    x, index = torch.randn(4, 2), edge_index(corner("directed"))
    torch.manual_seed(0)
    dropped = conv.train().transition(x, conv.walk(index, 4))
    whole = conv.eval().transition(x, conv.walk(index, 4))
    assert not dropped.stochastic
    assert whole.stochastic
    kept = dropped.probabilities != 0
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(dropped.probabilities[kept], 2 * whole.probabilities[kept])


def test_expectation_over_dropout_is_the_whole_walk():
    """One step, without a start: features are linear in P, so their mean over many masks tends to those of the whole P."""
    torch.manual_seed(0)
    conv = G2TANConv(2, 4, walk_length=1, heads=2, dropout=0.3, zero_start=False).double()
    x, index = torch.randn(4, 2, dtype=torch.float64), edge_index(corner("star"))
    with torch.no_grad():
        draws = torch.stack([conv.train().functionals(x, index) for _ in range(500)])
        want = conv.eval().functionals(x, index)
    error, spread = (draws.mean(0) - want).abs(), draws.std(0) / math.sqrt(len(draws))
    assert bool((error <= 5 * spread + 1e-12).all())


@both
def test_lazy_layers_find_their_width_in_the_first_batch(kind):
    x, index = torch.randn(4, 3), edge_index(corner("directed"))
    conv = KINDS[kind](-1, 4, time=True)
    with pytest.raises(ValueError, match="first batch"):
        conv.penalty()
    assert conv(x, index).shape == (4, 4)
    assert (conv.in_channels, conv.components.shape) == (3, (2, 4, 4))
    assert conv.penalty().isfinite()
    loaded = KINDS[kind](-1, 4, time=True)
    loaded.load_state_dict(conv.state_dict())
    torch.testing.assert_close(loaded(x, index), conv(x, index))


@all_kinds
def test_reset_parameters_draws_anew_and_forgets_training(kind):
    torch.manual_seed(0)
    conv = KINDS[kind](3, 4)
    fresh = {name: value.clone() for name, value in conv.state_dict().items()}
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter.fill_(7.0)
    torch.manual_seed(0)
    conv.reset_parameters()
    for name, value in conv.state_dict().items():
        torch.testing.assert_close(value, fresh[name])


def test_repr_has_sizes_always_and_switches_when_unusual():
    assert repr(G2TNConv(16, 64)) == "G2TNConv(16, 64, degree=2, walk_length=5)"
    assert repr(G2TNConv(16, 64, increments=False)) == "G2TNConv(16, 64, degree=2, walk_length=5, increments=False)"
    attentive = G2TANConv(16, 64, walk_length=3, rank=8, dropout=0.1, laziness=0.5)
    assert repr(attentive) == "G2TANConv(16, 64, degree=2, walk_length=3, heads=8, rank=8, mix=True, laziness=0.5, dropout=0.1)"
    papers = G2TANConv(16, 64, mix=True, root_weight=False, step_dropout=0.1)
    assert repr(papers) == "G2TANConv(16, 64, degree=2, walk_length=5, heads=8, mix=True, root_weight=False, step_dropout=0.1)"


X, INDEX = torch.randn(4, 3), edge_index(corner("directed"))
MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "width": (lambda: G2TNConv(5, 4)(X, INDEX), ValueError, r"in_channels=5\) \(got \(4, 3\)\)"),
    "dtype": (lambda: G2TNConv(3, 4)(X.double(), INDEX), TypeError, r"float32 \(got torch.float64\).*Did you mean"),
    "integers": (lambda: G2TNConv(3, 4)(X.long(), INDEX), TypeError, r"float32 \(got torch.int64\)"),
    "dictionary": (lambda: G2TNConv(3, 4)({"atom": X}, INDEX), TypeError, r"got dict\).*one kind of nodes.*to_homogeneous"),
    "pair": (lambda: G2TNConv(3, 4)((X, X), INDEX), TypeError, r"got tuple\).*one kind of nodes"),
    "index": (lambda: G2TNConv(3, 4)(X, [[0, 1]]), TypeError, r"RandomWalk \(got list\)"),
    "sparse shape": (lambda: G2TNConv(3, 4)(X, torch.eye(3).to_sparse()), ValueError, r"\(4, 4\) \(got \(3, 3\)\)"),
    "sparse weight": (lambda: G2TNConv(3, 4)(X, torch.eye(4).to_sparse(), X[:, 0]), ValueError, "`edge_weight` must be None"),
    "walk weight": (lambda: G2TNConv(3, 4)(X, g2t.random_walk(INDEX), X[:, 0]), ValueError, "`edge_weight` must be None"),
    "walk nodes": (lambda: G2TNConv(3, 4)(X, g2t.random_walk(INDEX, num_nodes=9)), ValueError, r"4 \(got 9\)"),
    "edge_attr to G2TN": (lambda: G2TNConv(3, 4)(X, INDEX, edge_attr=X), ValueError, "G2TANConv"),
    "edge_attr missing": (lambda: G2TANConv(3, 8, edge_dim=2)(X, INDEX), ValueError, r"edge_dim=2 columns \(got None\)"),
    "edge_attr rows": (lambda: G2TANConv(3, 8, edge_dim=3)(X, INDEX, edge_attr=X), ValueError, r"5 edges \(got \(4, 3\)\)"),
    "edge_attr unwanted": (lambda: G2TANConv(3, 8)(X, INDEX, edge_attr=X), ValueError, r"None, since edge_dim is"),
    "heads": (lambda: G2TANConv(3, 6, rank=6), ValueError, r"`heads` must divide the rank 6.*\(got 8\).*rank=8"),
    "edge_attr in the place of weights": (lambda: G2TNConv(3, 4)(X, INDEX, torch.ones(5, 2)), ValueError, r"\(5, 2\)\).*edge_attr="),
    "dropout": (lambda: G2TANConv(3, 8, dropout=1.0), ValueError, r"\[0, 1\) \(got 1.0\)"),
    "step_dropout": (lambda: G2TANConv(3, 8, step_dropout=-0.1), ValueError, r"`step_dropout` must lie in \[0, 1\)"),
    "two dropouts": (lambda: G2TANConv(3, 8, dropout=0.1, step_dropout=0.1), ValueError, "None where `dropout` is given"),
    "degree": (lambda: G2TNConv(3, 4, degree=0), ValueError, r"`degree` must be at least 1.*\(got 0\)"),
    "no mix": (lambda: G2TNConv(3, 5, mix=False), ValueError, r"degree \* rank"),
    "in_channels": (lambda: G2TNConv(0, 5), ValueError, "or -1"),
}


def test_a_norm_over_one_functional_is_warned_of():
    with pytest.warns(UserWarning, match="higher `rank`"):
        G2TNConv(3, 1, mix=True)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake):
    call, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        call()
