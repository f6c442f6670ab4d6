"""`graph2tens scale fit | apply | check | graph`."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_graphs import molecules, write_files
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.scale import GraphOnDisk, load_features, read_features, rows_of_graphs
from graph2tens.sklearn import GraphTensFeatures

SMALL = ("--set", "n_layers=2", "--set", "n_functionals=8", "--set", "n_waves=8", "--set", "pooling=mean")


def call(*arguments):
    return CliRunner().invoke(app, ["scale", *map(str, arguments)])


def test_fit_apply_check(tmp_path):
    graphs = molecules(30)
    inputs, features, out = write_files(tmp_path / "in", graphs, 10), tmp_path / "features.safetensors", tmp_path / "table"
    assert call("fit", inputs, "--out", features, "--seed", 3, *SMALL).exit_code == 0
    expected = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8, pooling="mean", random_state=3).fit(graphs)
    result = call("apply", features, inputs, "--out", out, "--workers", 1)
    assert result.exit_code == 0, result.output
    assert "30 of 30 graphs to do in 3 files" in result.stderr
    assert "30 graphs in 3 files (0 were there)" in result.stdout
    X = np.concatenate([X for _, X, _ in read_features(out)])
    np.testing.assert_array_equal(X, expected.transform(graphs))
    again = call("apply", features, inputs, "--out", out, "--workers", 1, "--json")
    assert json.loads(again.stdout)["found"] == 3
    result = call("check", out, "--in", inputs)
    assert result.exit_code == 0
    assert result.stdout.startswith("30 graphs")
    (out / "part00010.parquet").unlink()
    result = call("check", out, "--in", inputs)
    assert result.exit_code == 1
    assert "part00010.parquet: 0 of its 10 graphs are done." in result.stderr


def test_fit_looks_at_a_sample_and_leaves_out_what_is_no_graph(tmp_path):
    rows = rows_of_graphs(molecules(20)).to_pylist()
    rows[4]["num_nodes"] = None
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "one.parquet")
    assert call("fit", tmp_path / "one.parquet", "--out", tmp_path / "f", "--sample", 50, *SMALL).exit_code == 0
    assert load_features(tmp_path / "f").n_layers == 2


def test_rows_that_are_no_graphs_make_the_exit_code_1(tmp_path):
    rows = rows_of_graphs(molecules(5)).to_pylist()
    rows[2]["src"] = None
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "one.parquet")
    call("fit", tmp_path / "one.parquet", "--out", tmp_path / "f", *SMALL)
    result = call("apply", tmp_path / "f", tmp_path / "one.parquet", "--out", tmp_path / "out", "--workers", 1)
    assert result.exit_code == 1
    assert "1 rows are not graphs" in result.stderr
    assert "4 graphs in 1 files" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fit", "nothing", "--out", "f"), 1, "there is no file or folder nothing"),
        (("fit", "nothing", "--out", "f", "--set", "walks=3"), 2, "write a setting as NAME=VALUE"),
        (("apply", "nothing", "nothing", "--out", "o"), 1, "nothing does not exist"),
        (("apply", "nothing", "nothing", "--out", "o", "--engine", "spark"), 1, "`engine` must be one of"),
        (("apply", "nothing", "nothing", "--out", "o", "--address", "tcp://there"), 1, "`address` is for engine='dask' and 'ray'"),
        (("check", "nothing"), 1, "nothing holds no features"),
        (("fit", __file__, "--out", "f"), 1, "test_scale_commands.py must be a Parquet file; pandas.read_csv"),
        (("graph", __file__, "--out", "g", "--num-nodes", 3), 1, "test_scale_commands.py must be a Parquet file; pandas.read_csv"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, code, message):
    result = call(*arguments)
    assert result.exit_code == code
    assert message in result.output.replace("\n", " ")
    assert "Traceback" not in result.output


def test_a_graph_is_built(tmp_path):
    pq.write_table(pa.table({"src": [0, 1], "dst": [1, 2]}), tmp_path / "edges.parquet")
    result = call("graph", tmp_path / "edges.parquet", "--out", tmp_path / "g", "--num-nodes", 3, "--undirected")
    assert result.exit_code == 0, result.output
    assert "3 nodes, 4 steps" in result.stdout
    assert GraphOnDisk(tmp_path / "g").num_entries == 4
