"""Edges as nodes: what a network is given, what `train` says and uses, and that `predict` encodes other data alike."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter
from tu_folders import SMALL, write_tu
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.datasets import DataError, Encoding, edges_as_nodes, has_edge_attributes, load


def rings(folder: Path, name: str, count: int, *, seed: int, labels: bool = True) -> Path:
    """Rings whose nodes are all alike; in class 0 most edges have label 1, in class 1 most have label 2."""
    rng = np.random.default_rng(seed)
    files: dict[str, list[str]] = {"A": [], "graph_indicator": [], "graph_labels": [], "node_labels": [], "edge_labels": []}
    for graph in range(count):
        first, size = len(files["node_labels"]), int(rng.integers(4, 7))
        for place in range(size):
            i, j = first + 1 + place, first + 1 + (place + 1) % size
            files["A"] += [f"{i}, {j}", f"{j}, {i}"]
            files["edge_labels"] += 2 * [str(1 + int(rng.random() < (0.1, 0.9)[graph % 2]))]
        files["graph_indicator"] += size * [str(graph + 1)]
        files["node_labels"] += size * ["0"]
        files["graph_labels"].append(str(graph % 2))
    return write_tu(folder, name, **{**files, **({} if labels else {"graph_labels": None})})


def test_every_edge_is_a_node_between_its_ends(tmp_path: Path):
    labels = [str(1 + place // 2 % 2) for place in range(len(SMALL["A"]))]
    plain = load(write_tu(tmp_path / "TOY", edge_labels=labels))
    assert has_edge_attributes(plain)
    data = edges_as_nodes(plain)
    first, divided = plain.graphs[0], data.graphs[0]  # a triangle: three nodes, three edges
    assert (divided.num_nodes, divided.edge_index.size(1)) == (6, 12)
    assert data.num_features == divided.x.size(1) == 4
    torch.testing.assert_close(divided.x[:3], torch.cat([first.x, torch.zeros(3, 2)], 1))
    assert (divided.x[3:, :2] == 0).all()
    assert (divided.x[3:, 2:].sum(1) == 1).all()
    assert (data.labels == plain.labels).all()
    assert data.encoding.column_names + data.encoding.edge_column_names == ["label=3", "label=7", "edge_label=1", "edge_label=2"]
    assert TypeAdapter(Encoding).validate_json(json.dumps(asdict(data.encoding)), strict=True) == data.encoding


def test_directed_graphs_keep_their_directions(tmp_path: Path):
    lines = SMALL["A"][::2]
    data = edges_as_nodes(load(write_tu(tmp_path / "TOY", A=lines, edge_labels=["1"] * len(lines))))
    assert data.encoding.edges == "directed"
    assert data.graphs[0].edge_index.size(1) == 2 * 3


def test_data_without_edge_labels_is_refused_by_name(tmp_path: Path):
    with pytest.raises(DataError, match="TOY: has no file of edge labels"):
        edges_as_nodes(load(write_tu(tmp_path / "TOY")))


def test_prediction_wants_the_same_files(tmp_path: Path):
    encoding = edges_as_nodes(load(rings(tmp_path / "one", "one", 6, seed=0))).encoding
    other = load(rings(tmp_path / "two", "two", 4, seed=1), encoding=encoding)
    assert other.num_features == 3
    (tmp_path / "two" / "two_edge_labels.txt").unlink()
    with pytest.raises(DataError, match=r"two_edge_labels.txt: 1 labels per edge expected, .* \(got 0\)"):
        load(tmp_path / "two", encoding=encoding)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_train_reads_edges_says_so_and_predict_does_too(tmp_path: Path):
    data, other = rings(tmp_path / "mine", "mine", 60, seed=0), rings(tmp_path / "new", "new", 30, seed=1, labels=False)
    small = ["--epochs=25", "--width=8", "--layers=1", "--learning-rate=0.01", "--batch-size=16", "--threads=1", "--no-report"]
    said = run("train", str(data), "--out", str(tmp_path / "with"), *small)
    assert "edges by labels with 2 values" in " ".join(said.split())
    assert "but not used" not in said
    record = json.loads((tmp_path / "with" / "record.json").read_text())
    assert record["validation_accuracy"] + record["test_accuracy"] >= 1.8  # nothing else tells the classes apart
    table = tmp_path / "said.csv"
    run("predict", str(tmp_path / "with"), "--data", str(other), "--out", str(table))
    answers = [row["class"] for row in csv.DictReader(io.StringIO(table.read_text()))]
    assert np.mean([int(answer) == number % 2 for number, answer in enumerate(answers)]) > 0.8

    said = run("train", str(data), "--no-edges", "--out", str(tmp_path / "without"), *small)
    assert "are there, but not used" in " ".join(said.split())
    without = json.loads((tmp_path / "without" / "record.json").read_text())
    assert without["variant"] == "no edges"
    # what reads edges and what does not, `classify` among it, stand in one table of `report` and are paired
    for mark in ("fingerprint", "test_part"):
        assert record["judged"][mark] == without["judged"][mark]
    assert record["judged"]["fingerprint"] == load(data).fingerprint()


@pytest.mark.parametrize(
    ("arguments", "reason"), [(["digits"], "says nothing about its edges"), (["digits", "--model", "GIN"], "its authors")]
)
def test_edges_that_cannot_be_read_are_wrong_usage(arguments: list[str], reason: str):
    result = CliRunner().invoke(app, ["train", *arguments, "--edges"])
    assert result.exit_code == 2
    assert reason in " ".join(result.output.replace("│", " ").split())
