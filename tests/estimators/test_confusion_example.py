"""The example that ends with a confusion matrix runs, from networkx graphs and from CSV files."""

from __future__ import annotations

import csv
import runpy
import sys
from pathlib import Path

import matplotlib.image
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "networkx_to_confusion_matrix.py"


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    return runpy.run_path(str(SCRIPT), run_name="__main__")


def test_from_networkx_graphs_to_a_picture(tmp_path, monkeypatch, capsys):
    out = tmp_path / "confusion.png"
    run(monkeypatch, "--count", 8, "--layers", 1, "--out", out)
    assert "others are classified correctly" in capsys.readouterr().out
    picture = matplotlib.image.imread(out)
    assert picture.shape[0] > 400
    assert picture[..., :3].std() > 0.1  # not blank


def test_from_csv_files_to_a_picture(tmp_path, monkeypatch, capsys):
    example = runpy.run_path(str(SCRIPT))
    graphs, classes = example["grow"](6)
    edges, kinds = tmp_path / "edges.csv", tmp_path / "classes.csv"
    with edges.open("w", newline="") as stream:
        rows = [(number, f"n{a}", f"n{b}") for number, graph in enumerate(graphs) for a, b in graph.edges]
        csv.writer(stream).writerows([("graph", "source", "target"), *rows])
    with kinds.open("w", newline="") as stream:
        csv.writer(stream).writerows([("graph", "class"), *enumerate(classes), ("lonely", "random")])
    read, found = example["read"](edges, kinds)
    assert found == [*classes, "random"]
    assert read[-1].number_of_nodes() == 1
    assert [graph.number_of_edges() for graph in read[:-1]] == [graph.number_of_edges() for graph in graphs]
    run(monkeypatch, "--edges", edges, "--classes", kinds, "--layers", 1, "--out", tmp_path / "confusion.png")
    assert (tmp_path / "confusion.png").stat().st_size > 1000


@pytest.mark.parametrize("family", ["random", "hubs", "small world", "geometric"])
def test_families_have_about_as_many_edges(family):
    grow = runpy.run_path(str(SCRIPT))["FAMILIES"][family]
    edges = [grow(30, seed).number_of_edges() for seed in range(20)]
    assert 45 <= sum(edges) / len(edges) <= 75
