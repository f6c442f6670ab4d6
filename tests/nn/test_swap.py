"""Our layers in the place of PyG's: the keywords of its convs, its explainers, its summary, and a script that learns as before."""

from __future__ import annotations

import copy
import pickle
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from layers import both, dense, edge_index, layer
from strategies import CORNER_GRAPHS, corner
from torch import Tensor
from torch_geometric.explain import Explainer, GNNExplainer, PGExplainer
from torch_geometric.nn import GATConv, GCNConv
from torch_geometric.utils import add_remaining_self_loops

from graph2tens.nn import G2TANConv, G2TNConv, GraphTensNet

X, INDEX = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), edge_index(corner("path"))
RING = torch.cat(
    [torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20]), torch.stack([(torch.arange(20) + 1) % 20, torch.arange(20)])], 1
)


def test_one_step_of_degree_one_is_a_gcn_with_the_walks_normalisation():
    """The theorem behind the setting for swapping: degree 1, one step, self-loops and the sum of degrees give P x W + b."""
    conv = G2TNConv(3, 5, walk_length=1, degree=1, root_weight=False, add_self_loops=True)
    peer = GCNConv(3, 5, normalize=False)
    with torch.no_grad():
        conv.bias.normal_()
        conv.coefficients.fill_(1)
        peer.lin.weight.copy_(conv.components[0].T)
        peer.bias.copy_(conv.bias)
    looped, _ = add_remaining_self_loops(INDEX, num_nodes=4)
    weight = 1 / torch.bincount(looped[0], minlength=4)[looped[0]].float()
    torch.testing.assert_close(conv(X, INDEX), peer(X, looped.flip(0), weight))


@both
def test_the_sum_of_degrees_is_one_functional_of_the_whole_tensor(kind):
    conv = layer(kind, 3, 4, mix="sum", root_weight=False)
    x = X.double()
    torch.testing.assert_close(conv(x, INDEX), conv.functionals(x, INDEX).sum(1) + conv.bias)
    normed = layer(kind, 3, 4, mix="sum", normalize=True, root_weight=False)
    z = torch.nn.functional.layer_norm(normed.functionals(x, INDEX), (4,)).flatten(1) * normed.norm_weight + normed.norm_bias
    torch.testing.assert_close(normed(x, INDEX), z.view(4, 2, 4).sum(1) + normed.bias)


def test_heads_side_by_side_and_averaged_as_in_gat():
    beside = G2TANConv(3, 5, heads=4, concat=True, mix="sum")
    assert beside(X, INDEX).shape == GATConv(3, 5, heads=4, concat=True)(X, INDEX).shape == (4, 20)
    averaged = G2TANConv(3, 5, heads=4, concat=False, mix="sum", bias=False, root_weight=False)
    blocks = averaged.functionals(X, INDEX).sum(1).view(4, 4, 5)  # a block of five functionals for each head
    torch.testing.assert_close(averaged(X, INDEX), blocks.mean(1))
    assert G2TANConv(3, 5, heads=4, concat=False)(X, INDEX).shape == (4, 5)


def test_heads_are_the_third_argument_as_in_gat():
    conv, peer = G2TANConv(3, 8, 4, concat=True), GATConv(3, 8, 4)
    assert (conv.heads, conv.walk_length, conv.degree) == (peer.heads, 5, 2)
    assert conv(X, INDEX).shape == peer(X, INDEX).shape
    with pytest.raises(TypeError, match="positional arguments"):  # neither steps nor PyG's `concat`: both are to be named
        G2TANConv(3, 8, 4, 2)


@pytest.mark.parametrize("mix", [True, "sum"])
def test_any_number_of_outputs_goes_with_any_number_of_heads(mix):
    conv = G2TANConv(3, 7, heads=8, mix=mix)
    assert conv(X, INDEX).shape == (4, 7)
    assert conv.rank % 8 == 0


def test_attention_weights_are_the_probabilities_of_the_steps():
    conv = layer("G2TAN", 3, 4, add_self_loops=True)
    out, (steps, weights) = conv(X.double(), INDEX, return_attention_weights=True)
    torch.testing.assert_close(out, conv(X.double(), INDEX))
    looped, _ = add_remaining_self_loops(INDEX, num_nodes=4)
    assert set(zip(*steps.tolist(), strict=True)) == set(zip(*looped.tolist(), strict=True))
    P = dense(conv.transition(X.double(), conv.walk(INDEX, 4)))
    np.testing.assert_allclose(weights.detach(), P[steps[0], steps[1]])


def test_a_cached_walk_is_made_once_and_belongs_to_one_graph():
    conv = G2TNConv(3, 4, cached=True)
    first = conv(X, INDEX)
    torch.testing.assert_close(conv(X, INDEX[:, :2]), first)  # the first graph stays
    with pytest.raises(ValueError, match=r"5 \(got 4\)"):
        conv(torch.randn(5, 3), INDEX)
    conv.reset_parameters()
    assert conv(torch.randn(5, 3), INDEX).shape == (5, 4)


def test_names_of_the_setting_are_checked():
    with pytest.raises(ValueError, match="True, False or 'sum'"):
        G2TNConv(3, 4, mix="add")
    with pytest.raises(ValueError, match="multiple of out_channels=4"):
        G2TNConv(3, 4, mix="sum", rank=6)
    assert repr(G2TNConv(3, 4, 2, mix="sum", add_self_loops=True)) == "G2TNConv(3, 4, degree=2, walk_length=2, self_loops=True)"


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = G2TNConv(3, 8, walk_length=2)
        self.second = G2TANConv(8, 4, walk_length=3, heads=2)

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return self.second(self.first(x, index).relu(), index)


CONFIG = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}


def test_gnn_explainer_masks_the_edges_that_a_node_can_reach():
    """Two layers of 2 and 3 steps see 5 hops of a ring: 10 edges, in both directions, less the two that only lead away at its ends."""
    torch.manual_seed(0)
    model = Net()
    explain = Explainer(
        model, GNNExplainer(epochs=5), explanation_type="model", node_mask_type="attributes", edge_mask_type="object", model_config=CONFIG
    )
    x = torch.randn(20, 3)
    before = model(x, RING)
    mask = explain(x, RING, index=10).edge_mask
    seen = RING[:, mask > 0]
    assert seen.unique().tolist() == list(range(5, 16))
    assert not ((seen[0] == 5) & (seen[1] == 6)).any()  # from the last node reached the walk has no step left
    torch.testing.assert_close(model(x, RING), before)  # the masks are gone


def test_pg_explainer_learns_masks():
    torch.manual_seed(0)
    model, x = Net(), torch.randn(20, 3)
    explain = Explainer(model, PGExplainer(epochs=2), explanation_type="phenomenon", edge_mask_type="object", model_config=CONFIG)
    target = model(x, RING).argmax(1)
    for epoch in range(2):
        explain.algorithm.train(epoch, model, x, RING, target=target, index=3)
    assert explain(x, RING, target=target, index=3).edge_mask.shape == (40,)


@both
@pytest.mark.parametrize("name", ["directed", "self_loop", "parallel"])
def test_a_mask_of_zeros_is_a_graph_without_the_edge(kind, name):
    """Steps that are masked away weigh nothing and are not made up for, as with messages of PyG's layers."""
    graph = corner(name)
    conv, x, index = layer(kind, 3, 4, self_loops=True), torch.randn(graph.n, 3, dtype=torch.float64), edge_index(graph)
    walk = conv.transition(x, conv.walk(index, graph.n))
    mask = torch.ones(index.size(1), dtype=torch.float64)
    mask[0] = 0
    weights = torch.ones(walk.num_edges, dtype=torch.float64)
    for position in walk.edge_position.unique():
        weights[position] = mask[walk.edge_position == position].mean()
    p = walk.probabilities if walk.probabilities.dim() == 2 else walk.probabilities.unsqueeze(1)
    want = conv.combine(conv._pair(x, walk.with_probabilities(p * weights.unsqueeze(1), stochastic=False)), x)
    conv.explain, conv._edge_mask, conv._apply_sigmoid = True, mask, False
    torch.testing.assert_close(conv(x, index), want)
    conv._edge_mask = mask[1:]
    with pytest.raises(ValueError, match="edge mask must have one entry"):
        conv(x, index)


def test_a_model_of_many_layers_is_masked_too():
    model = GraphTensNet(3, 4, hidden_channels=8, num_layers=2, walk_length=2, pool=None).eval()
    explain = Explainer(model, GNNExplainer(epochs=3), explanation_type="model", edge_mask_type="object", model_config=CONFIG)
    assert (explain(torch.randn(20, 3), RING, index=10).edge_mask > 0).sum() == 2 * 8 - 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_layers_that_explainers_know_can_be_copied(copied):
    torch.manual_seed(0)
    model = Net()
    torch.testing.assert_close(copied(model)(X, INDEX), model(X, INDEX))
    assert not any("further_hops" in name for name in model.state_dict())


def test_a_walk_of_any_length_makes_a_small_layer():
    assert sum(1 for _ in G2TNConv(3, 4, walk_length=10**9).modules()) < 200


def test_summary_needs_nothing_that_is_not_installed():
    """PyG's `summary` imports `tabulate` and does not bring it."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert any(requirement.startswith("tabulate") for requirement in project["dependencies"])


def test_every_corner_graph_goes_through_the_defaults():
    for name, (n, _) in CORNER_GRAPHS.items():
        for kind, heads in ((G2TNConv, {}), (G2TANConv, {"heads": 8, "concat": False})):
            conv = kind(3, 7, **heads)
            assert conv(torch.randn(n, 3), edge_index(corner(name))).isfinite().all(), name


@pytest.mark.parametrize(("conv", "peer"), [(G2TNConv, GCNConv), (G2TANConv, GATConv)])
def test_a_script_learns_communities_with_our_layers_as_well(conv, peer):
    """40 of 200 nodes labelled, attributes that say little: all layers have to read the neighbourhoods."""
    swapped = partial(conv, walk_length=2, degree=1, root_weight=False, add_self_loops=True, **({"heads": 1} if conv is G2TANConv else {}))
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(200) // 50
    pairs = (torch.rand(200, 200, generator=generator) < torch.where(y[:, None] == y, 0.15, 0.01)).triu(1)
    index = torch.cat([pairs.nonzero().T, pairs.nonzero().T.flip(0)], 1)
    x = torch.nn.functional.one_hot(y, 8) + 1.5 * torch.randn(200, 8, generator=generator)
    train = torch.randperm(200, generator=generator)[:40]

    def accuracy(make) -> float:
        torch.manual_seed(0)
        first, second = make(8, 16), make(16, 4)
        optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01, weight_decay=5e-4)
        for _ in range(60):
            optimizer.zero_grad()
            out = second(first(x, index).relu(), index)
            torch.nn.functional.cross_entropy(out[train], y[train]).backward()
            optimizer.step()
        return float((out.argmax(1) == y).float().mean())

    assert accuracy(swapped) >= accuracy(peer) - 0.03


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ({"improved": True}, "G2TNConv has no keyword `improved`: .*laziness"),
        ({"residual": True}, "no keyword `residual`: root_weight=True"),
        ({"nn": torch.nn.Linear(3, 4)}, "no keyword `nn`: it has no network inside"),
        ({"walk_lenght": 3}, "no keyword `walk_lenght`: did you mean `walk_length`"),
        ({"droput": 0.5}, "no keyword `droput`: docs/swapping.md"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_keywords_that_a_walk_does_not_have_are_told_what_to_write(keyword, hint):
    with pytest.raises(TypeError, match=hint):
        G2TNConv(3, 4, **keyword)


def test_attention_has_keywords_of_its_own():
    with pytest.raises(TypeError, match="G2TANConv has no keyword `droput`: did you mean `dropout`"):
        G2TANConv(3, 4, droput=0.5)


def test_a_script_for_gat_without_concat_is_told_at_the_next_layer():
    h = G2TANConv(3, 8, heads=8)(X, INDEX)
    with pytest.raises(ValueError, match=r"in_channels=64\) \(got \(4, 8\)\)\. Did you mean concat=True in a G2TANConv before"):
        G2TANConv(8 * 8, 7, heads=1)(h, INDEX)
