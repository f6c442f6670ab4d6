"""Train a small network in several processes: ``python train_in_processes.py DATA FOLDER PROCESSES [--resume] [--die-after EPOCHS]``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
from lightning_fabric import Fabric
from safetensors.torch import save_file

from graph2tens.datasets import load
from graph2tens.training import Cell, Run, Training
from graph2tens.training.run import perform, prepare


def main() -> None:
    data, folder, processes, *options = sys.argv[1:]
    fabric = Fabric(accelerator="cpu", devices=int(processes))
    fabric.launch()
    torch.set_num_threads(1)
    network = {"conv": "G2TN", "hidden_channels": 8, "num_layers": 2, "walk_length": 2, "post_channels": 8, "dropout": 0.3}
    run = Run(Cell("test", data, "G2TN"), 1, network, training=Training(epochs=6, batch_size=8))
    prepared = prepare(run, load(data), fabric=fabric)
    # Processes of one seed would all draw alike; what the test is about are generators that differ.
    torch.manual_seed(fabric.global_rank)

    def after(epoch, state):
        if "--die-after" in options and epoch.epoch == int(options[-1]) and fabric.is_global_zero:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    outcome = perform(prepared, state_path=Path(folder) / "state.pt", resume="--resume" in options, save_every=0, on_epoch=after)
    save_file(outcome.network.state_dict(), Path(folder) / f"rank{fabric.global_rank}.safetensors")


if __name__ == "__main__":
    main()
