"""Tables of a page: semantic, sortable by each column; and the columns that several tables have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from xml.etree.ElementTree import Element

from ..training.records import Record
from . import words
from .markup import Child, h
from .statistics import Difference

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
    """A table whose columns sort."""

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
    return scrolling(caption, h("thead", h("tr", [heading(column) for column in columns])), h("tbody", body), class_="sortable")


def scrolling(caption: str, *parts: Child, class_: str) -> Element:
    """A table in a region of its own that scrolls sideways when the screen is narrow, so the page never does."""
    whole = h("table", h("caption", h("span", caption)), *parts, class_=class_)
    return h("div", whole, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {caption}")


def number_column(
    heading: str, pick: Callable[[Row], float | None], form: str | Callable[[float], str], hint: str | None = None
) -> Column[Row]:
    """A number in the given format; nothing where there is none."""
    shown = form if callable(form) else lambda value: format(value, form)
    return Column(heading, lambda row: None if (value := pick(row)) is None else shown(value), pick, hint)


def mean_column(heading: str, pick: Callable[[Row], words.Spread | None], hint: str | None = None) -> Column[Row]:
    """A mean with its deviation; a dash where there is none."""

    def show(row: Row) -> str:
        return words.DASH if (found := pick(row)) is None else words.mean_std(found)

    return Column(heading, show, lambda row: None if (found := pick(row)) is None else found.mean, hint)


def gap_column(heading: str, pick: Callable[[Row], Difference | None], hint: str, show: Callable[[Difference], Child]) -> Column[Row]:
    """A difference of means; nothing where there is none."""
    return Column(
        heading,
        lambda row: None if (found := pick(row)) is None else show(found),
        lambda row: None if (found := pick(row)) is None else found.points,
        hint,
    )


def run_columns(run: Callable[[Row], Record]) -> list[Column[Row]]:
    """What a single run measured."""
    return [
        number_column("Test, %", lambda row: run(row).test, ".2f"),
        number_column("Validation, %", lambda row: run(row).validation, ".2f"),
        number_column("Training, %", lambda row: run(row).train, ".2f"),
        number_column("AUROC", lambda row: run(row).auroc, ".4f", "area under the ROC curve on the test data"),
        number_column("Epochs", lambda row: run(row).epochs, "d"),
        number_column("Judged epoch", lambda row: run(row).best_epoch, "d", "whose weights were judged"),
        number_column("Time", lambda row: run(row).seconds, words.seconds),
        number_column("Memory, MiB", lambda row: run(row).memory_mib, ".0f", "peak"),
    ]


def filled(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[Column[Row]]:
    """The columns that have something to show in some row."""
    return [column for column in columns if any(column.key(row) is not None if column.key else column.show(row) for row in rows)]
