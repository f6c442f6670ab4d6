"""Pieces that every section of the page is built of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from xml.etree.ElementTree import Element

from .. import words
from ..data import CellResult
from .markup import Child, h
from .tables import facets


def section(name: str, heading: str, *children: Child) -> Element:
    """A part of the page with a heading that the contents link to."""
    return h("section", h("h2", heading, id=f"{name}-heading"), *children, id=name, aria_labelledby=f"{name}-heading")


def group(*children: Child) -> Element:
    """What the filters hide as a whole when nothing in it is left."""
    return h("div", *children, class_="group")


def folded(summary: str, *children: Child, class_: str | None = None) -> Element:
    """Content for those who ask for it."""
    return h("details", h("summary", summary), *children, class_=class_)


def panels(pictures: Iterable[tuple[CellResult, Element]], caption: Callable[[CellResult], Child]) -> Element:
    """Pictures of single cells side by side, each hidden by the filters together with its table row."""
    return side_by_side([h("figure", h("figcaption", caption(result)), picture, **facets(result)) for result, picture in pictures])


def side_by_side(figures: Sequence[Element], class_: str = "panels") -> Element:
    return h("div", figures, class_=class_) if figures else h("p", "Not run yet.", class_="missing")


def name(result: CellResult) -> list[Child]:
    """Which cell a picture shows."""
    cell = result.cell
    details = [cell.variant] * (cell.variant != "base") + [words.settings(cell.protocol)] * bool(cell.protocol)
    return [h("strong", f"{cell.model}, {words.data_name(cell)}"), " ", h("span", " · ".join(details), class_="detail")]


def figure(value: str, label: str) -> Element:
    """A number in large type, with what it counts."""
    return h("div", h("dt", label), h("dd", value))


def split_by(results: Iterable[CellResult], is_first: Callable[[CellResult], bool]) -> tuple[list[CellResult], list[CellResult]]:
    """Those that are shown at once, and those that are folded away."""
    parts: tuple[list[CellResult], list[CellResult]] = ([], [])
    for result in results:
        parts[not is_first(result)].append(result)
    return parts
