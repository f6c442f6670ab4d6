"""The command line as a user meets it: what it says, what it writes, how it ends."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from small_data import write_tu_folder
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.cli.options import parse_seeds
from graph2tens.datasets import load, split

SMALL = ["--width", "4", "--layers", "1", "--walk-length", "2", "--batch-size", "16", "--threads", "1"]


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def rings(tmp_path_factory):
    return write_tu_folder(tmp_path_factory.mktemp("data") / "rings")


@pytest.fixture(scope="module")
def model(rings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "rings"
    result = call("train", rings, "--epochs", 3, "--out", folder, *SMALL)
    assert result.exit_code == 0, result.output
    return folder


# --- help and usage -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["train", "fit", "predict", "explain", "reproduce", "report", "features", "classify", "info"])
def test_every_command_explains_itself(command):
    result = call(command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout
    assert len(result.stdout.splitlines()) > 12


def test_without_arguments_the_commands_are_listed():
    result = call()
    assert "train" in result.output
    assert "reproduce" in result.output


def test_python_m_graph2tens_is_the_command():
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "graph2tens", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "graph2tens")


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "digits", "--model", "GPT"),
        ("train", "digits", "--protocol", "mine"),
        ("train", "digits", "--epochs", "0"),
        ("train", "--no-such-option"),
        ("reproduce", "table7"),
        ("reproduce", "nci", "--seeds", "3-1"),
        ("reproduce", "nci", "--protocol", "mine"),
        ("predict",),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(arguments):
    result = call(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "seeds"), [("0-3", [0, 1, 2, 3]), ("5", [5]), ("0,3,5-7", [0, 3, 5, 6, 7]), ("2,1-3", [2, 1, 3]), (" 1 - 2 , 4 ", [1, 2, 4])]
)
def test_seeds_are_read_as_people_write_them(text, seeds):
    assert parse_seeds(text) == seeds


# --- train, predict -----------------------------------------------------------------------------------------------------------------------


def test_training_leaves_a_model_a_record_and_a_report(model):
    names = {path.name for path in model.iterdir()}
    assert names == {"model.json", "best.safetensors", "last.safetensors", "state.pt", "record.json", "report.html"}
    description = json.loads((model / "model.json").read_text())
    assert description["in_channels"] == 2
    assert description["class_names"] == ["0", "1"]
    assert description["run"]["network"]["hidden_channels"] == 4
    assert len(description["scaler"]["shift"]) == 2
    assert description["judged"] == "last.safetensors"


def test_the_record_of_a_run_is_printed_as_json(rings, tmp_path):
    result = call("train", rings, "--epochs", 1, "--out", tmp_path / "m", "--json", *SMALL)
    record = json.loads(result.stdout)
    assert record["epochs"] == 1
    assert record["model_path"] == str(tmp_path / "m")
    assert 0 <= record["test_accuracy"] <= 1


@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed"])
def test_other_precisions_learn_the_same(model, rings, tmp_path, precision):
    options = ("--epochs", 3, "--out", tmp_path / "m", "--json", "--no-report", "--device", "cpu", "--precision", precision)
    record = json.loads(call("train", rings, *options, *SMALL).stdout)
    plain = json.loads((model / "record.json").read_text())
    assert record["curve"]["train_loss"] == pytest.approx(plain["curve"]["train_loss"], rel=0.05)


def test_a_model_predicts_what_it_predicted_in_training(model, rings, tmp_path):
    result = call("predict", model, "--data", rings, "--json")
    said = json.loads(result.stdout)
    record = json.loads((model / "record.json").read_text())
    sizes = {"train": 32, "validation": 4, "test": 4}
    right = sum(record[f"{part}_accuracy"] * size for part, size in sizes.items())
    assert said["accuracy"] == pytest.approx(right / 40)
    assert len(said["predictions"]) == 40
    assert sum(said["predictions"][0]["probabilities"]) == pytest.approx(1)


@pytest.mark.parametrize("patience", [None, 100], ids=["last weights", "best weights"])
def test_predict_on_the_test_part_gives_the_accuracy_that_train_printed(tmp_path, patience):
    # Labels by chance: the validation loss has its minimum long before the end, so best and last weights differ.
    folder, model = write_tu_folder(tmp_path / "noise", graphs=100), tmp_path / "m"
    labels = np.random.default_rng(0).integers(0, 2, 100)
    (folder / "noise_graph_labels.txt").write_text("\n".join(map(str, labels)) + "\n")
    options = [*SMALL, "--width", 32, "--layers", 2, "--dropout", 0, "--epochs", 20, "--learning-rate", 0.01, "--seed", 1]
    trained = call("train", folder, "--out", model, *options, *([] if patience is None else ["--patience", patience]))
    assert trained.exit_code == 0, trained.output
    (printed,) = re.findall(r"test\W+10\W+([\d.]+)%", trained.stdout)
    said = {
        weights.name: json.loads(call("predict", weights, "--data", folder, "--json").stdout)["predictions"]
        for weights in (model, model / "best.safetensors", model / "last.safetensors")
    }
    assert said["best.safetensors"] != said["last.safetensors"], "this run does not tell them apart"
    right = [said["m"][i]["class"] == str(labels[i]) for i in split(load(folder), 1).test]
    assert f"{np.mean(right):.2%}" == f"{printed}%"
    assert said["m"] == said["last.safetensors" if patience is None else "best.safetensors"]


def test_predictions_need_no_labels_and_go_to_a_table(model, tmp_path):
    unlabelled = write_tu_folder(tmp_path / "new", graphs=7, labels=False)
    result = call("predict", model, "--data", unlabelled, "--out", tmp_path / "said.csv")
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "said.csv").read_text().splitlines()
    assert lines[0] == "graph,class,probability of 0,probability of 1"
    assert len(lines) == 8
    assert "7 graphs" in result.stderr
    assert "labelled" not in result.stderr


def test_a_run_in_the_way_is_not_overwritten_unasked(model, rings):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    result = call("train", rings, "--epochs", 3, "--out", model, *SMALL)
    assert result.exit_code == 1
    assert "--overwrite" in result.stderr
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


def test_overwriting_a_run_leaves_all_other_files_alone(rings, tmp_path):
    folder, options = tmp_path / "m", ("--epochs", 1, "--out", tmp_path / "m", *SMALL)
    assert call("train", rings, *options).exit_code == 0
    others = {"notes.txt", "state.pt.old", ".hidden", "figures/report.html"}
    (folder / "figures").mkdir()
    for name in others:
        (folder / name).write_text("mine")
    (folder / ".state.pt.abcd_123.unfinished").write_text("of a run that was killed while it wrote")
    assert call("train", rings, *options, "--overwrite", "--no-report", "--seed", 1).exit_code == 0
    assert {name: (folder / name).read_text() for name in others} == dict.fromkeys(others, "mine")
    written = {path.name for path in folder.iterdir()} - {"notes.txt", "state.pt.old", ".hidden", "figures"}
    assert written == {"model.json", "best.safetensors", "last.safetensors", "state.pt", "record.json"}
    assert json.loads((folder / "record.json").read_text())["seed"] == 1


def test_only_the_same_run_is_resumed(model, rings):
    result = call("train", rings, "--epochs", 4, "--out", model, "--resume", *SMALL)
    assert result.exit_code == 1
    assert "epochs = 3 (now 4)" in result.stderr


def test_a_run_is_not_resumed_on_data_that_changed(tmp_path):
    folder, model = write_tu_folder(tmp_path / "rings"), tmp_path / "m"
    options = ("--epochs", 1, "--out", model, *SMALL)
    assert call("train", folder, *options).exit_code == 0
    assert call("train", folder, *options, "--resume").exit_code == 0
    damage(folder, "node_attributes", lambda lines: [*lines[:-1], "0.5, 0.25"])
    result = call("train", folder, *options, "--resume")
    assert result.exit_code == 1
    assert "the data of rings changed" in result.stderr


def test_resuming_a_finished_run_repeats_its_numbers(model, rings):
    before = json.loads((model / "record.json").read_text())
    result = call("train", rings, "--epochs", 3, "--out", model, "--resume", "--json", *SMALL)
    after = json.loads(result.stdout)
    assert {name: after[name] for name in before} == before  # when it was made and by which code, too
    assert json.loads((model / "record.json").read_text()) == before


@pytest.mark.slow
def test_two_processes_that_share_every_batch_learn_what_one_learns(rings, tmp_path):
    losses = []
    for devices in (1, 2):
        options = ("--epochs", 3, "--dropout", 0, "--device", "cpu", "--devices", devices, "--out", tmp_path / str(devices), "--json")
        done = subprocess.run(command("train", rings, *options, *SMALL), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        losses.append(json.loads(done.stdout.splitlines()[-1])["curve"]["train_loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def command(*arguments):
    return [sys.executable, "-W", "ignore", "-m", "graph2tens", *map(str, arguments)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_an_interrupted_run_ends_with_130_and_a_model_that_works(rings, tmp_path, number):
    folder = tmp_path / "m"
    process = subprocess.Popen(
        command("train", rings, "--epochs", 3000, "--out", folder, *SMALL),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # tests that run in the background of a shell inherit an ignored SIGINT, and would pass it on
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "state.pt").exists():
        assert process.poll() is None, process.stderr.read()
    os.kill(process.pid, number)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert "--resume" in said
    assert "Traceback" not in said
    assert call("predict", folder, "--data", rings).exit_code == 0


# --- errors -------------------------------------------------------------------------------------------------------------------------------


def damage(folder, kind, change):
    path = folder / f"{folder.name}_{kind}.txt"
    if change is None:
        path.unlink()
    else:
        lines = path.read_text().splitlines()
        path.write_text("\n".join(change(lines)) + "\n")


DAMAGES = {
    "missing file": ("graph_indicator", None, "graph_indicator"),
    "truncated file": ("node_attributes", lambda lines: lines[:-3], "node_attributes"),
    "edge to a node that does not exist": ("A", lambda lines: [*lines, "1, 99999"], "A.txt"),
    "graph without nodes": ("graph_labels", lambda lines: [*lines, "1"], "graph"),
    "NaN attribute": ("node_attributes", lambda lines: ["nan, 1", *lines[1:]], "node_attributes.txt"),
    "one class only": ("graph_labels", lambda lines: ["0"] * len(lines), "class"),
    "class with too few graphs": ("graph_labels", lambda lines: ["7", *["0", "1"] * (len(lines) // 2)][: len(lines)], "7"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_bad_data_gets_one_line_and_nothing_is_written(tmp_path, what):
    kind, change, named = DAMAGES[what]
    folder = write_tu_folder(tmp_path / "rings")
    damage(folder, kind, change)
    result = call("train", folder, "--epochs", 1, "--out", tmp_path / "m", *SMALL)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert named in result.stderr
    assert not (tmp_path / "m").exists()
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["train", "predict", "reproduce"])
def test_data_that_is_nowhere_gets_one_line(tmp_path, model, monkeypatch, command):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GRAPH2TENS_DATA", str(tmp_path / "none"))
    nowhere = tmp_path / "nowhere"
    arguments = {
        "train": ("train", nowhere, "--out", tmp_path / "m"),
        "predict": ("predict", model, "--data", nowhere),
        "reproduce": ("reproduce", "citation", "--seeds", "0", "--dataset", "Cora", "--out", tmp_path / "results", "--data-root", nowhere),
    }
    if command == "reproduce":
        monkeypatch.setattr("graph2tens.paper.reproduce.load", lambda name, root: (_ for _ in ()).throw(ValueError(f"no {name}")))
    result = call(*arguments[command])
    assert result.exit_code == 1
    assert [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "m").exists()
    assert not list(tmp_path.glob("results/*.jsonl"))


def test_a_model_that_does_not_fit_the_data_is_refused(model):
    result = call("predict", model, "--data", "digits")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "attributes" in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.json", "{", "not JSON"),
        ("model.json", "{}", "no field `format`"),
        ("last.safetensors", "abc", "not a whole safetensors file"),
    ],
)
def test_a_broken_model_is_refused(model, rings, tmp_path, name, content, message):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in model.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / name).write_text(content)
    result = call("predict", copy, "--data", rings)
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_traceback_is_there_for_those_who_want_it(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        call("--traceback", "predict", tmp_path / "none", "--data", "digits")


# --- reproduce, info ----------------------------------------------------------------------------------------------------------------------


def test_reproduce_says_what_it_would_do(tmp_path):
    result = call("reproduce", "citation", "--seeds", "0-1", "--dataset", "Cora", "--out", tmp_path, "--dry-run", "--json")
    todo = json.loads(result.stdout)
    assert [(run["dataset"], run["model"], run["seed"]) for run in todo] == [
        ("Cora", "G2TN", 0),
        ("Cora", "G2TAN", 0),
        ("Cora", "G2TN", 1),
        ("Cora", "G2TAN", 1),
    ]
    assert not list(tmp_path.iterdir())


def test_info_tells_where_data_is_looked_for(tmp_path, rings):
    facts = json.loads(call("info", "--data-root", rings.parent, "--json").stdout)
    assert facts["data_folders"][0] == str(rings.parent)
    assert facts["datasets_found"][0].startswith("rings")
    assert "reference" in facts["backends"]
    assert facts["devices"][0] == "cpu"
    assert "digits" in call("info").stdout
