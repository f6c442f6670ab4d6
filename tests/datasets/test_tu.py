"""TU folders: what is written is what is read; what is wrong is named with its file and line; nothing is ever written."""

from __future__ import annotations

import json
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tu_folders import SMALL, spoilt, write_tu

from graph2tens.datasets import DataError, Encoding, load
from graph2tens.datasets.indicators import degree_attributes
from graph2tens.datasets.tu import read_tu_folder
from graph2tens.sklearn import GraphTensFeatures


@st.composite
def collections(draw):
    """Graphs as (labels, attributes, edges), each with at least one node, and at least one edge in all."""
    graphs = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 4))
        node = st.integers(0, n - 1)
        edges = draw(st.lists(st.tuples(node, node), max_size=6))
        labels = draw(st.lists(st.sampled_from([-2, 0, 5]), min_size=n, max_size=n))
        values = draw(st.lists(st.floats(-1e3, 1e3, width=32), min_size=n, max_size=n))
        graphs.append((labels, values, edges, draw(st.sampled_from([-1, 1, 4]))))
    if not any(edges for _, _, edges, _ in graphs):
        labels, values, _, y = graphs[0]
        graphs[0] = (labels, values, [(0, 0)], y)
    return graphs


@given(collections(), st.randoms(use_true_random=False), st.sampled_from([",", ", ", " , ", "  "]), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_what_is_written_is_what_is_read_whatever_the_order_of_nodes(graphs, random, comma, end):
    owners = [g for g, (labels, *_) in enumerate(graphs) for _ in labels]
    places = list(range(len(owners)))
    random.shuffle(places)  # the file lists the nodes of all graphs in any order
    where = {place: number for number, place in enumerate(places, 1)}
    starts = np.cumsum([0] + [len(labels) for labels, *_ in graphs])
    edges = [f"{where[starts[g] + i]}{comma}{where[starts[g] + j]}" for g, (_, _, pairs, _) in enumerate(graphs) for i, j in pairs]
    flat_labels = [label for labels, *_ in graphs for label in labels]
    flat_values = [value for _, values, *_ in graphs for value in values]
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_tu(
            Path(temporary) / "ANY",
            end=end,
            A=edges,
            graph_indicator=[str(owners[place] + 1) for place in places],
            graph_labels=[str(y) for *_, y in graphs],
            node_labels=[str(flat_labels[place]) for place in places],
            node_attributes=[repr(flat_values[place]) for place in places],
        )
        dataset = read_tu_folder(folder)
    assert dataset.class_names == tuple(str(y) for y in sorted({y for *_, y in graphs}))
    for g, (labels, values, pairs, y) in enumerate(graphs):
        # the nodes of a graph keep the order of the file
        order = sorted(range(len(labels)), key=lambda i: where[starts[g] + i])
        new = {old: i for i, old in enumerate(order)}
        data = dataset[g]
        assert dataset.class_names[int(data.y)] == str(y)
        assert data.x[:, 0].tolist() == [np.float32(values[i]) for i in order]
        known = dataset.encoding.node_labels[0]
        assert [known[k] for k in data.x[:, 1:].argmax(1)] == [labels[i] for i in order]
        assert [tuple(pair) for pair in data.edge_index.T.tolist()] == sorted({(new[i], new[j]) for i, j in pairs if i != j})


def test_labels_become_indicators_and_classes_are_numbered_in_ascending_order(tmp_path):
    dataset = load(write_tu(tmp_path / "own"))
    assert repr(dataset) == "GraphDataset('TOY', 6 graphs, num_features=2, num_classes=2)"
    assert dataset.encoding.node_labels == ((3, 7),)
    assert dataset.class_names == ("-1", "1")
    assert dataset.labels.tolist() == [1, 0, 1, 0, 1, 0]
    assert dataset[0].x.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert dataset[0].edge_index.tolist() == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    assert dataset[5].num_nodes == 2
    assert dataset[5].num_edges == 0


def test_several_labels_and_attributes_stand_side_by_side(tmp_path):
    n = len(SMALL["graph_indicator"])
    labels = [f"{i % 2}, {10 * (i % 3)}" for i in range(n)]
    dataset = load(write_tu(tmp_path / "own", node_labels=labels, node_attributes=[f"{i}.5, -1e-3" for i in range(n)]))
    assert dataset.num_features == 2 + 2 + 3
    assert dataset.encoding.num_attributes == 2
    assert dataset[1].x[0].tolist() == pytest.approx([3.5, -1e-3, 0, 1, 1, 0, 0])


def test_edge_labels_and_attributes_follow_their_edges(tmp_path):
    count = len(SMALL["A"])
    folder = write_tu(tmp_path / "own", edge_labels=[str(i % 2) for i in range(count)], edge_attributes=[str(i) for i in range(count)])
    data = load(folder)[0]
    pairs = {tuple(pair): row.tolist() for pair, row in zip(data.edge_index.T.tolist(), data.edge_attr, strict=True)}
    assert pairs == {
        (0, 1): [0, 1, 0],
        (1, 0): [1, 0, 1],
        (1, 2): [2, 1, 0],
        (2, 1): [3, 0, 1],
        (0, 2): [4, 1, 0],
        (2, 0): [5, 0, 1],
    }


def test_graphs_without_labels_and_attributes_are_described_by_degrees(tmp_path):
    dataset = load(write_tu(tmp_path / "own", node_labels=None))
    assert dataset.encoding.degrees
    assert dataset[3].x.argmax(dim=1).tolist() == [1, 2, 1]
    columns = degree_attributes(np.array([0, 1, 31, 32, 63, 64, 1023, 1024, 10**6])).argmax(axis=1)
    assert columns.tolist() == [0, 1, 31, 32, 32, 33, 36, 37, 37]


def test_columns_of_degrees_have_names(tmp_path):
    data = load(write_tu(tmp_path / "BARE", "BARE", node_labels=None))
    names = data.encoding.column_names
    assert len(names) == len(set(names)) == data.num_features
    of_degrees = degree_attributes(np.array([3, 31, 32, 100, 5000])).argmax(1)
    assert [names[place] for place in of_degrees] == ["degree=3", "degree=31", "degree=32..63", "degree=64..127", "degree=1024.."]


def test_of_very_many_labels_the_most_frequent_ones_are_used(tmp_path):
    n = 1500
    folder = write_tu(
        tmp_path / "own",
        A=["1, 2", "2, 1"],
        graph_indicator=["1"] * n,
        graph_labels=["0"],
        node_labels=[*(str(i) for i in range(n - 2)), "1400", "1400"],
    )
    with pytest.warns(UserWarning, match="of 1498 labels the 1000 most frequent ones are used"):
        dataset = load(folder)
    assert dataset.num_features == 1000
    assert 1400 in dataset.encoding.node_labels[0]
    assert dataset[0].x[-1].sum() == 1
    assert dataset[0].x[1200].sum() == 0


@pytest.mark.parametrize("layout", ["TOY/raw", "TOY", "."])
def test_a_root_holds_name_raw_or_name_or_the_files(tmp_path, layout):
    write_tu(tmp_path / layout)
    assert load("TOY", tmp_path).name == load("toy", tmp_path).name == "TOY"


def test_quirks_of_real_files_do_not_matter(tmp_path):
    expected = load(write_tu(tmp_path / "plain"))
    files = {kind: [line.replace(", ", ",") for line in lines] for kind, lines in SMALL.items()}
    files["A"] += ["", "  ", ""]
    files["graph_labels"] = [f"{line}.0" for line in files["graph_labels"]]
    files["node_labels"][0] = "\ufeff" + files["node_labels"][0]
    quirky = load(write_tu(tmp_path / "quirky", end="\r\n", **files))
    for one, other in zip(expected, quirky, strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.edge_index, other.edge_index)
        assert torch.equal(one.y, other.y)


BAD = {
    "missing_indicator": ({"graph_indicator": None}, r"TOY_graph_indicator.txt: no such file"),
    "missing_labels": ({"graph_labels": None}, r"TOY_graph_labels.txt: no such file"),
    "missing_edges": ({"A": None}, r"TOY_A.txt: no such file"),
    "truncated_line": ({"A": [*SMALL["A"][:-1], "13,"]}, r"TOY_A.txt:20: 2 values expected \(got 1\); is the file truncated"),
    "truncated_edges": ({"A": SMALL["A"][:17]}, r"TOY_A.txt:17: the file ends inside graph 4: .* is the file truncated"),
    "truncated_indicator": ({"graph_indicator": SMALL["graph_indicator"][:7]}, r"TOY_graph_indicator.txt: graph 4 has no nodes"),
    "truncated_labels": ({"graph_labels": ["1", "-1"]}, r"TOY_graph_indicator.txt:7: node 7 belongs to graph 3, but .*_labels.txt has 2 l"),
    "truncated_node_labels": ({"node_labels": SMALL["node_labels"][:-1]}, r"TOY_node_labels.txt: 14 lines for the 15 nodes"),
    "too_many_attributes": ({"node_attributes": ["1"] * 16}, r"TOY_node_attributes.txt: 16 lines for the 15 nodes .* too many"),
    "truncated_edge_labels": ({"edge_labels": ["1"] * 19}, r"TOY_edge_labels.txt: 19 lines for the 20 edges"),
    "no_such_node": (spoilt("A", 5, "1, 99"), r"TOY_A.txt:5: edge to node 99, which does not exist: .* lists 15 nodes"),
    "node_zero": (spoilt("A", 5, "0, 3"), r"TOY_A.txt:5: edge to node 0, .* numbered from 1"),
    "between_graphs": (spoilt("A", 5, "1, 4"), r"TOY_A.txt:5: edge from node 1 of graph 1 to node 4 of graph 2"),
    "graph_zero": (spoilt("graph_indicator", 1, "0"), r"TOY_graph_indicator.txt:1: node 1 belongs to graph 0 \(graphs are numbered from 1"),
    "empty_graph": ({"graph_labels": [*SMALL["graph_labels"], "1"]}, r"TOY_graph_indicator.txt: graph 7 has no nodes"),
    "no_nodes": ({"graph_indicator": []}, r"TOY_graph_indicator.txt: lists no nodes"),
    "nan": ({"node_attributes": [*["0.5"] * 8, "", "nan", *["1"] * 6]}, r"TOY_node_attributes.txt:10: value 1 is nan, not a finite number"),
    "infinite": ({"node_attributes": [*["0.5, 1"] * 14, "1, 1e99"]}, r"TOY_node_attributes.txt:15: value 2 is 1e\+99, not a finite"),
    "word": ({"node_attributes": [*["0.5"] * 3, "heavy", *["1"] * 11]}, r"TOY_node_attributes.txt:4: 'heavy' is not a number"),
    "words": (
        {"node_labels": ["C"] * 15},
        r"TOY_node_labels.txt:1: 'C' is not a number; labels are numbers .*write_tu gives them to words",
    ),
    "ragged": ({"node_attributes": [*["0.5, 1"] * 3, "1", *["1, 1"] * 11]}, r"TOY_node_attributes.txt:4: 2 values expected \(got 1\)"),
    "three_ends": ({"A": ["1, 2, 3"] * 4}, r"TOY_A.txt:1: 2 values expected \(got 3\)"),
    "fraction": (spoilt("node_labels", 2, "1.5"), r"TOY_node_labels.txt:2: 1.5 where a whole number is expected"),
    "target": (spoilt("graph_labels", 3, "0.25"), r"TOY_graph_labels.txt:3: 0.25 where a whole number .*GraphTensRegressor"),
    "semicolon": (spoilt("A", 1, "1;2"), r"TOY_A.txt:1: '1;2' is not a number; numbers are separated by commas or blanks"),
}


@pytest.mark.parametrize(("files", "complaint"), [pytest.param(*case, id=name) for name, case in BAD.items()])
def test_bad_files_are_named_with_their_line_and_nothing_is_written(tmp_path, files, complaint):
    folder = write_tu(tmp_path / "TOY", **files)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(DataError, match=complaint) as caught:
        load(folder)
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_edgeless_graphs_at_the_end_are_read_with_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="last 4 graphs have no edges; is the file truncated"):
        dataset = load(write_tu(tmp_path / "own", A=SMALL["A"][:12]))
    assert [graph.num_edges for graph in dataset] == [6, 6, 0, 0, 0, 0]


@pytest.mark.parametrize(("backwards", "numbers"), [(False, "higher"), (True, "lower")])
def test_undirected_edges_that_are_listed_once_are_a_warning(tmp_path, backwards, numbers):
    once = [line for line in SMALL["A"] if (int(line.split(", ")[0]) > int(line.split(", ")[1])) == backwards]
    with pytest.warns(UserWarning, match=f"TOY_A.txt: all edges lead to {numbers} numbers, .* list both directions"):
        load(write_tu(tmp_path / "own", A=once))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(write_tu(tmp_path / "both"))
        load(write_tu(tmp_path / "ring", A=[*once[:-1], ", ".join(once[-1].split(", ")[::-1])]))


def test_directed_graphs_are_not_taken_for_truncated_ones(tmp_path):
    dataset = load(write_tu(tmp_path / "own", A=SMALL["A"][::2]))
    assert [graph.num_edges for graph in dataset] == [3, 3, 1, 2, 1, 0]


def test_a_folder_without_data_says_what_goes_there(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(
        DataError, match=r"mine: holds no data in the TU format; put mine_A.txt, mine_graph_indicator.txt, mine_graph_labels"
    ):
        load(tmp_path / "mine")
    with pytest.raises(DataError, match="yours: no such folder"):
        load(tmp_path / "yours")
    write_tu(tmp_path / "two", name="ONE")
    write_tu(tmp_path / "two", name="OTHER")
    with pytest.raises(DataError, match=r"several data sets \(ONE, OTHER\)"):
        load(tmp_path / "two")


class TestOtherFilesEncodedLikeTheTrainingData:
    encoding = Encoding(node_labels=((3, 7, 9),), classes=(-1, 0, 1))

    def test_columns_and_classes_follow_the_encoding(self, tmp_path):
        dataset = load(write_tu(tmp_path / "own"), encoding=self.encoding)
        assert (dataset.num_features, dataset.num_classes) == (3, 3)
        assert dataset.labels.tolist() == [2, 0, 2, 0, 2, 0]

    def test_it_survives_json(self):
        assert TypeAdapter(Encoding).validate_json(json.dumps(asdict(self.encoding)), strict=True) == self.encoding

    def test_unknown_labels_have_no_indicator(self, tmp_path):
        with pytest.warns(UserWarning, match="labels 4 do not occur in the training data"):
            dataset = load(write_tu(tmp_path / "own", **spoilt("node_labels", 2, "4")), encoding=self.encoding)
        assert dataset[0].x[1].tolist() == [0, 0, 0]

    def test_graphs_to_predict_need_no_labels(self, tmp_path):
        dataset = load(write_tu(tmp_path / "own", graph_labels=None), encoding=self.encoding)
        assert dataset[0].y is None
        with pytest.raises(DataError, match="no labels"):
            _ = dataset.labels

    def test_what_does_not_fit_is_refused(self, tmp_path):
        with pytest.raises(DataError, match=r"TOY_graph_labels.txt:3: class 8 is not one of the classes the model knows \(-1, 0, 1\)"):
            load(write_tu(tmp_path / "class", **spoilt("graph_labels", 3, "8")), encoding=self.encoding)
        with pytest.raises(DataError, match=r"TOY_node_labels.txt: 1 labels per node expected, .* \(got 0\)"):
            load(write_tu(tmp_path / "labels", node_labels=None), encoding=self.encoding)
        with pytest.raises(DataError, match=r"TOY_node_attributes.txt: 0 attributes per node expected, .* \(got 1\)"):
            load(write_tu(tmp_path / "attributes", node_attributes=["1"] * 15), encoding=self.encoding)

    def test_degrees_are_used_again_even_if_there_are_labels(self, tmp_path):
        unlabelled = load(write_tu(tmp_path / "without", node_labels=None))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            other = load(write_tu(tmp_path / "with"), encoding=unlabelled.encoding)
        assert torch.equal(other[0].x, unlabelled[0].x)


def test_graphs_without_any_edge_are_data_too(tmp_path):
    with pytest.warns(UserWarning, match="TOY_A.txt: lists no edges for 15 nodes; is the file truncated"):
        data = read_tu_folder(write_tu(tmp_path, A=[]))
    assert len(data) == 6
    assert all(graph.edge_index.shape == (2, 0) for graph in data)
    table = GraphTensFeatures(n_layers=1, n_functionals=4, n_waves=4, random_state=0).fit_transform(data.graphs)
    assert np.isfinite(table).all()


def test_the_message_about_missing_files_names_the_optional_ones(tmp_path):
    with pytest.raises(DataError, match=r"mine_graph_labels.txt there, and if the data has them mine_node_labels.txt"):
        load((tmp_path / "mine").mkdir() or tmp_path / "mine")
