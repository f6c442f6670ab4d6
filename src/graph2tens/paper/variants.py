"""Runs with one thing changed: the paper's ablations, and the points in which the authors' text and code disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..training.config import Run
from .protocols import ATTENTION_DROPOUT, CITATIONS, MODELS
from .rivals.runs import CHOICES, Choice


def _network(**options: Any) -> Callable[[Run], Run]:
    return lambda run: replace(run, network={**run.network, **options})


@dataclass(frozen=True)
class Ablation:
    """An ingredient that is taken away."""

    meaning: str
    change: Callable[[Run], Run]


ABLATIONS: Mapping[str, Ablation] = {
    "NoDiff": Ablation("the walk sees attributes themselves, not their changes from step to step", _network(increments=False)),
    "NoZeroStart": Ablation("the walk's starting attribute is left out", _network(zero_start=False)),
    "NoAlgOpt": Ablation("the lift's coefficients stay at 1/m! instead of being learned", _network(learn_lift=False)),
    "NoJK": Ablation("only the last layer is read, not the maximum over all layers", _network(jk=None)),
    "NoSkip": Ablation("no skip connections around the two MLPs", _network(skip=False)),
    "NoNorm": Ablation("no layer normalisation", _network(norm=False)),
    "AvgPool": Ablation("plain mean over nodes instead of gated attention pooling", _network(pool="mean")),
}


@dataclass(frozen=True)
class Departure:
    """A point where the authors' code and their text disagree, and the variant that turns it to the text, all else as in the code."""

    point: str
    text: str
    code: str
    meaning: str  # of the variant
    change: Callable[[Run], Run]
    models: tuple[str, ...] = MODELS


DEPARTURES: Mapping[str, Departure] = {
    "NoSelfLoops": Departure(
        "self-loops",
        "none",
        "G2TN adds one to every node (a lazy walk); G2TAN does not",
        "the walker never stays put: no self-loops, as in the paper's text",
        _network(self_loops=False),
        ("G2TN",),
    ),
    "AttentionDropout": Departure(
        "attention dropout",
        "10 % of edges (citation: 30 %)",
        "the mask is computed, never applied",
        "a share of the attention edges is dropped during training, as in the paper's text",
        lambda run: _network(attention_dropout=ATTENTION_DROPOUT["node" if run.cell.dataset in CITATIONS else "graph"])(run),
        ("G2TAN",),
    ),
    "L2Mean": Departure(
        "scale of the L2 penalty",
        "1e-4 beside the mean loss",
        "the loss is summed over a batch of 128, so 1e-4 acts as 1e-4/128",
        "the L2 penalty stands beside the mean loss, as in the paper's text",
        lambda run: replace(run, training=replace(run.training, loss="mean")),
    ),
    "Mixing": Departure(
        "mixing the degrees",
        "a linear layer from R·M to R",
        "none: the M blocks of R are concatenated and scaled by 1/M",
        "a linear layer mixes the degrees after every layer, as in the paper's text",
        _network(mix=True, bias=True),
    ),
    "Suffixes": Departure(
        "order of components",
        "initial weights and L2 of degree m are those of the last m components, which make up its functional",
        "of the first m",
        "initial weights and L2 penalty take the last m components of a functional for degree m, as in the paper's text",
        _network(prefixes=False),
    ),
    "BalancedSplit": Departure(
        "split of citation graphs",
        "20 and 30 nodes of each class, from the largest component",
        "as many nodes in all, classes by their shares, from the whole graph",
        "equally many nodes of each class, from the largest component, as in the paper's text",
        lambda run: replace(run, split="paper"),
    ),
    "StayPut": Departure(
        "nodes without edges",
        "not stated; the walk stays put",
        "G2TAN gives them 0, the sum over no neighbours",
        "the walker stays at a node without edges and sees it again and again",
        _network(stay_put=True),
        ("G2TAN",),
    ),
}

# What every variant means; `Naked` occurs in the authors' table of runs alone.
MEANINGS: Mapping[str, str] = {
    "base": "the model as proposed",
    **{name: ablation.meaning for name, ablation in ABLATIONS.items()},
    "Naked": "all ingredients of the architecture removed at once",
    **{name: departure.meaning for name, departure in DEPARTURES.items()},
    **{name: choice.meaning for name, choice in CHOICES.items()},
}


def as_variant(run: Run) -> Run:
    """The run with the change that its cell's variant names."""
    variants: Mapping[str, Ablation | Departure | Choice] = {**ABLATIONS, **DEPARTURES, **CHOICES}
    return run if run.cell.variant == "base" else variants[run.cell.variant].change(run)
