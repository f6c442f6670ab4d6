"""Every way to write down a graph gives the same graph, and every slip a message that names the graph."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from graph_lists import corner_data, rings_and_paths
from torch_geometric.data import Batch, Data

from graph2tens.datasets import load
from graph2tens.sklearn import GraphTensFeatures, read_networkx
from graph2tens.sklearn.encoding import Encoder
from graph2tens.sklearn.inputs import as_graphs

SMALL = {"n_layers": 2, "n_functionals": 4, "n_waves": 4, "random_state": 0}


def weighted_graph() -> tuple[np.ndarray, np.ndarray]:
    """Adjacency and attributes; directed, with a self-loop and a node without out-edges."""
    adjacency = np.array([[0, 2.0, 0, 0], [0.5, 0, 1, 0], [0, 0, 3, 1], [0, 0, 0, 0]])
    return adjacency, np.array([[0.1, -1], [2, 0.3], [1, 1], [-0.4, 0.7]])


def every_form() -> dict[str, object]:
    adjacency, x = weighted_graph()
    row, col = adjacency.nonzero()
    edge_index, weight = torch.tensor(np.stack([row, col])), torch.tensor(adjacency[row, col])
    graph = nx.DiGraph()
    for name, values in zip("dbca", x, strict=True):
        graph.add_node(name, x=values.tolist())
    for i, j in zip(row, col, strict=True):
        graph.add_edge("dbca"[i], "dbca"[j], weight=adjacency[i, j])
    stored_zeros = scipy.sparse.coo_array((np.append(adjacency[row, col], [0, 0]), (np.append(row, [0, 3]), np.append(col, [3, 0]))))
    return {
        "pyg": Data(x=torch.tensor(x), edge_index=edge_index, edge_weight=weight),
        "networkx": graph,
        "numpy": (adjacency, x),
        "lists": (adjacency.tolist(), x.tolist()),
        "scipy": (scipy.sparse.coo_array(adjacency), x),
        "stored zeros": (stored_zeros.tocsr(), x),
        "sparse attributes": (scipy.sparse.csc_matrix(adjacency), scipy.sparse.csr_array(x)),
    }


@pytest.mark.parametrize("form", every_form())
def test_every_form_of_a_graph_gives_the_same_features(form):
    forms = every_form()
    features = GraphTensFeatures(**SMALL).fit([forms["numpy"]])
    np.testing.assert_array_equal(features.transform([forms[form]]), features.transform([forms["numpy"]]))


def test_a_batch_stands_for_the_list_of_its_graphs():
    graphs = corner_data()
    features = GraphTensFeatures(**SMALL)
    np.testing.assert_array_equal(features.fit_transform(Batch.from_data_list(graphs)), features.fit_transform(graphs))


def test_an_undirected_networkx_graph_is_walked_in_both_directions_and_loops_once():
    graph = nx.Graph([("a", "b"), ("b", "b")])
    read = as_graphs([graph])[0]
    assert sorted(map(tuple, read.edges.T.tolist())) == [(0, 1), (1, 0), (1, 1)]


def test_parallel_edges_of_a_multigraph_add_their_weights():
    several = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    once = nx.Graph()
    once.add_edge("a", "b", weight=2)
    once.add_edge("b", "c", weight=1)
    features = GraphTensFeatures(**SMALL, degree_attribute=False).fit([once])
    np.testing.assert_allclose(features.transform([several]), features.transform([once]))


def test_integers_are_labels_and_floats_are_attributes():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    for x in (torch.tensor([3, 7]), torch.tensor([[3], [7]]), np.array(["C", "O"]), [3, 7]):
        read = as_graphs([Data(edge_index=edge_index, x=x if torch.is_tensor(x) else None, num_nodes=2, label=x)])[0]
        assert len(read.labels) == 2
        assert read.attributes is None
    read = as_graphs([(np.eye(2), np.array([0.5, 1.5]))])[0]
    assert read.labels is None
    np.testing.assert_array_equal(read.attributes, [[0.5], [1.5]])
    one_hot = as_graphs([Data(edge_index=edge_index, x=torch.eye(2, dtype=torch.long))])[0]
    assert one_hot.attributes.shape == (2, 2)


def test_labels_and_attributes_go_together():
    graphs, _ = rings_and_paths(4)
    for graph in graphs:
        nx.set_node_attributes(graph, {node: [float(place)] for place, node in enumerate(graph)}, "x")
    names = GraphTensFeatures(**SMALL).fit(graphs).encoder_.names
    assert names[:4] == ["attribute0", "label=C", "label=N", "label=O"]


def test_labels_of_mixed_types_are_sorted_without_complaint():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "C", 1: 6, 2: ("a", "tuple")}, "label")
    assert len(Encoder.fit(as_graphs([graph]), degree_attribute=False, handle_unknown="ignore").labels) == 3


@pytest.mark.parametrize("kind", [torch.tensor, np.int64, np.array], ids=["tensor", "NumPy number", "array"])
def test_labels_compare_by_value_whatever_holds_them(kind):
    plain, held = nx.path_graph(4), nx.path_graph(4)
    for graph, hold in ((plain, int), (held, kind)):
        nx.set_node_attributes(graph, {node: hold(node % 2) for node in graph}, "label")
        nx.set_edge_attributes(graph, {edge: hold(edge[0] % 2) for edge in graph.edges}, "label")
    (read,) = as_graphs([held])
    assert read.labels == [0, 1, 0, 1]
    assert {type(label) for label in [*read.labels, *read.edge_labels]} == {int}
    features = GraphTensFeatures(**SMALL).fit([plain])
    assert GraphTensFeatures(**SMALL).fit([held]).encoder_.names == features.encoder_.names
    np.testing.assert_array_equal(features.transform([held]), features.transform([plain]))


@pytest.mark.parametrize(
    ("label", "kind", "message"),
    [
        (float("nan"), ValueError, r"graph 1 of `X` must have a label wherever others have one \(got NaN\)"),
        (torch.tensor(float("nan")), ValueError, r"graph 1 .*NaN"),
        (torch.tensor([1, 2]), TypeError, r"graph 1 of `X` must have single values for labels \(got Tensor of shape \(2,\)\)"),
        (["C"], TypeError, r"graph 1 .*hashable values"),
        (None, ValueError, r"graph 1 of `X` must have a label wherever others have one \(got None\)"),
    ],
    ids=str,
)
def test_what_cannot_be_a_label_is_named(label, kind, message):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, label, "label")
    with pytest.raises(kind, match=message):
        as_graphs([nx.path_graph(2), graph])


def test_missing_labels_of_arrays_are_named():
    with pytest.raises(ValueError, match=r"graph 0 .*NaN"):
        as_graphs([Data(edge_index=EDGE, num_nodes=2, label=torch.tensor([1, np.nan]))])
    with pytest.raises(ValueError, match=r"graph 0 .*NaN"):
        as_graphs([(np.eye(2), np.array(["C", np.nan], dtype=object))])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float16], ids=str)
def test_short_floating_numbers_are_read(dtype):
    x, weight = torch.tensor([[0.5, 2], [-1, 1]]), torch.tensor([2.0, 0.5])
    plain = Data(x=x, edge_index=EDGE, edge_weight=weight, edge_attr=x)
    short = Data(x=x.to(dtype), edge_index=EDGE, edge_weight=weight.to(dtype), edge_attr=x.to(dtype))
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {node: row.to(dtype) for node, row in enumerate(x)}, "x")
    read, expected, from_networkx = as_graphs([short, plain, graph])
    for name in ("attributes", "weights", "edge_attributes"):
        np.testing.assert_array_equal(getattr(read, name), getattr(expected, name))
    np.testing.assert_array_equal(from_networkx.attributes, x)


def test_edge_labels_and_attributes_are_averaged_over_the_edges_that_leave_a_node():
    graph = nx.DiGraph()
    graph.add_edge(0, 1, label="single", x=1.0)
    graph.add_edge(0, 2, label="double", x=3.0)
    graph.add_edge(1, 2, label="double", x=2.0)
    encoder = Encoder.fit(as_graphs([graph]), degree_attribute=False, handle_unknown="error")
    assert encoder.names == ["edge_attribute0", "edge_label=double", "edge_label=single"]
    # the attribute is scaled from [1, 3] to [0, 1]
    np.testing.assert_allclose(encoder.transform(as_graphs([graph]))[0], [[0.5, 0.5, 0.5], [0.5, 1, 0], [0, 0, 0]])
    lonely = nx.DiGraph()
    lonely.add_node("alone")
    np.testing.assert_array_equal(encoder.transform(as_graphs([lonely]))[0], [[0, 0, 0]])


@pytest.mark.parametrize("attributes", [None, 0, 1, 3])
def test_corner_graphs_have_finite_features(attributes):
    graphs = corner_data(attributes)
    for options in ({}, {"degree_attribute": False}, {"pooling": "both"}, {"time": True}, {"increments": False}, {"walk_length": 0}):
        table = GraphTensFeatures(**SMALL, **options).fit_transform(graphs)
        assert table.shape[0] == len(graphs)
        assert np.isfinite(table).all()


def test_the_built_in_data_sets_are_lists_of_graphs():
    assert np.isfinite(GraphTensFeatures(**SMALL).fit_transform(load("digits").graphs[:20])).all()


UNKNOWN = nx.path_graph(2)
nx.set_node_attributes(UNKNOWN, "Xe", "label")


def test_an_unknown_label_has_no_indicator_or_is_an_error():
    graphs, _ = rings_and_paths(4)
    features = GraphTensFeatures(**SMALL).fit(graphs)
    assert (features.transform([UNKNOWN])[0, :3] == 0).all()
    with pytest.raises(ValueError, match=r"graph 1 of `X` has the label 'Xe', which no training graph has"):
        GraphTensFeatures(**SMALL, handle_unknown="error").fit(graphs).transform([graphs[0], UNKNOWN])


EDGE = torch.tensor([[0, 1], [1, 0]])
SLIPS = {
    "one graph": (Data(x=torch.ones(2, 1), edge_index=EDGE), TypeError, r"list of graphs \(got one Data\). Did you mean \[X\]"),
    "one networkx graph": (nx.path_graph(2), TypeError, r"Did you mean \[X\]"),
    "a table": (np.eye(3), TypeError, r"got an array of shape \(3, 3\)"),
    "a string": ("NCI1", TypeError, "list of graphs"),
    "nothing": ([], ValueError, "at least one graph"),
    "not a graph": ([nx.path_graph(2), 7], TypeError, "graph 1 of `X` must be one of .*got int"),
    "no nodes": ([nx.path_graph(2), nx.Graph()], ValueError, "graph 1 of `X` must have at least one node"),
    "not square": ([(np.ones((2, 3)), None)], ValueError, r"square adjacency matrix \(got shape \(2, 3\)\)"),
    "negative weight": ([(-np.eye(2), None)], ValueError, r"not negative \(got -1.0\)"),
    "weight is no number": ([nx.Graph([(0, 1, {"weight": "heavy"})])], ValueError, "edge attribute `weight`"),
    "NaN": ([(np.eye(2), np.array([[1.0], [np.nan]]))], ValueError, "NaN or infinity at row 1"),
    "too few rows": ([(np.eye(2), np.ones((3, 1)))], ValueError, r"one row of `attributes` for each of its 2 nodes"),
    "edge to nowhere": ([Data(x=torch.ones(2, 1), edge_index=EDGE + 1)], ValueError, r"nodes 0..1 \(got node 2\)"),
    "half labelled": ([nx.Graph([(0, 1)]), nx.Graph()], ValueError, "graph 1"),
    "other width": ([(np.eye(2), np.ones((2, 2))), (np.eye(2), np.ones((2, 3)))], ValueError, "graph 1 differs"),
    "some without": ([(np.eye(2), np.ones((2, 2))), (np.eye(2), None)], ValueError, "graph 1 differs"),
    "complex": ([(np.eye(2) * 1j, None)], TypeError, "real numbers"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_named(slip):
    X, kind, message = SLIPS[slip]
    with pytest.raises(kind, match=message):
        GraphTensFeatures(**SMALL).fit(X)


def test_an_attribute_on_some_nodes_only_is_named():
    graph = nx.path_graph(3)
    graph.nodes[1]["label"] = "C"
    with pytest.raises(ValueError, match=r"'label' on all of its nodes or on none \(got 1 of 3\)"):
        as_graphs([graph])


def test_unseen_graphs_must_have_what_the_training_graphs_have():
    features = GraphTensFeatures(**SMALL).fit([(np.eye(2), np.ones((2, 2)))])
    with pytest.raises(ValueError, match=r"graph 0 of `X` must have 2 attributes, as the training graphs have \(got 3\)"):
        features.transform([(np.eye(2), np.ones((2, 3)))])
    with pytest.raises(ValueError, match=r"must have 2 attributes, as the training graphs have \(got 0\)"):
        features.transform([np.eye(2)])
    labelled = GraphTensFeatures(**SMALL).fit([(np.eye(2), np.array(["a", "b"]))])
    with pytest.raises(ValueError, match="must have a label on every node"):
        labelled.transform([np.eye(2)])
    with pytest.raises(ValueError, match=r"must have 0 attributes"):
        GraphTensFeatures(**SMALL).fit([np.eye(2)]).transform([(np.eye(2), np.ones((2, 3)))])


def attributed(values):
    graph = nx.path_graph(len(values))
    nx.set_node_attributes(graph, dict(enumerate(values)), "x")
    return graph


def test_numbers_and_words_in_one_attribute_are_refused():
    for values in ([1.5, "C"], [2, 1.5, None], ["C", 0.5]):
        with pytest.raises(TypeError, match=r"graph 0 of `X` must have numbers or words in `x`, not both"):
            as_graphs([attributed(values)])


def test_whole_numbers_in_one_graph_and_floating_ones_in_another_are_explained():
    whole, floating = attributed([1, 2]), attributed([1.0, 2.5])
    with pytest.raises(
        ValueError, match=r"labels of graph 1 and attributes of graph 0.*Whole numbers.* are labels; floating numbers are attr"
    ):
        GraphTensFeatures(**SMALL).fit([floating, whole])
    with pytest.raises(ValueError, match=r"must have 1 attributes.*got 0\)\. Whole numbers"):
        GraphTensFeatures(**SMALL).fit([floating]).transform([whole])
    with pytest.raises(ValueError, match=r"must have 0 attributes.*got 1\)\. Whole numbers"):
        GraphTensFeatures(**SMALL).fit([whole]).transform([floating])


def test_integers_beside_labels_are_not_lost():
    for kind in ("networkx", "pyg", "edges"):
        pair = []
        for values in ([1, 2, 3], [3, 1, 2]):
            graph = nx.path_graph(3)
            nx.set_node_attributes(graph, "C", "label")
            if kind == "edges":
                nx.set_edge_attributes(graph, "single", "label")
                nx.set_edge_attributes(graph, {(0, 1): values[0], (1, 2): values[2]}, "x")
            else:
                nx.set_node_attributes(graph, dict(enumerate(values)), "x")
            if kind == "pyg":
                edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
                graph = Data(x=torch.tensor(values), label=torch.zeros(3, dtype=torch.long), edge_index=edges)
            pair.append(graph)
        one, two = GraphTensFeatures(**SMALL).fit_transform(pair)
        assert np.abs(one - two).max() > 0.1, kind


def test_words_beside_labels_make_pairs():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "C", 1: "C"}, "label")
    nx.set_node_attributes(graph, {0: "chiral", 1: "flat"}, "x")
    assert as_graphs([graph])[0].labels == [("C", "chiral"), ("C", "flat")]


def molecules():
    found = []
    for elements in ("CCO", "COC"):
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, dict(enumerate(elements)), "element")
        nx.set_node_attributes(graph, {0: 0.1, 1: 0.2, 2: 0.3}, "charge")
        nx.set_node_attributes(graph, {0: [1.0, 2.0], 1: [0.0, 1.0], 2: [2.0, 2.0]}, "place")
        nx.set_edge_attributes(graph, 1, "order")
        found.append(graph)
    return found


def test_attributes_of_other_names_are_read_by_name():
    ethanol, ether = molecules()
    options = {"node_label": "element", "edge_label": "order", "node_attributes": ["charge", "place"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_networkx([ethanol, ether], **options)
    assert read[0].labels == ["C", "C", "O"]
    assert read[0].edge_labels == [1] * 4
    np.testing.assert_array_equal(read[0].attributes, [[0.1, 1, 2], [0.2, 0, 1], [0.3, 2, 2]])
    one, two = GraphTensFeatures(**SMALL).fit_transform(read)
    assert np.abs(one - two).max() > 0.1
    with pytest.raises(TypeError, match=r"Did you mean \['charge'\]"):
        read_networkx([ethanol], node_attributes="charge")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node_label": "elment"}, "`node_label` must name attributes of nodes; no graph has 'elment' .got 'charge', 'element', 'place'."),
        ({"node_attributes": ["charge", "q"]}, "no graph has 'q'"),
        ({"edge_label": "bond"}, "`edge_label` must name attributes of edges; no graph has 'bond' .got 'order'."),
        ({"edge_weight": "w"}, "no graph has 'w'"),
    ],
)
def test_names_that_no_graph_has_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        read_networkx(molecules(), **options)


def test_names_are_no_error_where_one_graph_has_them_or_there_are_no_edges():
    read = read_networkx(iter([*molecules(), nx.empty_graph(0)][:2]), node_label="element", node_attributes=["charge", "place"])
    assert [graph.labels for graph in read] == [["C", "C", "O"], ["C", "O", "C"]]
    lonely = nx.empty_graph(2)
    nx.set_node_attributes(lonely, "C", "element")
    assert read_networkx([lonely], node_label="element", edge_label="order")[0].labels == ["C", "C"]
    with pytest.raises(TypeError, match=r"Did you mean \[graphs\]"):
        read_networkx(lonely)


def test_attributes_that_nobody_reads_are_listed():
    with pytest.warns(UserWarning, match=r"not used: 'element' of nodes, 'charge' of nodes, 'place' of nodes, 'order' of edges"):
        as_graphs(molecules())
