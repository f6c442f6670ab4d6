"""GraphTensNet: the paper's model, and any PyG conv in the same shell. Its two protocols are tested in tests/paper/."""

from __future__ import annotations

import copy
import importlib.util
import io
import pickle
import sys
import types
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from corner_batch import BATCH, graphs
from torch import Tensor
from torch_geometric.data import HeteroData
from torch_geometric.loader import DataLoader

import graph2tens as g2t
from graph2tens.nn import G2TANConv, G2TNConv, GatedPooling, GraphTensNet

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else []), *(["mps"] if torch.backends.mps.is_available() else [])]
both = pytest.mark.parametrize("conv", ["G2TN", "G2TAN"])
SMALL: dict[str, Any] = {"hidden_channels": 8, "post_channels": 6, "num_layers": 2, "walk_length": 3}


def net(conv: str = "G2TN", in_channels: int = 3, **options: Any) -> GraphTensNet:
    torch.manual_seed(0)
    return GraphTensNet(in_channels, 2, conv=conv, **{**SMALL, **options})


@pytest.mark.parametrize("conv", ["GCN", "GAT", "GATv2Conv", "SAGE", "gin", "TransformerConv", pyg.GraphConv])
def test_any_pyg_conv_goes_into_the_same_shell(conv):
    options = {"heads": 4, "attention_dropout": 0.1} if isinstance(conv, str) and conv.startswith(("GAT", "Transf")) else {}
    model = GraphTensNet(3, 2, conv=conv, hidden_channels=8, num_layers=2, post_channels=6, **options)
    logits = model(BATCH.x, BATCH.edge_index, BATCH.batch)
    (logits.sum() + model.penalty()).backward()
    assert logits.shape == (BATCH.num_graphs, 2)


def test_a_function_may_make_the_convs():
    model = GraphTensNet(3, 2, conv=lambda i, o: pyg.ChebConv(i, o, K=2), hidden_channels=8)
    assert model(BATCH.x, BATCH.edge_index, BATCH.batch).shape == (BATCH.num_graphs, 2)
    mixed = iter([G2TNConv, pyg.GCNConv, G2TANConv, pyg.SAGEConv])
    model = GraphTensNet(3, 2, conv=lambda i, o: next(mixed)(i, o), hidden_channels=8)
    assert model(BATCH.x, BATCH.edge_index, BATCH.batch).shape == (BATCH.num_graphs, 2)
    with pytest.raises(TypeError, match="got a RandomWalk"):
        model(BATCH.x, g2t.random_walk(BATCH.edge_index, num_nodes=BATCH.num_nodes))


@pytest.mark.parametrize("jk", ["max", "cat", None])
@pytest.mark.parametrize("pool", ["gated", "mean", "sum", "max", "median", None])
def test_jumping_knowledge_and_pooling(jk, pool):
    model = net(jk=jk, pool=pool)
    rows = BATCH.num_nodes if pool is None else BATCH.num_graphs
    assert model(BATCH.x, BATCH.edge_index, BATCH.batch).shape == (rows, 2)


def test_gated_pooling_is_a_sum_of_gated_values():
    pool = GatedPooling(3, 5)
    h, index = torch.randn(4, 3), torch.tensor([0, 0, 2, 2])
    gate, value = pool.lin.weight[:5], pool.lin.weight[5:]
    gated = (h @ gate.T).sigmoid() * (h @ value.T)
    want = torch.stack([gated[:2].sum(0), torch.zeros(5), gated[2:].sum(0)])
    torch.testing.assert_close(pool(h, index, dim_size=3), want)


@both
def test_renumbering_the_nodes_changes_nothing(conv):
    model = net(conv).eval()
    number = torch.randperm(BATCH.num_nodes)
    x, batch = torch.empty_like(BATCH.x), torch.empty_like(BATCH.batch)
    x[number], batch[number] = BATCH.x, BATCH.batch
    torch.testing.assert_close(
        model(x, number[BATCH.edge_index], batch), model(BATCH.x, BATCH.edge_index, BATCH.batch), atol=1e-5, rtol=1e-4
    )


@both
@pytest.mark.parametrize("pool", ["gated", "mean", "sum", "max"])
def test_graphs_without_nodes_are_graphs(conv, pool):
    """Two empty graphs, one between and one behind the others."""
    model = net(conv, pool=pool)
    batch = torch.where(BATCH.batch > 4, BATCH.batch + 1, BATCH.batch)
    logits = model(BATCH.x, BATCH.edge_index, batch, batch_size=BATCH.num_graphs + 2)
    logits.square().sum().backward()
    assert logits.shape == (BATCH.num_graphs + 2, 2)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[5], logits[-1])
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
    nothing = model(torch.empty(0, 3), torch.empty(2, 0, dtype=torch.long), torch.empty(0, dtype=torch.long), batch_size=3)
    assert nothing.shape == (3, 2)


@both
def test_the_walk_is_built_once_a_batch(conv, monkeypatch):
    from graph2tens.nn import transition

    built = []
    original = transition.random_walk
    monkeypatch.setattr(transition, "random_walk", lambda *args, **options: built.append(1) or original(*args, **options))
    model = net(conv, num_layers=4).eval()
    logits = model(BATCH.x, BATCH.edge_index, BATCH.batch)
    assert len(built) == 1
    walk = model.walk(BATCH.edge_index, BATCH.num_nodes, batch=BATCH.batch)
    torch.testing.assert_close(model(BATCH.x, walk, BATCH.batch), logits)
    assert len(built) == 2


def test_weights_and_attributes_of_edges_reach_the_convs():
    weight, attributes = torch.rand(BATCH.num_edges) + 0.1, torch.randn(BATCH.num_edges, 4)
    for options in ({"conv": "G2TN"}, {"conv": "G2TAN"}):
        model = net(**options).eval()
        changed = model(BATCH.x, BATCH.edge_index, BATCH.batch, edge_weight=weight)
        assert not torch.allclose(changed, model(BATCH.x, BATCH.edge_index, BATCH.batch))
    gcn = GraphTensNet(3, 2, conv="GCN", hidden_channels=8).eval()
    assert not torch.allclose(gcn(BATCH.x, BATCH.edge_index, BATCH.batch, edge_weight=weight), gcn(BATCH.x, BATCH.edge_index, BATCH.batch))
    model = net("G2TAN", edge_dim=4).eval()
    one = model(BATCH.x, BATCH.edge_index, BATCH.batch, edge_attr=attributes)
    assert not torch.allclose(one, model(BATCH.x, BATCH.edge_index, BATCH.batch, edge_attr=-attributes))


@both
def test_lazy_model(conv):
    model = net(conv, in_channels=-1)
    assert model(BATCH.x, BATCH.edge_index, BATCH.batch).shape == (BATCH.num_graphs, 2)
    assert model.pre[0].mlp.lins[0].in_channels == 3
    bare = net(conv, in_channels=-1, pre_layers=0)
    assert bare(BATCH.x, BATCH.edge_index, BATCH.batch).shape == (BATCH.num_graphs, 2)


def test_reset_parameters_draws_anew():
    torch.manual_seed(0)
    model = net("G2TAN")
    fresh = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(7.0)
    model.reset_parameters()
    for name, value in model.state_dict().items():
        assert not (value == 7.0).any(), name
        assert (value.std() == 0) == (fresh[name].std() == 0), name


# Ecosystem


@both
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["deepcopy", "pickle"])
def test_copies_compute_the_same(conv, copied):
    model = net(conv).eval()
    torch.testing.assert_close(copied(model)(BATCH.x, BATCH.edge_index, BATCH.batch), model(BATCH.x, BATCH.edge_index, BATCH.batch))


@both
def test_data_loader_batches_train(conv):
    model = net(conv)
    for batch in DataLoader(graphs(), batch_size=4):
        torch.nn.functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch, batch_size=batch.num_graphs), batch.y).backward()


@both
def test_layers_go_into_pyg_sequential(conv):
    layer = {"G2TN": G2TNConv, "G2TAN": G2TANConv}[conv]
    model = pyg.Sequential("x, edge_index", [(layer(3, 8), "x, edge_index -> x"), torch.nn.ReLU(), (layer(8, 8), "x, edge_index -> x")])
    assert model(BATCH.x, BATCH.edge_index).shape == (BATCH.num_nodes, 8)


@both
@pytest.mark.parametrize("device", DEVICES)
def test_autocast(conv, device):
    model = net(conv).eval().to(device)
    batch = BATCH.clone().to(device)
    want = model(batch.x, batch.edge_index, batch.batch)
    with torch.autocast(device, dtype=torch.bfloat16):
        got = model.train()(batch.x, batch.edge_index, batch.batch)
        loss = got.float().square().mean()
    loss.backward()
    assert got.dtype == torch.bfloat16
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    with torch.autocast(device, dtype=torch.bfloat16):
        torch.testing.assert_close(model.eval()(batch.x, batch.edge_index, batch.batch).float(), want, atol=0.1, rtol=0.1)


@pytest.mark.parametrize(("conv", "given"), [("G2TN", "edge_index"), ("G2TAN", "walk")])
def test_torch_compile(conv, given):
    """With aot_eager, which traces forward and backward as inductor does but needs no compiler at hand. A walk that was used before
    gives one graph without breaks; edges give a break where their walk is built."""
    torch._dynamo.reset()
    model = net(conv, dropout=0.0, num_layers=1)
    graph = BATCH.edge_index if given == "edge_index" else model.walk(BATCH.edge_index, BATCH.num_nodes, batch=BATCH.batch)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=given == "walk")
    want, got = model(BATCH.x, graph, BATCH.batch), compiled(BATCH.x, graph, BATCH.batch)
    torch.testing.assert_close(got, want)
    gradients = [torch.autograd.grad(out.square().sum(), list(model.parameters())) for out in (want, got)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


@both
def test_torch_export_takes_a_walk(conv):
    """How many steps a walk has depends on the data, so a program is exported with the walk as its argument."""
    model = net(conv, num_layers=1).eval()
    walk = model.walk(BATCH.edge_index, BATCH.num_nodes, batch=BATCH.batch)
    arguments = {"batch": BATCH.batch, "batch_size": BATCH.num_graphs}
    program = torch.export.export(model, (BATCH.x, walk), arguments)
    stored = io.BytesIO()
    torch.export.save(program, stored)
    stored.seek(0)
    x = torch.randn_like(BATCH.x)
    torch.testing.assert_close(torch.export.load(stored).module()(x, walk, **arguments), model(x, walk, **arguments))
    with pytest.raises(TypeError, match=r"model\.walk"):
        torch.export.export(model, (BATCH.x, BATCH.edge_index), arguments)


@both
def test_pyg_summary(conv, monkeypatch):
    if importlib.util.find_spec("tabulate") is None:  # an environment older than the dependency
        monkeypatch.setitem(sys.modules, "tabulate", types.SimpleNamespace(tabulate=lambda rows, **_: str(rows)))
    summary = pyg.summary(net(conv), BATCH.x, BATCH.edge_index, BATCH.batch)
    assert f"{conv}Conv" in summary
    assert "Hop" not in summary
    assert str(list(BATCH.x.shape)) in summary


def test_to_hetero_is_refused_with_a_reason_and_to_homogeneous_works():
    data = HeteroData()
    data["atom"].x, data["bond"].x = torch.randn(3, 4), torch.randn(5, 4)
    data["atom", "to", "bond"].edge_index = torch.tensor([[0, 1, 2], [2, 4, 0]])
    data["bond", "to", "atom"].edge_index = torch.tensor([[2, 4, 0], [0, 1, 2]])

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = G2TNConv(4, 8)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.conv(x, edge_index)

    with pytest.raises(TypeError, match="to_homogeneous"):
        pyg.to_hetero(Net(), data.metadata())(data.x_dict, data.edge_index_dict)
    whole = data.to_homogeneous()
    x = torch.cat([whole.x, torch.nn.functional.one_hot(whole.node_type).float()], dim=1)
    assert G2TNConv(6, 8)(x, whole.edge_index).shape == (8, 8)


MISTAKES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "conv": ({"conv": "G2TX"}, ValueError, r"\(got 'G2TX'\)"),
    "jk": ({"jk": "lstm"}, ValueError, r"'max', 'cat' or None \(got 'lstm'\)"),
    "dropout": ({"dropout": 1.5}, ValueError, r"\[0, 1\) \(got 1.5\)"),
    "heads": ({"conv": "GAT", "heads": 3, "hidden_channels": 8}, ValueError, r"divide the width 8.*\(got 3\)"),
    "out_channels": ({"out_channels": 0}, ValueError, "`out_channels` must be at least 1"),
    "hidden_channels": ({"hidden_channels": 0}, ValueError, "`hidden_channels` must be at least 1 .got 0"),
    "unknown": ({"pooling": "mean"}, TypeError, "pooling"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake):
    options, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        GraphTensNet(**{"in_channels": 3, "out_channels": 2, **options})
