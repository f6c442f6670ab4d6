"""`graph2tens predict` writes and prints what it was asked to, in every combination."""

from __future__ import annotations

import csv
import io
import json
import shutil

import networkx as nx
import pytest
from small_data import write_tu_folder
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.sklearn import write_tu

SMALL = ["--epochs", "1", "--width", "4", "--layers", "1", "--walk-length", "2", "--batch-size", "16", "--threads", "1", "--no-report"]


def call(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    data = write_tu_folder(folder / "rings")
    call("train", data, "--out", folder / "model", *SMALL)
    return folder / "model", "--data", data, "--threads", "1"


def test_json_and_a_file_are_both_given(trained, tmp_path):
    out = tmp_path / "said.csv"
    said = json.loads(call("predict", *trained, "--json", "--out", out).stdout)["predictions"]
    _, *rows = csv.reader(io.StringIO(out.read_text()))
    assert [row[1] for row in rows] == [one["class"] for one in said]
    for row, one in zip(rows, said, strict=True):
        assert [float(value) for value in row[2:]] == pytest.approx(one["probabilities"], rel=1e-5)


def test_the_table_is_printed_or_written_the_same(trained, tmp_path):
    printed = call("predict", *trained)
    written = call("predict", *trained, "--out", tmp_path / "said.csv")
    assert (tmp_path / "said.csv").read_text().splitlines() == printed.stdout.splitlines()
    assert written.stdout == ""
    assert f"written to {tmp_path / 'said.csv'}" in " ".join(written.stderr.split())
    assert "written" not in printed.stderr


def test_data_without_its_option_is_told_how_to_be_written(trained):
    model, _, data, *_ = trained
    result = CliRunner().invoke(app, ["predict", str(model), str(data)])
    assert result.exit_code == 2
    assert "write --data" in " ".join(result.output.split())


def test_a_model_that_is_not_there_is_not_taken_for_one_of_train(tmp_path):
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    for model in (tmp_path / "nowhere", tmp_path):
        result = CliRunner().invoke(app, ["predict", str(model), str(tmp_path / "new.csv")])
        assert result.exit_code == 1
        assert f"{model} is not a model" in result.stderr


def test_data_whose_columns_mean_other_things_is_refused_however_many_there_are(trained, tmp_path):
    """The attributes of digits are ink and position; a model of three labels of atoms would take them for these."""
    graphs = [nx.path_graph(4), nx.cycle_graph(4)] * 10
    for graph in graphs:
        nx.set_node_attributes(graph, dict(zip(graph, "CNOC", strict=True)), "label")
    write_tu(tmp_path / "atoms", graphs, ["chain", "ring"] * 10)
    call("train", tmp_path / "atoms", "--out", tmp_path / "model", *SMALL)
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "model"), "--data", "digits"])
    assert result.exit_code == 1
    assert "attributes are not those of digits, which has 'attribute0' in the place of 'label=0'" in " ".join(result.output.split())


def test_a_folder_of_several_models_says_which_there_are(trained, tmp_path):
    model, _, data, *_ = trained
    for seed in (0, 1):
        shutil.copytree(model, tmp_path / "runs" / f"seed-{seed}")
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "runs"), "--data", str(data)])
    assert result.exit_code == 1
    assert "It holds 2 models: take one, e.g." in " ".join(result.output.split())
