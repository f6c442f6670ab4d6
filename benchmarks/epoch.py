"""What does an epoch of NCI1 cost, and a layer's step against the authors' code? `python -m benchmarks.epoch`

The epoch is one pass over the 3,288 training graphs of NCI1 under protocol `authors` at batch 128, with the validation that follows it:
what a user of `graph2tens train NCI1 --protocol authors` waits for. The first epoch warms up (Numba compiles or reads its cache) and
does not count.

The layer step is forward and backward of one G2TN layer on a batch of 128 graphs of NCI1 (d = 256, R = 128, M = 2, k = 5). The authors'
TensorFlow code takes 0.41 s for it on two cores of such a machine; that number is a constant here.

Needs NCI1 (`graph2tens info` says where it is looked for).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import torch

from graph2tens.datasets import CollatedGraphs, load
from graph2tens.paper.authors import NETWORKS, AuthorsG2TNConv
from graph2tens.paper.protocols import base_run
from graph2tens.training.config import Cell
from graph2tens.training.provenance import cores
from graph2tens.training.run import perform, prepare

from .record import record, save

AUTHORS_LAYER_STEP = 0.41  # seconds
GOAL = 4.0  # seconds for an epoch


def epoch_seconds(model: str, data: Any, epochs: int) -> float:
    """Best of `epochs` after a warm-up."""
    run = base_run(Cell("benchmark", "NCI1", model, protocol="authors"))
    run = replace(run, training=replace(run.training, epochs=epochs + 1))
    return min(epoch.seconds for epoch in perform(prepare(run, data, networks=NETWORKS)).state.history[1:])


def layer_step_seconds(data: Any, repeat: int) -> float:
    """Best of `repeat`."""
    torch.manual_seed(0)
    batch = CollatedGraphs(data.graphs, self_loops=True).batch(range(128))
    layer = AuthorsG2TNConv(256, 256, mix=False, bias=False, normalize=False)
    x = torch.randn(batch.x.size(0), 256, requires_grad=True)
    gradient = torch.randn(batch.x.size(0), 256)
    best = float("inf")
    for _ in range(repeat + 1):
        started = time.perf_counter()
        layer(x, batch.walk).backward(gradient)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", help="folder with NCI1")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--keep", action="store_true", help="write the times to README.md and results.json")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    data = load("NCI1", arguments.data_root)

    step = layer_step_seconds(data, arguments.repeat)
    rows = [
        record("layer step, 128 graphs of NCI1, forward + backward", "the authors' TensorFlow code", AUTHORS_LAYER_STEP, step, "yardstick")
    ]
    print(f"{'layer step, forward + backward':<36} {step * 1e3:8.1f} ms   authors' code {AUTHORS_LAYER_STEP * 1e3:.0f} ms")
    for model in ("G2TN", "G2TAN"):
        seconds = epoch_seconds(model, data, arguments.epochs)
        print(f"{f'epoch of NCI1, authors, {model}':<36} {seconds:8.2f} s")
        rows.append(record(f"epoch of NCI1 with validation, protocol authors, {model}", "the goal of 4 s", GOAL, seconds, "yardstick"))
    print(f"{rows[0]['machine']}, {rows[0]['date']}")
    if arguments.keep:
        save("epoch", rows)


if __name__ == "__main__":
    main()
