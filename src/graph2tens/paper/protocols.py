"""The two readings of the paper: what its text says (`paper`) and what its authors' code did (`authors`), as settings of runs.

Where the latter comes from: `docs/authors_code.md`. How each of them splits data: :mod:`graph2tens.paper.splits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..training.config import Cell, Run, Training
from .rivals import RIVALS
from .rivals.runs import rival_run

MODELS = ("G2TN", "G2TAN")
COMPOUNDS = ("NCI1", "NCI109")
CITATIONS = ("Cora", "CiteSeer", "PubMed")
DATASETS = (*COMPOUNDS, *CITATIONS)

# Arguments of GraphTensNet that both readings share, by task. Citation graphs have one layer, NoDiff, no AlgOpt, and a linear head.
_NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "graph": {"hidden_channels": 128, "num_layers": 4, "walk_length": 5, "degree": 2, "dropout": 0.1},
    "node": {
        "hidden_channels": 64,
        "num_layers": 1,
        "walk_length": 5,
        "degree": 2,
        "dropout": 0.9,
        "increments": False,
        "learn_lift": False,
        "pre_layers": 0,
        "post_layers": 0,
        "jk": None,
        "pool": None,
        "skip": False,
    },
}
ATTENTION_DROPOUT = {"graph": 0.1, "node": 0.3}

# The loss that early stopping watches contains the penalty, in Keras as well as in the experiments of Shchur et al. (2018), which the
# text follows.
_GRAPHS = Training(epochs=200, batch_size=128, learning_rate=1e-3, schedule="cosine", l2=1e-4)
_NODES = Training(epochs=1000, batch_size=None, learning_rate=0.01, schedule="constant", l2=0.01, patience=50, watch_penalty=True)


@dataclass(frozen=True)
class Protocol:
    """One reading.

    Attributes:
        setting: what it takes its settings from, in one word.
        meaning: the same in a few.
        builder: of the network; see :data:`graph2tens.paper.authors.NETWORKS`.
        network: further arguments of the network.
        changes: of the training, by task.
        self_loops: whether G2TN adds them.
        attention_dropout: whether G2TAN has it.
    """

    setting: str
    meaning: str
    builder: str
    network: Mapping[str, Any]
    changes: Mapping[str, Mapping[str, Any]]
    self_loops: bool
    attention_dropout: bool


PROTOCOLS: Mapping[str, Protocol] = {
    "paper": Protocol("text", "the settings as the paper's text states them", "GraphTensNet", {}, {}, False, True),
    "authors": Protocol(
        "code",
        "the settings of the authors' code, which made the published numbers",
        "authors",
        {"mix": False, "bias": False, "norm_affine": False, "norm_eps": 1e-3},
        # Their code sums the loss over a batch of graphs, so that the same L2 is weaker by the batch size, and averages it over the nodes
        # of a citation graph. Keras' Adam has epsilon 1e-7.
        {"graph": {"loss": "sum", "epsilon": 1e-7}, "node": {"epsilon": 1e-7}},
        self_loops=True,
        attention_dropout=False,  # it computes the mask and never applies it
    ),
}

# The built-in digits: small graphs, ten classes, a network that a laptop trains in a minute.
_DIGITS_NETWORK: Mapping[str, Any] = {"hidden_channels": 48, "num_layers": 3, "walk_length": 3, "post_channels": 128}
_DIGITS = Training(epochs=30, batch_size=32, learning_rate=5e-3, schedule="cosine", l2=1e-4)


def network_options(model: str, protocol: str = "paper", task: str = "graph") -> dict[str, Any]:
    """Keyword arguments of the network: ``GraphTensNet(37, 2, **network_options("G2TAN"))``."""
    for name, value, known in (("model", model, MODELS), ("protocol", protocol, PROTOCOLS), ("task", task, _NETWORKS)):
        if value not in known:
            raise ValueError(f"`{name}` must be one of {', '.join(map(repr, known))} (got {value!r}).")
    reading = PROTOCOLS[protocol]
    options: dict[str, Any] = {"conv": model, **_NETWORKS[task], **reading.network}
    if model == "G2TN":
        return {**options, "self_loops": reading.self_loops}
    return {**options, "heads": 8, "attention_dropout": ATTENTION_DROPOUT[task] if reading.attention_dropout else 0.0}


def base_run(cell: Cell, seed: int = 0, task: str = "graph") -> Run:
    """The run that a cell stands for when it is no variant: network, training and how to build it, from dataset, model and protocol."""
    task = "node" if cell.dataset in CITATIONS else task
    if cell.model in RIVALS:
        return rival_run(cell, seed, task)
    network = network_options(cell.model, cell.protocol, task)
    reading, training = PROTOCOLS[cell.protocol], _NODES if task == "node" else _GRAPHS
    if cell.dataset == "digits":
        return Run(cell, seed, {**network, **_DIGITS_NETWORK}, reading.builder, _DIGITS)
    training = Training(**{**vars(training), **reading.changes.get(task, {})})
    return Run(cell, seed, network, reading.builder, training)
