"""Every command that writes files, with what was there before, how to go on after a failure, and what a whole file is."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from made_inputs import Inputs
from safetensors.numpy import load as load_arrays
from sandbox import TRAIN

FEATURES = ("--layers", 1, "--functionals", 2, "--waves", 2, "--jobs", 1)
SMALL = ("--set", "n_layers=1", "--set", "n_functionals=4", "--set", "n_waves=4")
Arguments = tuple[object, ...]
Contents = dict[str, bytes]


@dataclass(frozen=True)
class Writer:
    """A command that writes into the current folder.

    Attributes:
        command: what is disturbed.
        rival: another command that writes the same files, at the same time.
        before: commands that wrote what lies there before.
        again: what goes on after a failure; the command itself by default.
        keeps: what must hold of the files after a failure; by default that they are as they were before.
        code: the exit code of the command when nothing fails.
        parted: what must hold if a rename fails, of several that put new files in their places; by default the same.
    """

    command: Arguments
    before: tuple[Arguments, ...] = ()
    again: Arguments | None = None
    keeps: Callable[[Contents, Contents], None] | None = None
    code: int = 0
    parted: Callable[[Contents, Contents], None] | None = None
    rival: Arguments | None = None

    def check_failed(self, before: Contents, after: Contents, at_rename: bool = False) -> None:
        """No temporary file is left, every file is whole, and the old ones are as they were or as the command says."""
        assert not [name for name in after if Path(name).name.startswith(".")], f"left behind: {sorted(after)}"
        for name, content in after.items():
            assert is_whole(name, content), f"{name} is not whole"
        if at_rename and self.parted is not None:
            self.parted(before, after)
        elif self.keeps is not None:
            self.keeps(before, after)
        else:
            assert after == before, f"changed: {[name for name in before.keys() | after if before.get(name) != after.get(name)]}"


def every_writer(inputs: Inputs) -> dict[str, Writer]:
    """By name."""
    box = inputs.sandbox
    train = ("train", box.rings, "--out", "m", *TRAIN)
    predict = ("predict", box.model, "--data", box.rings, "--out", "p.csv", "--threads", 1)
    features = ("features", box.rings, *FEATURES, "--out")
    classify = ("classify", box.rings, *FEATURES, "--out", "c", "--seeds")
    reproduce = ("reproduce", "nci", "--dataset", "NCI1", "--model", "G2TN", "--epochs", 1, "--threads", 1, "--data-root", inputs.root)
    report = ("report", box.records, "--authors-runs", box.authors, "--out", "page.html", "--markdown", "all.md")
    fit = ("fit", box.molecules, "--target", "logS", "--jobs", 1, "--out", "f")
    answer = ("predict", inputs.molecule_model, box.molecules, "--out", "p.csv", "--threads", 1)
    other_answer = ("predict", inputs.molecule_model, inputs.other_molecules, "--out", "p.csv", "--threads", 1)
    explain = ("explain", inputs.molecule_model, "CCO")
    apply = ("scale", "apply", inputs.features, inputs.graphs, "--out", "t", "--workers", 1, "--yes")
    return {
        "train": Writer(train, again=(*train, "--overwrite"), keeps=one_run),
        "train --overwrite": Writer((*train, "--overwrite", "--seed", 1), ((*train, "--width", 1),), keeps=one_run),
        "train --resume": Writer((*train, "--resume"), (train, UNFINISHED), keeps=one_run),
        "predict": Writer(predict, ((*predict, "--data", inputs.other_rings),), rival=(*predict, "--data", inputs.other_rings)),
        "features .npz": Writer((*features, "x.npz"), ((*features, "x.npz", "--seed", 1),), rival=(*features, "x.npz", "--seed", 2)),
        "features .parquet": Writer(
            (*features, "x.parquet"), ((*features, "x.parquet", "--seed", 1),), rival=(*features, "x.parquet", "--seed", 2)
        ),
        "classify": Writer((*classify, "0-6"), ((*classify, "0"),), keeps=longer),
        "reproduce": Writer((*reproduce, "--seeds", "0-4", "--out", "r"), ((*reproduce, "--seeds", "0", "--out", "r"),), keeps=longer),
        "report": Writer(
            (*report, "--readme", "A.md", "--docs", "B.md"),
            (PAGES,),
            parted=pages_kept,
            rival=(*report, "--title", "Other", "--readme", "A.md"),
        ),
        "fit": Writer((*fit, "--no-estimate"), again=(*fit, "--overwrite"), parted=one_model),
        "fit --overwrite": Writer((*fit, "--overwrite", "--seed", 1), (fit,), parted=one_model, rival=(*fit, "--overwrite", "--seed", 2)),
        "predict molecules": Writer(answer, (other_answer,), rival=other_answer),
        "explain .svg": Writer((*explain, "--out", "why.svg"), (("explain", inputs.molecule_model, "CCCO", "--out", "why.svg"),)),
        "explain .html": Writer((*explain, "--out", "why.html")),
        "scale fit": Writer(("scale", "fit", inputs.graphs, "--out", "f.safetensors", *SMALL)),
        "scale apply": Writer(apply, keeps=longer),
        "scale apply with errors": Writer((*apply, inputs.broken_graphs), keeps=longer, code=1),
        "scale graph": Writer(("scale", "graph", inputs.edges, "--out", "g", "--num-nodes", 500)),
    }


# Not commands, but what else is done before one.
UNFINISHED: Arguments = ("unfinished",)
PAGES: Arguments = ("pages",)


def do_otherwise(arguments: Arguments) -> bool:
    """Do what stands among commands but is none: a training without its end, pages with marked sections. Says whether it was one."""
    if arguments == UNFINISHED:
        for name in ("record.json", "report.html", "best.safetensors", "last.safetensors"):
            Path("m", name).unlink()
    elif arguments == PAGES:
        for name in ("A.md", "B.md"):
            Path(name).write_text(f"# Page {name}\n<!-- results:begin -->\nold\n<!-- results:end -->\nAfter\n" + "Written by hand.\n" * 500)
    else:
        return False
    return True


def prepared(writer: Writer, folder: Path, run: Callable[[Arguments], object]) -> Contents:
    """Make a folder, go there and do what comes before the command; what then lies there."""
    folder.mkdir()
    os.chdir(folder)
    for arguments in writer.before:
        if not do_otherwise(arguments):
            run(arguments)
    return contents(folder)


def contents(folder: Path) -> Contents:
    """All files below a folder, but for the empty files whose bytes are locked."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def restore(folder: Path, files: Contents) -> None:
    """Make a folder hold these files and nothing else."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


ENDS = {".html": b"</html>", ".svg": b"</svg>", ".csv": b"\n", ".md": b"\n", ".jsonl": b"\n"}
READERS: dict[str, Callable[[bytes], Any]] = {
    ".json": json.loads,
    ".jsonl": lambda content: [json.loads(line) for line in content.splitlines()],
    ".npz": lambda content: [table[key] for table in [np.load(io.BytesIO(content))] for key in table],
    ".npy": lambda content: np.load(io.BytesIO(content)),
    ".parquet": lambda content: pq.read_table(io.BytesIO(content)),
    ".safetensors": load_arrays,
    ".pt": lambda content: torch.load(io.BytesIO(content), weights_only=True),
}


def is_whole(name: str, content: bytes) -> bool:
    """Can a file be read to its end? Not, if it was cut off."""
    suffix = Path(name).suffix
    assert suffix in READERS or suffix in ENDS, f"nobody knows what {name} is"
    if suffix in ENDS and not content.rstrip(b"\r\n" if suffix in (".html", ".svg") else b"").endswith(ENDS[suffix]):
        return False
    try:
        READERS.get(suffix, len)(content)
    except Exception:
        return False
    return True


def longer(before: Contents, after: Contents) -> None:
    """What was there is there, and something may have been added to it."""
    for name, content in before.items():
        assert after[name].startswith(content), f"{name} lost something"


def pages_kept(before: Contents, after: Contents) -> None:
    """What people wrote on a page is there to its last line."""
    for name in before:
        assert after[name].endswith(b"After\n" + b"Written by hand.\n" * 500)


def one_model(before: Contents, after: Contents) -> None:
    """There is one model with its own arrays, and no estimate of another one."""
    old = before.get("f/model.json")
    if after.get("f/model.json") == old:
        assert after.get("f/model.safetensors") == before.get("f/model.safetensors")
        assert after.get("f/estimate.csv") in (before.get("f/estimate.csv"), None)
        return
    digest = json.loads(after["f/model.json"])["arrays"]
    arrays = [content for name, content in after.items() if name in ("f/model.safetensors", f"f/model-{digest}.safetensors")]
    assert digest in [hashlib.sha256(content).hexdigest() for content in arrays]
    assert "f/estimate.csv" not in after or after["f/estimate.csv"] != before.get("f/estimate.csv")


def one_run(before: Contents, after: Contents) -> None:
    """The files of a training are all of one run, told by its seed."""
    seeds = set()
    if "m/model.json" in after:
        seeds.add(json.loads(after["m/model.json"])["run"]["seed"])
    if "m/record.json" in after:
        seeds.add(json.loads(after["m/record.json"])["seed"])
    old = {name for name in after if name in before and after[name] == before[name]}
    new = {name for name in after if name not in old}
    assert len(seeds) <= 1, "two runs are mixed"
    if "m/model.json" in new:
        assert not old or "m/model.json" not in before, f"of the old run: {old}"
