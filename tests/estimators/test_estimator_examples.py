"""The examples of the estimators run."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(monkeypatch, name, *arguments):
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


def test_nodes_of_a_network(monkeypatch, capsys):
    run(monkeypatch, "nodes_of_a_network")
    assert "33 of 34 members" in capsys.readouterr().out


def test_regression_with_error_bars(monkeypatch, capsys, tmp_path):
    run(monkeypatch, "regression_with_error_bars", "--count", 40, "--out", tmp_path / "bars.png")
    assert "90 % interval" in capsys.readouterr().out
    assert (tmp_path / "bars.png").stat().st_size > 5000


def test_a_hundred_thousand_graphs_or_fewer(monkeypatch, capsys):
    run(monkeypatch, "hundred_thousand_graphs", "--count", 500, "--block", 200, "--landmarks", 100)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" graphs")[0].strip() for line in lines] == ["200", "400", "500"]
    assert "MiB" in lines[-1]
