"""Pieces that every section of the page is built of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

from ....report.layout import side_by_side
from ....report.markup import Child, h
from .. import naming
from ..data import CellResult
from .tables import facets


def panels(pictures: Iterable[tuple[CellResult, Element]], caption: Callable[[CellResult], Child]) -> Element:
    """Pictures of single cells side by side, each hidden by the filters together with its table row."""
    return side_by_side([h("figure", h("figcaption", caption(result)), picture, **facets(result)) for result, picture in pictures])


def name(result: CellResult) -> list[Child]:
    """Which cell a picture shows."""
    cell = result.cell
    details = [cell.variant] * (cell.variant != "base") + [naming.settings(cell.protocol)] * bool(cell.protocol)
    return [h("strong", f"{cell.model}, {naming.data_name(cell)}"), " ", h("span", " · ".join(details), class_="detail")]


def split_by(results: Iterable[CellResult], is_first: Callable[[CellResult], bool]) -> tuple[list[CellResult], list[CellResult]]:
    """Those that are shown at once, and those that are folded away."""
    parts: tuple[list[CellResult], list[CellResult]] = ([], [])
    for result in results:
        parts[not is_first(result)].append(result)
    return parts
