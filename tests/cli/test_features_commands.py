"""`graph2tens features` and `graph2tens classify`, on every kind of data in TU format."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.cli.classify import variant_name
from graph2tens.cli.features import ARGUMENTS, unusual
from graph2tens.datasets import load
from graph2tens.sklearn import GraphTensFeatures
from graph2tens.training.config import KEY

FAST = ["--layers", "2", "--functionals", "8", "--waves", "8", "--jobs", "1"]


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def write_tu(folder, kind: str, graphs: int = 40, classes: int = 2):
    """Paths against stars, with the files that `kind` lists; some graphs are single nodes, some have no edges."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    files: dict[str, list[str]] = {name: [] for name in ("A", "graph_indicator", "graph_labels", *kind.split())}
    first = 1
    for graph in range(graphs):
        n, label = (1 if graph % 20 == 7 else int(rng.integers(3, 7))), graph % classes
        pairs = [] if graph % 20 == 11 else [(0 if label else i - 1, i) for i in range(1, n)]
        for a, b in [*pairs, *((b, a) for a, b in pairs)]:
            files["A"].append(f"{first + a}, {first + b}")
            if "edge_labels" in files:
                files["edge_labels"].append(str(label))
            if "edge_attributes" in files:
                files["edge_attributes"].append(f"{rng.normal():.3f}, {label}.5")
        files["graph_indicator"] += [str(graph + 1)] * n
        files["graph_labels"].append(str(3 * label - 1))
        if "node_labels" in files:
            files["node_labels"] += [str(rng.integers(4)) for _ in range(n)]
        if "node_attributes" in files:
            files["node_attributes"] += [f"{rng.normal():.4f}, {label}" for _ in range(n)]
        first += n
    for name, lines in files.items():
        (folder / f"{folder.name}_{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


KINDS = ["", "node_labels", "node_attributes", "node_labels node_attributes", "edge_labels", "node_labels edge_labels edge_attributes"]


@pytest.mark.parametrize("kind", KINDS)
def test_any_data_set_is_classified_without_an_argument(kind, tmp_path):
    folder = write_tu(tmp_path / "DATA", kind)
    result = call("classify", folder, "--seeds", "0,1", "--out", tmp_path / "results", *FAST)
    assert result.exit_code == 0, result.output
    assert "GraphTensFeatures+SVM" in result.stdout
    records = [json.loads(line) for line in (tmp_path / "results" / "features.jsonl").read_text().splitlines()]
    assert [record["seed"] for record in records] == [0, 1]
    assert np.mean([record["test_accuracy"] for record in records]) >= 0.6


def test_a_record_is_like_those_of_trained_networks(tmp_path):
    folder = write_tu(tmp_path / "DATA", "node_labels", classes=3)
    result = call("classify", folder, "--method", "both", "--seeds", "0", "--out", tmp_path, "--json", *FAST)
    assert result.exit_code == 0, result.output
    ours, wl = map(json.loads, result.stdout.splitlines())
    assert (ours["table"], ours["dataset"], ours["model"], ours["protocol"]) == ("features", "DATA", "GraphTensFeatures+SVM", "authors")
    assert (wl["model"], wl["variant"]) == ("WL+SVM", "base")
    assert ours["variant"] == "n_layers=2 n_functionals=8 n_waves=8"
    for record in (ours, wl):
        assert all(0 <= record[f"{part}_accuracy"] <= 1 for part in ("train", "validation", "test"))
        assert record["seconds"] >= record["seconds_features"] > 0
        assert {"commit", "versions", "machine", "finished", "options", "peak_memory_mib", "test_auroc", "curve"} <= record.keys()
        assert record["options"]["chosen"]["C"] > 0


def test_several_draws_stand_side_by_side(tmp_path):
    folder = write_tu(tmp_path / "DATA", "node_labels")
    one, two = (
        json.loads(call("classify", folder, "--seeds", "0", "--draws", draws, "--out", tmp_path, "--json", *FAST).stdout)
        for draws in (1, 2)
    )
    assert two["options"]["chosen"]["columns"] == 2 * one["options"]["chosen"]["columns"]
    assert one["variant"] == two["variant"].removesuffix(" draws=2")


def test_recorded_splits_are_not_computed_again(tmp_path):
    folder = write_tu(tmp_path / "DATA", "node_labels")
    first = call("classify", folder, "--seeds", "0", "--out", tmp_path, "--json", *FAST)
    again = call("classify", folder, "--seeds", "0,1", "--out", tmp_path, "--json", *FAST)
    assert again.stdout.splitlines()[0] == first.stdout.splitlines()[0]
    assert len((tmp_path / "features.jsonl").read_text().splitlines()) == 2


def test_splits_that_were_recorded_before_say_so(tmp_path):
    folder = write_tu(tmp_path / "DATA", "node_labels")
    assert "recorded on" not in call("classify", folder, "--seeds", "0", "--out", tmp_path, *FAST).stdout
    shown = call("classify", folder, "--seeds", "0,1", "--out", tmp_path, *FAST).stdout.splitlines()
    assert ["(recorded on 20" in line for line in shown if " split " in line and "test" in line] == [True, False]


@pytest.mark.parametrize("seeds", ["0", "1"], ids=["the same split", "another split"])
def test_results_of_other_data_of_the_same_name_are_not_taken(seeds, tmp_path):
    one, other = write_tu(tmp_path / "one" / "DATA", "node_labels"), write_tu(tmp_path / "other" / "DATA", "node_labels", graphs=60)
    call("classify", one, "--seeds", "0", "--out", tmp_path, *FAST)
    before = (tmp_path / "features.jsonl").read_text()
    result = call("classify", other, "--seeds", seeds, "--out", tmp_path, *FAST)
    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path / 'features.jsonl'} holds results of other data of the name 'DATA'; choose another --out\n"
    assert (tmp_path / "features.jsonl").read_text() == before
    assert call("classify", other, "--seeds", seeds, "--out", tmp_path / "elsewhere", *FAST).exit_code == 0


def test_records_without_a_fingerprint_are_taken_where_a_name_stands_for_certain_data(tmp_path):
    for name, code in (("MUTAG", 0), ("DATA", 1)):
        folder, path = write_tu(tmp_path / name, "node_labels"), tmp_path / f"out {name}" / "features.jsonl"
        call("classify", folder, "--seeds", "0", "--out", path.parent, *FAST)
        record = json.loads(path.read_text())
        assert record["options"].pop("fingerprint") == load(folder).fingerprint()
        path.write_text(json.dumps(record) + "\n")
        assert call("classify", folder, "--seeds", "0", "--out", path.parent, *FAST).exit_code == code


@pytest.mark.parametrize("kind", ["A", "graph_labels", "node_attributes", "edge_labels"])
def test_a_fingerprint_tells_data_apart_and_folders_not(kind, tmp_path):
    files = "node_attributes edge_labels"
    one, same, other = (write_tu(tmp_path / place / "DATA", files) for place in ("one", "same", "other"))
    path = other / f"DATA_{kind}.txt"
    lines = path.read_text().splitlines()
    changed = {"A": lines[1], "graph_labels": lines[1], "node_attributes": "0.25, 7", "edge_labels": "5"}[kind]
    path.write_text("\n".join([changed, *lines[1:]]) + "\n")
    marks = [load(folder).fingerprint() for folder in (one, same, other)]
    assert marks[0] == marks[1] != marks[2]


CLAIM_AND_WAIT = """
import sys
from graph2tens.training.store import RunStore
with RunStore({path!r}, {fields!r}).claim({key!r}) as mine:
    print(mine, flush=True)
    sys.stdin.readline()
"""


def test_a_split_that_another_process_has_under_way_is_left_to_it(tmp_path):
    folder, path = write_tu(tmp_path / "DATA", "node_labels"), tmp_path / "features.jsonl"
    key = ("features", "DATA", "GraphTensFeatures+SVM", "n_layers=2 n_functionals=8 n_waves=8", 0, "authors", 0, None)
    code = CLAIM_AND_WAIT.format(path=str(path), fields=KEY, key=key)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "True\n"
        meanwhile = call("classify", folder, "--seeds", "0,1", "--out", tmp_path, *FAST)
        other.communicate("\n")
    assert meanwhile.exit_code == 0, meanwhile.output
    assert "split 0: another process is at it" in meanwhile.stderr
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [1]
    later = call("classify", folder, "--seeds", "0,1", "--out", tmp_path, "--json", *FAST)
    assert [json.loads(line)["seed"] for line in later.stdout.splitlines()] == [0, 1]
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [1, 0]


def test_two_processes_share_the_splits_out(tmp_path):
    folder = write_tu(tmp_path / "DATA", "node_labels")
    command = [sys.executable, "-W", "ignore", "-m", "graph2tens", "classify", folder, "--seeds", "0-3", "--out", tmp_path, *FAST]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    seeds = [json.loads(line)["seed"] for line in (tmp_path / "features.jsonl").read_text().splitlines()]
    assert sorted(seeds) == [0, 1, 2, 3]


def test_the_same_seed_gives_the_same_record(tmp_path):
    folder = write_tu(tmp_path / "DATA", "node_attributes")
    one, two = (json.loads(call("classify", folder, "--seeds", "3", "--out", tmp_path / name, "--json", *FAST).stdout) for name in "ab")
    for name in ("train_accuracy", "validation_accuracy", "test_accuracy", "test_auroc"):
        assert one[name] == two[name]


def test_asking_for_a_default_is_not_another_variant():
    assert variant_name(unusual({"layers": 10, "pooling": "sqrt", "with_time": False, "degree": None, "dataset": "digits"})) == "base"
    assert variant_name(unusual({"layers": 5, "pooling": "mean"})) == "n_layers=5 pooling=mean"


@pytest.mark.parametrize("command", ["features", "classify"])
def test_the_defaults_that_are_shown_are_those_of_the_features(command):
    usual = GraphTensFeatures().get_params()
    shown = {}
    for option in typer.main.get_command(app).commands[command].params:
        if isinstance(option.show_default, str):
            said = option.show_default.split(";")[0]
            shown[ARGUMENTS[option.name]] = not said.startswith("no-") if option.secondary_opts else said
    assert shown.keys() == set(ARGUMENTS.values())
    assert shown == {name: usual[name] if isinstance(usual[name], bool) else str(usual[name]) or "none" for name in shown}


def test_the_papers_numbers_stand_beside_ours_on_its_data(tmp_path, capsys):
    from graph2tens.cli.classify import _show_summary

    run = {"table": "features", "dataset": "NCI1", "model": "GraphTensFeatures+SVM", "variant": "base", "khop": 0, "protocol": "authors"}
    run |= {"seed": 0, "epochs_limit": None, "test_accuracy": 0.85, "validation_accuracy": 0.86, "seconds": 10.0, "options": {}}
    _show_summary([(run, True), ({**run, "seed": 1, "test_accuracy": 0.84}, True)])
    shown = capsys.readouterr().out
    assert "84.5 ± 0.7" in shown  # the deviation of a sample, as in reports
    assert "81.9 ± 1.2" in shown
    assert "GraphTrans" in shown
    _show_summary([(run, True)])
    assert "85.0 " in (shown := capsys.readouterr().out)
    assert "85.0 ±" not in shown  # one split has no deviation


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classify", "digits", "--method", "forest"], "not one of features, wl, both"),
        (["classify", "digits", "--pooling", "max"], "not one of sqrt, sum, mean, both"),
        (["classify", "digits", "--seeds", "ten"], "write seeds as"),
        (["features", "digits", "--out", "table.xlsx"], "must end in"),
    ],
)
def test_wrong_usage_is_explained(arguments, message):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["npz", "parquet", "csv"])
def test_features_are_written_with_names_and_classes(kind, suffix, tmp_path):
    folder, out = write_tu(tmp_path / "DATA", kind), tmp_path / "tables" / f"out.{suffix}"
    result = call("features", folder, "--out", out, "--seed", 3, "--json", *FAST)
    assert result.exit_code == 0, result.output
    graphs = load(folder).graphs
    features = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8, random_state=3)
    expected = features.fit_transform(graphs)
    assert json.loads(result.stdout)["columns"] == expected.shape[1]
    if suffix == "npz":
        with np.load(out) as stored:
            np.testing.assert_array_equal(stored["features"], expected)
            assert len(set(stored["names"])) == expected.shape[1]
            assert any(name.startswith("label=") for name in stored["names"]) == ("node_labels" in kind)
            assert any(name.startswith("edge_label=") for name in stored["names"]) == ("edge_labels" in kind)
            assert set(stored["class"]) == {"-1", "2"}
            assert stored["graph"].tolist() == list(range(1, 41))  # as the files number them
    else:
        table = pd.read_parquet(out) if suffix == "parquet" else pd.read_csv(out)
        np.testing.assert_array_equal(table.iloc[:, 2:].to_numpy(dtype=expected.dtype), expected)
        assert table.columns[:2].tolist() == ["graph", "class"]
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_exact_features_of_nodes(tmp_path):
    folder, out = write_tu(tmp_path / "DATA", "node_attributes"), tmp_path / "nodes.npz"
    result = call("features", folder, "--exact", "--pooling", "none", "--walk-length", 2, "--no-degrees", "--time", "--out", out)
    assert result.exit_code == 0, result.output
    with np.load(out) as stored:
        assert stored["features"].shape == (sum(graph.num_nodes for graph in load(folder).graphs), 1 + 3 + 9)
        assert stored["features"].shape[0] == stored["node"].size == stored["class"].size
        np.testing.assert_allclose(stored["features"][:, 0], 1)
