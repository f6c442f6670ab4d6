"""Training in several processes: what it takes, and killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from .measures import children_seconds, say


def train(epochs: int, repeat: int, folder: Path) -> None:
    """NCI1 with one process of one thread, and with two such processes that share every batch, taking turns.

    On a busy machine the seconds of an epoch say little; processor seconds of the first process say what a quiet one could reach.
    """
    took: dict[int, float] = {}
    for turn in range(repeat):
        for devices in (1, 2):
            before = children_seconds()
            record = finished(training(epochs, devices, folder / f"{devices}-{turn}"))
            own = children_seconds() - before  # of the first process: it does not wait for the others
            seconds = record["seconds_per_epoch"]
            took[devices] = min(seconds, took.get(devices, seconds))
            say(
                f"{devices} processes: {seconds:.2f} s per epoch, {own:.1f} processor s of the first with its start, "
                f"test accuracy {record['test_accuracy']}"
            )
    say(f"two processes take {took[2] / took[1]:.2f} of the time of one (best of {repeat} each)")


def resume(epochs: int, devices: int, kills: int, folder: Path) -> None:
    """NCI1 with several processes, undisturbed, and killed again and again some random seconds after its first save, then resumed."""
    whole, killed = folder / "whole", folder / "killed"
    expected = finished(training(epochs, devices, whole))
    rng, state = np.random.default_rng(0), killed / "state.pt"
    for number in range(kills):
        earlier = state.stat().st_mtime_ns if state.exists() else 0
        process = training(epochs, devices, killed, *["--resume"] * state.exists())
        while not (state.exists() and state.stat().st_mtime_ns > earlier):
            if process.poll() is not None:
                raise SystemExit(f"it ended before it could be killed: give more than {epochs} epochs")
            time.sleep(0.05)
        seconds = rng.uniform(0, 5)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        say(f"kill {number + 1} of {kills}, {seconds:.1f} s after a save")
    found = finished(training(epochs, devices, killed, "--resume"))
    equal = all((whole / name).read_bytes() == (killed / name).read_bytes() for name in ("best.safetensors", "last.safetensors"))
    equal &= found["test_accuracy"] == expected["test_accuracy"]
    say(f"{epochs} epochs in {devices} processes, killed {kills} times: {'equal' if equal else 'OTHER'} weights and test accuracy")


def training(epochs: int, devices: int, out: Path, *options: str) -> subprocess.Popen[str]:
    """A training of NCI1 in a group of processes of its own, each with one thread."""
    command = [sys.executable, "-W", "ignore", "-m", "graph2tens", "train", "NCI1", "--epochs", str(epochs), "--out", str(out), *options]
    command += ["--devices", str(devices), "--device", "cpu", "--threads", "1", "--no-report", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The record of a training."""
    out, errors = process.communicate()
    if process.returncode:
        raise SystemExit(errors)
    record: dict[str, Any] = json.loads(out.splitlines()[-1])
    return record
