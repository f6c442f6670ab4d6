"""The section of the page that compares every system on the same splits."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from ....report import words
from ....report.layout import folded, group, guide, section
from ....report.markup import Child, h
from ....report.tables import Column, gap_column, mean_column, number_column, table
from ...protocols import MODELS
from ...rivals import RIVALS
from ..data import Study
from ..rivals import Contest, Standing, contests, grouped, headline, outcome_of


def rivals(study: Study) -> Element | None:
    """Who wins which table when all systems see the same splits; the tables are folded away."""
    found = contests(study)
    if not found:
        return None
    note = (
        "The paper took the numbers of other systems from other papers, each with splits of its own. Here each was trained as its authors "
        "did, on the splits of G2TN, so that seed by seed the same articles and compounds are held out. Differences are taken over the "
        "seeds that both systems have, ± two standard errors; above and below mean beyond that. With the text's split "
        "G2TN and G2TAN have all other settings as in their authors' code; rows 'text's settings' have those of the text."
    )
    parts: list[Child] = []
    for title, some in grouped(found):
        rows = [(contest, standing) for contest in some for standing in contest.standings]
        lines = h("ul", [h("li", line) for line in map(outcome_of, some) if line])
        whole = table(f"{title}, best first.", _columns(), rows)
        parts.append(group(h("h3", title), lines, folded(f"All of them, {words.plural(len(rows), 'row')}", whole)))
    sources = guide((name, [rival.source]) for name, rival in RIVALS.items())
    parts.append(folded("Where each system's network and settings come from", sources))
    return section("rivals", "Every system on the same splits", h("p", h("strong", headline(found))), h("p", note), parts)


def _columns() -> list[Column[tuple[Contest, Standing]]]:
    def against(model: str) -> Column[tuple[Contest, Standing]]:
        hint = f"this system minus {model} on equal splits, points ± two standard errors (number of splits)"
        return gap_column(f"Against {model}", lambda row: row[1].against.get(model), hint, words.paired_gap)

    printed = "in the paper's table; of other systems with splits of their own"
    return [
        Column("Data", lambda row: row[0].name),
        Column("System", lambda row: h("strong", row[1].name) if row[1].own else row[1].name),
        mean_column("Ours, %", lambda row: row[1].result.ours, "mean ± standard deviation"),
        number_column("Splits", lambda row: len(row[1].result.runs), "d"),
        mean_column("Printed, %", lambda row: row[1].printed, printed),
        *map(against, MODELS),
        number_column("Time", lambda row: row[1].seconds, words.seconds, "of a typical run"),
        number_column("Parameters", lambda row: row[1].parameters, ",", "numbers that are learned"),
    ]
