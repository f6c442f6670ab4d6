"""Graphs as scripts for PyG hold them: subsets, loaders, transposed matrices, and attributes of other names."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import Subset
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import ToSparseTensor

from graph2tens.sklearn import GraphTensFeatures
from graph2tens.sklearn.inputs import as_graphs


def graphs(**others: torch.Tensor) -> list[Data]:
    """Directed graphs with weights; four nodes and five edges each."""
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2, 0, 3], [1, 2, 3, 2, 0]])
    return [Data(x=torch.randn(4, 2), edge_index=edges, edge_weight=torch.rand(5) + 0.1, **others) for _ in range(6)]


def features(X):
    return GraphTensFeatures(n_layers=1, n_functionals=4, n_waves=4, random_state=0).fit_transform(X)


def test_a_subset_is_a_list_of_graphs():
    data = graphs()
    np.testing.assert_array_equal(features(Subset(data, [4, 0, 2])), features([data[4], data[0], data[2]]))


def test_batches_of_a_loader_are_no_graphs():
    with pytest.raises(TypeError, match=r"graph 0 of `X` must be one graph \(got a Batch of 3\)\. Did you mean .*to_data_list"):
        features(DataLoader(graphs(), batch_size=3))


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_a_transposed_matrix_in_the_place_of_edges_is_read(layout):
    """`ToSparseTensor` leaves no `edge_index`; such graphs used to be taken for graphs without edges."""
    data = graphs()
    turned = [ToSparseTensor(attr="edge_weight", layout=getattr(torch, f"sparse_{layout}"))(one.clone()) for one in data]
    assert turned[0].edge_index is None
    for one, other in zip(as_graphs(turned), as_graphs(data), strict=True):
        read, expected = (sorted(zip(*graph.edges.tolist(), graph.weights.round(6).tolist(), strict=True)) for graph in (one, other))
        assert read == expected


def test_attributes_of_other_names_are_listed():
    with pytest.warns(UserWarning, match="PyG graphs are present and not used: 'bond' of edges, 'pos' of nodes, 'z' of nodes"):
        as_graphs(graphs(pos=torch.randn(4, 3), z=torch.ones(4), bond=torch.ones(5)))


def test_what_loaders_and_splits_write_down_is_not_listed():
    several = {"train_mask": torch.ones(4, dtype=torch.bool), "n_id": torch.arange(4), "y": torch.zeros(4), "energy": torch.ones(1)}
    alone = Data(x=torch.ones(1, 2), energy=torch.ones(1))  # of the graph, though it has as many entries as nodes here
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_graphs([*graphs(**several), alone])


def test_a_table_with_a_column_of_graphs_is_told_to_name_it():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"one column of a table \(got DataFrame\)\. Did you mean X\['molecule'\]"):
        features(pandas.DataFrame({"molecule": pandas.Series(graphs(), dtype=object)}))
