"""What a data set is here: PyG graphs with the facts that training and prediction need about them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:  # PyG takes a second to load
    from torch_geometric.data import Data

Integers = NDArray[np.int64]


class DataError(ValueError):
    """Data that cannot be used. One line that names the file and line, the graph or the class, and what to do about it."""


EXACT_DEGREES = 32  # degrees below have a column each, above there is one for each octave
OCTAVES = 6
_STARTS = [EXACT_DEGREES << octave for octave in range(OCTAVES)]
DEGREES = [
    *(f"degree={degree}" for degree in range(EXACT_DEGREES)),
    *(f"degree={start}..{2 * start - 1}" for start in _STARTS[:-1]),
    f"degree={_STARTS[-1]}..",
]


@dataclass(frozen=True)
class Encoding:
    """How the columns of x and the classes came about, so that other files can be encoded the same way (prediction).

    The columns of x are the continuous attributes, then one indicator column for each value of each node label; graphs with
    neither are described by their degrees (:func:`~graph2tens.datasets.indicators.degree_attributes`).

    Attributes:
        num_attributes: continuous columns.
        node_labels: for each column of the label file, its values in ascending order.
        edge_labels: the same for edges.
        classes: graph labels as the file writes them, ascending; class c of the data is ``classes[c]``.
        degrees: x describes degrees.
        edges: edges have nodes of their own, whose attributes follow those of the nodes: ``undirected``, ``directed``, or empty if not.
        num_edge_attributes: continuous columns of edges.
    """

    num_attributes: int = 0
    node_labels: tuple[tuple[int, ...], ...] = ()
    edge_labels: tuple[tuple[int, ...], ...] = ()
    classes: tuple[int, ...] = ()
    degrees: bool = False
    edges: Literal["", "undirected", "directed"] = ""
    num_edge_attributes: int = 0

    @property
    def column_names(self) -> list[str]:
        """Of x, before edges get nodes of their own: ``attribute0``, ``label=6``, or ``degree=3`` and ``degree=64..127``."""
        return DEGREES if self.degrees else _names("", self.num_attributes, self.node_labels)

    @property
    def edge_column_names(self) -> list[str]:
        """Of ``edge_attr``: ``edge_attribute0``, ``edge_label=1``."""
        return _names("edge_", self.num_edge_attributes, self.edge_labels)

    def has_columns_of(self, other: Encoding) -> bool:
        """Whether a column of x means the same in both."""
        of_edges = self.edge_column_names == other.edge_column_names if self.edges else True
        return self.edges == other.edges and self.column_names == other.column_names and of_edges


def _names(prefix: str, attributes: int, labels: tuple[tuple[int, ...], ...]) -> list[str]:
    """A second column of labels is ``label1=``."""
    names = [f"{prefix}attribute{place}" for place in range(attributes)]
    return names + [f"{prefix}label{place or ''}={value}" for place, values in enumerate(labels) for value in values]


@dataclass(frozen=True, eq=False)
class GraphDataset:
    """Graphs with labels. ``dataset.graphs`` is a plain list of PyG ``Data`` and goes into any PyG ``DataLoader``.

    Attributes:
        name: canonical name, "NCI1".
        graphs: each with x (n, num_features) float32, edge_index (2, E) sorted by (row, column), y (1,), or (n,) if the task is "node".
        num_classes: classes 0..num_classes-1.
        num_features: columns of x.
        task: "graph": a class for each graph; "node": one graph, a class for each node.
        class_names: what the classes are called in the files.
        encoding: how x was built from labels and attributes.
        source: where the data came from: a folder, or a sentence for built-in data.
        origin: the fingerprint of the data that these graphs were made of, if they are not as they were read.
    """

    name: str
    graphs: list[Data]
    num_classes: int
    num_features: int
    task: Literal["graph", "node"] = "graph"
    class_names: tuple[str, ...] = ()
    encoding: Encoding = field(default_factory=Encoding)
    source: str = ""
    origin: str = ""

    @property
    def labels(self) -> Integers:
        """The class of each graph, or of each node if the task is "node"."""
        if any(graph.y is None for graph in self.graphs):
            raise DataError(f"{self.name}: the graphs have no labels; put them into a file {self.name}_graph_labels.txt")
        parts = [graph.y.reshape(-1).numpy() for graph in self.graphs]
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)

    def fingerprint(self) -> str:
        """Tells data sets of one name apart: a hash of the classes, nodes, edges and attributes of all graphs."""
        digest = hashlib.sha256()
        for graph in self.graphs:
            digest.update(f"{graph.num_nodes} nodes".encode())
            for name in sorted(graph.keys()):
                if isinstance(graph[name], Tensor):
                    values = graph[name].numpy()
                    digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
                    digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()[:16]

    def class_name(self, label: int) -> str:
        return self.class_names[label] if label < len(self.class_names) else str(label)

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.graphs)

    @overload
    def __getitem__(self, index: int) -> Data: ...

    @overload
    def __getitem__(self, index: Sequence[int] | Integers | slice) -> list[Data]: ...

    def __getitem__(self, index: int | Sequence[int] | Integers | slice) -> Data | list[Data]:
        """One graph, or the list of those at `index`."""
        if isinstance(index, (int, np.integer, slice)):
            return self.graphs[index]
        return [self.graphs[int(i)] for i in index]

    def __repr__(self) -> str:
        what = "nodes" if self.task == "node" else "graphs"
        count = self.graphs[0].num_nodes if self.task == "node" else len(self.graphs)
        return f"GraphDataset({self.name!r}, {count} {what}, num_features={self.num_features}, num_classes={self.num_classes})"
