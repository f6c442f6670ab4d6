"""Training in several processes: weights agree, and a killed run that is resumed ends with the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from small_data import write_tu_folder

from graph2tens.training.config import Training
from graph2tens.training.loop import fit
from graph2tens.training.objectives import Classification
from graph2tens.training.tasks import Batch

SCRIPT = Path(__file__).with_name("train_in_processes.py")


def train(*arguments) -> int:
    return subprocess.run([sys.executable, "-W", "ignore", SCRIPT, *map(str, arguments)], start_new_session=True, check=False).returncode


@pytest.mark.slow
def test_two_processes_killed_and_resumed_end_with_the_same_bits(tmp_path):
    data = write_tu_folder(tmp_path / "rings")
    assert train(data, tmp_path / "whole", 2) == 0
    assert train(data, tmp_path / "killed", 2, "--die-after", 3) != 0
    assert not list((tmp_path / "killed").glob("*.safetensors"))
    assert train(data, tmp_path / "killed", 2, "--resume") == 0
    weights = [(tmp_path / run / f"rank{rank}.safetensors").read_bytes() for run in ("whole", "killed") for rank in (0, 1)]
    assert len(set(weights)) == 1
    states = [torch.load(tmp_path / run / "state.pt", weights_only=True) for run in ("whole", "killed")]
    assert len(states[0]["random"]) == 2
    assert not torch.equal(*states[0]["random"])
    assert all(torch.equal(a, b) for a, b in zip(states[0]["random"], states[1]["random"], strict=True))


class OneBatch:
    objective = Classification()
    steps_per_epoch = 1

    def training_batches(self, generator, rank=0, world_size=1):
        return self.batches("train")

    def batches(self, part):
        return [Batch((torch.ones(4, 3),), torch.tensor([0, 1, 0, 1]))]


def test_a_run_of_two_processes_is_not_resumed_by_one(tmp_path):
    path = tmp_path / "state.pt"
    fabric = Fabric(accelerator="cpu", devices=1)
    fit(fabric, torch.nn.Linear(3, 2), OneBatch(), Training(epochs=1), state_path=path)
    state = torch.load(path, weights_only=True)
    torch.save({**state, "random": state["random"] * 2}, path)
    with pytest.raises(ValueError, match=r"a run of 2 processes must be resumed with as many \(got 1\)"):
        fit(fabric, torch.nn.Linear(3, 2), OneBatch(), Training(epochs=2), state_path=path, resume=True)
