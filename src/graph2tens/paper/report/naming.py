"""What the report calls settings, tables, data and cells, on the page and in the Markdown tables."""

from __future__ import annotations

from ...report.words import DASH, mean_std
from ...training.config import Cell
from ..protocols import PROTOCOLS
from ..published import PUBLISHED, Published
from ..tables import TABLES
from .data import Verdict

MARKS = {
    Verdict.AGREES: "≈",
    Verdict.HIGHER: "▲",
    Verdict.LOWER: "▼",
    Verdict.ONE_SEED: "?",
    Verdict.NOT_RUN: DASH,
    Verdict.NO_REFERENCE: "·",
}


def setting(protocol: str) -> str:
    """``code`` or ``text``, for tables."""
    return PROTOCOLS[protocol].setting if protocol in PROTOCOLS else protocol


def settings(protocol: str) -> str:
    """``the code's settings``, for sentences."""
    return f"the {PROTOCOLS[protocol].setting}'s settings" if protocol in PROTOCOLS else f"settings {protocol}"


def settings_in_full(protocol: str) -> str:
    """``the settings of the authors' code, which made the published numbers``."""
    return PROTOCOLS[protocol].meaning if protocol in PROTOCOLS else f"settings {protocol}"


def heading(table: str) -> tuple[str, str]:
    """What a table is about, and where it comes from."""
    if table in TABLES:
        return TABLES[table].heading, TABLES[table].source
    if table == "features":
        return "Features and an SVM, no network trained", "not in the paper"
    return "Other runs", table or "no table named"


def data_name(cell: Cell) -> str:
    return f"{cell.dataset}, {cell.khop} hop{'s' * (cell.khop > 1)}" if cell.khop else cell.dataset


def cell_name(cell: Cell) -> str:
    """A cell in one line, for sentences: ``G2TN on Cora, 2 hops (NoDiff)``."""
    return f"{cell.model} on {data_name(cell)}" + (f" ({cell.variant})" if cell.variant != "base" else "")


def features_name(cell: Cell) -> str:
    """The variant of a cell of features and an SVM."""
    return "all defaults" if cell.variant == "base" else cell.variant


def best_published(dataset: str) -> Published | None:
    """The highest number the paper printed for a dataset of compounds, of whatever method."""
    return max((p for p in PUBLISHED if p.table == "nci" and p.dataset == dataset), key=lambda p: p.mean, default=None)


def best_name(best: Published | None) -> str:
    return DASH if best is None else f"{mean_std(best)} ({best.model})"
