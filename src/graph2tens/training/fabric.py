"""Between the loop and Lightning Fabric, which puts models on devices and lets several processes train one model."""

from __future__ import annotations

from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from .tasks import Batch


class Sealed:
    """An argument that Fabric passes on as it is: it would take a frozen dataclass (a walk) apart to convert what is inside, and fail."""

    def __init__(self, content: Any) -> None:
        self.content = content


class Opener(nn.Module):
    """A network that is given sealed arguments."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *arguments: Any, **keywords: Any) -> Tensor:
        opened = (argument.content if isinstance(argument, Sealed) else argument for argument in arguments)
        return self.network(*opened, **keywords)


def outputs_of(model: Any, batch: Batch) -> Tensor:
    """The outputs of a model, an :class:`Opener` or Fabric's wrapping of one, for the rows of a batch that count."""
    sealed = (argument if isinstance(argument, Tensor) else Sealed(argument) for argument in batch.inputs)
    outputs: Tensor = model(*sealed, **batch.keywords)
    return outputs if batch.rows is None else outputs[batch.rows]


def sum_over_processes(fabric: Fabric, value: float) -> float:
    """The sum of all processes' values."""
    if fabric.world_size == 1:
        return value
    total = torch.tensor(value, dtype=torch.float64)
    fabric.all_reduce(total, reduce_op="sum")
    return float(total)


def all_generators(fabric: Fabric) -> dict[str, list[Tensor]]:
    """States of the global generators of every process, in the order of their ranks: the CPU's, and that of the process' CUDA device."""
    on_cuda = fabric.device.type == "cuda"
    own = {"random": torch.get_rng_state(), **({"random_cuda": torch.cuda.get_rng_state(fabric.device)} if on_cuda else {})}
    found: dict[str, list[Tensor]] = {"random": [], "random_cuda": []}
    for name, state in own.items():
        # (processes, bytes); gathering goes over the device that Fabric's processes talk through
        gathered: Any = fabric.all_gather(state.to(fabric.device)) if fabric.world_size > 1 else state.unsqueeze(0)
        found[name] = [row.clone() for row in gathered.cpu()]
    return found
