"""What a run leaves in its folder, all of it written whole or not at all.

``state.pt`` is what ``--resume`` continues from: tensors and plain values. ``best.safetensors`` and ``last.safetensors`` hold weights
(no pickle), ``model.json`` all that is needed to rebuild the network and to feed it (:mod:`graph2tens.training.saved`), ``record.json``
what was measured, ``report.html`` a page about it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from pydantic import InstanceOf, NonNegativeFloat, NonNegativeInt
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from ..contents import checked
from ..files import remove_with_leftovers, replacing
from .state import Epoch, TrainingState

DESCRIPTION, STATE, RECORD, REPORT = "model.json", "state.pt", "record.json", "report.html"
BEST, LAST = "best.safetensors", "last.safetensors"


def remove_run(folder: Path) -> None:
    """Delete what a run wrote into a folder, unfinished files of a killed one included, and nothing else."""
    for name in (DESCRIPTION, BEST, LAST, RECORD, REPORT, STATE):  # the state last: as long as it is there, a run is in the folder
        remove_with_leftovers(folder / name)


def export(folder: Path) -> None:
    """Write ``last.safetensors`` and ``best.safetensors`` from the training state in a folder, finished, interrupted or diverged."""
    state = load_state(folder / STATE)
    if state.best_weights or not state.diverged:  # a run that diverged at once has no weights worth keeping
        save_weights(folder / LAST, state.model)
        save_weights(folder / BEST, state.best_weights or state.model)


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


@dataclass(frozen=True)
class StoredState:
    """What ``state.pt`` holds: all that the rest of a run depends on besides data and options."""

    model: dict[str, InstanceOf[Tensor]]
    optimizer: dict[str, Any]
    shuffling: InstanceOf[Tensor]
    random: list[InstanceOf[Tensor]]  # one state for each process
    random_cuda: list[InstanceOf[Tensor]]
    epoch: NonNegativeInt
    best_epoch: NonNegativeInt
    best: float
    best_weights: dict[str, InstanceOf[Tensor]]
    diverged: str
    history: list[dict[str, float]]
    seconds: NonNegativeFloat

    def __post_init__(self) -> None:
        if len(self.history) != self.epoch or self.best_epoch > self.epoch:
            raise ValueError(f"`history` must have {self.epoch} epochs, and the best epoch, {self.best_epoch}, must be one of them")
        if self.diverged and not self.diverged.startswith("training diverged"):
            raise ValueError("`diverged` must be empty or say what happened")
        if not math.isfinite(self.seconds):
            raise ValueError("`seconds` must be finite")


REPAIR = "Only a state that graph2tens wrote can be continued; start anew with --overwrite."


def load_state(path: Path) -> StoredState:
    """A training state saved by :func:`save_state`, on the CPU, checked as far as that is possible without the network."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ValueError(f"nothing to resume: {path} does not exist. Leave out --resume to start a new run.") from None
    except Exception:  # torch raises a dozen kinds for a broken file
        raise ValueError(f"{path} is not a training state of graph2tens, or not a whole one. {REPAIR}") from None
    return checked(StoredState, content, path, REPAIR)


_KEPT = ("epoch", "best_epoch", "best", "best_weights", "diverged")


def snapshot(state: TrainingState, model: nn.Module, optimizer: Any, shuffling: torch.Generator) -> dict[str, Any]:
    """What :func:`save_state` writes, but for the generators of all processes and the seconds."""
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "shuffling": shuffling.get_state(),
        **{name: getattr(state, name) for name in _KEPT},
        "history": [asdict(epoch) for epoch in state.history],
    }


def restore(path: Path, model: nn.Module, optimizer: Any, shuffling: torch.Generator, fabric: Fabric) -> TrainingState:
    """Continue from the file at `path`; everything in it is checked before anything is changed."""
    saved = load_state(path)
    unlike = f"{path} does not fit the network"
    wanted = model.state_dict()
    for weights in (saved.model, saved.best_weights):
        if weights or weights is saved.model:
            check_weights(weights, wanted, unlike)
    _check_optimizer(saved.optimizer, optimizer, path)
    history = checked(list[Epoch], saved.history, path, REPAIR)
    if len(saved.random) != fabric.world_size:
        raise ValueError(
            f"a run of {len(saved.random)} processes must be resumed with as many (got {fabric.world_size}): "
            "each has its own random numbers. Give the --devices and --num-nodes of the first session."
        )
    random = saved.random[fabric.global_rank]
    for name, stored in (("shuffling", saved.shuffling), ("random", random)):
        try:
            torch.Generator().set_state(stored.clone())  # torch crashes on the state of a generator that is a view
        except (RuntimeError, TypeError):
            raise ValueError(f"{path}, field `{name}`: must be the state of a generator of random numbers. {REPAIR}") from None
    model.load_state_dict(saved.model)
    optimizer.load_state_dict(saved.optimizer)
    shuffling.set_state(saved.shuffling)
    torch.set_rng_state(random.clone())
    if saved.random_cuda and fabric.device.type == "cuda":
        torch.cuda.set_rng_state(saved.random_cuda[fabric.global_rank], fabric.device)
    return TrainingState(**{name: getattr(saved, name) for name in _KEPT}, history=history, seconds=saved.seconds)


def check_weights(stored: Mapping[str, Tensor], wanted: Mapping[str, Tensor], unlike: str) -> None:
    """Raise, beginning with the words `unlike`, if stored weights are not those of a network whose weights are `wanted`."""
    if different := [name for name in {**wanted, **stored} if name not in wanted or name not in stored]:
        raise ValueError(f"{unlike}: {different[0]} is in one of the two only.")
    for name, tensor in wanted.items():
        found = stored[name]
        if tensor.shape != found.shape or found.layout != torch.strided:
            raise ValueError(f"{unlike}: {name} should have shape {tuple(tensor.shape)}, in the file {tuple(found.shape)}.")
        if tensor.is_floating_point() != found.is_floating_point() or tensor.is_complex() != found.is_complex():
            raise ValueError(f"{unlike}: {name} should be of type {tensor.dtype}, in the file {found.dtype}.")
        if not bool(torch.isfinite(found).all()):
            raise ValueError(f"{unlike}: {name} has entries that are not finite. Take the file from the run again, or train anew.")


def _check_optimizer(stored: Any, optimizer: Any, path: Path) -> None:
    """Raise unless a stored optimiser is one of these parameters: PyTorch's own loader accepts nearly anything."""
    own = optimizer.state_dict()
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    unlike = f"{path}, field `optimizer`, does not fit the network. {REPAIR}"
    if not isinstance(stored, dict) or stored.keys() != own.keys() or not isinstance(stored["state"], dict):
        raise ValueError(unlike)
    if not isinstance(stored["param_groups"], list) or len(stored["param_groups"]) != len(own["param_groups"]):
        raise ValueError(unlike)
    for found, group in zip(stored["param_groups"], own["param_groups"], strict=True):
        if not isinstance(found, dict) or found.keys() != group.keys() or found["params"] != group["params"]:
            raise ValueError(unlike)
        if any(_kind(found[name]) != _kind(group[name]) for name in group):
            raise ValueError(unlike)
    for place, moments in stored["state"].items():
        if type(place) is not int or not 0 <= place < len(parameters) or not isinstance(moments, dict):
            raise ValueError(unlike)
        if moments.keys() != {"step", "exp_avg", "exp_avg_sq"}:
            raise ValueError(unlike)
        for name, value in moments.items():
            shape = torch.Size() if name == "step" else parameters[place].shape
            if not isinstance(value, Tensor) or value.shape != shape or not value.is_floating_point():
                raise ValueError(unlike)


def _kind(value: Any) -> Any:
    """Types of plain values, numbers taken together: a rate of 0 may be an integer."""
    if isinstance(value, (list, tuple)):
        return [_kind(part) for part in value]
    return float if type(value) in (int, float) else type(value)
