"""What a run leaves in its folder, all of it written whole or not at all.

``state.pt`` is what ``--resume`` continues from: tensors and plain values. ``best.safetensors`` and ``last.safetensors`` hold weights
(no pickle), ``model.json`` all that is needed to rebuild the network and to feed it (:mod:`graph2tens.training.saved`), ``record.json``
what was measured, ``report.html`` a page about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from ..files import remove_with_leftovers, replacing

DESCRIPTION, STATE, RECORD, REPORT = "model.json", "state.pt", "record.json", "report.html"
BEST, LAST = "best.safetensors", "last.safetensors"


def remove_run(folder: Path) -> None:
    """Delete what a run wrote into a folder, unfinished files of a killed one included, and nothing else."""
    for name in (DESCRIPTION, BEST, LAST, RECORD, REPORT, STATE):  # the state last: as long as it is there, a run is in the folder
        remove_with_leftovers(folder / name)


def export(folder: Path) -> None:
    """Write ``last.safetensors`` and ``best.safetensors`` from the training state in a folder, finished, interrupted or diverged."""
    state = load_state(folder / STATE)
    last: dict[str, Tensor] = state["model"]
    if state["best_weights"] or not state["diverged"]:  # a run that diverged at once has no weights worth keeping
        save_weights(folder / LAST, last)
        save_weights(folder / BEST, state["best_weights"] or last)


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Weights as safetensors."""
    with replacing(path) as stream:
        stream.write(save_tensors({name: value.detach().cpu().contiguous() for name, value in weights.items()}))


def load_weights(path: Path) -> dict[str, Tensor]:
    """Weights saved by :func:`save_weights`."""
    try:
        return load_tensors(path.read_bytes())
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}). Was it copied completely?") from None


def save_state(path: Path, state: dict[str, Any]) -> None:
    """A training state: tensors and plain Python values only, so that loading it can run no code."""
    with replacing(path) as stream:
        torch.save(state, stream)


def load_state(path: Path) -> dict[str, Any]:
    """A training state saved by :func:`save_state`, on the CPU."""
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ValueError(f"nothing to resume: {path} does not exist. Leave out --resume to start a new run.") from None
    except Exception as error:  # torch raises a dozen kinds for a broken file
        raise ValueError(f"{path} is not a training state of graph2tens ({type(error).__name__}).") from None
    return state
