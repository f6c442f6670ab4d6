"""Rows of an Arrow table <-> graphs, and features of a record batch."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from made_graphs import fitted, molecules

from graph2tens.scale import rows_of_graphs, transform_arrow
from graph2tens.scale.many.arrow import transform_rows
from graph2tens.scale.many.rows import graphs_of_rows
from graph2tens.sklearn.inputs import OneGraph


@given(st.lists(strategies.graphs(), min_size=1, max_size=4), strategies.seeds(), st.integers(0, 3), st.booleans(), st.integers(0, 3))
def test_graphs_survive_the_way_through_a_table(drawn, rng, columns, labelled, start):
    graphs = [
        OneGraph(
            graph.n,
            graph.edges.T,
            np.ones(len(graph.edges)) if graph.weights is None else graph.weights,
            rng.normal(size=(graph.n, columns)) if columns else None,
            rng.integers(0, 3, graph.n).tolist() if labelled else None,
            rng.normal(size=(len(graph.edges), 2)) if columns > 1 else None,
            [str(label) for label in rng.integers(0, 3, len(graph.edges))] if labelled else None,
        )
        for graph in drawn
    ]
    table = rows_of_graphs(graphs)
    start = min(start, len(graphs) - 1)
    batch = table.slice(start).combine_chunks().to_batches()[0]  # offsets that do not begin at 0
    for graph, again in zip(graphs[start:], graphs_of_rows(batch), strict=True):
        assert isinstance(again, OneGraph), again
        assert again.num_nodes == graph.num_nodes
        assert again.labels == graph.labels
        assert again.edge_labels == graph.edge_labels
        for name in ("edges", "weights", "attributes", "edge_attributes"):
            first, second = getattr(graph, name), getattr(again, name)
            assert (first is None) == (second is None)
            if first is not None and first.size:
                np.testing.assert_array_equal(first, second)


def rows(**changed):
    """Three rows, of which the middle one has other values."""
    usual = {"id": 7, "num_nodes": 2, "src": [0, 1], "dst": [1, 0], "label": [1, 2], "x": [[0.5, 1.0], [2.0, 3.0]], "weight": [1.0, 1.0]}
    return pa.RecordBatch.from_pylist([usual, {**usual, **changed}, usual])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"src": [0, 2]}, "must have edges between its nodes 0..1 .got node 2."),
        ({"src": [0, -1]}, "got node -1"),
        ({"src": [0]}, "as many `src` as `dst` .got 1 and 2."),
        ({"src": None}, "must have `src` .got none."),
        ({"dst": [None, 0]}, "a value for each entry of `dst`"),
        ({"num_nodes": None}, "must have `num_nodes`"),
        ({"num_nodes": 0, "src": [], "dst": [], "label": [], "x": [], "weight": []}, "at least one node"),
        ({"label": [1]}, "one entry of `label` for each of its 2 nodes"),
        ({"x": [[1.0], [1.0, 2.0]]}, "lists of one length in `x` .got 1 to 2 numbers."),
        ({"x": [[1.0, float("nan")], [1.0, 2.0]]}, "must have finite attributes"),
        ({"x": [[1.0, None], [1.0, 2.0]]}, "a value for each entry of `x`"),
        ({"weight": [1.0, -1.0]}, "finite and not negative"),
    ],
)
def test_a_bad_row_is_named_and_its_neighbours_are_not(changed, message):
    first, middle, last = graphs_of_rows(rows(**changed))
    assert isinstance(first, OneGraph)
    assert isinstance(last, OneGraph)
    np.testing.assert_array_equal(first.edges, last.edges)
    assert isinstance(middle, str)
    assert re.search(message, middle), middle


def test_a_missing_optional_list_is_no_list():
    _, middle, _ = graphs_of_rows(rows(label=None, x=None, weight=None))
    assert middle.labels is None
    assert middle.attributes is None
    np.testing.assert_array_equal(middle.weights, [1, 1])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("src", [1, 2, 3], "the column `src` must hold lists"),
        ("src", [["a"], ["b"], ["c"]], "the column `src` must hold numbers"),
        ("num_nodes", [1.0, 2.0, 3.0], "the column `num_nodes` must hold integers"),
        ("label", [[[1]], [[1]], [[1]]], "the column `label` must hold one list for each graph"),
        ("label", [[True], [True], [True]], "the column `label` must hold numbers or strings"),
    ],
)
def test_a_wrong_column_is_refused_at_once(column, values, message):
    batch = rows()
    place = batch.schema.get_field_index(column)
    batch = batch.set_column(place, column, pa.array(values))
    with pytest.raises(ValueError, match=message):
        graphs_of_rows(batch)


def test_a_table_without_edges_is_refused():
    with pytest.raises(ValueError, match=r"must have the columns num_nodes, src, dst .got id."):
        graphs_of_rows(pa.RecordBatch.from_pylist([{"id": 1}]))


def test_features_of_a_record_batch_are_those_of_its_graphs():
    graphs = molecules(9)
    features = fitted(graphs[:5])
    table = rows_of_graphs(graphs, ids=[f"m{i}" for i in range(9)], y=np.arange(9.0))
    made = transform_arrow(features, table.to_batches()[0])
    assert made.column("id").to_pylist() == [f"m{i}" for i in range(9)]
    assert made.column("y").to_pylist() == list(range(9))
    X = np.stack(made.column("features").to_numpy(zero_copy_only=False))
    np.testing.assert_array_equal(X, features.transform(graphs))
    half = transform_arrow(features, table.to_batches()[0], "float16")
    np.testing.assert_array_equal(np.stack(half.column("features").to_numpy(zero_copy_only=False)), X.astype(np.float16))
    assert transform_arrow(features, table).num_rows == 9


def test_rows_without_features_are_told_apart_from_the_others():
    graphs = molecules(6)
    features = fitted(graphs, handle_unknown="error")
    strange = [*graphs[:2], OneGraph(2, np.array([[0, 1], [1, 0]]), np.ones(2), labels=["Xx", "C"], edge_labels=[1, 1]), *graphs[2:]]
    batch = rows_of_graphs(strange).to_batches()[0]
    made, failures = transform_rows(features, batch)
    assert [(failure.row, failure.id) for failure in failures] == [(2, "2")]
    assert "has the label 'Xx', which no training graph has" in failures[0].message
    np.testing.assert_array_equal(np.stack(made.column("features").to_numpy(zero_copy_only=False)), features.transform(graphs))
    with pytest.raises(ValueError, match=r"row 2 \(id 2\): has the label 'Xx'"):
        transform_arrow(features, batch)


def test_features_beyond_float16_are_an_error_of_their_row():
    graphs = [OneGraph(n, np.zeros((2, 0), np.int64), np.zeros(0)) for n in (5, 80_000)]
    features = fitted(graphs, pooling="sum", n_layers=0)
    made, failures = transform_rows(features, rows_of_graphs(graphs).to_batches()[0], "float16")
    assert made.num_rows == 1
    assert [failure.message for failure in failures] == ["its features are too large for float16"]


@pytest.mark.parametrize(("options", "message"), [({"pooling": None}, "must pool the nodes"), ({}, "`dtype` must be one of")])
def test_what_a_table_cannot_hold_is_refused(options, message):
    graphs = molecules(3)
    with pytest.raises(ValueError, match=message):
        transform_arrow(fitted(graphs, **options), rows_of_graphs(graphs).to_batches()[0], "float32" if options else "float64")


def test_molecules_are_read_and_what_is_none_is_told():
    pytest.importorskip("rdkit")
    batch = pa.RecordBatch.from_pylist([{"id": 1, "smiles": "CCO"}, {"id": 2, "smiles": "C(C"}, {"id": 3, "smiles": None}])
    ethanol, open_bracket, nothing = graphs_of_rows(batch)
    assert (ethanol.num_nodes, ethanol.edges.shape) == (3, (2, 4))
    assert open_bracket.startswith("its SMILES cannot be read")
    assert nothing == "its SMILES cannot be read: empty."
    features = fitted([ethanol])
    made, failures = transform_rows(features, batch)
    assert (made.column("id").to_pylist(), [failure.row for failure in failures]) == ([1], [1, 2])
