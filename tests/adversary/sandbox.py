"""Where commands are tried out: files of every kind to read, a folder to write to, and the one thing that must always hold.

A command ends with 0, 1 or 2 and without a traceback, changes nothing outside the folder it was given, and runs nothing.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from pathlib import Path

from small_data import write_tu_folder
from typer.testing import CliRunner
from watch import watched

from graph2tens.cli import app

# What Python says when code meets a value that it did not expect. A command may not pass it on as if it were an answer.
RAW = re.compile(
    r"Traceback|object is not|object has no attribute|not subscriptable|indices must be|unexpected keyword|positional argument"
    r"|unhashable|unsupported operand|not supported between|NoneType|must be real number|_C\.|KeyError|AttributeError|IndexError"
)
TRAIN = ("--epochs", 1, "--width", 4, "--layers", 1, "--walk-length", 1, "--batch-size", 16, "--threads", 1)


class Sandbox:
    """`inputs` is only read from; `work` is made anew for every command and is the current folder."""

    def __init__(self, home: Path) -> None:
        self.inputs, self.work = home / "inputs", home / "work"
        self.rings = write_tu_folder(self.inputs / "rings", graphs=20)
        self.model = self.inputs / "model"
        self.records, self.authors, self.molecules = self.inputs / "records", self.inputs / "authors.csv", self.inputs / "molecules.csv"
        self.fresh()
        done = CliRunner().invoke(app, [*map(str, ("train", self.rings, "--out", self.model, *TRAIN))], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        self.records.mkdir()
        line = (self.model / "record.json").read_text().replace("\n", " ").replace('"table": "train"', '"table": "nci"')
        (self.records / "nci.jsonl").write_text(f"{line}\n" * 2)
        self.authors.write_text("dataset,model,variant,khop,seed,test_acc\nNCI1,G2TN,base,0,0,0.81\nCora,G2TAN,base,2,1,0.7\n")
        with self.molecules.open("w", newline="") as stream:
            csv.writer(stream).writerows([["smiles", "logS"], *(["C" * n + "O", n / 2] for n in range(1, 13))])

    def fresh(self) -> None:
        """An empty folder to write to, but for a page with marked sections, a file and a folder that are in the way."""
        shutil.rmtree(self.work, ignore_errors=True)
        (self.work / "folder").mkdir(parents=True)
        (self.work / "file").write_text("mine\n")
        (self.work / "README.md").write_text("# Before\n<!-- results:begin -->\nold\n<!-- results:end -->\nAfter\n")
        os.chdir(self.work)

    def run(self, *arguments: object, names: str | None = None) -> int:
        """Run a command and check what must always hold; `names` is what an error has to mention. Returns the exit code."""
        said = [str(argument) for argument in arguments]
        with watched(self.work) as outside:
            result = CliRunner().invoke(app, said)
        told = f"graph2tens {' '.join(map(repr, said))}\nexit code {result.exit_code}\n{result.output[-2000:]}"
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise AssertionError(told) from result.exception
        assert result.exit_code in (0, 1, 2), told
        assert not RAW.search(result.stderr), told
        assert not outside, f"{outside[:5]}\n{told}"
        if result.exit_code == 1:
            errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
            finds = said[:2] in (["scale", "check"], ["scale", "apply"])  # rows or files that are wrong end with 1 as well
            assert len(errors) == 1 or (finds and not errors), told
            assert names is None or names in errors[0], f"the error does not name {names}\n{told}"
        return result.exit_code
