"""Fitted estimators as safetensors and JSON: no pickle, so that reading a model runs no code of the file.

Arrays go into ``model.safetensors``, bit for bit; everything else is plain JSON, in which an object is the name of its class and its
fields. Only classes of the list below are made, whatever a file says. ``model.json`` carries checksums of both files, so that a file that
was cut off, changed or mixed up with another is refused before anything is predicted with it. A model is replaced in one moment, by the
rename of ``model.json``: new arrays lie under a name with their checksum until then, and are found by it if the process ends just after.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.base import BaseEstimator

from ..datasets import AttributeScaler
from ..files import as_json, holding, staged
from ..sklearn import GraphTensFeatures, GraphTensRegressor
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
from .classes import MoleculeClassifier
from .environments import Likeness
from .novelty import Familiarity
from .pieces import Pieces
from .two_views import TwoViews

KIND, FORMAT = "molecules", 1
DESCRIPTION, ARRAYS, ESTIMATE = "model.json", "model.safetensors", "estimate.csv"
CLASSES: dict[str, type] = {
    made.__name__: made
    for made in (
        *(GraphTensRegressor, MoleculeClassifier, GraphTensFeatures, Encoder, AttributeScaler, EdgeNodes, Layer),
        *(ValidatedGP, Standardiser, Part, Spectrum, LandmarkGP, LandmarkSpectrum, Whitener, Sums, Choice),
        *(LeastSquaresClassifier, Labels, Familiarity, TwoViews, Likeness, Pieces),
    )
}


def save(folder: Path, description: dict[str, Any], state: Any, estimate: str | None = None) -> None:
    """Write a model: `description` is JSON that people read, `state` a tree of objects, lists, numbers and arrays, `estimate` a table that
    goes beside them.

    A full disk or a kill leaves the old model or the new one, and of two processes that write to one folder the last one wins.
    """
    arrays: dict[str, Any] = {}
    tree = _encode(state, arrays)
    content = save_arrays(arrays)
    text = {"kind": KIND, "format": FORMAT, **description, "arrays": hashlib.sha256(content).hexdigest(), "state": tree}
    text["checksum"] = _checksum(text)
    own, table = folder / _own_name(text["arrays"]), folder / ESTIMATE
    with holding(folder, wait=True), ExitStack() as stack:
        for left in folder.glob(_own_name("?" * 64)):  # by a process that was killed
            if left.name != _own_name(_known_digest(folder)):
                left.unlink()
        new_arrays = stack.enter_context(staged(own, content))
        new_description = stack.enter_context(staged(folder / DESCRIPTION, as_json(text).encode()))
        new_estimate = None if estimate is None else stack.enter_context(staged(table, estimate.encode()))
        new_arrays.publish()
        try:
            table.unlink(missing_ok=True)  # it is of the model before
            new_description.publish()
        except BaseException:
            own.unlink()
            raise
        os.replace(own, folder / ARRAYS)
        if new_estimate is not None:
            new_estimate.publish()


def load(folder: Path) -> tuple[dict[str, Any], Any]:
    """The description and the state of a model, or an error that says what is wrong with its files."""
    while True:
        text = _read_description(folder)
        content = _read_arrays(folder, str(text.get("arrays")))
        if content is not None:
            break
        if text == _read_description(folder):  # or it is being replaced at this moment
            raise ValueError(f"{folder / ARRAYS} does not belong to its {DESCRIPTION}, or was changed or cut off (its checksum differs).")
    try:
        arrays = load_arrays(content)
        return text, _decode(text["state"], arrays, "state")
    except (SafetensorError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(
            f"{folder} is not a model that this version of graph2tens can read: its `state` is not as `fit` writes it. Fit it again."
        ) from error


def _read_arrays(folder: Path, digest: str) -> bytes | None:
    """The arrays with this checksum, if they are there."""
    found = None
    for name in (ARRAYS, _own_name(digest), ARRAYS):  # the second becomes the first, perhaps while we look
        with suppress(FileNotFoundError):
            found = (folder / name).read_bytes()
            if hashlib.sha256(found).hexdigest() == digest:
                return found
    if found is None:
        raise ValueError(f"{folder} must hold {ARRAYS} beside {DESCRIPTION} (got none). Was the folder copied as a whole?")
    return None


def _own_name(digest: str) -> str:
    """What arrays are called until ``model.json`` names them."""
    return f"model-{digest}.safetensors"


def _known_digest(folder: Path) -> str:
    try:
        return str(_read_description(folder).get("arrays"))
    except ValueError:
        return ""


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ValueError(f"{folder} is not a model: there is no {DESCRIPTION} in it. A model is the folder that `graph2tens fit` wrote.")
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
    # of an estimator all that it has learnt, too; of other dataclasses what they are made of
    names = vars(value) if isinstance(value, BaseEstimator) else [field.name for field in dataclasses.fields(CLASSES[name])]
    fields = {name: getattr(value, name) for name in names}
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
        if not issubclass(made, BaseEstimator):
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
