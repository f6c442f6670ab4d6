"""Options as nobody would give them: every command answers in a line, and takes no memory, time or file that it was not given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import Command, Parameter, all_commands
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

COMMANDS = all_commands()
every_command = pytest.mark.parametrize("command", COMMANDS, ids=str)

# Sizes at which a command is done in a moment, by the names of options; given unless an example draws another value.
QUICK = {"epochs": 1, "width": 4, "layers": 1, "walk_length": 1, "functionals": 2, "waves": 2, "batch_size": 16, "seeds": "0"}
QUICK |= {"threads": 1, "jobs": 1, "folds": 2, "most": 2}
SMALL_INTEGERS = {"devices": [1], "jobs": [1], "degree": [1, 2], "epochs": [1, 2], "layers": [1, 2], "threads": [1, 2]}
BAD_INTEGERS = [-(2**63), -1, 2**31, 2**63, 2**64, 99999999999999999999, 10**400, "1e3", "0x10", "", " ", "three", "٣", "1_0", "nan", "1.5"]
FLOATS = [0, 1e-3, 0.5, 1, 1e6, 1e300, -1, "nan", "inf", "-inf", "1e999", "", "half"]
WORDS = ["", " ", "-", "--", "a/b", "..", "x" * 5000, "🙂", "[bold]", "%s", "{0}", "$(touch x)", "`x`", "a\nb", "\x1b[31m", "NaN", "-1"]
WORDS += ["0-1", "3-1", "0-99999999999", "99999999999999999999", "0," * 3000, "G2TN", "G2TAN", "paper", "authors", "features", "wl", "both"]
WORDS += ["sum", "mean", "none", "cpu", "cuda", "NoDiff", "nci", "khop", "digit", "Cora", "long-range:99999999999"]
WORDS += ["random", "scaffold", "regression", "classification", "smiles", "logS", "CCO", "C" * 2000]
SUFFIXES = ["", ".npz", ".parquet", ".csv", ".html", ".svg", ".safetensors", ".json", ".md"]
WRITTEN = {"out", "markdown", "readme", "docs", "into"}


def integers(parameter: Parameter) -> st.SearchStrategy[object]:
    beyond = [] if parameter.most is None else [int(parameter.most) + 1]
    return st.sampled_from([*SMALL_INTEGERS.get(parameter.name, [0, 1, 2, 3]) * 8, 0, *BAD_INTEGERS, *beyond])


def paths_to_write() -> st.SearchStrategy[str]:
    new = st.sampled_from(SUFFIXES).map(lambda suffix: f"new/made{suffix}")
    return new | st.sampled_from(["README.md", "file", "folder", "file/below.npz", "x" * 300 + ".npz", "", ".", "/dev/full"])


def paths_to_read(sandbox) -> st.SearchStrategy[str]:
    files = [path for path in sorted(sandbox.inputs.rglob("*")) if "rings_" not in path.name]
    places = [*files, sandbox.inputs, sandbox.inputs / "none", "/dev/null", "/proc/self/mem", "", ".", "x" * 300]
    return st.sampled_from([str(place) for place in places])


def values(parameter: Parameter, sandbox) -> st.SearchStrategy[object]:
    if parameter.name in ("dataset", "data"):
        return st.sampled_from([str(sandbox.rings)] * 12 + [str(sandbox.inputs / "none"), str(sandbox.model), "nowhere", *WORDS])
    if parameter.name in WRITTEN:
        return paths_to_write()
    if parameter.kind is int:
        return integers(parameter)
    if parameter.kind is float:
        return st.sampled_from(FLOATS)
    return paths_to_read(sandbox) if parameter.kind is Path else st.sampled_from(WORDS)


@st.composite
def option_sets(draw: st.DrawFn, command: Command, sandbox) -> list[object]:
    """All that is required, a few of the others, and quick values where nothing was drawn."""
    optional = [parameter for parameter in command.parameters if not parameter.required]
    chosen = {parameter.name for parameter in draw(st.lists(st.sampled_from(optional), max_size=4))} if optional else set()
    arguments: list[object] = list(command.path)
    for parameter in command.parameters:
        if not (parameter.required or parameter.name in chosen):
            if parameter.name in QUICK:
                arguments += [parameter.flags[0], QUICK[parameter.name]]
            continue
        if parameter.kind is bool:
            arguments.append(draw(st.sampled_from(parameter.flags)))
            continue
        for _ in range(draw(st.integers(1, 2)) if parameter.repeats else 1):
            arguments += [*parameter.flags[:1], draw(values(parameter, sandbox))]
    return arguments


def try_options(command: Command, sandbox, examples: int) -> None:
    @settings(max_examples=examples, phases=[Phase.generate])  # an example is short enough to read, and shrinking takes minutes
    @given(option_sets(command, sandbox))
    def try_out(arguments):
        sandbox.fresh()
        sandbox.run(*arguments)

    try_out()


@every_command
def test_no_options_end_in_a_traceback(command, sandbox):
    try_options(command, sandbox, 30)


@pytest.mark.slow
@every_command
def test_no_options_end_in_a_traceback_however_many_are_tried(command, sandbox):
    try_options(command, sandbox, -(-2000 // len(COMMANDS)))


@every_command
def test_every_number_has_limits_that_a_machine_integer_holds(command):
    for parameter in command.parameters:
        if parameter.kind in (int, float):
            assert parameter.least is not None, f"{command} {parameter.name}"
            assert parameter.most is not None, f"{command} {parameter.name}"
            assert -(2**63) <= parameter.least <= parameter.most < 2**63 or parameter.kind is float


NUMBERS = [(command, parameter) for command in COMMANDS for parameter in command.parameters if parameter.kind is int and parameter.flags]


@pytest.mark.parametrize(("command", "parameter"), NUMBERS, ids=lambda one: getattr(one, "name", None) or str(one))
def test_numbers_beyond_the_limits_are_refused_by_the_option_s_name(command, parameter, sandbox):
    from typer.testing import CliRunner

    from graph2tens.cli import app

    sandbox.fresh()
    required = [one for one in command.parameters if one.required]
    others = [part for one in required for part in [*one.flags[:1], "x.npz" if one.name in WRITTEN else str(sandbox.rings)]]
    for value in (int(parameter.most) + 1, 99999999999999999999, int(parameter.least) - 1):
        result = CliRunner().invoke(app, [*command.path, *others, parameter.flags[0], str(value)])
        assert result.exit_code == 2
        assert parameter.flags[0] in result.stderr
    assert sorted(os.listdir()) == ["README.md", "file", "folder"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "--width", 65536, "--layers", 1000), ("hidden_channels=65536", "GiB")),
        (("features", "--functionals", 10**6, "--layers", 2, "--out", "x.npz"), ("1,000,000 functionals", "GiB")),
        (("features", "--waves", 10**6, "--layers", 1000, "--out", "x.npz"), ("1,000,000 waves", "GiB")),
        (("features", "--exact", "--degree", 64, "--out", "x.npz"), ("degree 64", "GiB")),
        (("classify", "--functionals", 10**6), ("1,000,000 functionals", "GiB")),
    ],
    ids=lambda one: " ".join(map(str, one)),
)
def test_sizes_that_cannot_fit_are_refused_with_their_numbers(arguments, words, sandbox):
    sandbox.fresh()
    command, *options = arguments
    assert sandbox.run(command, sandbox.rings, *options, names=words[0]) == 1
    assert sandbox.run(command, sandbox.rings, *options, names=words[1]) == 1
    assert not Path("x.npz").exists()


def test_training_that_diverges_says_when_and_at_which_rate(sandbox):
    sandbox.fresh()
    options = ("--epochs", 30, "--width", 4, "--layers", 1, "--learning-rate", 1e30, "--threads", 1)
    assert sandbox.run("train", sandbox.rings, "--out", "m", *options, names="training diverged at epoch") == 1
    assert sandbox.run("train", sandbox.rings, "--out", "n", *options, names="learning rate 1e+30") == 1


@pytest.mark.parametrize("command", [command for command in COMMANDS if any(one.name == "out" for one in command.parameters)], ids=str)
def test_a_place_that_is_no_folder_is_refused_by_the_option_s_name(command, sandbox):
    from typer.testing import CliRunner

    from graph2tens.cli import app

    sandbox.fresh()
    required = [one for one in command.parameters if one.required and one.name != "out"]
    others = [part for one in required for part in [*one.flags[:1], "7" if one.kind is int else str(sandbox.rings)]]
    result = CliRunner().invoke(app, [*command.path, *others, "--out", "file/below.npz"])
    assert result.exit_code == 2
    assert "--out" in result.stderr
    assert Path("file").read_text() == "mine\n"
