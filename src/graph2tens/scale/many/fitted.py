"""A fitted `GraphTensFeatures` as one file: arrays and JSON in the safetensors format, no pickle, so that reading it can run no code.

The compiled loops behind the features do not check indices. So nothing of a file is believed: types, shapes, index ranges and finiteness
are checked before an estimator is made of it.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.utils.validation import check_is_fitted

from ...checks import check_integer
from ...datasets import AttributeScaler
from ...files import replacing
from ...sklearn import GraphTensFeatures
from ...sklearn.edge_nodes import EdgeNodes
from ...sklearn.encoding import Encoder
from ...sklearn.random_features import Layer

FORMAT = 1
KEY = "graph2tens"  # of the JSON text in the header; one key alone, so that equal estimators are equal bytes
SCALARS = (bool, int, float, str, type(None))


def save_features(features: GraphTensFeatures, path: str | Path) -> str:
    """Write a fitted estimator; returns the digest of the file, which is the same whenever the estimator is.

    Raises:
        TypeError: for labels that JSON cannot hold: they must be numbers, strings or booleans.
    """
    content = features_bytes(features)
    with replacing(path) as stream:
        stream.write(content)
    return hashlib.sha256(content).hexdigest()


def load_features(path: str | Path) -> GraphTensFeatures:
    """Read an estimator that :func:`save_features` wrote; its features have the same bits."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; `save_features` or `graph2tens scale fit` write such a file.")
    try:
        return _from_file(path)
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} does not hold fitted features of graph2tens ({error}).") from None
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"{path} does not hold fitted features of graph2tens (its description is not as `scale fit` writes it)."
        ) from error


def features_bytes(features: GraphTensFeatures) -> bytes:
    """The content of the file."""
    check_is_fitted(features)
    arrays: dict[str, NDArray[Any]] = {}
    parameters = {**features.get_params(deep=False), **features.settings_}  # as they were when it was fitted
    if not isinstance(parameters["random_state"], SCALARS):
        parameters["random_state"] = None  # a generator has done its work: the functionals are drawn
    encoder = {field.name: _pack(getattr(features.encoder_, field.name), f"encoder.{field.name}", arrays) for field in fields(Encoder)}
    for number, layer in enumerate(features.layers_):
        for field in fields(Layer):
            value = getattr(layer, field.name)
            parts = {field.name: value} if isinstance(value, np.ndarray) else {f"{field.name}.{g}": group for g, group in enumerate(value)}
            arrays.update({f"layers.{number}.{name}": part for name, part in parts.items()})
    text = {
        "format": FORMAT,
        "parameters": {name: list(value) if isinstance(value, tuple) else _plain(value, name) for name, value in parameters.items()},
        "encoder": encoder,
        "edge_nodes": None if features.edge_nodes_ is None else asdict(features.edge_nodes_),
        "layers": [{"inputs": len(layer.inputs), "outputs": len(layer.outputs)} for layer in features.layers_],
    }
    described = json.dumps(text, sort_keys=True, allow_nan=False)
    return save_arrays({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {KEY: described})


def _pack(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """A field of the encoder as JSON; arrays go to `arrays` under the field's name."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, AttributeScaler):
        arrays[f"{name}.shift"], arrays[f"{name}.scale"] = value.shift, value.scale
        return {"scaler": name}
    if isinstance(value, tuple):
        return {"labels": [_label(label) for label in value]}
    return _plain(value, name)


def _label(label: Any) -> Any:
    """JSON has no tuples, which labels of edges are."""
    return {"tuple": [_label(part) for part in label]} if isinstance(label, tuple) else _plain(label, "a label")


def _label_of(described: Any) -> Any:
    if not isinstance(described, dict):
        return _plain(described, "a label")
    return tuple(_label_of(part) for part in described["tuple"])


def _plain(value: Any, name: str) -> Any:
    if not isinstance(value, SCALARS) or (isinstance(value, float) and not math.isfinite(value)):
        raise TypeError(f"{name} must be a number, a string or a boolean to be written to a file (got {value!r}).")
    return value


def _from_file(path: Path) -> GraphTensFeatures:
    with safe_open(path, framework="numpy") as file:
        text = (file.metadata() or {}).get(KEY)
    if text is None:
        raise ValueError("its header has no description")
    described = json.loads(text)
    if described["format"] != FORMAT:
        raise ValueError(f"its format is {described['format']!r}, this version reads {FORMAT}")
    arrays = load_arrays(path.read_bytes())
    features = GraphTensFeatures(**_parameters(described["parameters"]))
    features._check_arguments()
    features.freeze()
    features.edge_nodes_ = _edge_nodes(described["edge_nodes"])
    features.encoder_ = _encoder(described["encoder"], arrays)
    features.layers_ = [_layer(number, groups, arrays) for number, groups in enumerate(described["layers"])]
    _check_layers(features)
    features.n_features_out_ = len(features.get_feature_names_out())
    if arrays:
        raise ValueError(f"it has arrays that nothing reads: {', '.join(sorted(arrays)[:3])}")
    return features


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    usual = GraphTensFeatures().get_params(deep=False)
    unknown, missing = given.keys() - usual.keys(), usual.keys() - given.keys()
    if unknown or missing:
        raise ValueError(f"its options differ from this version's: {', '.join(sorted(unknown | missing))}")
    for name, value in usual.items():
        # None is allowed where it is no default (pooling), and a number where None is (random_state, n_jobs, layer_decay).
        kinds = (type(value), type(None)) if name == "pooling" else (type(value),) if value is not None else (int, float, type(None))
        expected = (list,) if isinstance(value, tuple) else (int, float) if isinstance(value, float) else kinds
        if type(given[name]) not in expected:
            raise ValueError(f"its option {name} is {given[name]!r}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def _edge_nodes(given: dict[str, Any] | None) -> EdgeNodes | None:
    if given is None:
        return None
    kinds = {"directed": bool, "columns": int, "labelled": bool}
    if {name: type(value) for name, value in given.items()} != kinds or given["columns"] < 0:
        raise ValueError(f"it says {given!r} of edges that are nodes")
    return EdgeNodes(**given)


def _encoder(given: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Encoder:
    if given.keys() != {field.name for field in fields(Encoder)}:
        raise ValueError("it describes nodes in another way than this version")
    encoder = Encoder(**{name: _unpack(value, arrays) for name, value in given.items()})
    degrees = encoder.degrees
    if degrees.dtype != np.int64 or degrees.ndim != 1 or (degrees.size and not 0 <= degrees.min() <= degrees.max() < 38):
        raise ValueError("its columns of degrees are not indices")
    if encoder.handle_unknown not in ("ignore", "error"):
        raise ValueError(f"its handle_unknown is {encoder.handle_unknown!r}")
    return encoder


def _unpack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "labels":
        return tuple(_label_of(label) for label in content)
    if kind == "array":
        return arrays.pop(content)
    shift, scale = arrays.pop(f"{content}.shift"), arrays.pop(f"{content}.scale")
    if shift.ndim != 1 or shift.shape != scale.shape or shift.dtype != np.float64 or scale.dtype != np.float64:
        raise ValueError(f"the scaling {content} has shapes {shift.shape} and {scale.shape}")
    if not (np.isfinite(shift).all() and np.isfinite(scale).all()):
        raise ValueError(f"the scaling {content} is not finite")
    return AttributeScaler(shift, scale)


def _layer(number: int, groups: dict[str, int], arrays: dict[str, NDArray[Any]]) -> Layer:
    def take(name: str, dtype: type) -> NDArray[Any]:
        array = arrays.pop(f"layers.{number}.{name}")
        if array.dtype != dtype or not np.isfinite(array).all():
            raise ValueError(f"{name} of layer {number} must be finite and {np.dtype(dtype).name} (got {array.dtype.name})")
        return array

    def share(name: str) -> list[NDArray[Any]]:
        return [take(f"{name}.{group}", np.int64) for group in range(check_integer(groups[name], name, 1))]

    components, frequencies, phases = (take(name, np.float32) for name in ("components", "frequencies", "phases"))
    return Layer(components, frequencies, phases, share("inputs"), share("outputs"))


def _check_layers(features: GraphTensFeatures) -> None:
    expected = features.n_layers if features.functionals == "random" else 0
    if len(features.layers_) != expected:
        raise ValueError(f"it has {len(features.layers_)} layers instead of {expected}")
    M, R, Q = features.degree, features.n_functionals, features.n_waves
    channels = len(features.encoder_.names)
    for number, layer in enumerate(features.layers_):
        shapes = (M, channels + bool(features.time), R), (M * R, Q), (Q,)
        found = layer.components.shape, layer.frequencies.shape, layer.phases.shape
        if found != shapes:
            raise ValueError(f"layer {number} has arrays of shapes {found} instead of {shapes}")
        for groups, width in ((layer.inputs, channels), (layer.outputs, M * R)):
            together = np.sort(np.concatenate(groups))
            if any(group.ndim != 1 for group in groups) or not np.array_equal(together, np.arange(width)):
                raise ValueError(f"the groups of layer {number} do not share out its {width} channels")
        channels = M * R
