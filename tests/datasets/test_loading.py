"""One door to all data: built-in sets, roots, downloads, the citation files and their hashes."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import stat
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.datasets import Planetoid, TUDataset
from torch_geometric.loader import DataLoader
from torch_geometric.utils import is_undirected, sort_edge_index
from tu_folders import write_tu

from graph2tens.datasets import BUILT_IN, DataError, cache_root, citation, data_roots, load, long_range, roots

DATA = os.environ.get("GRAPH2TENS_DATA")


def needs(name: str) -> pytest.MarkDecorator:
    """Real data is used where GRAPH2TENS_DATA has it."""
    return pytest.mark.skipif(not (DATA and (Path(DATA) / name).is_dir()), reason=f"GRAPH2TENS_DATA has no {name}")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    """An empty cache folder, no network, and data only where a test asks for it."""
    monkeypatch.delenv("GRAPH2TENS_DATA", raising=False)
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(roots.platformdirs, "user_cache_dir", lambda *_, **__: str(folder))

    def offline(urls, folder):
        raise OSError(f"Cannot connect\n to {urls[0]}")

    monkeypatch.setattr(roots, "_download", offline)
    return folder


class TestDigits:
    dataset = load("digits")

    def test_are_the_graphs_of_the_inked_pixels(self):
        assert (len(self.dataset), self.dataset.num_classes, self.dataset.num_features, self.dataset.task) == (1797, 10, 3, "graph")
        assert np.bincount(self.dataset.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
        for graph in self.dataset[:50]:
            assert is_undirected(graph.edge_index)
            assert not graph.has_self_loops()
            assert graph.is_coalesced()
            assert 0 <= graph.x.min() <= graph.x.max() <= 1
            assert (graph.x[:, 0] > 0).all()
            offset = (graph.x[graph.edge_index[0], 1:] - graph.x[graph.edge_index[1], 1:]).abs() * 7
            assert offset.amax(dim=1).tolist() == pytest.approx([1.0] * graph.num_edges)
            pixels = {tuple(pixel) for pixel in (graph.x[:, 1:] * 7).round().int().tolist()}
            inked = sum((a + i, b + j) in pixels for a, b in pixels for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
            assert graph.num_edges == inked

    def test_go_into_a_pyg_loader(self):
        batch = next(iter(DataLoader(self.dataset.graphs, batch_size=5)))
        assert batch.num_graphs == 5
        assert batch.y.tolist() == [0, 1, 2, 3, 4]


class TestLongRange:
    def test_is_the_same_for_the_same_seed_and_balanced(self):
        one, other, third = long_range(40), long_range(40), long_range(40, seed=1)
        assert all(torch.equal(a.x, b.x) and torch.equal(a.edge_index, b.edge_index) for a, b in zip(one, other, strict=True))
        assert any(not torch.equal(a.x, b.x) for a, b in zip(one, third, strict=True))
        assert np.bincount(one.labels).tolist() == [20, 20]

    @pytest.mark.parametrize("distance", [2, 7, 10])
    def test_the_class_says_whether_the_wires_are_crossed(self, distance):
        for data in long_range(20, distance=distance, twigs=0):
            graph = nx.Graph(data.edge_index.T.tolist())
            wires = [sorted(wire, key=lambda v: -data.x[v, 0].item()) for wire in nx.connected_components(graph)]
            assert [len(wire) for wire in wires] == [distance + 1] * 2
            for wire in wires:
                plug = wire[0]
                socket = next(v for v in wire if data.x[v, 1] == 1)
                assert nx.shortest_path_length(graph, plug, socket) == distance
                assert torch.equal(data.x[plug, 2:4], data.x[socket, 2:4]) == (int(data.y) == 0)

    @pytest.mark.parametrize("distance", [6, 7])
    def test_neighbourhoods_below_half_the_distance_do_not_tell_the_classes_apart(self, distance):
        """Weisfeiler-Lehman colours after r rounds see radius r: the same in both classes until 2 r >= distance."""

        def colours(data, rounds):
            graph = nx.Graph(data.edge_index.T.tolist())
            nx.set_node_attributes(graph, {v: str(data.x[v, :4].tolist()) for v in graph}, "mark")
            return nx.weisfeiler_lehman_graph_hash(graph, node_attr="mark", iterations=rounds)

        data = long_range(12, distance=distance, twigs=0)
        reach = -(-distance // 2)
        assert len({colours(graph, reach - 1) for graph in data}) == 1
        assert {int(graph.y): colours(graph, reach) for graph in data}.keys() == {0, 1}
        assert len({(int(graph.y), colours(graph, reach)) for graph in data}) == len({colours(graph, reach) for graph in data}) == 2

    def test_the_name_carries_the_distance(self):
        assert load("long-range")[0].num_nodes == 25
        assert load("long_range:24").source == "generated, distance=24, seed=0"
        with pytest.raises(ValueError, match=r"`distance` must be a whole number, at least 2 \(got 1\)"):
            load("long-range:1")


class TestRoots:
    def test_the_argument_goes_before_the_variable_and_the_cache_comes_last(self, tmp_path, monkeypatch, cache):
        monkeypatch.setenv("GRAPH2TENS_DATA", str(tmp_path / "variable"))
        assert data_roots() == [tmp_path / "variable", cache / "datasets"]
        assert data_roots(tmp_path / "argument") == [tmp_path / "argument", cache / "datasets"]
        monkeypatch.delenv("GRAPH2TENS_DATA")
        assert data_roots() == [cache_root()] == [cache / "datasets"]

    def test_the_variable_is_used(self, tmp_path, monkeypatch):
        write_tu(tmp_path / "TOY" / "raw")
        monkeypatch.setenv("GRAPH2TENS_DATA", str(tmp_path))
        assert load("TOY").source == str(tmp_path / "TOY" / "raw")

    def test_a_folder_of_the_working_directory_needs_no_slash(self, tmp_path, monkeypatch):
        write_tu(tmp_path / "mine")
        monkeypatch.chdir(tmp_path)
        assert load("mine").name == "TOY"

    @pytest.mark.parametrize(
        ("name", "files"),
        [("NOSUCH", "NOSUCH_A.txt, NOSUCH_graph_indicator.txt, NOSUCH_graph_labels.txt"), ("cora", "ind.cora.x, ind.cora.tx")],
    )
    def test_without_network_the_error_says_which_files_go_where(self, tmp_path, cache, name, files):
        home = {"cora": "Cora"}.get(name, name)
        with pytest.raises(DataError) as caught:
            load(name, tmp_path)
        message = str(caught.value)
        assert "\n" not in message
        assert f"put the files {files}" in message
        assert f"into {tmp_path / home / 'raw'}" in message
        assert "Cannot connect to https://" in message
        assert not list(tmp_path.iterdir())
        assert not cache_root().exists()

    def test_downloads_go_to_the_cache_and_are_found_there(self, tmp_path, monkeypatch):
        given = tmp_path / "given"
        given.mkdir()
        given.chmod(stat.S_IREAD | stat.S_IEXEC)
        calls = []

        def download(urls, folder):
            calls.extend(urls)
            write_tu(folder / "TOY")  # as the zip files unpack

        monkeypatch.setattr(roots, "_download", download)
        assert load("TOY", given).source == load("TOY", given).source == str(cache_root() / "TOY" / "raw")
        assert calls == ["https://www.chrsmrrs.com/graphkerneldatasets/TOY.zip"]
        assert sorted(path.name for path in (cache_root() / "TOY").iterdir()) == ["raw"]
        assert not list(given.iterdir())

    def test_an_incomplete_download_leaves_nothing(self, monkeypatch):
        monkeypatch.setattr(roots, "_download", lambda urls, folder: write_tu(folder, graph_labels=None))
        with pytest.raises(DataError, match=r"TOY_graph_labels.txt is not among the downloaded files"):
            load("TOY")
        assert not cache_root().exists()

    def test_a_spoilt_download_of_pickles_is_not_kept(self, tmp_path, monkeypatch):
        def download(urls, folder):
            for url in urls:
                (folder / url.rsplit("/", 1)[1]).write_bytes(pickle.dumps(Malicious(tmp_path / "harmed")))

        monkeypatch.setattr(roots, "_download", download)
        with pytest.raises(DataError, match=r"could it be downloaded \(.*ind.cora.x: SHA-256"):
            load("Cora")
        assert not cache_root().exists()
        assert not (tmp_path / "harmed").exists()

    @needs("Cora")
    def test_downloaded_pickles_are_used(self, monkeypatch):
        def download(urls, folder):
            assert all(url.startswith("https://github.com/kimiyoung/planetoid/raw/master/data/ind.cora.") for url in urls)
            for url in urls:
                shutil.copyfile(Path(DATA) / "Cora" / "raw" / url.rsplit("/", 1)[1], folder / url.rsplit("/", 1)[1])

        monkeypatch.setattr(roots, "_download", download)
        assert load("Cora").source == load("Cora").source == str(cache_root() / "Cora" / "raw")

    def test_a_root_that_cannot_be_listed_is_an_error_of_one_line(self, tmp_path, monkeypatch):
        def refuse(self):
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "iterdir", refuse)
        with pytest.raises(DataError, match=r"cannot be read \(Permission denied\)"):
            load("TOY", tmp_path)

    def test_built_in_names(self):
        assert BUILT_IN == ("digits", "long-range")


class Malicious:
    """Pickled, it makes a folder when it is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


class TestCitationFilesArePickles:
    def test_a_file_with_another_hash_is_not_opened(self, tmp_path):
        folder = tmp_path / "Cora" / "raw"
        folder.mkdir(parents=True)
        for file in citation.file_names("Cora"):
            (folder / file).write_bytes(pickle.dumps(Malicious(tmp_path / "harmed")))
        with pytest.raises(DataError, match=r"ind.cora.x: SHA-256 is \w{64}, not 23cfa55d\w+; the file is a pickle .* not opened"):
            load("Cora", tmp_path)
        assert not (tmp_path / "harmed").exists()

    def test_no_class_but_the_few_that_are_needed_is_found_either(self, tmp_path):
        with pytest.raises(pickle.UnpicklingError, match="mkdir has no business"):
            citation._unpickle(pickle.dumps(Malicious(tmp_path / "harmed")))
        assert not (tmp_path / "harmed").exists()

    def test_a_missing_file_is_named(self, tmp_path):
        (tmp_path / "ind.cora.allx").write_bytes(b"")
        with pytest.raises(DataError, match=r"ind.cora.x: cannot be read \(No such file or directory\)"):
            load("cora", tmp_path)

    @needs("CiteSeer")
    def test_one_flipped_bit_is_enough(self, tmp_path):
        shutil.copytree(Path(DATA) / "CiteSeer" / "raw", tmp_path / "CiteSeer", copy_function=shutil.copyfile)
        path = tmp_path / "CiteSeer" / "ind.citeseer.graph"
        content = bytearray(path.read_bytes())
        content[1000] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataError, match=re.escape("ind.citeseer.graph: SHA-256")):
            load("CiteSeer", tmp_path)

    @pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in citation.NAMES.values()])
    def test_the_graph_is_that_of_pyg(self, tmp_path, name):
        (tmp_path / name).mkdir()
        (tmp_path / name / "raw").symlink_to(Path(DATA) / name / "raw")
        expected = Planetoid(str(tmp_path), name)[0]
        dataset = load(name.upper(), DATA)
        data = dataset[0]
        assert (dataset.task, dataset.num_classes) == ("node", int(expected.y.max()) + 1)
        assert torch.equal(data.x, expected.x)
        assert torch.equal(data.y, expected.y)
        assert torch.equal(data.edge_index, sort_edge_index(expected.edge_index))
        assert is_undirected(data.edge_index)
        assert data.is_coalesced()


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in ("NCI1", "NCI109")])
def test_the_molecules_are_those_of_pyg(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "raw").symlink_to(Path(DATA) / name / "raw")
    expected = TUDataset(str(tmp_path), name)
    dataset = load(name.lower(), DATA)
    assert (len(dataset), dataset.num_features, dataset.num_classes) == (len(expected), expected.num_features, expected.num_classes)
    for one, other in zip(dataset, expected, strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.edge_index, other.edge_index)
        assert torch.equal(one.y, other.y)


def test_a_file_in_the_place_of_a_data_set_is_told_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("new.csv").write_text("smiles\nCCO\n")
    for name in ("new.csv", "./new.csv", tmp_path / "new.csv"):
        with pytest.raises(DataError, match=r"new\.csv: is a file, where a data set is a name or a folder.*`graph2tens fit`"):
            load(name)
