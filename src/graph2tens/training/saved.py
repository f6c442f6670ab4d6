"""A trained model as a folder, ``model.json`` beside its weights: written by `train`, read by :func:`load_model`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..datasets import AttributeScaler, CollatedGraphs, Encoding, GraphDataset
from ..files import write_json
from .checkpoint import BEST, DESCRIPTION, LAST, load_weights
from .config import Run
from .run import NETWORKS, Networks, Prepared
from .tasks import as_batch, graph_inputs, walk_options

FORMAT = 2


@dataclass(frozen=True)
class SavedModel:
    """A network in its trained weights and what it must be fed with."""

    network: nn.Module
    in_channels: int
    scaler: AttributeScaler
    encoding: Encoding
    task: str
    class_names: tuple[str, ...]
    run: Run
    path: Path

    @torch.no_grad()
    def probabilities(self, dataset: GraphDataset, batch_size: int = 256) -> Tensor:
        """Probability of each class, (graphs, classes), or (nodes, classes) if that is what the model was trained for.

        Args:
            dataset: loaded with the model's `encoding`; labels are not needed.
            batch_size: graphs at a time.
        """
        if dataset.num_features != self.in_channels:
            raise ValueError(
                f"the model wants {self.in_channels} attributes per node, but {dataset.name} has {dataset.num_features}. "
                "Was it trained on data of this kind?"
            )
        if (dataset.task == "node") != (self.task == "node"):
            raise ValueError(f"the model classifies {self.task}s, but {dataset.name} has a class for each {dataset.task}.")
        if self.task == "node":
            outputs = self.network(*graph_inputs(dataset, self.scaler, self.network))
        else:
            options = walk_options(self.network)
            graphs = CollatedGraphs(dataset.graphs, scaler=self.scaler, **(options or {}))
            batches = (as_batch(batch, options is not None) for batch in graphs.batches(range(len(graphs)), batch_size))
            outputs = torch.cat([self.network(*batch.inputs, **batch.keywords) for batch in batches])
        probabilities: Tensor = outputs.double().softmax(1)
        return probabilities


def describe(prepared: Prepared, dataset: GraphDataset) -> dict[str, Any]:
    """All that is needed to rebuild a network and to feed it."""
    return {
        "format": FORMAT,
        "in_channels": dataset.num_features,
        "out_channels": dataset.num_classes,
        "task": dataset.task,
        "class_names": [dataset.class_name(label) for label in range(dataset.num_classes)],
        "scaler": prepared.scaler.to_dict(),
        "encoding": dataset.encoding.to_dict(),
        "run": prepared.run.to_dict(),
        "fingerprint": dataset.fingerprint(),
        "judged": BEST if prepared.run.training.ends_with_best else LAST,
    }


def save_description(folder: Path, prepared: Prepared, dataset: GraphDataset) -> None:
    """Write ``model.json``, before training: an interrupted run has it, too."""
    write_json(folder / DESCRIPTION, describe(prepared, dataset))


def load_description(folder: Path) -> dict[str, Any]:
    """Content of ``model.json``."""
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no {DESCRIPTION}: a model is the folder that `graph2tens train` wrote.") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}).") from None
    if not isinstance(description, dict) or "run" not in description:
        raise ValueError(f"{path} does not describe a model: it has no key 'run'.")
    if description.get("format") != FORMAT:
        raise ValueError(f"{folder} was written in format {description.get('format')!r}; this version of graph2tens reads format {FORMAT}.")
    return description


def load_model(path: Path, *, networks: Networks = NETWORKS, device: Any = "cpu") -> SavedModel:
    """A model from its folder (the weights that were judged) or from one of the folder's safetensors files.

    Nothing in ``model.json`` is trusted: it names one of `networks` and one of two files, and the sizes it asks for must be those of the
    weights before any memory is taken.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist. A model is the folder that `graph2tens train` wrote, or a .safetensors file in it.")
    folder = path if path.is_dir() else path.parent
    description = load_description(folder)
    try:
        run, judged = Run.from_dict(description["run"]), description["judged"]
        sizes = description["in_channels"], description["out_channels"]
        scaler, encoding = AttributeScaler.from_dict(description["scaler"]), Encoding.from_dict(description["encoding"])
        task, class_names = description["task"], tuple(description["class_names"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder / DESCRIPTION} does not describe a model ({type(error).__name__}: {error}).") from None
    if judged not in (BEST, LAST):
        raise ValueError(f"{folder / DESCRIPTION}: `judged` must be {BEST} or {LAST} (got {judged!r}).")
    weights = folder / judged if path.is_dir() else path
    if not weights.is_file():
        raise ValueError(f"{weights} does not exist: the run has not ended. Continue it with `graph2tens train --resume`.")
    if run.builder not in networks:
        raise ValueError(f"{folder / DESCRIPTION} asks for the network {run.builder!r}; known are {', '.join(networks)}.")
    network = _network(networks[run.builder], sizes, run.network, load_weights(weights), weights)
    return SavedModel(network.to(device).eval(), sizes[0], scaler, encoding, task, class_names, run, weights)


def _network(builder: Any, sizes: tuple[int, int], options: Any, stored: dict[str, Tensor], path: Path) -> nn.Module:
    """Build without memory for weights (PyTorch's meta device), compare, and only then take the stored weights over."""
    if any(isinstance(value, int) and name.endswith("layers") and value > len(stored) for name, value in options.items()):
        raise ValueError(f"{path} does not fit the network of its model.json, which has more layers than the file has tensors.")
    try:
        with torch.device("meta"):
            network: nn.Module = builder(*sizes, **options)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{path.parent / DESCRIPTION} describes a network that cannot be built: {str(error).splitlines()[0]}") from None
    wanted = network.state_dict()
    if different := [name for name in {**wanted, **stored} if name not in wanted or name not in stored]:
        raise ValueError(f"{path} does not fit the network of its model.json: {different[0]} is in one of the two only.")
    for name, tensor in wanted.items():
        if tensor.shape != stored[name].shape:
            shapes = f"{tuple(tensor.shape)}, in the file {tuple(stored[name].shape)}"
            raise ValueError(f"{path} does not fit the network of its model.json: {name} should have shape {shapes}.")
    network.load_state_dict({name: stored[name].to(tensor.dtype) for name, tensor in wanted.items()}, assign=True)
    return network


def check_same_run(folder: Path, run: Run, dataset: GraphDataset) -> None:
    """Raise unless the run in a folder is this one on the same data: only the same run can be continued."""
    description = load_description(folder)
    stored, wanted = _flat(description["run"]), _flat(run.to_dict())
    for name in {**stored, **wanted}:
        if stored.get(name) != wanted.get(name):
            said = f"{name.rpartition('.')[2]} = {stored.get(name)!r} (now {wanted.get(name)!r})"
            raise ValueError(f"cannot resume {folder}: it was started with {said}. Repeat the same options.")
    if description["fingerprint"] != dataset.fingerprint():
        raise ValueError(
            f"cannot resume {folder}: the data of {dataset.name} changed since then. Start anew with --overwrite or another --out."
        )


def _flat(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat
