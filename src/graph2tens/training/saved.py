"""A trained model as a folder, ``model.json`` beside its weights: written by `train`, read by :func:`load_model`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ..contents import read_json
from ..datasets import AttributeScaler, CollatedGraphs, Encoding, GraphDataset
from ..files import write_json
from .checkpoint import BEST, DESCRIPTION, LAST, check_weights, load_weights
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
        if not dataset.encoding.has_columns_of(self.encoding):
            here, there = ((*one.column_names, *one.edge_column_names * bool(one.edges)) for one in (dataset.encoding, self.encoding))
            got, wanted = next(((a, b) for a, b in zip(here, there, strict=False) if a != b), ("others", "others"))
            raise ValueError(
                f"the model's attributes are not those of {dataset.name}, which has {got!r} in the place of {wanted!r}. "
                "Was it trained on data of this kind, and the data loaded with `encoding=` of the model?"
            )
        if (dataset.task == "node") != (self.task == "node"):
            raise ValueError(f"the model classifies {self.task}s, but {dataset.name} has a class for each {dataset.task}.")
        try:
            outputs = self._outputs(dataset, batch_size)
        except ValueError as error:
            if "finite" not in str(error):
                raise
            raise ValueError(f"{self.path} gives no finite numbers on {dataset.name}: the weights or the data are damaged.") from error
        return outputs.double().softmax(1)

    def _outputs(self, dataset: GraphDataset, batch_size: int) -> Tensor:
        if self.task == "node":
            return self.network(*graph_inputs(dataset, self.scaler, self.network))
        options = walk_options(self.network)
        graphs = CollatedGraphs(dataset.graphs, scaler=self.scaler, **(options or {}))
        batches = (as_batch(batch, options is not None) for batch in graphs.batches(range(len(graphs)), batch_size))
        return torch.cat([self.network(*batch.inputs, **batch.keywords) for batch in batches])


@dataclass(frozen=True)
class Scaling:
    """An :class:`~graph2tens.datasets.AttributeScaler` in ``model.json``."""

    shift: tuple[float, ...]
    scale: tuple[float, ...]


@dataclass(frozen=True)
class Description:
    """``model.json``: all that is needed to rebuild a network and to feed it, and what a run must be continued with."""

    format: Literal[2]
    in_channels: int
    out_channels: int
    task: Literal["graph", "node"]
    class_names: tuple[str, ...]
    scaler: Scaling
    encoding: Encoding
    run: Run
    fingerprint: str
    judged: Literal["best.safetensors", "last.safetensors"]

    def __post_init__(self) -> None:
        if len(self.scaler.shift) != self.in_channels or len(self.scaler.scale) != self.in_channels:
            raise ValueError(f"`scaler` must have a shift and a scale for each of the {self.in_channels} attributes (`in_channels`)")
        shift, scale = np.array(self.scaler.shift), np.array(self.scaler.scale)
        if not bool(((np.abs(scale) < 1e38) & (np.abs(shift) < 1e38 / np.maximum(np.abs(scale), 1))).all()):
            raise ValueError("`scaler` must be finite, also in single precision")
        if len(self.class_names) != self.out_channels:
            raise ValueError(f"`class_names` must name {self.out_channels} classes (`out_channels`), got {len(self.class_names)}")
        if self.encoding.num_attributes < 0 or not all(-(2**53) <= label <= 2**53 for label in self.encoding.classes):
            raise ValueError("`encoding` must count attributes and list classes as they are in files")


def describe(prepared: Prepared, dataset: GraphDataset) -> dict[str, Any]:
    """A :class:`Description` as JSON."""
    return {
        "format": FORMAT,
        "in_channels": dataset.num_features,
        "out_channels": dataset.num_classes,
        "task": dataset.task,
        "class_names": [dataset.class_name(label) for label in range(dataset.num_classes)],
        "scaler": prepared.scaler.to_dict(),
        "encoding": asdict(dataset.encoding),
        "run": prepared.run.to_dict(),
        "fingerprint": dataset.fingerprint(),
        "judged": BEST if prepared.run.training.ends_with_best else LAST,
    }


def save_description(folder: Path, prepared: Prepared, dataset: GraphDataset) -> None:
    """Write ``model.json``, before training: an interrupted run has it, too."""
    write_json(folder / DESCRIPTION, describe(prepared, dataset))


def load_description(folder: Path) -> Description:
    """Content of ``model.json``, checked."""
    repair = f"This version of graph2tens reads format {FORMAT}; take the file from the run again, or train anew."
    try:
        return read_json(Description, folder / DESCRIPTION, repair)
    except FileNotFoundError:
        inside = sorted(path.parent.name for path in folder.glob(f"*/{DESCRIPTION}"))
        several = f" It holds {len(inside)} models: take one, e.g. {folder / inside[0]}." if inside else ""
        raise ValueError(f"{folder} holds no {DESCRIPTION}: a model is the folder that `graph2tens train` wrote.{several}") from None


def load_model(path: Path, *, networks: Networks = NETWORKS, device: Any = "cpu") -> SavedModel:
    """A model from its folder (the weights that were judged) or from one of the folder's safetensors files.

    Nothing in ``model.json`` is trusted: it names one of `networks` and one of two files, and the sizes it asks for must be those of the
    weights before any memory is taken.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist. A model is the folder that `graph2tens train` wrote, or a .safetensors file in it.")
    folder = path if path.is_dir() else path.parent
    if folder != path and path.suffix != ".safetensors":
        raise ValueError(f"{path} holds no weights. Give the folder, {folder}, or {BEST} or {LAST} in it.")
    description = load_description(folder)
    run, sizes = description.run, (description.in_channels, description.out_channels)
    weights = folder / description.judged if path.is_dir() else path
    if not weights.is_file():
        raise ValueError(f"{weights} does not exist: the run has not ended. Continue it with `graph2tens train --resume`.")
    if run.builder not in networks:
        raise ValueError(f"{folder / DESCRIPTION}, field `run.builder`: must be one of {', '.join(networks)} (got {run.builder!r}).")
    network = _network(networks[run.builder], sizes, run.network, load_weights(weights), weights)
    scaler = AttributeScaler(np.array(description.scaler.shift), np.array(description.scaler.scale))
    encoding, task, class_names = description.encoding, description.task, description.class_names
    return SavedModel(network.to(device).eval(), sizes[0], scaler, encoding, task, class_names, run, weights)


def _network(builder: Any, sizes: tuple[int, int], options: Mapping[str, Any], stored: dict[str, Tensor], path: Path) -> nn.Module:
    """Build without memory for weights (PyTorch's meta device), compare, and only then take the stored weights over."""
    unlike = f"{path} does not fit the network of {path.parent / DESCRIPTION}"
    if any(isinstance(value, int) and name.endswith("layers") and value > len(stored) for name, value in options.items()):
        raise ValueError(f"{unlike}, field `run.network`: it has more layers than the file has tensors.")
    try:
        with torch.device("meta"):
            network: nn.Module = builder(*sizes, **options)
    except Exception as error:  # whatever a constructor says to options that no version of us wrote
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path.parent / DESCRIPTION}, field `run.network`: it cannot be built ({reason}).") from None
    check_weights(stored, network.state_dict(), unlike)
    network.load_state_dict({name: stored[name].to(tensor.dtype) for name, tensor in network.state_dict().items()}, assign=True)
    return network


def check_same_run(folder: Path, run: Run, dataset: GraphDataset) -> None:
    """Raise unless the run in a folder is this one on the same data: only the same run can be continued."""
    description = load_description(folder)
    stored, wanted = _flat(description.run.to_dict()), _flat(json.loads(json.dumps(run.to_dict())))
    for name in {**stored, **wanted}:
        if stored.get(name) != wanted.get(name):
            said = f"{name.rpartition('.')[2]} = {stored.get(name)!r} (now {wanted.get(name)!r})"
            raise ValueError(f"cannot resume {folder}: it was started with {said}. Repeat the same options.")
    if description.fingerprint != dataset.fingerprint():
        raise ValueError(
            f"cannot resume {folder}: the data of {dataset.name} changed since then. Start anew with --overwrite or another --out."
        )


def _flat(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat
