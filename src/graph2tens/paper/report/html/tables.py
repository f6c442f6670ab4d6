"""Tables of the page: semantic, sortable by each column, and filtered together with the pictures of the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from ....report import words
from ....report.charts import interval
from ....report.markup import Child, h
from ....report.statistics import Difference
from ....report.tables import Column, gap_column, mean_column, number_column, table
from ....training.records import Record
from ...protocols import DATASETS, PROTOCOLS
from ...published import PUBLISHED, Published
from ...variants import MEANINGS
from .. import naming
from ..data import CellResult, Study, Verdict
from ..departures import Worth


def facets(result: CellResult) -> dict[str, str]:
    """What the filters look at, as attributes of a table row or a picture."""
    cell, verdict = result.cell, result.verdict.value
    said = (cell.table, naming.data_name(cell), cell.model, cell.variant, cell.protocol, naming.settings(cell.protocol), verdict)
    return {
        "data-dataset": cell.dataset,
        "data-model": cell.model,
        "data-protocol": cell.protocol,
        "data-verdict": verdict,
        "data-text": " ".join(said).casefold(),
    }


def filter_controls(results: Sequence[CellResult]) -> Element:
    """A search field and one list for each facet; a live line says how many cells are left. Needs the script, so hidden without it."""
    choices = {
        "Data": ("dataset", words.in_order(result.cell.dataset for result in results)),
        "Model": ("model", words.in_order(result.cell.model for result in results)),
        "Settings": ("protocol", words.in_order(result.cell.protocol for result in results)),
        "Verdict": ("verdict", [verdict.value for verdict in Verdict if any(result.verdict is verdict for result in results)]),
    }
    selects = []
    for label, (facet, items) in choices.items():
        options = [h("option", naming.setting(item) if facet == "protocol" else item, value=item) for item in items]
        if len(items) > 1:
            selects.append(h("label", label, h("select", h("option", "all", value=""), options, data_facet=facet)))
    search = h("label", "Search", h("input", type="search", placeholder="cora 2 hops", id="search", autocomplete="off"))
    reset = h("button", "Show all", type="reset")
    status = h("output", id="shown", aria_live="polite")
    return h("form", search, selects, reset, status, class_="filters", role="search", aria_label="Filter cells, in tables and pictures")


def verdict_badge(result: CellResult, *, in_full: bool = False) -> Element:
    """The verdict as a mark and words; colour only supports them."""
    than = " than the paper" if in_full and result.verdict in (Verdict.HIGHER, Verdict.LOWER) else ""
    mark = h("span", naming.MARKS[result.verdict], aria_hidden="true", class_="verdict-mark")
    return h("span", mark, " ", result.verdict.value + than, class_=f"verdict {result.verdict.name.lower().replace('_', '-')}")


def cell_columns(results: Sequence[CellResult]) -> list[Column[CellResult]]:
    """Columns of a table of cells; those that would be empty throughout are left out."""
    gaps = [result.difference for result in results if result.difference is not None]
    reach = max((gap.reach for gap in gaps), default=1.0)
    settings = "; ".join(f"{protocol.setting}: {protocol.meaning}" for _, protocol in sorted(PROTOCOLS.items()))

    def difference(gap: Difference) -> Child:
        return [interval(gap, reach), h("span", words.gap(gap), class_="gap")]

    def standard_errors(r: CellResult) -> float | None:
        return r.difference.in_standard_errors if r.difference else None

    def variant(r: CellResult) -> Child:
        return h("span", r.cell.variant, title=MEANINGS.get(r.cell.variant))

    columns: list[Column[CellResult]] = [Column("Data", lambda r: naming.data_name(r.cell)), Column("Model", lambda r: r.cell.model)]
    if len({result.cell.protocol for result in results}) > 1:
        columns.append(Column("Settings", lambda r: naming.setting(r.cell.protocol), hint=settings))
    if any(result.cell.variant != "base" for result in results):
        columns.append(Column("Variant", variant, hint="the one thing that was changed"))
    columns.append(Column("Verdict", verdict_badge, hint="agrees: at most two standard errors apart"))
    columns.append(mean_column("Ours, %", lambda r: r.ours, "mean ± standard deviation over our seeds"))
    columns.append(mean_column("Paper, %", lambda r: r.published, "as printed, mean ± standard deviation"))
    if gaps:
        hint = "ours minus the paper's, ± two standard errors; the bar shows the same against zero"
        columns.append(gap_column("Difference, points", lambda r: r.difference, hint, difference))
        hint = "the difference divided by its standard error"
        columns.append(number_column("Std. errors", standard_errors, words.signed, hint))
    if any(result.same_seed is not None for result in results):
        hint = "ours minus the authors', seed by seed, points ± two standard errors (number of seeds)"
        columns.append(gap_column("Same seeds", lambda r: r.same_seed, hint, words.paired_gap))
    columns.append(Column("Seeds", _seeds, lambda r: len(r.runs), "ours, of the paper's"))
    return columns


def _seeds(result: CellResult) -> str:
    return f"{len(result.runs)} of {result.published.seeds}" if result.published else str(len(result.runs))


def name_columns(runs: Sequence[Record]) -> list[Column[Record]]:
    """What single runs are called."""
    variants = {run.cell.variant for run in runs}
    return [
        Column("Data", lambda r: naming.data_name(r.cell)),
        Column("Model", lambda r: r.cell.model),
        Column("Variant", lambda r: r.cell.variant if len(variants) > 1 else None),
        Column("Settings", lambda r: naming.setting(r.cell.protocol)),
        number_column("Seed", lambda r: r.seed, "d"),
    ]


def worth_columns(rows: Sequence[Worth]) -> list[Column[Worth]]:
    """Point, model, and a column for each of the data sets."""

    def column(name: str) -> Column[Worth]:
        def show(row: Worth) -> Child:
            return h("strong", row.shown(name)) if row.stands_out(name) else row.shown(name)

        return Column(name, show, lambda row: found.points if (found := row.by_data.get(name)) else None)

    data = words.in_order(name for row in rows for name in row.by_data)
    return [Column("Point", lambda w: w.point), Column("Model", lambda w: w.model), *(column(name) for name in data)]


def untrained_columns(study: Study) -> list[Column[CellResult]]:
    """Columns of the table of features and an SVM, beside the best number the paper has for the same data."""

    def best(result: CellResult) -> Published | None:
        return naming.best_published(result.cell.dataset)

    equal, printed = "on equal splits, points ± two standard errors", "of all methods in the paper's table 1, as printed"
    return [
        Column("Data", lambda r: r.cell.dataset),
        Column("Method", lambda r: r.cell.model),
        Column("Variant", lambda r: naming.features_name(r.cell)),
        mean_column("Ours, %", lambda r: r.ours, "mean ± standard deviation"),
        number_column("Splits", lambda r: len(r.runs), "d"),
        gap_column("Against our defaults", study.against_default_features, equal, words.gap),
        Column("Best in the paper, %", lambda r: naming.best_name(best(r)), lambda r: p.mean if (p := best(r)) else None, printed),
    ]


def published_table(name: str, study: Study) -> Element:
    """Everything the paper printed in this table, other methods included, with our means where there are any."""
    ours = {r.published: r.ours for r in (*study.cells, *study.rivals) if r.cell.table == name and r.cell.protocol == "authors"}

    def shown(p: Published) -> str:
        return words.mean_std(ours.get(p)) if p.proposed or p in ours else words.DASH

    columns: list[Column[Published]] = [
        Column("Data", lambda p: f"{p.dataset}, {words.plural(p.khop, 'hop')}" if p.khop else p.dataset),
        Column("Method", lambda p: p.model),
        mean_column("Paper, %", lambda p: p),
        Column("Ours, %", shown, lambda p: summary.mean if (summary := ours.get(p)) else None, "with the code's settings"),
    ]
    if any(p.layers for p in PUBLISHED if p.table == name):
        columns.insert(2, Column("Graph layers", lambda p: p.layers))
    rows = sorted((p for p in PUBLISHED if p.table == name), key=lambda p: (p.khop, DATASETS.index(p.dataset), -p.mean))
    return table("Best first, for each dataset; ours with the code's settings", columns, rows)
