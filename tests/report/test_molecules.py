"""The page's section about molecules: scores, paired gains and times of recorded runs, and nothing of what is no record."""

from __future__ import annotations

import json

import pytest
from report_samples import study_records

from graph2tens.paper.report.data import collect
from graph2tens.paper.report.html.molecules import FILE, contests, molecules, read_molecule_runs
from graph2tens.paper.report.html.page import render
from graph2tens.report import words


def run(method, number, score, seconds=10.0, set_="ESOL", metric="RMSE"):
    named = {"set": set_, "split": "random", "number": number, "method": method, "metric": metric}
    return {**named, "score": score, "processor_seconds": seconds}


RUNS = [
    run("graph2tens", 0, 0.5),
    run("graph2tens", 1, 0.6),
    run("graph2tens, sums", 0, 9.0),
    run("chemprop 2.3.1", 0, 0.7, 100.0),
    run("chemprop 2.3.1", 1, 0.7, 300.0),
    run("chemprop 2.3.1", 2, 5.0, 200.0),
    run("graph2tens", 0, 0.8, set_="Tox21", metric="AUROC"),
    run("Morgan counts, random forest", 0, 0.75, set_="Tox21", metric="AUROC"),
]


def test_gains_are_paired_and_positive_where_ours_is_better():
    esol, tox = contests(RUNS)
    assert esol.score("graph2tens") == "0.550 ± 0.071 (2)"  # variants of ours are other methods
    assert esol.gap("chemprop") == "+0.150 ± 0.100 (2)"  # split 2 has no run of ours
    assert esol.seconds("chemprop") == pytest.approx(200)
    assert tox.gap("Morgan + forest") == "+0.050 (1)"
    assert tox.gap("chemprop") == tox.score("chemprop") == words.DASH


def test_page_shows_what_was_recorded_and_skips_what_is_no_record(tmp_path):
    file = tmp_path / FILE
    file.parent.mkdir()
    broken = [{**RUNS[0], "score": None}, {**RUNS[0], "set": 3}, [1]]
    file.write_text("\n".join([*map(json.dumps, [*RUNS, *broken]), '{"torn']))
    found = read_molecule_runs([tmp_path, tmp_path / "none"])
    assert found == RUNS
    text = render(collect(study_records()), molecule_runs=found)
    assert 'id="molecules"' in text
    assert "+0.150 ± 0.100 (2)" in text


def test_what_is_not_as_the_defaults_have_it_is_told():
    [hiv] = contests([run("chemprop 2.3.1, 10 epochs", 0, 0.7, set_="HIV", metric="AUROC")])
    assert hiv.score("chemprop") == "0.700 (1, 10 epochs)"


def test_without_records_there_is_no_section():
    assert molecules([]) is None
    assert 'id="molecules"' not in render(collect(study_records()))
