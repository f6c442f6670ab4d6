"""Pieces that every section of a page is built of."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from .markup import Child, h


def section(name: str, heading: str, *children: Child) -> Element:
    """A part of the page with a heading that the contents link to."""
    return h("section", h("h2", heading, id=f"{name}-heading"), *children, id=name, aria_labelledby=f"{name}-heading")


def group(*children: Child) -> Element:
    """What the filters hide as a whole when nothing in it is left."""
    return h("div", *children, class_="group")


def folded(summary: str, *children: Child, class_: str | None = None) -> Element:
    """Content for those who ask for it."""
    return h("details", h("summary", summary), *children, class_=class_)


def side_by_side(figures: Sequence[Element], class_: str = "panels") -> Element:
    return h("div", figures, class_=class_) if figures else h("p", "Not run yet.", class_="missing")


def figure(value: str, label: str) -> Element:
    """A number in large type, with what it counts."""
    return h("div", h("dt", label), h("dd", value))
