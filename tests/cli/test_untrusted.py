"""What a user, another process or a stranger's file can do wrong: told in one line, nothing followed, allocated or mixed."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from small_data import write_tu_folder
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.files import holding

SMALL = ["--width", "4", "--layers", "1", "--walk-length", "2", "--batch-size", "16", "--threads", "1", "--no-report"]


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("untrusted")
    data = write_tu_folder(folder / "rings")
    assert call("train", data, "--epochs", 1, "--out", folder / "model", *SMALL).exit_code == 0
    return folder / "model", data


@pytest.mark.parametrize("option", [("train", "digits", "--threads", 4000), ("classify", "digits", "--jobs", 4000)], ids=lambda o: o[0])
def test_thousands_of_threads_are_refused_with_the_option_named(option):
    result = call(*option)
    assert result.exit_code == 2
    assert option[2] in result.output
    assert "is not in the range 1<=x<=64" in " ".join(result.output.replace("│", " ").split())


def test_a_second_training_in_one_folder_is_told_and_changes_nothing(trained):
    folder, data = trained
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with holding(folder):  # as another process would
        result = call("train", data, "--epochs", 1, "--out", folder, "--overwrite", "--seed", 1, *SMALL)
    assert result.exit_code == 2
    assert "another process is writing to" in " ".join(result.stderr.replace("│", " ").split())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def changed(description, *path, to):
    *outer, last = path
    inner = description
    for name in outer:
        inner = inner[name]
    inner[last] = to


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("judged",), "../other/last.safetensors", "field `judged`"),
        (("run", "builder"), "os.system", "got 'os.system'"),
        (("in_channels",), 10**12, "for each of the 1000000000000 attributes"),
        (("run", "network", "hidden_channels"), 10**12, "cannot be built"),
        (("run", "network", "hidden_channels"), 10**5, "should have shape"),
        (("run", "network", "no_such_option"), 1, "cannot be built"),
        (("run", "network", "num_layers"), 10**9, "more layers than the file has tensors"),
        (("run", "network", "num_layers"), 2, "in one of the two only"),
        (("scaler",), None, "field `scaler`"),
        (("run", "cell"), {}, "no field `run.cell.table`"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_a_model_json_that_asks_for_other_files_or_other_sizes_is_refused(trained, tmp_path, path, value, message):
    folder, data = trained
    shutil.copytree(folder, tmp_path / "model")
    shutil.copytree(folder, tmp_path / "other")
    description = json.loads((tmp_path / "model" / "model.json").read_text())
    changed(description, *path, to=value)
    (tmp_path / "model" / "model.json").write_text(json.dumps(description))
    result = call("predict", tmp_path / "model", "--data", data, "--threads", 1)
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1), result.output
    assert message in result.stderr


def test_a_diverged_training_keeps_what_it_has_and_says_so(tmp_path):
    data, folder = write_tu_folder(tmp_path / "rings"), tmp_path / "m"
    result = call("train", data, "--epochs", 3, "--learning-rate", "1e30", "--out", folder, *SMALL)
    assert result.exit_code == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert "training diverged at epoch 1" in line
    assert re.search(r"learning rate [\d.]+e\+(29|30)", line)
    assert "`x`" not in line
