"""Labels, attributes, degrees and edges -> one table x of numbers, with columns fixed by the training graphs."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import torch
from numpy.typing import NDArray

from ..datasets.indicators import degree_attributes
from ..datasets.scaling import AttributeScaler
from .inputs import Floats, Integers, OneGraph

KINDS = "Whole numbers and words, one for each node, are labels; floating numbers are attributes."


@dataclass(frozen=True, eq=False)
class Encoder:
    """How a node is described. The columns of x are, in this order:

    1. continuous attributes, scaled as in the authors' code (min-max where nothing is negative, standardised otherwise);
    2. one indicator for each label;
    3. one indicator for each degree: a random walk is normalised, so it cannot see degrees by itself;
    4. the mean of the attributes and label indicators of the edges that leave the node (0 where there are none).

    Graphs that have nothing of this are described by a constant 1.

    Attributes:
        scaler: of 1, or None.
        labels: values of 2, or None where graphs have no labels.
        degrees: the columns of :func:`~graph2tens.datasets.indicators.degree_attributes` of training graphs; empty if not wanted.
        edge_scaler, edge_labels: the same for 4.
        handle_unknown: "error" or "ignore", for labels that the training graphs do not have; "ignore" gives them no indicator, and
            warns.
    """

    scaler: AttributeScaler | None
    labels: tuple[Hashable, ...] | None
    degrees: Integers
    edge_scaler: AttributeScaler | None
    edge_labels: tuple[Hashable, ...] | None
    handle_unknown: str

    @classmethod
    def fit(cls, graphs: Sequence[OneGraph], *, degree_attribute: bool, handle_unknown: str) -> Encoder:
        """Learn the columns from training graphs, which must agree on what they have."""
        with_edges = [graph for graph in graphs if graph.edges.size]
        words = [place for place, graph in enumerate(graphs) if graph.attributes is None and graph.labels is not None]
        numbers = [place for place, graph in enumerate(graphs) if graph.attributes is not None and graph.labels is None]
        if words and numbers:
            raise ValueError(
                f"all graphs must have labels, or all attributes (got labels of graph {words[0]} and attributes of graph {numbers[0]}). "
                f"{KINDS}"
            )
        attributes = _common([graph.attributes for graph in graphs], "attributes")
        labels = _values([graph.labels for graph in graphs], "labels")
        edge_attributes = _common([graph.edge_attributes for graph in with_edges], "edge attributes")
        edge_labels = _values([graph.edge_labels for graph in with_edges], "edge labels")
        degrees = np.zeros(0, dtype=np.int64)
        if degree_attribute:
            seen = degree_attributes(np.concatenate([graph.out_degree for graph in graphs]))
            degrees = np.flatnonzero(seen.any(axis=0)).astype(np.int64)
        return cls(_scaler(attributes), labels, degrees, _scaler(edge_attributes), edge_labels, handle_unknown)

    @property
    def names(self) -> list[str]:
        """Names of the columns of x."""
        names = [] if self.scaler is None else [f"attribute{column}" for column in range(self.scaler.shift.size)]
        names += [] if self.labels is None else [_column(value) for value in self.labels]
        names += [f"degree{column}" for column in self.degrees]
        names += [] if self.edge_scaler is None else [f"edge_attribute{column}" for column in range(self.edge_scaler.shift.size)]
        names += [] if self.edge_labels is None else [f"edge_label={value}" for value in self.edge_labels]
        return names or ["constant"]

    def transform(self, graphs: Sequence[OneGraph], first: int = 0) -> list[NDArray[np.float32]]:
        """x of every graph, (n, number of columns) float32. Each depends on its own graph alone, to the last bit."""
        if self.handle_unknown == "ignore":
            _warn_of_unknown([graph.labels for graph in graphs], self.labels, "labels")
            _warn_of_unknown([graph.edge_labels for graph in graphs], self.edge_labels, "edge labels")
        return [self._one(graph, f"graph {place} of `X`") for place, graph in enumerate(graphs, first)]

    def _one(self, graph: OneGraph, where: str) -> NDArray[np.float32]:
        parts: list[NDArray[Any]] = []
        if self.scaler is not None or graph.attributes is not None:
            parts.append(_scaled(graph.attributes, self.scaler, where, "attributes"))
        if self.labels is not None:
            parts.append(self._indicators(graph.labels, self.labels, where, "label"))
        if self.degrees.size:
            parts.append(degree_attributes(graph.out_degree)[:, self.degrees])
        if graph.edges.size:
            if self.edge_scaler is not None:
                parts.append(_mean_over_edges(_scaled(graph.edge_attributes, self.edge_scaler, where, "edge attributes"), graph))
            if self.edge_labels is not None:
                parts.append(_mean_over_edges(self._indicators(graph.edge_labels, self.edge_labels, where, "edge label"), graph))
        elif self.edge_scaler is not None or self.edge_labels is not None:
            width = (0 if self.edge_scaler is None else self.edge_scaler.shift.size) + len(self.edge_labels or ())
            parts.append(np.zeros((graph.num_nodes, width)))
        x = np.concatenate(parts, axis=1) if parts else np.zeros((graph.num_nodes, 0))
        with np.errstate(over="ignore"):  # raised below, with the number of the graph
            single = (x if x.shape[1] else np.ones((graph.num_nodes, 1))).astype(np.float32)
        if not np.isfinite(single).all():
            raise ValueError(f"{where} must have attributes of a size like those of the training graphs (got some beyond float32).")
        return single

    def _indicators(self, labels: list[Hashable] | None, values: tuple[Hashable, ...], where: str, name: str) -> Floats:
        if labels is None:
            raise ValueError(f"{where} must have a {name} on every node or edge, as the training graphs have (got none). {KINDS}")
        place = {value: column for column, value in enumerate(values)}
        columns = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
        if self.handle_unknown == "error" and (columns < 0).any():
            unknown = labels[int(np.flatnonzero(columns < 0)[0])]
            raise ValueError(f"{where} has the {name} {unknown!r}, which no training graph has. handle_unknown='ignore' accepts it.")
        indicators = np.zeros((len(labels), len(values) + 1))
        indicators[np.arange(len(labels)), columns] = 1  # unknown labels mark the extra column, which is cut off
        return indicators[:, :-1]


def _common(tables: Iterable[Floats | None], name: str) -> Floats | None:
    """All rows in one table, after a check that all graphs have the same columns; None if none has any."""
    tables = list(tables)
    present = [table for table in tables if table is not None]
    if not present:
        return None
    widths = {table.shape[1] for table in present}
    if len(present) < len(tables) or len(widths) > 1:
        first = next(place for place, table in enumerate(tables) if table is None or table.shape[1] != present[0].shape[1])
        raise ValueError(f"all graphs must have the same number of {name}, or none (graph {first} differs from the others).")
    return np.concatenate(present)


def _values(lists: Iterable[list[Hashable] | None], name: str) -> tuple[Hashable, ...] | None:
    """The labels that occur, sorted by type, then by value."""
    lists = list(lists)
    present = [labels for labels in lists if labels is not None]
    if not present:
        return None
    if len(present) < len(lists):
        first = next(place for place, labels in enumerate(lists) if labels is None)
        raise ValueError(f"all graphs must have {name}, or none (graph {first} has none).")
    values = {label for labels in present for label in labels}
    try:
        return tuple(sorted(values))  # type: ignore[type-var]
    except TypeError:  # labels of several types
        return tuple(sorted(values, key=lambda value: (type(value).__name__, repr(value))))


def _warn_of_unknown(lists: Iterable[list[Hashable] | None], known: tuple[Hashable, ...] | None, name: str) -> None:
    """Labels that were spelt or numbered otherwise in training would silently be ignored, and answers be poor."""
    if known is None:
        return
    new = {label for labels in lists for label in labels or ()}.difference(known)
    if new:
        shown = ", ".join(sorted(map(_told, new))[:5]) + (", .." if len(new) > 5 else "")
        warnings.warn(f"the {name} {shown} occur in no training graph and are ignored; handle_unknown='error' refuses them.", stacklevel=2)


def _is_of_edge(label: Hashable) -> TypeGuard[tuple[str, Hashable]]:
    """An edge that became a node has its label in a pair."""
    return isinstance(label, tuple) and len(label) == 2 and label[0] == "edge"


def _told(label: Hashable) -> str:
    return f"{label[1]!r} of edges" if _is_of_edge(label) else repr(label)


def _column(label: Hashable) -> str:
    return f"edge_label={label[1]}" if _is_of_edge(label) else f"label={label}"


def _scaler(table: Floats | None) -> AttributeScaler | None:
    return None if table is None or not table.shape[1] else AttributeScaler.fit(torch.from_numpy(table))


def _scaled(table: Floats | None, scaler: AttributeScaler | None, where: str, name: str) -> Floats:
    expected = 0 if scaler is None else scaler.shift.size
    width = 0 if table is None else table.shape[1]
    if width != expected:
        raise ValueError(
            f"{where} must have {expected} {name}, as the training graphs have (got {width}).{f' {KINDS}' * (not width or not expected)}"
        )
    if scaler is None or table is None:
        return np.zeros((0 if table is None else table.shape[0], 0))
    return (table - scaler.shift) * scaler.scale


def _mean_over_edges(table: Floats, graph: OneGraph) -> Floats:
    total = np.zeros((graph.num_nodes, table.shape[1]))
    np.add.at(total, graph.edges[0], table)
    return total / np.maximum(graph.out_degree, 1)[:, None]
