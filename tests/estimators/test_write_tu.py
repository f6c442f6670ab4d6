"""Graphs from networkx and PyG to a TU folder and back: nothing is lost on the way, and commands read it."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import TUDataset
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.datasets import load
from graph2tens.sklearn import GraphTensFeatures, read_networkx, write_tu


def molecules() -> list[nx.Graph]:
    graphs = []
    for size in range(3, 11):
        graph = nx.cycle_graph(size) if size % 2 else nx.path_graph(size)
        for node in graph:
            graph.nodes[node].update(element="CNO"[node % 3], charge=0.25 * node)
        for i, j in graph.edges:
            graph.edges[i, j]["order"] = "double" if (i + j) % 2 else "single"
        graphs.append(graph)
    return graphs


def test_networkx_graphs_come_back_with_all_they_had(tmp_path: Path):
    graphs = molecules()
    read = read_networkx(graphs, node_label="element", edge_label="order", node_attributes=["charge"])
    folder = write_tu(tmp_path / "mine", read, ["ring" if len(graph) % 2 else "chain" for graph in graphs])
    data = load(folder)
    assert [graph.num_nodes for graph in data.graphs] == [len(graph) for graph in graphs]
    assert [graph.edge_index.size(1) for graph in data.graphs] == [2 * graph.number_of_edges() for graph in graphs]
    assert data.labels.tolist() == [len(graph) % 2 for graph in graphs]  # chain before ring
    np.testing.assert_allclose(data.graphs[2].x[:, 0], [0.25 * node for node in range(5)])
    assert data.graphs[2].x[:, 1:].argmax(1).tolist() == [0, 1, 2, 0, 1]
    assert data.encoding.edge_labels == ((0, 1),)
    notes = (folder / "mine_readme.txt").read_text()
    assert "Classes: 0 is chain, 1 is ring" in notes
    assert "Labels of nodes: 0 is C, 1 is N, 2 is O" in notes


def test_features_of_what_was_written_are_those_of_the_graphs(tmp_path: Path):
    rng = np.random.default_rng(0)
    graphs = [
        Data(x=torch.tensor(rng.normal(size=(n, 2))), edge_index=torch.tensor(list(nx.cycle_graph(n).to_directed().edges)).T)
        for n in (4, 5, 6)
    ]
    options = {"n_layers": 2, "n_functionals": 8, "n_waves": 8, "random_state": 0}
    want = GraphTensFeatures(**options).fit_transform(graphs)
    got = GraphTensFeatures(**options).fit_transform(load(write_tu(tmp_path / "mine", graphs, [0, 1, 0])).graphs)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_pyg_reads_the_folder_too(tmp_path: Path):
    write_tu(tmp_path / "mine" / "raw", molecules(), [0, 1] * 4)
    for path in (tmp_path / "mine" / "raw").iterdir():
        path.rename(path.with_name(path.name.replace("raw_", "mine_")))
    data = TUDataset(str(tmp_path), "mine")
    assert [graph.num_nodes for graph in data] == list(range(3, 11))


def test_train_takes_the_folder(tmp_path: Path):
    graphs = molecules() * 5
    folder = write_tu(
        tmp_path / "mine", read_networkx(graphs, node_label="element", edge_label="order", node_attributes=["charge"]), [0, 1] * 20
    )
    options = ["--epochs=1", "--width=4", "--layers=1", "--threads=1", "--no-report", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, ["train", str(folder), *options])
    assert result.exit_code == 0, result.output


def test_an_earlier_data_set_leaves_no_files_behind(tmp_path: Path):
    write_tu(tmp_path / "mine", read_networkx(molecules(), node_label="element"), [0, 1] * 4)
    write_tu(tmp_path / "mine", [nx.path_graph(3), nx.path_graph(4)])
    left = [f"mine_{kind}" for kind in ("A.txt", "graph_indicator.txt", "numbers.json", "readme.txt")]
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == left


def test_weights_become_attributes_and_self_loops_are_refused(tmp_path: Path):
    weighted = nx.Graph([(0, 1, {"weight": 2.5}), (1, 2, {"weight": 1.0})])
    data = load(write_tu(tmp_path / "mine", [weighted, weighted], [0, 1]))
    assert data.graphs[0].edge_attr[:, 0].tolist() == [2.5, 2.5, 1.0, 1.0]
    with pytest.raises(ValueError, match="graph 0 of `graphs` must have no self-loops"):
        write_tu(tmp_path / "other", [nx.Graph([(0, 0), (0, 1)])])
    mixed = [nx.path_graph(2), nx.path_graph(2)]
    nx.set_node_attributes(mixed[0], "C", "label")
    with pytest.raises(ValueError, match="graph 1 of `graphs` must have labels"):
        write_tu(tmp_path / "other", mixed)


def test_labels_keep_the_numbers_of_another_folder(tmp_path: Path):
    def atoms(text: str) -> nx.Graph:
        graph = nx.path_graph(len(text))
        nx.set_node_attributes(graph, dict(enumerate(text)), "label")
        return graph

    write_tu(tmp_path / "mine", [atoms("CNO"), atoms("CC")], ["toxic", "harmless"])
    alone = write_tu(tmp_path / "alone", [atoms("NOF")])
    others = write_tu(tmp_path / "others", [atoms("NOF")], ["toxic"], like=tmp_path / "mine")
    assert (alone / "alone_node_labels.txt").read_text().split() == ["1", "2", "0"]
    assert (others / "others_node_labels.txt").read_text().split() == ["1", "2", "3"]  # fluorine is new, so it comes last
    assert (others / "others_graph_labels.txt").read_text().split() == ["1"]
    assert "Labels of nodes: 0 is C, 1 is N, 2 is O, 3 is F" in (others / "others_readme.txt").read_text()
    again = write_tu(tmp_path / "again", [atoms("FC")], like=others)
    assert (again / "again_node_labels.txt").read_text().split() == ["3", "0"]


def test_what_is_wrong_with_another_folder_is_named(tmp_path: Path):
    graph = nx.path_graph(2)
    with pytest.raises(ValueError, match="`like` must be a folder that write_tu has written"):
        write_tu(tmp_path / "mine", [graph], like=tmp_path / "nowhere")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "odd_numbers.json").write_text('{"Classes": [1]}')
    with pytest.raises(ValueError, match="no lists of texts"):
        write_tu(tmp_path / "mine", [graph], like=tmp_path / "odd")
    nx.set_node_attributes(graph, {0: "1", 1: 1}, "label")
    with pytest.raises(ValueError, match="'1' of two types"):
        write_tu(tmp_path / "mine", [graph])
