"""The paper's model in both readings: sizes, ablations, and the authors' network written out."""

from __future__ import annotations

import pytest
import torch
from corner_batch import BATCH, graphs
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors
from torch import Tensor

import graph2tens as g2t
from graph2tens.nn import GatedPooling, GraphTensNet
from graph2tens.paper.authors import NETWORKS
from graph2tens.paper.protocols import PROTOCOLS, base_run, network_options
from graph2tens.paper.variants import ABLATIONS, as_variant
from graph2tens.training.config import Cell

both = pytest.mark.parametrize("conv", ["G2TN", "G2TAN"])


def network(conv="G2TAN", protocol="paper", variant="base", channels=(3, 2), **options) -> GraphTensNet:
    """The network of a row of the paper's tables of compounds."""
    run = as_variant(base_run(Cell("test", "NCI1", conv, variant, protocol=protocol)))
    return NETWORKS[run.builder](*channels, **{**run.network, **options})


@both
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("variant", ["base", *ABLATIONS])
def test_every_ablation_of_both_protocols_trains(conv, protocol, variant):
    torch.manual_seed(0)
    model = network(conv, protocol, variant, hidden_channels=8)
    logits = model(BATCH.x, BATCH.edge_index, BATCH.batch)
    loss = torch.nn.functional.cross_entropy(logits, BATCH.y) + 1e-4 * model.penalty()
    loss.backward()
    assert logits.shape == (BATCH.num_graphs, 2)
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


def test_ablations_change_what_they_name_and_nothing_else():
    base = network()
    assert [conv.increments for conv in network(variant="NoDiff").convs] == [False] * 4
    assert base.jk is not None
    assert network(variant="NoJK").jk is None
    names = {name for name, _ in base.named_parameters()}

    def lost(variant: str) -> set[str]:
        return names - {name for name, _ in network(variant=variant).named_parameters()}

    assert lost("NoDiff") == lost("NoZeroStart") == lost("NoJK") == set()
    assert lost("NoAlgOpt") == {f"convs.{i}.coefficients" for i in range(4)}
    assert lost("NoSkip") == {f"{part}.0.skip.{kind}" for part in ("pre", "post") for kind in ("weight", "bias")}
    assert lost("AvgPool") == {"pool.lin.weight", "pool.lin.bias"}
    assert all("norm" in name for name in lost("NoNorm"))
    assert len(lost("NoNorm")) == 2 * 4 + 2 * 3


def test_paper_model_has_the_sizes_of_the_paper():
    model = network("G2TAN", channels=(37, 2))
    assert [str(conv) for conv in model.convs] == [
        "G2TANConv(128, 128, degree=2, walk_length=5, heads=8, mix=True, root_weight=False, step_dropout=0.1)"
    ] * 4
    assert (model.pre[0].mlp.channel_list, model.post[0].mlp.channel_list) == ([37, 128], [256, 256])
    assert isinstance(model.pool, GatedPooling)
    assert {conv.coefficients.shape for conv in model.convs} == {(2,)}


def test_authors_model_has_the_sizes_of_their_code():
    model = network("G2TN", "authors", channels=(37, 2))
    assert [(conv.in_channels, conv.out_channels, conv.rank) for conv in model.convs] == [(128, 256, 128)] + [(256, 256, 128)] * 3
    for conv in model.convs:
        assert conv.self_loops
        assert (conv.norm_eps, conv.prefixes) == (1e-3, True)
        assert {name for name, _ in conv.named_parameters()} == {"components", "coefficients", "projection_bias"}
        assert conv.coefficients.shape == (2, 128)
    assert not any("norm" in name for name, _ in model.named_parameters())
    attentive = network("G2TAN", "authors", channels=(37, 2))
    assert [(conv.self_loops, conv.step_dropout) for conv in attentive.convs] == [(False, 0.0)] * 4


def test_authors_model_written_out():
    """The order of norm, scale, jumping knowledge, pooling and skips in `docs/authors_code.md`, without the classes of the model."""
    model = network("G2TN", "authors", hidden_channels=8, post_channels=6).eval()
    x, walk = BATCH.x, model.walk(BATCH.edge_index, BATCH.num_nodes)

    def norm(h: Tensor) -> Tensor:
        return (h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + 1e-3).sqrt()

    def block(part: torch.nn.Module, h: Tensor) -> Tensor:
        linear, skip = part.mlp.lins[0], part.skip
        return norm((h @ linear.weight.T + linear.bias).relu()) + h @ skip.weight.T + skip.bias

    h, layers = block(model.pre[0], x), []
    for conv in model.convs:
        z = g2t.low_rank_features(
            h, walk, conv.components, length=5, coefficients=conv.coefficients, bias=conv.projection_bias, backend="reference"
        )
        h = (norm(z) / 2).flatten(1)
        layers.append(h)
    h = torch.stack(layers).amax(0)
    gate, value = (h @ model.pool.lin.weight.T + model.pool.lin.bias).chunk(2, dim=1)
    pooled = torch.zeros(BATCH.num_graphs, 6).index_add(0, BATCH.batch, gate.sigmoid() * value)
    want = block(model.post[0], norm(pooled)) @ model.head.weight.T + model.head.bias
    torch.testing.assert_close(model(BATCH.x, BATCH.edge_index, BATCH.batch), want, atol=2e-5, rtol=2e-5)


def test_citation_model_is_one_layer_and_a_linear_head():
    model = GraphTensNet(50, 7, **network_options("G2TAN", task="node"))
    assert [str(conv) for conv in model.convs] == [
        "G2TANConv(50, 64, degree=2, walk_length=5, heads=8, increments=False, learn_lift=False, mix=True, root_weight=False, "
        "step_dropout=0.3)"
    ]
    assert (len(model.pre), len(model.post), model.pool, model.jk) == (0, 0, None, None)
    assert model(torch.randn(4, 50), graphs()[10].edge_index[:, :3]).shape == (4, 7)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_penalty_acts_on_functionals_and_weight_matrices(protocol):
    model = network("G2TAN", protocol)
    matrices = [model.pre[0].mlp.lins[0].weight, model.post[0].mlp.lins[0].weight]
    matrices += [conv.mix_weight for conv in model.convs if conv.mix_weight is not None]
    want = sum(conv.penalty() for conv in model.convs) + sum(weight.square().sum() for weight in matrices)
    torch.testing.assert_close(model.penalty(), want)


@both
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_batch_gives_what_each_graph_gives_alone(conv, protocol):
    model = network(conv, protocol, hidden_channels=16).eval()
    alone = torch.cat([model(graph.x, graph.edge_index) for graph in graphs()])
    torch.testing.assert_close(model(BATCH.x, BATCH.edge_index, BATCH.batch), alone, atol=1e-5, rtol=1e-4)


@both
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_state_dicts_go_through_safetensors(conv, protocol):
    model, other = (network(conv, protocol, hidden_channels=16).eval() for _ in range(2))
    other.load_state_dict(load_safetensors(save_safetensors(model.state_dict())))
    torch.testing.assert_close(other(BATCH.x, BATCH.edge_index, BATCH.batch), model(BATCH.x, BATCH.edge_index, BATCH.batch))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"'paper', 'authors' \(got 'mine'\)"):
        network_options("G2TN", "mine")
    with pytest.raises(ValueError, match=r"'G2TN', 'G2TAN' \(got 'GCN'\)"):
        network_options("GCN")
