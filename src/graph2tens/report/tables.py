"""Tables of a page: semantic, sortable by each column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from xml.etree.ElementTree import Element

from .markup import Child, h

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A heading, what a row shows under it, and the number it is sorted by (text sorts by itself)."""

    heading: str
    show: Callable[[Row], Child]
    key: Callable[[Row], float | None] | None = None
    hint: str | None = None  # a longer explanation, shown on hovering and read out

    @property
    def numeric(self) -> bool:
        return self.key is not None


def table(
    caption: str, columns: Sequence[Column[Row]], rows: Iterable[Row], attributes: Callable[[Row], Mapping[str, str]] = lambda row: {}
) -> Element:
    """A table in a region of its own that scrolls sideways when the screen is narrow, so the page never does."""

    def heading(column: Column[Row]) -> Element:
        arrow = h("span", aria_hidden="true", class_="arrow")
        button = h("button", [arrow, column.heading] if column.numeric else [column.heading, arrow], type="button", title=column.hint)
        return h("th", button, scope="col", aria_sort="none", class_="number" if column.numeric else None)

    def cell(column: Column[Row], row: Row, first: bool) -> Element:
        key = None if column.key is None else column.key(row)
        tag, scope = ("th", "row") if first else ("td", None)
        sort = None if not column.numeric else "" if key is None else f"{key:.6g}".replace("inf", "Infinity")
        return h(tag, column.show(row), scope=scope, data_sort=sort, class_="number" if column.numeric else None)

    body = [h("tr", [cell(column, row, column is columns[0]) for column in columns], **attributes(row)) for row in rows]
    head = h("thead", h("tr", [heading(column) for column in columns]))
    whole = h("table", h("caption", h("span", caption)), head, h("tbody", body), class_="sortable")
    return h("div", whole, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {caption}")
