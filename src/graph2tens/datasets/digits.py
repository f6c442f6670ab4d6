"""Handwritten digits as graphs: real data that every installation has, since scikit-learn ships it."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from .dataset import Encoding, GraphDataset


def digits() -> GraphDataset:
    """The 1,797 digits (8 x 8 pixels, 16 grey levels) that scikit-learn ships, each as the graph of its inked pixels.

    A node is a pixel that is not white; it is joined to the inked ones among its 8 neighbours. Attributes: ink in [0, 1], then the
    position (down, right), both in [0, 1]. Classes: the digits 0..9.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    graphs = [_graph_of_image(image) for image in bunch.images]
    for graph, label in zip(graphs, bunch.target, strict=True):
        graph.y = torch.tensor([int(label)])
    encoding = Encoding(num_attributes=3, classes=tuple(range(10)))
    return GraphDataset("digits", graphs, 10, 3, "graph", tuple("0123456789"), encoding, "shipped with scikit-learn")


def _graph_of_image(image: np.ndarray) -> Data:
    down, right = np.nonzero(image)
    ink = image[down, right] / 16.0
    distance = np.maximum(np.abs(down[:, None] - down[None, :]), np.abs(right[:, None] - right[None, :]))
    edges = np.stack(np.nonzero(distance == 1))
    x = np.stack([ink, down / (image.shape[0] - 1), right / (image.shape[1] - 1)], axis=1)
    return Data(x=torch.from_numpy(x.astype(np.float32)), edge_index=torch.from_numpy(edges.astype(np.int64)))
