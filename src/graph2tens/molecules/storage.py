"""Fitted estimators as safetensors and JSON: no pickle, so that reading a model runs no code of the file.

Arrays go into ``model.safetensors``, bit for bit; everything else is plain JSON, in which an object is the name of its class and its
fields. Only classes of the list below are made, whatever a file says. ``model.json`` carries checksums of both files, so that a file that
was cut off, changed or mixed up with another is refused before anything is predicted with it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from ..datasets import AttributeScaler
from ..files import replacing, write_json
from ..sklearn import GraphTensClassifier, GraphTensFeatures, GraphTensRegressor
from ..sklearn.edge_nodes import EdgeNodes
from ..sklearn.encoding import Encoder
from ..sklearn.heads.answers import Labels
from ..sklearn.heads.distances import Standardiser
from ..sklearn.heads.gaussian_process import Spectrum
from ..sklearn.heads.landmark_gp import Choice, LandmarkGP
from ..sklearn.heads.landmarks import LandmarkSpectrum, Sums, Whitener
from ..sklearn.heads.least_squares import LeastSquaresClassifier
from ..sklearn.heads.validated_gp import Part, ValidatedGP
from ..sklearn.random_features import Layer
from .environments import Likeness
from .novelty import Familiarity
from .two_views import TwoViews

KIND, FORMAT = "molecules", 1
DESCRIPTION, ARRAYS = "model.json", "model.safetensors"
CLASSES: dict[str, type] = {
    made.__name__: made
    for made in (
        *(GraphTensRegressor, GraphTensClassifier, GraphTensFeatures, Encoder, AttributeScaler, EdgeNodes, Layer),
        *(ValidatedGP, Standardiser, Part, Spectrum, LandmarkGP, LandmarkSpectrum, Whitener, Sums, Choice),
        *(LeastSquaresClassifier, Labels, Familiarity, TwoViews, Likeness),
    )
}


def save(folder: Path, description: dict[str, Any], state: Any) -> None:
    """Write a model: `description` is JSON that people read, `state` a tree of objects, lists, numbers and arrays."""
    arrays: dict[str, Any] = {}
    tree = _encode(state, arrays)
    content = save_arrays(arrays)
    text = {"kind": KIND, "format": FORMAT, **description, "arrays": hashlib.sha256(content).hexdigest(), "state": tree}
    text["checksum"] = _checksum(text)
    with replacing(folder / ARRAYS) as stream:
        stream.write(content)
    write_json(folder / DESCRIPTION, text)


def load(folder: Path) -> tuple[dict[str, Any], Any]:
    """The description and the state of a model, or an error that says what is wrong with its files."""
    text = _read_description(folder)
    try:
        content = (folder / ARRAYS).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{folder} must hold {ARRAYS} beside {DESCRIPTION} (got none). Was the folder copied as a whole?") from None
    if hashlib.sha256(content).hexdigest() != text.get("arrays"):
        raise ValueError(f"{folder / ARRAYS} does not belong to its {DESCRIPTION}, or was changed or cut off (its checksum differs).")
    try:
        arrays = load_arrays(content)
        return text, _decode(text["state"], arrays, "state")
    except (SafetensorError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{folder} is no model that this version of graph2tens can read: {type(error).__name__}: {error}") from None


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ValueError(f"{folder} is no model: there is no {DESCRIPTION} in it. A model is the folder that `graph2tens fit` wrote.")
    try:
        text = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} must be JSON ({error}). Was it changed or cut off?") from None
    if not isinstance(text, dict) or text.get("kind") != KIND:
        raise ValueError(f"{path} does not describe a model of molecules, as `graph2tens fit` writes it.")
    if text.get("format") != FORMAT:
        raise ValueError(f"{path} has format {text.get('format')!r}; this version of graph2tens reads format {FORMAT}.")
    if text.get("checksum") != _checksum(text):
        raise ValueError(f"{path} was changed after it was written (its checksum differs). Fit the model again, or get an unchanged copy.")
    return text


def _checksum(text: dict[str, Any]) -> str:
    rest = {key: value for key, value in text.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _encode(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OU":
            return {"texts": [_encode(entry, arrays) for entry in value.tolist()]}
        name = f"array{len(arrays)}"
        arrays[name] = np.ascontiguousarray(value)
        return {"array": name}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_encode(entry, arrays) for entry in value]}
    if isinstance(value, dict):
        return {"dict": [[_encode(key, arrays), _encode(entry, arrays)] for key, entry in value.items()]}
    name = type(value).__name__
    if CLASSES.get(name) is not type(value):
        raise TypeError(f"a model cannot hold {name}: storage.py does not list it.")
    fields = vars(value) if not dataclasses.is_dataclass(value) else {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return {"class": name, "fields": {key: _encode(entry, arrays) for key, entry in fields.items()}}


def _decode(tree: Any, arrays: dict[str, Any], where: str) -> Any:
    if tree is None or isinstance(tree, (bool, int, str, float)):
        return tree
    if not isinstance(tree, dict):
        raise ValueError(f"the model's {where} must be a number, a text or an object (got {type(tree).__name__}).")
    if "class" in tree:
        made = CLASSES.get(tree["class"])
        if made is None:
            raise ValueError(f"the model's {where} is of the class {tree['class']!r}, which this version of graph2tens does not know.")
        fields = {key: _decode(entry, arrays, f"{where}.{key}") for key, entry in tree["fields"].items()}
        if dataclasses.is_dataclass(made):
            return made(**fields)
        whole: Any = object.__new__(made)
        whole.__dict__.update(fields)
        return whole
    [(kind, content)] = tree.items()
    if kind == "array":
        return arrays[content]
    if kind == "float":
        return float(content)
    if kind == "dict":
        return {_decode(key, arrays, where): _decode(entry, arrays, where) for key, entry in content}
    entries = [_decode(entry, arrays, f"{where}[{place}]") for place, entry in enumerate(content)]
    if kind == "texts":
        found = np.empty(len(entries), dtype=object)
        found[:] = entries
        return found
    return {"list": list, "tuple": tuple}[kind](entries)
