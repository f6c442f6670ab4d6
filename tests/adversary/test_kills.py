"""Two commands on one folder, killed at random: what is left is one run, whole, and `train --resume` or `--overwrite` goes on from it."""

from __future__ import annotations

import json
import os
import random
import signal
import time

import pytest
import torch
from sandbox import TRAIN
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.training.saved import load_model

FILES = {"model.json", "state.pt", "best.safetensors", "last.safetensors", "record.json", "report.html"}


def started(*arguments: object) -> int:
    """A command in a process of its own; forked, since a new one would import for seconds and be killed before it writes."""
    child = os.fork()
    if child == 0:
        os._exit(CliRunner().invoke(app, [str(argument) for argument in arguments]).exit_code)
    return child


def kill_two(folder, sandbox, rng) -> None:
    """Two trainings of different seeds at once, each killed after a while."""
    seeds = rng.sample(range(5), 2)
    commands = [started("train", sandbox.rings, "--out", folder, "--overwrite", "--seed", seed, *TRAIN, "--epochs", 40) for seed in seeds]
    for child in rng.sample(commands, 2):
        time.sleep(rng.uniform(0, 0.6))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def check_whole(folder, sandbox) -> None:
    """Every file is of the same run, or is not there."""
    left = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert left <= FILES
    if "model.json" not in left:
        return
    seed = json.loads((folder / "model.json").read_text())["run"]["seed"]
    if "state.pt" in left:
        torch.load(folder / "state.pt", weights_only=True)
        with_seed = ("--seed", seed, *TRAIN, "--epochs", 40, "--no-report")
        done = CliRunner().invoke(app, [*map(str, ("train", sandbox.rings, "--out", folder, "--resume", *with_seed))])
        assert done.exit_code == 0, done.output
        assert json.loads((folder / "record.json").read_text())["seed"] == seed
        load_model(folder)


def kill_many(sandbox, pairs: int, seed: int) -> None:
    rng = random.Random(seed)
    sandbox.fresh()
    folder = sandbox.work / "m"
    folder.mkdir()
    for number in range(pairs):
        kill_two(folder, sandbox, rng)
        if number % 5 == 4 or number == pairs - 1:
            check_whole(folder, sandbox)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_kills_of_two_trainings_in_one_folder_lose_and_mix_nothing(sandbox):
    kill_many(sandbox, 5, 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_200_kills_of_two_trainings_in_one_folder_lose_and_mix_nothing(sandbox):
    kill_many(sandbox, 100, 1)
