"""Pieces that every page is built of: the frame, sections, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from xml.etree.ElementTree import Element

from ..training.records import Record
from . import words
from .markup import Child, h, page
from .tables import Column, Row, filled, run_columns, table

MANY_RUNS = 12  # beyond, the table of single runs is folded away


def framed(title: str, provenance: str, sections: Iterable[Element | None], origin: str) -> str:
    """A page of these sections with a list of contents; sections that have nothing to show are None. `origin` ends the footer."""
    present = [one for one in sections if one is not None]
    contents = [h("li", h("a", one.findtext("h2"), href=f"#{one.get('id')}")) for one in present]
    toggle = h("button", "Dark", type="button", id="theme", aria_label="Switch to dark colours")
    header = h("header", toggle, h("h1", title), h("p", provenance, class_="provenance"))
    footer = h("footer", h("p", "Written by ", h("code", "graph2tens report"), origin))
    skip = h("a", "Skip to the content", href="#content", class_="skip")
    return page(title, [skip, header, h("nav", h("ul", contents), aria_label="Contents"), h("main", present, id="content"), footer])


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


def guide(facts: Iterable[tuple[str, Sequence[str]]]) -> Element | None:
    """A list of names with what there is to say of each; None if there is nothing to say at all."""
    items = [element for name, values in facts if values for element in (h("dt", name), *(h("dd", value) for value in values))]
    return h("dl", items, class_="guide") if items else None


def origin_facts(runs: Sequence[Record]) -> list[tuple[str, Sequence[str]]]:
    """Machines, commits and libraries, as the records name them, for a :func:`guide`."""
    return [
        ("Machines", words.distinct(words.machine(run.machine) for run in runs)),
        ("Commits", words.distinct(run.commit for run in runs)),
        ("Libraries", words.distinct(words.flat(run.versions) for run in runs)),
    ]


def all_runs(rows: Sequence[Row], run: Callable[[Row], Record], names: Sequence[Column[Row]], summary: str) -> Element:
    """A table of single runs: the columns that name them, and what they measured."""
    whole = table("All runs", filled([*names, *run_columns(run)], rows), rows)
    return section("runs", "All runs", folded(summary, whole, class_="long") if len(rows) > MANY_RUNS else whole)
