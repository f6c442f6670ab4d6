"""One huge graph, here a small one: graph on disk, blocks of functionals, layer by layer, batches of it."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import strategies
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader

from graph2tens import low_rank_features as in_memory
from graph2tens import random_walk, scale
from graph2tens.nn import G2TANConv, G2TNConv, GraphTensNet
from graph2tens.scale import GraphOnDisk, WalkSampler, apply_network, low_rank_features, open_features
from graph2tens.scale.huge import features as features_module
from graph2tens.scale.huge import job as job_module
from graph2tens.scale.huge import layers as layers_module

N, D = 40, 5


@pytest.fixture(scope="module")
def edges():
    return np.unique(np.random.default_rng(0).integers(0, N, (2, 150)), axis=1)


@pytest.fixture
def graph(tmp_path, edges):
    return GraphOnDisk.build(edges, tmp_path / "graph", num_nodes=N)


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).normal(3, 1, (N, D)).astype(np.float32)


@settings(max_examples=30)
@given(strategies.graphs(), strategies.laziness(), st.booleans(), st.randoms(use_true_random=False))
def test_the_graph_on_disk_is_the_random_walk(tmp_path_factory, drawn, laziness, self_loops, random):
    folder = tmp_path_factory.mktemp("g") / "graph"
    order = random.sample(range(len(drawn.edges)), len(drawn.edges))  # the order of edges does not matter

    def chunks():
        for part in (order[::2], order[1::2]):
            yield (*drawn.edges[part].T, None if drawn.weights is None else drawn.weights[part])

    graph = GraphOnDisk.build(chunks, folder, num_nodes=drawn.n, laziness=laziness, self_loops=self_loops)
    edges, weights = torch.from_numpy(drawn.edges.T.copy()), None if drawn.weights is None else torch.from_numpy(drawn.weights)
    if self_loops:
        missing = torch.tensor([i for i in range(drawn.n) if [i, i] not in drawn.edges.tolist()], dtype=torch.long)
        edges = torch.cat([edges, missing.expand(2, -1)], dim=1)
        weights = None if weights is None else torch.cat([weights, torch.ones(len(missing), dtype=weights.dtype)])
    walk = random_walk(edges, drawn.n, weights, laziness)
    np.testing.assert_array_equal(graph.row_ptr, walk.row_ptr)
    np.testing.assert_array_equal(graph.col, walk.col)
    degree = np.diff(graph.row_ptr)
    p = np.repeat(1 / degree, degree) if graph.probabilities is None else graph.probabilities
    np.testing.assert_allclose(p, walk.probabilities, rtol=1e-6)
    graph.check()
    shutil.rmtree(folder)


def test_a_graph_is_read_from_every_kind_of_source(tmp_path, edges):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    (tmp_path / "parquet").mkdir()
    for part in range(2):
        pq.write_table(pa.table({"src": edges[0, part::2], "dst": edges[1, part::2]}), tmp_path / "parquet" / f"{part}.parquet")
    np.save(tmp_path / "edges.npy", edges)
    sources = [edges, torch.from_numpy(edges), tmp_path / "edges.npy", tmp_path / "parquet", lambda: iter([tuple(edges)])]
    built = [GraphOnDisk.build(source, tmp_path / f"g{number}", num_nodes=N) for number, source in enumerate(sources)]
    assert len({graph.digest for graph in built}) == 1
    one_way = edges[:, edges[0] <= edges[1]]
    both = np.concatenate([one_way, one_way[::-1, one_way[0] != one_way[1]]], axis=1)
    undirected = GraphOnDisk.build(one_way, tmp_path / "undirected", num_nodes=N, undirected=True)
    assert undirected.digest == GraphOnDisk.build(both, tmp_path / "both", num_nodes=N).digest


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (np.array([[0, 1], [1, 3]]), r"between the nodes 0..2 \(got node 3\)"),
        (np.array([[0, -1], [1, 2]]), r"got node -1"),
        (np.array([[0.0], [1.0]]), "integers"),
        (np.zeros((3, 2), int), r"shape \(2, E\)"),
        (lambda: iter([([0], [1], [np.nan])]), "finite and not negative"),
        (lambda: iter([([0], [1], [0.0])]), "not so at node 0"),
    ],
)
def test_bad_edges_are_refused_and_leave_nothing(tmp_path, edges, message):
    source = edges if not callable(edges) else lambda: ([np.array(part) for part in chunk] for chunk in edges())
    with pytest.raises(ValueError, match=message):
        GraphOnDisk.build(source, tmp_path / "g", num_nodes=3)
    assert not list(tmp_path.iterdir())


def test_folders_that_are_no_graphs_are_refused(tmp_path, graph):
    with pytest.raises(FileExistsError, match="exists already"):
        GraphOnDisk.build(np.zeros((2, 0), int), graph.folder, num_nodes=1)
    with pytest.raises(FileNotFoundError, match="holds no graph"):
        GraphOnDisk(tmp_path)
    col = np.array(graph.col)
    col[0] = (col[0] + 1) % N
    np.save(graph.folder / "col.npy", col)
    with pytest.raises(ValueError, match="checksum differs"):
        GraphOnDisk(graph.folder).check()


@settings(max_examples=30)
@given(strategies.variants(), st.integers(1, 3), st.sampled_from(["float32", "float64"]), st.booleans(), strategies.seeds())
def test_features_are_those_of_the_reference(tmp_path_factory, variant, degree, dtype, full, rng):
    folder = tmp_path_factory.mktemp("f")
    edges = np.unique(rng.integers(0, N, (2, 120)), axis=1)
    graph = GraphOnDisk.build(edges, folder / "graph", num_nodes=N)
    x = rng.normal(2, 1, (N, D)).astype(dtype)
    u = (rng.normal(size=(degree, D + variant["time"], 9)) / 3).astype(dtype)
    more = {"coefficients": rng.normal(size=(degree, 9)).astype(dtype), "bias": rng.normal(size=(degree, 9)).astype(dtype)} if full else {}
    z = low_rank_features(x, graph, u, length=3, out=folder / "z", **variant, **more)
    double = {name: torch.from_numpy(value).double() for name, value in more.items()}
    walk = random_walk(torch.from_numpy(edges), N)
    expected = in_memory(
        torch.from_numpy(x).double(), walk, torch.from_numpy(u).double(), length=3, backend="reference", **variant, **double
    )
    torch.testing.assert_close(torch.from_numpy(z[:]).double(), expected, rtol=1e-4, atol=2e-4 if dtype == "float32" else 1e-9)
    shutil.rmtree(folder)


def test_bits_do_not_depend_on_blocks_or_threads(tmp_path, graph, x, monkeypatch):
    u = np.random.default_rng(2).normal(size=(3, D, 37)).astype(np.float32)
    expected = low_rank_features(x, graph, u, length=4, out=tmp_path / "whole", threads=1)
    for width in (4, 8, 16, 64):
        monkeypatch.setattr(features_module, "WIDTHS", (width,))
        monkeypatch.setattr(job_module, "CHUNK", 3 * width)
        z = low_rank_features(x, graph, u, length=4, out=tmp_path / str(width), threads=3)
        np.testing.assert_array_equal(z[:], expected[:])
    np.testing.assert_array_equal(z[[3, 1]], expected[:][[3, 1]])
    np.testing.assert_array_equal(z[7], expected[:][7])


def test_missing_blocks_are_made_and_mixtures_refused(tmp_path, graph, x, monkeypatch):
    monkeypatch.setattr(features_module, "WIDTHS", (4,))
    u = np.random.default_rng(2).normal(size=(2, D, 8)).astype(np.float32)
    whole = low_rank_features(x, graph, u, length=2, out=tmp_path / "z")[:]
    other = low_rank_features(x, graph, u, length=3, out=tmp_path / "other")
    block = tmp_path / "z" / "functionals-00004-00008.safetensors"
    block.unlink()
    with pytest.raises(ValueError, match="1 of 2 blocks are missing"):
        open_features(tmp_path / "z")
    (tmp_path / "z" / f".{block.name}.abcdefgh.unfinished").touch()
    told = []
    z = low_rank_features(x, graph, u, length=2, out=tmp_path / "z", on_progress=lambda done, total: told.append((done, total)))
    assert told == [(8, 8)]
    assert not list((tmp_path / "z").glob(".*"))
    np.testing.assert_array_equal(z[:], whole)
    shutil.copy(other.folder / block.name, block)
    with pytest.raises(ValueError, match="made by another job"):
        open_features(tmp_path / "z")
    for changed, message in (({"length": 3}, "length=2"), ({"components": u + 1}, "other functionals"), ({"x": x + 1}, "x_digest")):
        arguments = {"x": x, "components": u, "length": 2, **changed}
        with pytest.raises(ValueError, match=message):
            low_rank_features(graph=graph, out=tmp_path / "z", **arguments)


def test_memory_decides_the_width_of_blocks(tmp_path, graph, x):
    u = np.zeros((2, D, 64), np.float32)
    low_rank_features(x, graph, u, length=1, out=tmp_path / "any")
    for lanes in (4, 16):
        need = features_module.memory_of_block(graph, job_module.WalkJob.read(tmp_path / "any"), lanes)
        low_rank_features(x, graph, u, length=1, out=tmp_path / str(lanes), memory=need)
        assert len(list((tmp_path / str(lanes)).glob("functionals-*"))) == 64 // lanes
    with pytest.raises(MemoryError, match="blocks of 4 functionals take"):
        low_rank_features(x, graph, u, length=1, out=tmp_path / "none", memory="1MiB")
    assert features_module.as_bytes("1.5GiB") == 3 * 2**29
    with pytest.raises(ValueError, match="a text like '8GiB'"):
        features_module.as_bytes("much")


@pytest.mark.parametrize("conv", ["G2TN", "G2TAN"])
@pytest.mark.parametrize("options", [{}, {"jk": None, "time": True}, {"jk": "cat", "increments": False, "self_loops": True}])
def test_a_network_layer_by_layer_is_the_network(tmp_path, edges, x, conv, options):
    torch.manual_seed(0)
    heads = {"heads": 2} if conv == "G2TAN" else {}
    network = GraphTensNet(D, 3, conv=conv, hidden_channels=12, num_layers=2, post_channels=7, pool=None, walk_length=2, **options, **heads)
    network.eval()
    graph = GraphOnDisk.build(edges, tmp_path / "graph", num_nodes=N, self_loops=options.get("self_loops", False))
    expected = network(torch.from_numpy(x), torch.from_numpy(edges))
    outputs = apply_network(network, x, graph, tmp_path / "out")
    torch.testing.assert_close(torch.from_numpy(outputs.copy()), expected, rtol=1e-4, atol=1e-4)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_attributes.npy", "_network.json", "outputs.npy"]
    with pytest.raises(ValueError, match="outputs for another network"):
        apply_network(GraphTensNet(D, 3, pool=None, **{**options, "jk": None}), x, graph, tmp_path / "out")


def test_single_layers_are_applied_and_what_cannot_be_is_refused(tmp_path, graph, edges, x, monkeypatch):
    monkeypatch.setattr(layers_module, "cores", lambda: 1)  # for workers=None, all cores: more would be processes of their own
    for number, layer in enumerate((G2TNConv(D, 8), G2TANConv(D, 8, heads=4))):
        outputs = apply_network(layer, x, graph, tmp_path / str(number), workers=None)
        torch.testing.assert_close(
            torch.from_numpy(outputs.copy()), layer(torch.from_numpy(x), torch.from_numpy(edges)).detach(), rtol=1e-4, atol=1e-4
        )
    with pytest.raises(ValueError, match="built with self_loops=True"):
        apply_network(G2TNConv(D, 8, self_loops=True), x, graph, tmp_path / "no")
    with pytest.raises(ValueError, match="pools the nodes"):
        apply_network(GraphTensNet(D, 2), x, graph, tmp_path / "no")
    with pytest.raises(TypeError, match="must be a G2TNConv"):
        apply_network(torch.nn.Linear(2, 2), x, graph, tmp_path / "no")
    with pytest.raises(ValueError, match="`engine` must be one of"):
        apply_network(G2TNConv(D, 8), x, graph, tmp_path / "no", engine="spark")
    assert not (tmp_path / "no" / "_network.json").exists()


def test_all_neighbours_make_seeds_exact(graph, edges, x):
    layer = G2TNConv(D, 6, walk_length=3).eval()
    expected = layer(torch.from_numpy(x), torch.from_numpy(edges))
    data = Data(x=torch.from_numpy(x), edge_index=WalkSampler.edge_index, n=torch.arange(N))
    seen = 0
    for batch in NodeLoader(data, WalkSampler(graph, [-1, -1, -1]), input_nodes=torch.arange(0, N, 2), batch_size=6):
        got = layer(batch.x, batch.edge_index)[: batch.batch_size]
        torch.testing.assert_close(got, expected[batch.n[: batch.batch_size]], rtol=1e-4, atol=1e-5)
        seen += batch.batch_size
    assert seen == N // 2


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_samples_have_few_neighbours_and_our_direction(tmp_path, weighted, x):
    edges = np.stack([np.repeat(np.arange(N), 8), (np.repeat(np.arange(N), 8) + np.tile(np.arange(1, 9), N)) % N])
    weight = np.tile(np.array([100.0, 1, 1, 1, 1, 1, 1, 1]), N) if weighted else None
    graph = GraphOnDisk.build(lambda: iter([(*edges, weight)]), tmp_path / "g", num_nodes=N)
    data = Data(x=torch.from_numpy(x), edge_index=WalkSampler.edge_index, n=torch.arange(N))
    drawn = []
    for batch in NodeLoader(data, WalkSampler(graph, [3, 2], seed=0), input_nodes=torch.arange(N), batch_size=10):
        source, target = batch.n[batch.edge_index]
        assert set(((target - source) % N).tolist()) <= set(range(1, 9))
        counts = torch.bincount(batch.edge_index[0], minlength=batch.num_nodes)
        assert (counts[: batch.batch_size] == 3).all()
        assert counts.max() == 3
        drawn += ((target - source) % N)[batch.edge_index[0] < batch.batch_size].tolist()
    share = drawn.count(1) / N  # how many seeds drew their first neighbour: 3 of 8, or nearly all of them
    assert share > 0.9 if weighted else 0.1 < share < 0.7


def test_public_names_explain_themselves():
    for names in scale._HOMES.values():
        for name in names:
            assert getattr(scale, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        scale.nothing  # noqa: B018
