"""`graph2tens report` from the outside."""

from __future__ import annotations

import json

import pytest
from report_samples import BENCHMARKS, authors_table, record, study_records
from typer.testing import CliRunner

from graph2tens.cli import app


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in study_records()))
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_without_arguments_it_reads_results_and_writes_a_page(results):
    outcome = run()
    assert outcome.exit_code == 0, outcome.output
    assert (results / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "Written: report.html" in outcome.output
    assert "526 runs" in outcome.output


def test_without_results_it_reads_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "record.json").write_text(json.dumps(record(1, 0.97, dataset="mine", table="train")))
    outcome = run()
    assert outcome.exit_code == 0, outcome.output
    assert "mine" in outcome.output
    (tmp_path / "results").mkdir()  # which comes first, as it did
    assert "`results` holds no finished run" in run().output


def test_everything_at_once(results):
    (results / "README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    (results / "page.md").write_text("<!-- departures:begin -->\n<!-- departures:end -->\n")
    (results / "speed.json").write_text(json.dumps(BENCHMARKS))
    arguments = [
        "--out",
        "a/page.html",
        "--markdown",
        "b/tables.md",
        "--readme",
        "README.md",
        "--docs",
        "page.md",
        "--benchmarks",
        "speed.json",
    ]
    outcome = run("results", *arguments, "--authors-runs", authors_table(results / "runs.csv"), "--title", "A title", "--json")
    assert outcome.exit_code == 0, outcome.output
    data = json.loads(outcome.stdout)
    assert data["written"] == ["a/page.html", "b/tables.md", "README.md", "page.md"]
    assert data["runs"] == 526
    cell = next(row for row in data["cells"] if (row["table"], row["dataset"], row["model"]) == ("citation", "Cora", "G2TN"))
    assert cell["seeds"] == list(range(20))
    assert cell["same_seeds"]["pairs"] == 20
    assert cell["difference"]["in_standard_errors"] == pytest.approx(cell["difference"]["points"] / cell["difference"]["standard_error"])
    page = (results / "a" / "page.html").read_text(encoding="utf-8")
    assert "<h1>A title</h1>" in page
    assert "layer step, forward + backward" in page
    assert "526 runs" in (results / "README.md").read_text(encoding="utf-8")
    assert "self-loops" in (results / "page.md").read_text(encoding="utf-8")


def test_a_single_run_from_its_file(results):
    (results / "run.jsonl").write_text(json.dumps(record(1, 0.97, dataset="digits", table="train")))
    outcome = run("run.jsonl")
    assert outcome.exit_code == 0, outcome.output
    assert "digits" in outcome.output
    assert "97.0" in outcome.output
    assert "Not run yet" not in outcome.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "does not exist"),
        (["empty"], "holds no finished run"),
        (["plain.md"], "`plain.md` holds no finished run (plain.md, line 1: torn line skipped): give a folder"),
        (["other.jsonl", "nothing.csv"], "`other.jsonl`, `nothing.csv` holds no finished run (other.jsonl, line 1: not the record"),
        (["results", "--readme", "plain.md"], "has no marked section"),
        (["results", "--authors-runs", "plain.md"], "must have the columns"),
        (["results", "--authors-runs", "nowhere.csv"], "nowhere.csv"),
        (["results", "--benchmarks", "plain.md"], "is not JSON"),
        (["results", "--benchmarks", "nowhere.json"], "--benchmarks nowhere.json"),
        (["results", "--readme", "nowhere.md"], "`nowhere.md` is not a file"),
    ],
)
def test_a_users_error_is_one_line_and_writes_nothing(results, arguments, message):
    (results / "plain.md").write_text("plain")
    (results / "empty").mkdir()
    (results / "other.jsonl").write_text('{"some": "thing"}\n')
    (results / "nothing.csv").write_text("")
    outcome = run(*arguments)
    assert outcome.exit_code == 1
    assert message in outcome.output
    assert outcome.output.startswith("Error: ")
    assert outcome.output.count("\n") == 1
    assert not (results / "report.html").exists()


def test_a_folder_in_the_place_of_the_page_is_wrong_usage(results):
    outcome = run("results", "--out", "results")
    assert outcome.exit_code == 2
    assert "--out" in outcome.stderr
