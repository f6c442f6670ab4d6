"""Several seeds and folds from the command line: averaged, compared, reported, and kept out of tracked files."""

import json

from small_data import write_tu_folder
from typer.testing import CliRunner

from graph2tens.cli import app

SMALL = ["--width", "4", "--layers", "1", "--walk-length", "2", "--batch-size", "16", "--threads", "1", "--epochs", "1"]


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_seeds_and_folds_are_averaged_and_compared_in_one_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rings = write_tu_folder(tmp_path / "rings")
    several = call("train", rings, "--seeds", "0-1", "--out", "runs/net", *SMALL)
    assert several.exit_code == 0, several.output
    assert "majority class" in several.output
    assert {path.name for path in (tmp_path / "runs" / "net").iterdir()} == {"seed-0", "seed-1", "report.html"}
    again = call("train", rings, "--seeds", "0-2", "--out", "runs/net", "--resume", *SMALL)
    assert again.output.count("finished already") == 2
    assert call("train", rings, "--folds", 3, "--out", "runs/folds", *SMALL).exit_code == 0
    features = ("classify", rings, "--folds", 3, "--method", "both", "--layers", 1)
    compared = call(*features)
    assert compared.exit_code == 0, compared.output
    assert not (tmp_path / "results").exists()
    assert "recorded" not in compared.output
    assert "0 now, 3 recorded from" in call(*features).output
    data = json.loads(call("report", "runs", "--json").stdout)["data"]
    assert [one["name"] for one in data] == ["rings"]
    methods = {method["method"]: method for method in data[0]["methods"]}
    assert len(methods) == 4
    assert methods["WL+SVM"]["runs"] == methods["G2TN, 3 folds"]["runs"] == 3
    assert sum(map(sum, methods["WL+SVM"]["confusion"])) == 40  # every graph is tested once
    assert call("report", "runs/net", "runs/folds").exit_code == 0
    assert "<h1>rings</h1>" in (tmp_path / "report.html").read_text()


def test_folds_need_enough_graphs_of_each_class(tmp_path):
    rings = write_tu_folder(tmp_path / "rings", graphs=12)
    result = call("classify", rings, "--folds", 7, "--out", tmp_path)
    assert result.exit_code == 1
    assert "between 3 and 6" in result.output
    (rings / "rings_graph_labels.txt").write_text("".join(f"{number}\n" for number in [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]))
    result = call("classify", rings, "--folds", 3, "--out", tmp_path)
    assert result.exit_code == 1
    assert "class '3' has 1 graph, which is too few for 3 folds with some in each; leave the class out" in result.output
    assert call("train", rings, "--folds", 3, "--seeds", "0-1").exit_code == 2
