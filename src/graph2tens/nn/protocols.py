"""The two readings of the paper as arguments of `GraphTensNet`: what its text says and what its authors' code did.

Splits, losses and schedules belong to training and are not here. Where it comes from: `docs/authors_code.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

# task -> arguments that both readings share
TASKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "graph": MappingProxyType({"hidden_channels": 128, "num_layers": 4, "walk_length": 5, "degree": 2, "dropout": 0.1}),
        # one layer, NoDiff, no AlgOpt, then a linear head
        "node": MappingProxyType(
            {
                "hidden_channels": 64,
                "num_layers": 1,
                "walk_length": 5,
                "degree": 2,
                "increments": False,
                "learn_lift": False,
                "pre_layers": 0,
                "post_layers": 0,
                "jk": None,
                "pool": None,
                "skip": False,
                "dropout": 0.9,
            }
        ),
    }
)

# protocol -> arguments of the model; for the authors 1/M = 1/2 stands beside degree 2
PROTOCOLS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper": MappingProxyType({"lift_per_functional": False}),
        "authors": MappingProxyType(
            {
                "mix": False,
                "bias": False,
                "projection_bias": True,
                "norm_affine": False,
                "norm_eps": 1e-3,
                "norm_scale": 0.5,
                "levels_from": "first",
                "lift_per_functional": True,
            }
        ),
    }
)

# the paper's ablations, each one argument
ABLATIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "base": MappingProxyType({}),
        "NoDiff": MappingProxyType({"increments": False}),
        "NoZeroStart": MappingProxyType({"zero_start": False}),
        "NoAlgOpt": MappingProxyType({"learn_lift": False}),
        "NoJK": MappingProxyType({"jk": None}),
        "NoSkip": MappingProxyType({"skip": False}),
        "NoNorm": MappingProxyType({"norm": False}),
        "AvgPool": MappingProxyType({"pool": "mean"}),
    }
)


def model_options(conv: str, protocol: str = "paper", task: str = "graph", variant: str = "base") -> dict[str, Any]:
    """Keyword arguments for :class:`GraphTensNet`: ``GraphTensNet(37, 2, **model_options("G2TAN", "authors"))``.

    Args:
        conv: ``"G2TN"`` or ``"G2TAN"``; any other conv gets the shell's arguments alone.
        protocol: ``"paper"`` or ``"authors"``.
        task: ``"graph"`` (NCI1, NCI109) or ``"node"`` (citation graphs).
        variant: ``"base"`` or an ablation of the paper.
    """
    for name, value, known in (("protocol", protocol, PROTOCOLS), ("task", task, TASKS), ("variant", variant, ABLATIONS)):
        if value not in known:
            raise ValueError(f"`{name}` must be one of {', '.join(map(repr, known))} (got {value!r}).")
    options: dict[str, Any] = {"conv": conv, **TASKS[task], **PROTOCOLS[protocol]}
    if conv == "G2TN":
        options["self_loops"] = protocol == "authors"
    elif conv == "G2TAN":
        options["heads"] = 8
        # the authors' code computes the mask and never applies it
        options["attention_dropout"] = 0.0 if protocol == "authors" else {"graph": 0.1, "node": 0.3}[task]
        options["isolated"] = "zero" if protocol == "authors" else "stay"
    else:
        shell = (
            "conv",
            "hidden_channels",
            "num_layers",
            "pre_layers",
            "post_layers",
            "jk",
            "pool",
            "skip",
            "dropout",
            "norm_affine",
            "norm_eps",
        )
        options = {name: value for name, value in options.items() if name in shell}
    return options | dict(ABLATIONS[variant])
