"""What a newcomer meets on the command line: a misspelt name, a missing file, a narrow terminal, times that add up."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from report_samples import own_records
from torch_geometric.data import Data
from tu_folders import write_tu
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.cli.summary import show_study
from graph2tens.cli.training_display import Display, _found, _not_found, _times
from graph2tens.datasets import AttributeScaler, DataError, GraphDataset, load
from graph2tens.nn import GraphTensNet
from graph2tens.report.own.data import collect_own
from graph2tens.training.tasks import graph_inputs


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError("no network here")

    monkeypatch.setattr("graph2tens.datasets.roots._download", refuse)


@pytest.mark.parametrize(
    ("typed", "meant"), [("NCI11", "NCI1"), ("mutga", "MUTAG"), ("digit", "digits"), ("Corra", "Cora"), ("TOYS", "TOY")]
)
def test_a_misspelt_data_set_is_guessed(typed, meant, tmp_path):
    write_tu(tmp_path / "TOY")
    with pytest.raises(DataError, match=f"Did you mean '{meant}'"):
        load(typed, tmp_path)


def test_a_name_like_no_other_is_not_guessed(tmp_path):
    with pytest.raises(DataError, match="node_labels") as error:  # all files are named, the optional ones too
        load("qwertyuiop", tmp_path)
    assert "Did you mean" not in str(error.value)


def test_training_and_info_say_which_files_there_are(tmp_path):
    data = load(write_tu(tmp_path / "TOY"))
    assert "labels with 2 values" in _found(data)
    assert _not_found(data) == "Not there: TOY_node_attributes.txt, TOY_edge_labels.txt, TOY_edge_attributes.txt."
    write_tu(tmp_path / "BARE", "BARE", node_labels=None)
    result = CliRunner().invoke(app, ["info", "--json", "--data-root", str(tmp_path)])
    assert json.loads(result.stdout)["datasets_found"] == ["BARE (no labels or attributes of nodes and edges)", "TOY (node labels)"]


@pytest.mark.parametrize("width", [80, 140])
def test_the_bar_fits_the_terminal(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    data = SimpleNamespace(task="node", name="mine", num_features=3, num_classes=2)
    with Display(data, quiet=False) as display:
        display.task = display.progress.add_task("", total=1000, facts="")
        epoch = SimpleNamespace(epoch=1000, train_loss=0.123, train_score=1.0, validation_score=1.0, seconds=12.34)
        display.show(epoch, SimpleNamespace(epoch=1000))
        with display.progress.console.capture() as shown:
            display.progress.console.print(display.progress.get_renderable())
    line = shown.get()
    assert "validation 100.0%" in line
    assert "…" not in line
    assert "100.0%\n" not in line.replace(" ", "").rstrip("\n")


@pytest.mark.parametrize("command", ["train", "fit", "features", "classify", "predict", "reproduce"])
def test_help_leaves_room_for_words_at_80_columns(command):
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    rows = [line for line in result.stdout.split("\n") if line.lstrip("│* ").startswith("--")]
    assert rows
    assert not any("<=x<=" in line for line in rows)
    assert np.mean([len(line.rstrip("│ ").split("  ")[-1]) for line in rows]) > 18


@pytest.mark.parametrize("command", [[], ["train"], ["classify"], ["predict"], ["scale", "apply"]])
def test_help_breaks_its_lines_where_the_terminal_ends(command):
    said = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    assert "…" not in said
    prose = [line.strip() for line in said.partition("\n╭")[0].split("\n")]
    for line, following in itertools.pairwise(prose):
        if line and following and not line.startswith("graph2tens"):
            assert len(line) + 1 + len(following.split()[0]) > 78, f"{line!r} is followed by {following!r}"


def test_names_of_methods_are_not_broken_in_words_at_80_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    longest = {"WL+SVM": "GraphTensFeatures+SVM"}
    records = [{**one, "model": longest.get(one["model"], one["model"])} for one in own_records()]
    show_study(collect_own(records))
    shown = capsys.readouterr().out
    assert "features + SVM  " in shown
    assert max(map(len, shown.split("\n"))) <= 80


def test_times_add_up():
    assert _times(30, 22.6, 21.0) == "30 epochs in 21.0 s, 0.70 s each; with all that came before and after 22.6 s"
    assert _times(1, 9.0, 8.0) == "1 epoch in 8.0 s; with all that came before and after 9.0 s"


def test_no_warning_of_pytorch_about_sparse_matrices_leaks():

    index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graph = Data(x=torch.eye(3).repeat(1, 10) * torch.tensor([1.0] * 3 + [0.0] * 27), edge_index=index, y=torch.tensor([0, 1, 0]))
    data = GraphDataset("mine", [graph], 2, 30, "node")
    net = GraphTensNet(30, 2, pool=None, num_layers=1, hidden_channels=4, pre_layers=0, jk=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, walk = graph_inputs(data, AttributeScaler.identity(30), net)
        assert x.layout == torch.sparse_csr
        net(x, walk).sum().backward()


def test_a_warning_is_one_line_without_code(tmp_path):
    once = [f"{3 * graph + i}, {3 * graph + i + 1}" for graph in range(6) for i in (1, 2)]
    folder = write_tu(tmp_path / "own", A=once, graph_indicator=[str(1 + node // 3) for node in range(18)], node_labels=None)
    command = [sys.executable, "-m", "graph2tens", "features", folder, "--out", tmp_path / "a.csv", "--layers", "0", "--jobs", "1"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    said = [line for line in done.stderr.splitlines() if "all edges lead" in line]
    assert [line.startswith("Warning: ") for line in said] == [True]
    assert ".py" not in done.stderr
