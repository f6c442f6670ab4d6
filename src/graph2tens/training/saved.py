"""A trained model as a folder: written by `graph2tens train`, read by `graph2tens predict`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from ..datasets import AttributeScaler, Encoding, GraphDataset
from ..nn import GraphTensNet
from .checkpoint import BEST, LAST, STATE, load_description, load_state, load_weights, save_description, save_weights
from .config import Run, Training
from .run import Prepared

FORMAT = 1


@dataclass(frozen=True)
class SavedModel:
    """A network in its trained weights and what it must be fed with."""

    network: GraphTensNet
    scaler: AttributeScaler
    encoding: Encoding
    task: str
    class_names: tuple[str, ...]
    run: Run
    path: Path


def describe(prepared: Prepared, dataset: GraphDataset) -> dict[str, Any]:
    """All that is needed to rebuild a network and to feed it."""
    return {
        "format": FORMAT,
        "network": dict(prepared.run.network),
        "in_channels": dataset.num_features,
        "out_channels": dataset.num_classes,
        "task": dataset.task,
        "class_names": [dataset.class_name(label) for label in range(dataset.num_classes)],
        "scaler": prepared.scaler.to_dict(),
        "encoding": dataset.encoding.to_dict(),
        "run": run_to_dict(prepared.run),
        "fingerprint": dataset.fingerprint(),
        "judged": judged_weights(prepared.run.training),
    }


def judged_weights(training: Training) -> str:
    """The file with the weights that a run's accuracies are about: those that :func:`graph2tens.training.loop.fit` ends with."""
    return LAST if training.patience is None else BEST


def export(folder: Path) -> None:
    """Write ``last.safetensors`` and ``best.safetensors`` from the training state in a folder, finished or interrupted."""
    state = load_state(folder / STATE)
    last: dict[str, Tensor] = state["model"]
    save_weights(folder / LAST, last)
    save_weights(folder / BEST, state["best_weights"] or last)


def load_model(path: Path, device: Any = "cpu") -> SavedModel:
    """A model from its folder (the weights that were judged) or from one of the folder's safetensors files."""
    if not path.exists():
        raise ValueError(f"{path} does not exist. A model is the folder that `graph2tens train` wrote, or a .safetensors file in it.")
    folder = path if path.is_dir() else path.parent
    description = load_description(folder)
    if description.get("format") != FORMAT:
        raise ValueError(f"{folder} was written in format {description.get('format')!r}; this version of graph2tens reads format {FORMAT}.")
    run = run_from_dict(description["run"])
    # Folders of earlier versions do not name the file, but their run decides it.
    weights = folder / description.get("judged", judged_weights(run.training)) if path.is_dir() else path
    if not weights.is_file():
        raise ValueError(f"{weights} does not exist: the run has not ended. Continue it with `graph2tens train --resume`.")
    network = GraphTensNet(description["in_channels"], description["out_channels"], **description["network"])
    try:
        network.load_state_dict(load_weights(weights))
    except RuntimeError as error:
        raise ValueError(f"{weights} does not fit the network of its model.json: {str(error).splitlines()[-1].strip()}") from None
    return SavedModel(
        network.to(device).eval(),
        AttributeScaler.from_dict(description["scaler"]),
        Encoding.from_dict(description["encoding"]),
        description["task"],
        tuple(description["class_names"]),
        run,
        weights,
    )


def same_run(folder: Path, run: Run, dataset: GraphDataset) -> None:
    """Raise unless the run in a folder is this one on the same data: only the same run can be continued."""
    description = load_description(folder)
    stored, wanted = description["run"], run_to_dict(run)
    for name in wanted:
        if stored.get(name) != wanted[name]:
            old, new = stored.get(name), wanted[name]
            if isinstance(old, dict) and isinstance(new, dict):
                name, old, new = next((key, old.get(key), new.get(key)) for key in {**old, **new} if old.get(key) != new.get(key))
            raise ValueError(f"cannot resume {folder}: it was started with {name} = {old!r} (now {new!r}). Repeat the same options.")
    mark = dataset.fingerprint()
    if description.get("fingerprint", mark) != mark:  # folders of earlier versions do not have it
        raise ValueError(
            f"cannot resume {folder}: the data of {dataset.name} changed since then. Start anew with --overwrite or another --out."
        )


def run_to_dict(run: Run) -> dict[str, Any]:
    """A run as plain JSON."""
    return asdict(run)


def run_from_dict(fields: dict[str, Any]) -> Run:
    """The run that :func:`run_to_dict` wrote."""
    return Run(**{**fields, "training": Training(**fields["training"])})


def save_model_description(folder: Path, prepared: Prepared, dataset: GraphDataset) -> None:
    """Write ``model.json``, before training: an interrupted run has it, too."""
    save_description(folder, describe(prepared, dataset))
