"""Every rival: its size against the published one, an epoch on small data, and its layers against PyG's or PyTorch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric import nn as pyg
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, GraphUNet, SGConv
from torch_geometric.nn.pool import EdgePooling
from torch_geometric.utils import to_dense_batch, to_undirected

from graph2tens.paper.rivals import RIVALS
from graph2tens.paper.rivals.graphtrans import PackedLayer, Packing
from graph2tens.paper.rivals.hgnet import GreedyEdgePooling
from graph2tens.paper.rivals.louvain import LouvainPooling
from graph2tens.paper.rivals.sparse import Edges, Pattern, Words

# With the attributes of NCI1 (37) or the words of Cora (1433, 7 classes); counted from the sources, not from our code.
PARAMETERS = {
    "Set2Set": 1_917_250,
    "SAGPool-g": 145_092,
    "SAGPool-h": 79_560,
    "GIN": 41_806,
    "GIN+FA": 41_806,
    "GCN+VN": 10_978,
    "HGNet-EdgePool": 14_468,
    "HGNet-Louvain": 14_338,
    "GraphTrans-small": 504_194,
    "GraphTrans-large": 885_639,
    "GCN": 92_231,
    "GAT": 92_373,
    "MoNet": 92_174,
    "GraphSAGE": 92_199,
}
GRAPH_RIVALS = [name for name, rival in RIVALS.items() if rival.task == "graph"]
NODE_RIVALS = [name for name, rival in RIVALS.items() if rival.task == "node"]


def make(name: str, in_channels: int, out_channels: int, **options):
    rival = RIVALS[name]
    return rival.network(in_channels, out_channels, **{**rival.options, **options})


@pytest.fixture(scope="module")
def molecules() -> Batch:
    """Small random trees, some with a ring, one without edges, nodes told apart by one of 5 labels."""
    rng = np.random.default_rng(0)
    graphs = []
    for size in (9, 1, 6, 30, 7, 12):
        parents = [int(rng.integers(0, node)) for node in range(1, size)]
        edges = [(node, parent) for node, parent in enumerate(parents, start=1)] + ([(0, size - 1)] if size > 6 else [])
        edge_index = to_undirected(torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t(), num_nodes=size)
        x = torch.nn.functional.one_hot(torch.from_numpy(rng.integers(0, 5, size)), 5).float()
        graphs.append(Data(x=x, edge_index=edge_index, y=torch.tensor([size % 2])))
    return Batch.from_data_list(graphs)


@pytest.fixture(scope="module")
def articles() -> Data:
    """A random graph with three classes of nodes and words that hint at them; two nodes without edges."""
    rng = np.random.default_rng(1)
    n = 60
    y = torch.from_numpy(rng.integers(0, 3, n))
    pairs = torch.from_numpy(rng.integers(0, n - 2, (2, 150)))
    edge_index = to_undirected(pairs[:, pairs[0] != pairs[1]], num_nodes=n)
    words = rng.random((n, 40)) < 0.05 + 0.4 * (np.arange(40)[None] % 3 == y[:, None].numpy())
    return Data(x=torch.from_numpy(words.astype(np.float32)), edge_index=edge_index, y=y)


@pytest.mark.parametrize("name", PARAMETERS)
def test_sizes_are_those_of_the_sources(name):
    sizes = (37, 2) if RIVALS[name].task == "graph" else (1433, 7)
    assert sum(parameter.numel() for parameter in make(name, *sizes).parameters()) == PARAMETERS[name]


def test_settings_of_the_text_of_graphtrans_have_the_sizes_it_implies():
    for options, size in (({"layers": 3, "blocks": 4}, 866_050), ({"conv": "GIN", "layers": 4, "width": 300, "blocks": 4}, 2_294_718)):
        network = make("GraphTrans-small", 37, 2, **{"conv": "GCN", "feedforward": 512, **options})
        assert sum(parameter.numel() for parameter in network.parameters()) == size


def loss_of(network, logits, y):
    penalty = network.penalty() if hasattr(network, "penalty") else 0
    return torch.nn.functional.cross_entropy(logits, y) + 1e-4 * penalty


@pytest.mark.parametrize("name", GRAPH_RIVALS)
def test_rivals_for_graphs_learn(name, molecules):
    torch.manual_seed(0)
    network = make(name, 5, 2, **({"width": 16} if name == "Set2Set" else {}))  # its LSTM of 384 channels takes its time
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        logits = network(molecules.x, molecules.edge_index, molecules.batch, molecules.num_graphs)
        assert logits.shape == (molecules.num_graphs, 2)
        loss = loss_of(network, logits, molecules.y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert min(losses[-4:]) < losses[0]
    unused = [key for key, parameter in network.named_parameters() if parameter.grad is None and not key.endswith("select.weight")]
    assert not unused


@pytest.mark.parametrize("name", GRAPH_RIVALS)
def test_a_graph_is_judged_alike_alone_and_in_company(name, molecules):
    torch.manual_seed(0)
    network = make(name, 5, 2).eval()
    with torch.no_grad():
        together = network(molecules.x, molecules.edge_index, molecules.batch, molecules.num_graphs)
        for place, graph in enumerate(molecules.to_data_list()):
            alone = network(graph.x, graph.edge_index, torch.zeros(graph.num_nodes, dtype=torch.long), 1)
            torch.testing.assert_close(alone, together[place : place + 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NODE_RIVALS)
def test_rivals_for_nodes_learn_from_sparse_words(name, articles):
    torch.manual_seed(0)
    network, x = make(name, 40, 3), articles.x.to_sparse_csr()
    if hasattr(network, "remember"):
        network.remember(articles.y[:40], torch.arange(40), 60)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = loss_of(network, network(x, articles.edge_index)[:40], articles.y[:40])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert min(losses[-5:]) < losses[0]


@pytest.mark.parametrize("name", NODE_RIVALS)
def test_sparse_and_dense_words_give_the_same_answers(name, articles):
    torch.manual_seed(0)
    network = make(name, 40, 3).eval()
    if hasattr(network, "remember"):
        network.remember(articles.y[:40], torch.arange(40), 60)
    torch.testing.assert_close(network(articles.x.to_sparse_csr(), articles.edge_index), network(articles.x, articles.edge_index))


def test_products_with_a_pattern_have_the_right_gradients():
    torch.manual_seed(0)
    dense = (torch.rand(5, 7) < 0.4).double()
    row, col = dense.nonzero().t()
    pattern = Pattern.of(row, col, (5, 7))
    values = torch.randn(row.numel(), dtype=torch.float64, requires_grad=True)
    other = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pattern.times, (values, other))
    expected = torch.zeros(5, 7, dtype=torch.float64).index_put((row, col), values) @ other
    torch.testing.assert_close(pattern.times(values, other), expected)


def test_dropout_of_sparse_words_keeps_their_mean(articles):
    torch.manual_seed(0)
    words = Words.read(articles.x.to_sparse_csr(), "binary")
    draws = torch.stack([words.dropout(0.5, True).times(torch.eye(40)) for _ in range(2000)])
    assert set(draws.unique().tolist()) == {0.0, 2.0}
    torch.testing.assert_close(draws.mean(0), articles.x, atol=0.2, rtol=0)
    assert words.dropout(0.5, False).times(torch.eye(40)).equal(articles.x)


def test_words_are_scaled_alike_sparse_and_dense():
    x = torch.tensor([[0.0, 3.0, 1.0], [0.0, 0.0, 0.0], [0.2, 0.0, 0.3]])  # a sum above 1, no word, a sum below 1
    expected = {"binary": (x > 0).float(), "rows": torch.tensor([[0, 0.75, 0.25], [0, 0, 0], [0.2, 0, 0.3]])}
    for scaling, values in expected.items():
        for layout in (x, x.to_sparse_csr()):
            torch.testing.assert_close(Words.read(layout, scaling).times(torch.eye(3)), values)


def test_a_batch_of_one_node_is_normalised(molecules):
    network = make("HGNet-Louvain", 5, 2).train()
    assert network(molecules.x[:1], molecules.edge_index[:, :0], molecules.batch[:1], 1).isfinite().all()


def test_gcn_is_two_of_pygs_convolutions(articles):
    network = make("GCN", 40, 3).eval()
    first, second = GCNConv(40, 64), GCNConv(64, 3)
    for ours, peer in ((network.first, first), (network.second, second)):
        peer.load_state_dict({"bias": ours.bias, "lin.weight": ours.weight.t()})
    expected = second(first(articles.x, articles.edge_index).relu(), articles.edge_index)
    torch.testing.assert_close(network(articles.x, articles.edge_index), expected)


def test_gat_is_two_of_pygs_attention_layers(articles):
    network = make("GAT", 40, 3).eval()
    first, second = GATConv(40, 8, heads=8), GATConv(64, 3, heads=1)
    for ours, peer in ((network.first, first), (network.second, second)):
        attention = {"att_src": ours.to_source[None], "att_dst": ours.to_target[None]}
        peer.load_state_dict({"bias": ours.bias, "lin.weight": ours.weight.t(), **attention})
    expected = second(torch.nn.functional.elu(first(articles.x, articles.edge_index)), articles.edge_index)
    torch.testing.assert_close(network(articles.x, articles.edge_index), expected)


def adjacency(data: Data) -> torch.Tensor:
    A = torch.eye(data.num_nodes)
    A[data.edge_index[1], data.edge_index[0]] = 1
    return A


def test_graphsage_is_its_formula(articles):
    network, A = make("GraphSAGE", 40, 3).eval(), adjacency(articles)
    x = articles.x
    for layer, act in ((network.first, torch.relu), (network.second, torch.nn.Identity())):
        of_neighbours, own = layer.weight.chunk(2, dim=1)
        z = (A / A.sum(1, keepdim=True)) @ x @ of_neighbours + x @ own + layer.bias
        x = act(torch.stack([row / max(1.0, float(row.detach().norm())) for row in z]))
    torch.testing.assert_close(network(articles.x, articles.edge_index), x)


def test_monet_is_its_formula(articles):
    torch.manual_seed(3)
    network, A = make("MoNet", 40, 3).eval(), adjacency(articles)
    gaussians = network.gaussians
    torch.testing.assert_close(gaussians.mu.data, torch.tensor([[-0.75, -0.75], [0.25, 0.25]]))
    with torch.no_grad():
        gaussians.sigma.uniform_(0.5, 2)
    place = A.sum(1) ** -0.5
    u = torch.tanh(torch.stack([place[:, None].expand_as(A), place[None].expand_as(A)], -1) @ gaussians.transform + gaussians.shift)
    x = articles.x
    for layer, act in ((network.first, torch.relu), (network.second, torch.nn.Identity())):
        total = 0
        for kernel, weight in enumerate(layer.weight.chunk(2, dim=1)):
            G = A * torch.exp(-0.5 * ((u - gaussians.mu[kernel]) ** 2 / gaussians.sigma[kernel] ** 2).sum(-1))
            total = total + (G / G.sum(1, keepdim=True)) @ x @ weight
        x = act(total)
    torch.testing.assert_close(network(articles.x, articles.edge_index), x)


def test_appnp_and_sgc_are_pygs(articles):
    network = make("APPNP", 40, 3).eval()
    rows = articles.x / articles.x.sum(1, keepdim=True).clamp(min=1)
    start = (rows @ network.first.weight + network.first.bias).relu() @ network.second.weight + network.second.bias
    torch.testing.assert_close(network(articles.x, articles.edge_index), pyg.APPNP(K=10, alpha=0.1)(start, articles.edge_index))
    network, peer = make("SGC", 40, 3), SGConv(40, 3, K=2)
    peer.load_state_dict({"lin.weight": network.head.weight.t(), "lin.bias": network.head.bias})
    torch.testing.assert_close(network(articles.x, articles.edge_index), peer(rows, articles.edge_index))


def test_labels_spread_to_the_closed_form(articles):
    network = make("LabelPropagation", 40, 3, steps=400)
    network.remember(articles.y[:30], torch.arange(30), 60)
    A = adjacency(articles) - torch.eye(60)
    place = A.sum(1).clamp(min=1) ** -0.5
    Y = torch.zeros(60, 3)
    Y[torch.arange(30), articles.y[:30]] = 1
    expected = 0.05 * torch.linalg.solve(torch.eye(60) - 0.95 * place[:, None] * A * place, Y)
    torch.testing.assert_close(network(articles.x, articles.edge_index), expected)


def test_labels_do_not_spread_over_a_graph_they_were_not_told_on(articles):
    with pytest.raises(ValueError, match="with 0 nodes"):
        make("LabelPropagation", 40, 3)(articles.x, articles.edge_index)


def test_a_fully_adjacent_layer_is_gin_on_a_complete_graph_with_loops(molecules):
    torch.manual_seed(0)
    network = make("GIN+FA", 5, 2, layers=1).eval()
    pairs = (molecules.batch[:, None] == molecules.batch[None]).nonzero().t()
    conv = GINConv(network.convs[0].nn, eps=float(network.convs[0].eps.detach()))
    level = conv(network.first(molecules.x), pairs)
    plain = make("GIN", 5, 2, layers=1).eval()
    plain.load_state_dict(network.state_dict())
    got = network(molecules.x, molecules.edge_index, molecules.batch, molecules.num_graphs)
    expected = plain(molecules.x, pairs, molecules.batch, molecules.num_graphs)
    torch.testing.assert_close(got, expected)
    assert level.shape == (molecules.num_nodes, 64)


def test_gin_without_training_drops_nothing(molecules):
    network = make("GIN", 5, 2, dropout=0.9).eval()
    arguments = (molecules.x, molecules.edge_index, molecules.batch, molecules.num_graphs)
    assert network(*arguments).equal(network(*arguments))


def test_edge_pooling_merges_what_pyg_merges(molecules):
    torch.manual_seed(0)
    x = torch.randn(molecules.num_nodes, 8)
    # Of equal scores (leaves have 1.5 all) PyG's order is arbitrary, so scores are distinct here.
    arguments = (x, molecules.edge_index, molecules.batch, torch.rand(molecules.num_edges) + 0.5)
    got, expected = GreedyEdgePooling(8)._merge_edges(*arguments), EdgePooling(8)._merge_edges(*arguments)
    for mine, theirs in zip(got[:3], expected[:3], strict=True):
        torch.testing.assert_close(mine, theirs)
    assert got[3].cluster.equal(expected[3].cluster)


def test_communities_of_a_batch_are_those_of_its_graphs(molecules):
    pooling = LouvainPooling(2, 1 / 20)
    offsets = [0, 0]
    batch_levels = list(pooling(molecules.edge_index, molecules.batch))
    for place, graph in enumerate(molecules.to_data_list()):
        below = molecules.batch == place
        for level, (cluster, edges, weights) in enumerate(
            LouvainPooling(2, 1 / 20)(graph.edge_index, torch.zeros_like(graph.x[:, 0]).long())
        ):
            joined, joined_edges, joined_weights = batch_levels[level]
            assert joined[below].equal(cluster + offsets[level])
            inside = (joined_edges[0] >= offsets[level]) & (joined_edges[0] <= offsets[level] + cluster.max())
            assert joined_edges[:, inside].equal(edges + offsets[level])
            assert joined_weights[inside].equal(weights)
            if level == 0:  # edges between communities, counted from the edges below
                crossing = cluster[graph.edge_index]
                assert weights.sum() == (crossing[0] != crossing[1]).sum()
            below = torch.zeros(int(joined.max()) + 1, dtype=torch.bool).index_fill(0, cluster + offsets[level], True)
            offsets[level] += int(cluster.max()) + 1


def test_packed_tokens_give_what_pytorchs_encoder_gives(molecules):
    torch.manual_seed(0)
    layer = PackedLayer(16, 4, 32, dropout=0.1).eval()
    peer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True).eval()
    peer.load_state_dict(layer.state_dict())
    tokens = torch.randn(molecules.num_nodes, 16)
    padded, taken = to_dense_batch(tokens, molecules.batch)
    expected = peer(padded, src_key_padding_mask=~taken)[taken]
    for groups in (1, 3, 8):
        packing = Packing(molecules.batch, molecules.num_graphs, groups)
        torch.testing.assert_close(layer(tokens[packing.order], packing), expected[packing.order])
        assert packing.order[packing.first].equal(molecules.ptr[:-1])


def test_the_u_net_is_pygs_on_words_that_are_kept(articles):
    torch.manual_seed(0)
    network = make("g-U-net", 40, 3).eval()
    peer = GraphUNet(40, 32, 3, depth=4, pool_ratios=[0.999, 0.5, 0.5, 0.4], act="leaky_relu").eval()
    weights = {key.removeprefix("unet."): value for key, value in network.state_dict().items() if key != "words"}
    peer.load_state_dict({**weights, "down_convs.0.lin.weight": network.words.t()})
    rows = articles.x / articles.x.sum(1, keepdim=True).clamp(min=1)
    torch.testing.assert_close(network(articles.x, articles.edge_index), peer(rows, articles.edge_index))


def test_edges_are_forgotten_when_another_graph_comes(articles):
    once = Edges.of(articles.edge_index, 60)
    assert Edges.of(articles.edge_index, 60) is once
    assert Edges.of(articles.edge_index[:, :10], 60) is not once
