"""Fitted features on disk: same bits after reading, and nothing of a broken or tampered file reaches the compiled loops."""

from __future__ import annotations

import json

import numpy as np
import pytest
from graph_lists import corner_data, rings_and_paths
from made_graphs import fitted, molecules
from safetensors.numpy import load, save

from graph2tens.scale import load_features, save_features
from graph2tens.scale.many.fitted import KEY, features_bytes

OPTIONS = {
    "usual": {},
    "time, both poolings": {"time": True, "pooling": "both", "walk_length": 2},
    "structure": {"structure": "rings,returns"},
    "exact": {"functionals": "exact", "degree_attribute": False},
    "wide": {"n_functionals": 200, "degree": 3},  # several groups of channels
    "no layers": {"n_layers": 0},
    "edges in the mean": {"edges": "mean", "layer_decay": 0.5},
    "strict about labels": {"handle_unknown": "error", "frequency": (0.5, 0.75), "laziness": 0.25},
}


@pytest.mark.parametrize("options", [pytest.param(options, id=name) for name, options in OPTIONS.items()])
def test_features_have_the_same_bits_after_they_were_on_disk(options, tmp_path):
    graphs = molecules(12)
    features = fitted(graphs, **options)
    digest = save_features(features, tmp_path / "features.safetensors")
    again = load_features(tmp_path / "features.safetensors")
    np.testing.assert_array_equal(again.transform(graphs), features.transform(graphs))
    assert again.get_params() == features.get_params()
    assert list(again.get_feature_names_out()) == list(features.get_feature_names_out())
    assert save_features(again, tmp_path / "again.safetensors") == digest


@pytest.mark.parametrize("graphs", [corner_data(2), corner_data(None), rings_and_paths(8)[0]], ids=["attributes", "nothing", "labels"])
def test_whatever_describes_nodes_survives(graphs, tmp_path):
    features = fitted(graphs)
    save_features(features, tmp_path / "f")
    np.testing.assert_array_equal(load_features(tmp_path / "f").transform(graphs), features.transform(graphs))


def test_a_generator_as_random_state_is_not_kept(tmp_path):
    features = fitted(molecules(4), random_state=np.random.RandomState(0))
    save_features(features, tmp_path / "f")
    assert load_features(tmp_path / "f").random_state is None


def test_labels_that_no_file_can_hold_are_refused(tmp_path):
    graphs = molecules(3)
    for graph in graphs:
        graph.labels[:] = [frozenset({1})] * graph.num_nodes
    with pytest.raises(TypeError, match="a label must be a number, a string or a boolean"):
        save_features(fitted(graphs), tmp_path / "f")
    assert not list(tmp_path.iterdir())


def _parts(content):
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"][KEY]), {name: array.copy() for name, array in load(content).items()}


def _index(described, arrays):
    arrays["layers.1.inputs.0"][0] = 10**6


def _twice(described, arrays):
    arrays["layers.1.inputs.0"][0] = arrays["layers.1.inputs.0"][1]


def _infinite(described, arrays):
    arrays["layers.0.components"][0, 0, 0] = np.inf


def _shape(described, arrays):
    arrays["layers.0.components"] = arrays["layers.0.components"][:, :-1]


def _type(described, arrays):
    arrays["layers.0.phases"] = arrays["layers.0.phases"].astype(np.float64)


def _degree_column(described, arrays):
    arrays["encoder.degrees"][0] = -1


def _option(described, arrays):
    described["parameters"]["walk_length"] = "five"


def _unknown_option(described, arrays):
    described["parameters"]["walks"] = 3


def _edges(described, arrays):
    described["edge_nodes"]["columns"] = -1


def _fewer_layers(described, arrays):
    described["parameters"]["n_layers"] = 1


def _format(described, arrays):
    described["format"] = 99


def _surplus(described, arrays):
    arrays["surprise"] = np.zeros(3)


def _no_array(described, arrays):
    del arrays["encoder.degrees"]


@pytest.mark.parametrize(
    "change",
    [
        _index,
        _twice,
        _infinite,
        _shape,
        _type,
        _degree_column,
        _option,
        _unknown_option,
        _edges,
        _fewer_layers,
        _format,
        _surplus,
        _no_array,
    ],
    ids=lambda change: change.__name__.strip("_"),
)
def test_a_tampered_file_is_refused(change, tmp_path):
    described, arrays = _parts(features_bytes(fitted(molecules(6))))
    change(described, arrays)
    path = tmp_path / "f.safetensors"
    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {KEY: json.dumps(described)}))
    with pytest.raises(ValueError, match="does not hold fitted features of graph2tens"):
        load_features(path)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 a zip file", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "], ids=["empty", "zip", "bare"]
)
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ValueError, match="does not hold fitted features"):
        load_features(tmp_path / "f")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_features(tmp_path / "g")


def test_a_cut_file_is_refused(tmp_path):
    content = features_bytes(fitted(molecules(6)))
    for size in np.linspace(0, len(content) - 1, 9).astype(int):
        (tmp_path / "f").write_bytes(content[:size])
        with pytest.raises(ValueError, match="does not hold fitted features"):
            load_features(tmp_path / "f")
