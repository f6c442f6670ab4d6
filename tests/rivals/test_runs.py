"""Rivals in the harness: their cells, their settings, trained and applied from the command line, and what was chosen for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_data import write_tu_folder
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.paper.protocols import base_run
from graph2tens.paper.rivals import RIVALS
from graph2tens.paper.rivals.runs import DEPTHS
from graph2tens.paper.tables import TABLES, plan
from graph2tens.training.config import Cell

CHOICES = Path(__file__).parents[2] / "results" / "choices.jsonl"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_without_a_name_only_the_papers_models_are_run():
    assert {run.cell.model for run in plan("nci", seeds=[0])} == {"G2TN", "G2TAN"}
    assert {run.cell.model for run in plan("nci", seeds=[0], models=["GIN", "G2TN"])} == {"GIN", "G2TN"}
    named = {run.cell.model for run in plan("citation", seeds=[0], models=["rivals"])}
    assert named == {name for name, rival in RIVALS.items() if rival.task == "node"}
    with pytest.raises(ValueError, match="has no model 'GCN'"):
        plan("nci", seeds=[0], models=["GCN"])


def test_every_system_of_the_papers_tables_has_a_rival():
    from graph2tens.paper.published import PUBLISHED

    quoted = {(p.table, p.model) for p in PUBLISHED if not p.proposed}
    assert quoted == {(table, name) for rival in RIVALS.values() for table, name in rival.printed.items()}


def test_protocols_change_the_split_of_a_rival_and_nothing_else():
    one, two = (base_run(Cell("citation", "Cora", "GAT", protocol=protocol)) for protocol in ("paper", "authors"))
    assert (one.network, one.training, one.builder) == (two.network, two.training, two.builder)


@pytest.mark.parametrize("model", ["GIN", "HGNet-Louvain", "GraphTrans-small"])
def test_a_user_trains_and_applies_a_rival_on_data_of_their_own(model, tmp_path):
    folder = write_tu_folder(tmp_path / "mine")
    out = tmp_path / "model"
    record = json.loads(run("train", folder, "--model", model, "--epochs", 2, "--out", out, "--threads", 1, "--no-report", "--json"))
    assert (record["model"], record["epochs"]) == (model, 2)
    answers = json.loads(run("predict", out, "--data", folder, "--threads", 1, "--json"))
    assert len(answers["predictions"]) == 40


def test_what_a_rival_cannot_do_is_said(tmp_path):
    folder = write_tu_folder(tmp_path / "mine")
    refused = CliRunner().invoke(app, ["train", str(folder), "--model", "GIN", "--walk-length", "3", "--out", str(tmp_path / "a")])
    assert refused.exit_code == 2
    assert "no such setting" in refused.output
    with pytest.raises(ValueError, match="GCN classifies nodes, but mine has a class for each graph; for that there is Set2Set"):
        base_run(Cell("train", "mine", "GCN", protocol="paper"), task="graph")


def test_depths_were_tried():
    assert set(DEPTHS) <= {(cell.model, cell.dataset, cell.khop) for cell in TABLES["choices"].rivals if cell.variant.startswith("Depth")}


@pytest.mark.skipif(not CHOICES.exists(), reason="the records of this clone were taken away")
def test_depths_are_those_that_validation_chose():
    tried = [json.loads(line) for line in CHOICES.read_text().splitlines()]
    found: dict[tuple[str, str, int], list[tuple[float, int]]] = {}
    for record in tried:
        if record["variant"].startswith("Depth") and record["seed"] == 0:
            depth = int(record["variant"].removeprefix("Depth"))
            found.setdefault((record["model"], record["dataset"], record["khop"]), []).append((-record["validation_accuracy"], depth))
    assert {key: min(values)[1] for key, values in found.items()} == DEPTHS
