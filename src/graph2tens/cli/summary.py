"""A table of methods on the terminal: the result of several of the user's own runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..report.own.data import OwnStudy


def show_study(study: OwnStudy, measured: Mapping[str, str] | None = None) -> None:
    """Print a table for each data set, narrow enough for 80 columns. `measured` says of methods, by name, when their runs were made."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from ..report.own import sentences
    from ..report.own.write import headings, rows

    console = Console(highlight=False)
    for result in study.data:
        title = ", ".join(filter(None, [result.name, sentences.test_sizes(result)]))
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, collapse_padding=True)
        for place, name in enumerate(headings(result)):
            table.add_column(name, justify="right" if place else "left", overflow="fold", no_wrap=place > 0)
        for name, *numbers in rows(result):
            table.add_row(name.replace("GraphTensFeatures+", "features + "), *numbers)  # as --method has it: the full name would be cut
        console.print(table)
        if any(len(method.runs) > 1 for method in result.methods):
            console.print(sentences.PAIRED)
    for method, when in (measured or {}).items():
        if when != "now":
            console.print(f"{method}: measured {when}", soft_wrap=True, markup=False)
    for remark in study.remarks:
        console.print(remark, soft_wrap=True, markup=False)
