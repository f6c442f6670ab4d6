"""A full disk at every write of every command: the old files stay whole, nothing half-written counts, and a line says what happened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import full_disk
import pytest
from full_disk import DisturbedCalls
from sandbox import RAW
from typer.testing import CliRunner
from writers import Arguments, Writer, contents, every_writer, prepared, restore

from graph2tens.cli import app

NAMES = ["train", "train --overwrite", "train --resume", "predict", "features .npz", "features .parquet", "classify", "reproduce", "report"]
NAMES += ["fit", "fit --overwrite", "predict molecules", "explain .svg", "explain .html"]
NAMES += ["scale fit", "scale apply", "scale apply with errors", "scale graph"]
ROOM = 2500  # pages, enough for all files of a command, twice
every_command = pytest.mark.parametrize("name", NAMES)


def run(arguments: Arguments) -> tuple[int, list[str]]:
    """Exit code and lines that begin with Error; no traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    told = f"{arguments}\nexit code {result.exit_code}\n{result.output[-1500:]}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(told) from result.exception
    assert not RAW.search(result.stderr), told
    return result.exit_code, [line for line in result.stderr.splitlines() if line.startswith("Error: ")]


class Case:
    """A command with the files that lie in its folder before."""

    def __init__(self, writer: Writer, folder: Path) -> None:
        self.writer, self.folder = writer, folder
        self.before = prepared(writer, folder, run)

    def fails(self, calls: DisturbedCalls | None = None) -> bool:
        """Run the command on a disk that may be full; whether it failed, in a line, with the old files whole."""
        code, errors = run(self.writer.command)
        if code == self.writer.code and not errors:
            return False
        assert code == 1, code
        assert len(errors) == 1, errors
        assert "No space left on device" in errors[0], errors
        after = contents(self.folder)
        after.pop("filler", None)
        self.writer.check_failed(self.before, after, calls is not None and calls.at_rename)
        return True

    def goes_on(self) -> None:
        """On a disk with room the command, or the one that is for this, comes to its end."""
        begun = any((self.folder / name).exists() for name in ("m/state.pt", "f/model.json"))
        code, errors = run(self.writer.again if self.writer.again is not None and begun else self.writer.command)
        assert (code, errors) == (self.writer.code, []), errors


def fail_at_calls(case: Case, numbers: Callable[[int], bool], once: bool = False) -> int:
    """Let call k fail, for all k that are wanted, until the command comes to its end undisturbed; how many calls it made."""
    number = 0
    while True:
        number += 1
        if not numbers(number):
            continue
        restore(case.folder, case.before)
        calls = DisturbedCalls(case.folder, number, once)
        with calls.active():
            failed = case.fails(calls)
        if not calls.failed:
            assert not failed
            return number - 1
        assert failed or once, f"call {number} failed and the command did not"
        if failed:  # the making of a folder that is there may fail
            case.goes_on()


@every_command
def test_no_room_at_some_call_leaves_the_old_files_whole(name, inputs):
    inputs.sandbox.fresh()
    case = Case(every_writer(inputs)[name], inputs.sandbox.work / "disk")
    calls = fail_at_calls(case, lambda number: number in (2, 5) or number % 11 == 0)
    assert calls >= 4


@pytest.mark.slow
@pytest.mark.parametrize("once", [False, True], ids=["from then on", "once"])
@every_command
def test_no_room_at_any_call_leaves_the_old_files_whole(name, once, inputs):
    inputs.sandbox.fresh()
    case = Case(every_writer(inputs)[name], inputs.sandbox.work / "disk")
    calls = fail_at_calls(case, lambda number: True, once)
    print(f"{name}: {calls} calls")


@pytest.fixture
def disk(sandbox):
    sandbox.fresh()
    (sandbox.work / "probe").mkdir()
    if not full_disk.may_mount(sandbox.work / "probe"):
        pytest.skip("needs the right to mount a file system")
    return sandbox.work / "disk"


def fill_up(case: Case, pages: list[int]) -> list[int]:
    """Run the command on a real file system with so many free pages; those with which it failed."""
    size = 64 + 2 * sum(len(content) // full_disk.PAGE + 1 for content in case.before.values()) + ROOM
    failed = []

    def work(free: int) -> None:
        os.chdir(case.folder)
        restore(case.folder, case.before)
        full_disk.fill(case.folder, free)
        if case.fails():
            (case.folder / "filler").unlink()
            case.goes_on()
            raise SystemExit

    for free in pages:
        wrong = full_disk.in_own_disk(case.folder, size, lambda: work(free))  # noqa: B023
        if wrong is not None and "SystemExit" not in wrong:
            raise AssertionError(f"{free} pages free\n{wrong}")
        if wrong is not None:
            failed.append(free)
    return failed


@every_command
def test_a_full_file_system_leaves_the_old_files_whole(name, inputs, disk):
    case = Case(every_writer(inputs)[name], disk)
    assert fill_up(case, [0, 2])[:1] == [0]


@pytest.mark.slow
@every_command
def test_a_file_system_with_any_number_of_free_pages_leaves_the_old_files_whole(name, inputs, disk):
    case = Case(every_writer(inputs)[name], disk)
    pages = [*range(0, 40, 3 if name.startswith("fit") else 1), *range(40, ROOM, 97)]
    failed = fill_up(case, pages)
    print(f"{name}: failed with up to {max(failed)} free pages")
    assert max(failed) < max(pages)
