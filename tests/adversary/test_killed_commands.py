"""Commands killed at random, two at a time in one folder, and at every call that writes: nothing is lost, mixed or half, and the next one
comes to its end and leaves nothing unfinished."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
from full_disk import DisturbedCalls
from typer.testing import CliRunner
from writers import Arguments, Contents, Writer, contents, every_writer, is_whole, prepared, restore

from graph2tens.cli import app

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
NAMES = ["predict", "features .npz", "features .parquet", "classify", "reproduce", "report", "fit --overwrite", "predict molecules"]
NAMES += ["scale apply", "scale graph"]
every_command = pytest.mark.parametrize("name", NAMES)


def run(arguments: Arguments) -> int:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code


class Case:
    """A command and its rival, what lay in their folder before, and what each of them makes of it."""

    def __init__(self, writer: Writer, folder: Path) -> None:
        self.writer, self.folder = writer, folder
        self.before = prepared(writer, folder, run)
        self.results = []
        for arguments in self.both():
            restore(folder, self.before)
            started = time.monotonic()
            assert run(arguments) == writer.code
            self.seconds = time.monotonic() - started
            self.results.append(contents(folder))

    def both(self) -> list[Arguments]:
        return [self.writer.command, self.writer.rival or self.writer.command]

    def check(self, kept: Contents) -> Contents:
        """What can be seen is whole and of one of the commands, or as it was; `kept`, what was seen before, is not lost."""
        seen = {name: content for name, content in contents(self.folder).items() if ".unfinished" not in name}
        if any(name.endswith(".jsonl") for name in seen):
            seen = self.check_records(kept, seen)
        for name, content in seen.items():
            assert is_whole(name, content), f"{name} is not whole"
            if Path(name).suffix in (".csv", ".npz", ".parquet", ".npy", ".md") and "estimate" not in name:
                assert content in [result[name] for result in [self.before, *self.results] if name in result], f"{name} is of nobody"
        if "f/model.json" in seen:
            self.check_model(seen)
        assert kept.keys() <= seen.keys() | {"f/estimate.csv"}, f"lost: {kept.keys() - seen.keys()}"
        return seen

    def check_records(self, kept: Contents, seen: Contents) -> Contents:
        """A line that was cut off does not count, and is removed by the next one; others are never lost or doubled."""
        whole = {name: content[: content.rfind(b"\n") + 1] for name, content in seen.items()}
        for name, content in whole.items():
            assert content.startswith(kept.get(name, b"")), f"{name} lost something"
            seeds = [json.loads(line)["seed"] for line in content.splitlines()]
            assert len(seeds) == len(set(seeds)), seeds
        return {name: content for name, content in whole.items() if content}

    def check_model(self, seen: Contents) -> None:
        """The model can be used, and the estimate beside it is its own."""
        assert run(("predict", "f", self.writer.command[1], "--out", os.devnull, "--threads", 1)) == 0
        digest = json.loads(seen["f/model.json"])["arrays"]
        own = [result for result in [self.before, *self.results] if json.loads(result["f/model.json"])["arrays"] == digest]
        assert len(own) == 1
        assert seen.get("f/estimate.csv") in (own[0]["f/estimate.csv"], None)

    def comes_to_its_end(self) -> None:
        """The command does its work after all that, and leaves nothing unfinished."""
        code = run(self.writer.command)
        made = (self.folder / "g" / "graph.json").exists()  # a graph on disk is not replaced
        assert code == self.writer.code or made
        after, expected = contents(self.folder), self.results[0]
        assert after.keys() == expected.keys(), f"{after.keys() ^ expected.keys()}"
        for name, content in after.items():
            assert is_whole(name, content)
            if Path(name).suffix in (".csv", ".npz", ".parquet", ".npy", ".md"):
                assert content == expected[name], name
            if name.endswith(".jsonl"):
                assert len(content.splitlines()) == len(expected[name].splitlines())


def started(arguments: Arguments, folder: Path, pause: float) -> int:
    """A command in a forked process (a new one would import for seconds), in which every call that writes takes a while longer."""
    child = os.fork()
    if child == 0:
        with DisturbedCalls(folder, 1, disturb=lambda: time.sleep(pause)).active():
            os._exit(run(arguments))
    return child


def ended(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def kill_pairs(case: Case, pairs: int, rng: random.Random) -> None:
    restore(case.folder, case.before)
    kept: Contents = case.before
    for number in range(pairs):
        if "g/graph.json" in kept or number % 4 == 3:  # from the start again, or there would soon be nothing left to write
            restore(case.folder, case.before)
            kept = case.before
        children = [started(arguments, case.folder, rng.uniform(0, 0.004)) for arguments in case.both()]
        for child in rng.sample(children, 2):
            time.sleep(rng.uniform(0, 1.2 * case.seconds))
            ended(child)
        kept = case.check(kept)
    case.comes_to_its_end()


@every_command
def test_kills_of_two_commands_in_one_folder_lose_and_mix_nothing(name, inputs):
    inputs.sandbox.fresh()
    kill_pairs(Case(every_writer(inputs)[name], inputs.sandbox.work / "disk"), 1, random.Random(name))


@pytest.mark.slow
@every_command
def test_many_kills_of_two_commands_in_one_folder_lose_and_mix_nothing(name, inputs):
    inputs.sandbox.fresh()
    kill_pairs(Case(every_writer(inputs)[name], inputs.sandbox.work / "disk"), 12, random.Random(name))


def kill_at_call(case: Case, number: int) -> bool:
    """Kill the command when it makes a certain call; False if it makes fewer."""
    child = os.fork()
    if child == 0:
        with DisturbedCalls(case.folder, number, disturb=lambda: os.kill(os.getpid(), signal.SIGKILL)).active():
            os._exit(run(case.writer.command))
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.slow
@every_command
def test_a_kill_at_any_call_that_writes_loses_and_mixes_nothing(name, inputs):
    inputs.sandbox.fresh()
    case = Case(every_writer(inputs)[name], inputs.sandbox.work / "disk")
    number = 1
    while True:
        restore(case.folder, case.before)
        if not kill_at_call(case, number):
            break
        case.check(case.before)
        case.comes_to_its_end()
        number += 1
    assert number > 3
