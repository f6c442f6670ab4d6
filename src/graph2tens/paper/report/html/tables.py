"""Tables of the page: semantic, sortable by each column, and filtered together with the pictures of the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from ....report.charts import interval
from ....report.markup import Child, h
from ....report.statistics import AGREEMENT
from ....report.tables import Column, table
from ....training.records import Record
from ...numbers import PUBLISHED, Published
from ...protocols import DATASETS, PROTOCOLS
from ...variants import MEANINGS
from .. import words
from ..data import CellResult, Study, Verdict
from ..departures import Worth


def facets(result: CellResult) -> dict[str, str]:
    """What the filters look at, as attributes of a table row or a picture."""
    cell = result.cell
    return {
        "data-dataset": cell.dataset,
        "data-model": cell.model,
        "data-protocol": cell.protocol,
        "data-verdict": result.verdict.value,
        "data-text": " ".join(
            [
                cell.table,
                words.data_name(cell),
                cell.model,
                cell.variant,
                cell.protocol,
                words.settings(cell.protocol),
                result.verdict.value,
            ]
        ).casefold(),
    }


def filter_controls(results: Sequence[CellResult]) -> Element:
    """A search field and one list for each facet; a live line says how many cells are left. Needs the script, so hidden without it."""
    choices = {
        "Data": ("dataset", words.in_order(result.cell.dataset for result in results)),
        "Model": ("model", words.in_order(result.cell.model for result in results)),
        "Settings": ("protocol", words.in_order(result.cell.protocol for result in results)),
        "Verdict": ("verdict", [verdict.value for verdict in Verdict if any(result.verdict is verdict for result in results)]),
    }
    selects = [
        h(
            "label",
            label,
            h(
                "select",
                h("option", "all", value=""),
                [h("option", words.setting(item) if facet == "protocol" else item, value=item) for item in items],
                data_facet=facet,
            ),
        )
        for label, (facet, items) in choices.items()
        if len(items) > 1
    ]
    search = h("label", "Search", h("input", type="search", placeholder="cora 2 hops", id="search", autocomplete="off"))
    reset = h("button", "Show all", type="reset")
    status = h("output", id="shown", aria_live="polite")
    return h("form", search, selects, reset, status, class_="filters", role="search", aria_label="Filter cells, in tables and pictures")


def verdict_badge(result: CellResult, *, in_full: bool = False) -> Element:
    """The verdict as a mark and words; colour only supports them."""
    than = " than the paper" if in_full and result.verdict in (Verdict.HIGHER, Verdict.LOWER) else ""
    mark = h("span", words.MARKS[result.verdict], aria_hidden="true", class_="verdict-mark")
    return h("span", mark, " ", result.verdict.value + than, class_=f"verdict {result.verdict.name.lower().replace('_', '-')}")


def cell_columns(results: Sequence[CellResult]) -> list[Column[CellResult]]:
    """Columns of a table of cells; those that would be empty throughout are left out."""
    gaps = [result.difference for result in results if result.difference is not None]
    reach = max((abs(gap.points) + AGREEMENT * gap.standard_error for gap in gaps), default=1.0)
    columns: list[Column[CellResult]] = [Column("Data", lambda r: words.data_name(r.cell)), Column("Model", lambda r: r.cell.model)]
    if any(result.cell.variant != "base" for result in results):
        columns.append(
            Column(
                "Variant", lambda r: h("span", r.cell.variant, title=MEANINGS.get(r.cell.variant)), hint="the one thing that was changed"
            )
        )
    columns += [
        Column("Verdict", verdict_badge, hint="agrees: at most two standard errors apart"),
        Column(
            "Ours, %",
            lambda r: words.mean_std(r.ours) if r.ours else words.DASH,
            lambda r: r.ours.mean if r.ours else None,
            "mean ± standard deviation over our seeds",
        ),
        Column(
            "Paper, %",
            lambda r: words.mean_std(r.published) if r.published else words.DASH,
            lambda r: r.published.mean if r.published else None,
            "as printed, mean ± standard deviation",
        ),
    ]
    if gaps:
        columns += [
            Column(
                "Difference, points",
                lambda r: (
                    None if r.difference is None else [interval(r.difference, reach), h("span", words.gap(r.difference), class_="gap")]
                ),
                lambda r: r.difference.points if r.difference else None,
                "ours minus the paper's, ± two standard errors; the bar shows the same against zero",
            ),
            Column(
                "Std. errors",
                lambda r: words.signed(r.difference.in_standard_errors) if r.difference else None,
                lambda r: r.difference.in_standard_errors if r.difference else None,
                "the difference divided by its standard error",
            ),
        ]
    if any(result.same_seed is not None for result in results):
        columns.append(
            Column(
                "Same seeds",
                lambda r: f"{words.gap(r.same_seed)} ({r.same_seed.pairs})" if r.same_seed else None,
                lambda r: r.same_seed.points if r.same_seed else None,
                "ours minus the authors', seed by seed, points ± two standard errors (number of seeds)",
            )
        )
    columns.append(Column("Seeds", _seeds, lambda r: len(r.runs), "ours, of the paper's"))
    if len({result.cell.protocol for result in results}) > 1:
        hint = "; ".join(f"{protocol.setting}: {protocol.meaning}" for _, protocol in sorted(PROTOCOLS.items()))
        columns.insert(2, Column("Settings", lambda r: words.setting(r.cell.protocol), hint=hint))
    return columns


def _seeds(result: CellResult) -> str:
    return f"{len(result.runs)} of {result.published.seeds}" if result.published else str(len(result.runs))


def run_columns(runs: Sequence[Record]) -> list[Column[Record]]:
    """Columns of a table of single runs; those of which no record knows anything are left out."""
    variants = {run.cell.variant for run in runs}
    columns: list[Column[Record]] = [
        Column("Data", lambda r: words.data_name(r.cell)),
        Column("Model", lambda r: r.cell.model),
        Column("Variant", lambda r: r.cell.variant if len(variants) > 1 else None),
        Column("Settings", lambda r: words.setting(r.cell.protocol)),
        Column("Seed", lambda r: str(r.seed), lambda r: r.seed),
        Column("Test, %", lambda r: f"{r.test:.2f}", lambda r: r.test),
        Column("Validation, %", lambda r: _shown(r.validation, ".2f"), lambda r: r.validation),
        Column("Training, %", lambda r: _shown(r.train, ".2f"), lambda r: r.train),
        Column("AUROC", lambda r: _shown(r.auroc, ".4f"), lambda r: r.auroc, "area under the ROC curve on the test data"),
        Column("Epochs", lambda r: _shown(r.epochs, "d"), lambda r: r.epochs),
        Column("Judged epoch", lambda r: _shown(r.best_epoch, "d"), lambda r: r.best_epoch, "whose weights were judged"),
        Column("Time", lambda r: words.seconds(r.seconds) if r.seconds else None, lambda r: r.seconds, "of training"),
        Column("Memory, MiB", lambda r: _shown(r.memory_mib, ".0f"), lambda r: r.memory_mib, "peak"),
    ]
    return [column for column in columns if any(column.key(run) is not None if column.key else column.show(run) for run in runs)]


def _shown(value: float | None, form: str) -> str | None:
    return None if value is None else format(value, form)


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
        return words.best_published(result.cell.dataset)

    return [
        Column("Data", lambda r: r.cell.dataset),
        Column("Method", lambda r: r.cell.model),
        Column("Variant", lambda r: words.features_name(r.cell)),
        Column("Ours, %", lambda r: words.mean_std(r.ours), lambda r: r.ours.mean if r.ours else None, "mean ± standard deviation"),
        Column("Splits", lambda r: str(len(r.runs)), lambda r: len(r.runs)),
        Column(
            "Against our defaults",
            lambda r: words.gap(study.against_default_features(r)),
            lambda r: gap.points if (gap := study.against_default_features(r)) else None,
            "on equal splits, points ± two standard errors",
        ),
        Column(
            "Best in the paper, %",
            lambda r: words.best_name(best(r)),
            lambda r: found.mean if (found := best(r)) else None,
            "of all methods in the paper's table 1, as printed",
        ),
    ]


def published_table(name: str, study: Study) -> Element:
    """Everything the paper printed in this table, other methods included, with our means where there are any."""
    ours = {r.published: r.ours for r in (*study.cells, *study.rivals) if r.cell.table == name and r.cell.protocol == "authors"}
    columns: list[Column[Published]] = [
        Column("Data", lambda p: f"{p.dataset}, {words.plural(p.khop, 'hop')}" if p.khop else p.dataset),
        Column("Method", lambda p: p.model),
        Column("Paper, %", words.mean_std, lambda p: p.mean),
        Column(
            "Ours, %",
            lambda p: words.mean_std(ours.get(p)) if p.proposed or p in ours else words.DASH,
            lambda p: summary.mean if (summary := ours.get(p)) else None,
            "with the code's settings",
        ),
    ]
    if any(p.layers for p in PUBLISHED if p.table == name):
        columns.insert(2, Column("Graph layers", lambda p: p.layers))
    rows = sorted((p for p in PUBLISHED if p.table == name), key=lambda p: (p.khop, DATASETS.index(p.dataset), -p.mean))
    return table("Best first, for each dataset; ours with the code's settings", columns, rows)
