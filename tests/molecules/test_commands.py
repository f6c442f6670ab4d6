"""fit, predict and explain as a chemist meets them."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys

import pytest
from everyday_molecules import FILE, PROPERTY
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.molecules import model as models


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(autouse=True, scope="module")
def small():
    """Features of a size for tests."""
    patch = pytest.MonkeyPatch()
    chosen = models.molecule_features
    patch.setattr(models, "molecule_features", lambda **changes: chosen(**{"n_layers": 2, "n_functionals": 8, "n_waves": 16, **changes}))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    shutil.copy(FILE, folder / "samples.csv")
    with (folder / "samples.csv").open("a") as stream:
        stream.write("slip,C(C)(C)(C)(C)C,1\nnothing,,2\nunknown,CCCCCCCCC,\n")
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    result = call("fit", folder / "samples.csv", "--smiles", "smiles", "--target", PROPERTY, "--out", folder / "model", "--jobs", 1)
    assert result.exit_code == 0, result.output
    return result


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_fit_tells_what_it_met_and_how_good_it_will_be(fitted, folder):
    said = fitted.output
    assert "line 98: no molecule 'C(C)(C)(C)(C)C': Explicit valence" in said
    assert "line 99: no molecule: empty." in said
    assert "1 molecules have no known target" in said
    assert "96 of 99 molecules are learnt from (regression: polar_area of 96)" in said
    assert "random forest on Morgan counts" in said
    assert "graph2tens predict" in said
    assert len(rows(folder / "model" / "estimate.csv")) == 96


def test_predict_answers_every_line(fitted, folder):
    result = call("predict", folder / "model", folder / "samples.csv", "--out", folder / "new" / "predictions.csv", "--measure-next", 3)
    assert result.exit_code == 0, result.output
    found = rows(folder / "new" / "predictions.csv")
    assert len(found) == 99
    assert found[-3]["problem"].startswith("Explicit valence")
    assert float(found[-1][f"{PROPERTY} predicted"]) == pytest.approx(0, abs=8), "nonane"
    assert "To measure next (high)" in result.output
    assert "97 of 99 molecules predicted" in result.output


def test_predict_prints_a_table_and_says_the_same_in_another_process(fitted, folder):
    (folder / "two.smi").write_text("CCO ethanol\nc1ccccc1O phenol\n")
    printed = call("predict", folder / "model", folder / "two.smi").stdout
    again = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "graph2tens", "predict", str(folder / "model"), str(folder / "two.smi")],
        capture_output=True,
        text=True,
    )
    assert printed.replace("\r\n", "\n") == again.stdout.replace("\r\n", "\n")
    assert len(printed.splitlines()) == 3


def test_explain_draws_one_molecule_or_a_page(fitted, folder):
    assert call("explain", folder / "model", "CC(=O)O", "--out", folder / "one.svg").exit_code == 0
    assert "<svg" in (folder / "one.svg").read_text()
    result = call("explain", folder / "model", folder / "samples.csv", "--most", 4, "--out", folder / "page.html")
    assert result.exit_code == 0
    assert (folder / "page.html").read_text().count("<figure>") == 4


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("fit", "samples.csv", "--target", "logS", "--out", "x"), 1, "one of 'name', 'smiles', 'polar_area' (got 'logS')"),
        (("fit", "samples.csv", "--smiles", "SMILE", "--target", PROPERTY, "--out", "x"), 1, "Did you mean 'smiles'?"),
        (("fit", "none.csv", "--target", "y", "--out", "x"), 1, "there is no file"),
        (("fit", "samples.csv", "--target", PROPERTY, "--out", "model"), 1, "or say --overwrite"),
        (("fit", "samples.csv", "--target", PROPERTY, "--out", "samples.csv"), 1, "--out must be a folder"),
        (("fit", "samples.csv", "--target", PROPERTY, "--out", "x", "--split", "time"), 2, "not one of random, scaffold"),
        (("predict", "model", "none.csv"), 1, "there is no file"),
        (("predict", "model"), 2, "for a file of molecules"),
        (("predict", "model", "samples.csv", "--measure-next", 3, "--prefer", "best"), 2, "not one of high, low, uncertain"),
        (("explain", "model", "nonsense", "--out", "x.svg"), 1, "no readable molecule"),
        (("explain", "model", "CC", "CCC", "--out", "x.svg"), 1, "Did you mean an .html page?"),
        (("explain", "model", "CC", "--out", "x.png"), 1, "must end in .svg or .html"),
        (("explain", "model", "CC", "--out", "x.svg", "--target", "logS"), 1, "--target must be one of 'polar_area'"),
    ],
)
def test_slips_are_named(fitted, folder, monkeypatch, arguments, code, said):
    monkeypatch.chdir(folder)
    result = call(*arguments)
    assert result.exit_code == code
    assert said in " ".join(result.output.replace("│", " ").split())
