"""Models and training states on disk, written whole or not at all.

A model is a folder: ``best.safetensors`` and ``last.safetensors`` hold weights (no pickle), ``model.json`` all that is needed to rebuild
the network and to feed it: its keywords, sizes, class names, the scaling of attributes. ``state.pt`` is what ``--resume`` continues from.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

DESCRIPTION = "model.json"
STATE = "state.pt"
BEST, LAST = "best.safetensors", "last.safetensors"
RECORD, REPORT = "record.json", "report.html"


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content`: whoever reads, and whenever we are killed, the old content or the new one is there, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)  # mkstemp gives the file to its owner alone
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def remove_run(folder: Path) -> None:
    """Delete what a run wrote into a folder, unfinished files of a killed one included, and nothing else."""
    for name in (DESCRIPTION, BEST, LAST, RECORD, REPORT, STATE):  # the state last: as long as it is there, a run is in the folder
        for unfinished in folder.glob(f".{name}.????????"):  # as :func:`write_atomically` calls them
            unfinished.unlink()
        (folder / name).unlink(missing_ok=True)


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Weights as safetensors."""
    write_atomically(path, save_tensors({name: value.detach().cpu().contiguous() for name, value in weights.items()}))


def load_weights(path: Path) -> dict[str, Tensor]:
    """Weights saved by :func:`save_weights`."""
    try:
        return load_tensors(path.read_bytes())
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}). Was it copied completely?") from None


def save_description(folder: Path, description: Mapping[str, Any]) -> None:
    """``model.json`` beside the weights."""
    write_atomically(folder / DESCRIPTION, json.dumps(description, indent=1, allow_nan=False).encode() + b"\n")


def load_description(folder: Path) -> dict[str, Any]:
    """Content of ``model.json``."""
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no {DESCRIPTION}: a model is the folder that `graph2tens train` wrote.") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}).") from None
    if not isinstance(description, dict) or "network" not in description:
        raise ValueError(f"{path} does not describe a model: it has no key 'network'.")
    return description


def save_state(path: Path, state: dict[str, Any]) -> None:
    """A training state: tensors and plain Python values only, so that loading it can run no code."""
    with tempfile.SpooledTemporaryFile(max_size=2**30) as stream:
        torch.save(state, stream)
        stream.seek(0)
        write_atomically(path, stream.read())


def load_state(path: Path) -> dict[str, Any]:
    """A training state saved by :func:`save_state`, on the CPU."""
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ValueError(f"nothing to resume: {path} does not exist. Leave out --resume to start a new run.") from None
    except Exception as error:  # torch raises a dozen kinds for a broken file
        raise ValueError(f"{path} is not a training state of graph2tens ({type(error).__name__}).") from None
    return state
