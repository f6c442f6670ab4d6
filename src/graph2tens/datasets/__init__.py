"""Data in: loading, splits, scaling and fast batches.

Files, in reading order: ``dataset`` is what everything is read into; ``loading`` finds the reader of a name (``digits``,
``crossed_wires``, ``citation``, or ``tu`` with ``tables`` and ``indicators``) and ``roots`` the folder; ``splits``, ``scaling``,
``edge_nodes`` and ``collate`` prepare it for training.
"""

from typing import TYPE_CHECKING

from ..lazy import on_first_use

if TYPE_CHECKING:  # what type checkers and editors see; the same names are imported on first use, below
    from .collate import CollatedGraphs as CollatedGraphs
    from .collate import GraphBatch as GraphBatch
    from .crossed_wires import long_range as long_range
    from .dataset import DataError as DataError
    from .dataset import Encoding as Encoding
    from .dataset import GraphDataset as GraphDataset
    from .edge_nodes import edges_as_nodes as edges_as_nodes
    from .edge_nodes import has_edge_attributes as has_edge_attributes
    from .loading import BUILT_IN as BUILT_IN
    from .loading import load as load
    from .roots import cache_root as cache_root
    from .roots import data_roots as data_roots
    from .scaling import AttributeScaler as AttributeScaler
    from .scaling import fit_scaler as fit_scaler
    from .splits import Split as Split
    from .splits import fold_split as fold_split
    from .splits import graph_split as graph_split
    from .splits import node_split as node_split
    from .splits import split as split
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "collate": ["CollatedGraphs", "GraphBatch"],
            "dataset": ["DataError", "Encoding", "GraphDataset"],
            "edge_nodes": ["edges_as_nodes", "has_edge_attributes"],
            "loading": ["BUILT_IN", "load"],
            "crossed_wires": ["long_range"],
            "roots": ["cache_root", "data_roots"],
            "scaling": ["AttributeScaler", "fit_scaler"],
            "splits": ["Split", "fold_split", "graph_split", "node_split", "split"],
        },
    )
