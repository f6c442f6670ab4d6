"""The published numbers: tables 1 to 5 of "Capturing Graphs with Hypo-Elliptic Diffusions", baselines included, as data.

Test accuracies in percent, as printed (one decimal). The paper does not say which standard deviation it prints; the authors' per-seed
values show that it is the population one (n in the denominator), so :attr:`Published.sample_std` is what a standard error needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .protocols import MODELS
from .variants import ABLATIONS


@dataclass(frozen=True)
class Published:
    """One number of the paper: the mean and standard deviation, in percent, of the test accuracy over ``seeds`` runs."""

    number: int  # of the table in the paper
    table: str  # our name of it, a key of TABLES
    dataset: str
    model: str
    mean: float
    std: float | None = None
    seeds: int | None = None  # None: the paper does not say (numbers it took from other papers)
    variant: str = "base"
    khop: int = 0
    group: str = "proposed"  # or "local" / "pairwise" / "baseline": the paper's own grouping
    layers: str = ""  # type and number of graph layers, where the table has it

    @property
    def proposed(self) -> bool:
        """Whether this is one of the paper's own models, so a number that we can try to meet."""
        return self.group == "proposed"

    @property
    def sample_std(self) -> float | None:
        r"""The printed population deviation as the sample deviation :math:`s\sqrt{n/(n-1)}`, whose square over n is unbiased."""
        if self.std is None or self.seeds is None or self.seeds < 2:
            return None
        return self.std * math.sqrt(self.seeds / (self.seeds - 1))


def _cell(text: str) -> tuple[float, float | None]:
    """``"68.6 1.9"`` is 68.6 ± 1.9, ``"71.5"`` a mean printed without a deviation."""
    mean, *std = map(float, text.split())
    return mean, std[0] if std else None


def _nci() -> list[Published]:
    rows = [  # model, group, layers, NCI1, NCI109
        ("Set2Set", "local", "GCN 3", "68.6 1.9", "69.8 1.2"),
        ("SortPool", "local", "GCN 3", "73.8 1.0", "74.0 1.2"),
        ("SAGPool-h", "local", "GCN 3", "67.5 1.1", "67.9 1.4"),
        ("SAGPool-g", "local", "GCN 3", "74.2 1.2", "74.1 0.8"),
        ("GIN", "local", "GIN 8", "80.0 1.4", ""),
        ("GCN + VN", "local", "GCN 2", "71.5", ""),
        ("HGNet-EdgePool", "local", "GCN+RGCN 3+2", "77.1", ""),
        ("HGNet-Louvain", "local", "GCN+RGCN 3+2", "75.1", ""),
        ("GIN + FA", "pairwise", "GIN 8", "81.5 1.2", ""),
        ("GraphTrans (small)", "pairwise", "GCN 3", "81.3 1.9", "79.2 2.2"),
        ("GraphTrans (large)", "pairwise", "GCN 4", "82.6 1.2", "82.3 2.6"),
        ("G2TAN", "proposed", "G2TAN 4", "81.9 1.2", "78.0 2.3"),
        ("G2TN", "proposed", "G2TN 4", "80.7 2.5", "78.9 2.5"),
    ]
    return [
        Published(1, "nci", dataset, model, *_cell(text), seeds=10 if group == "proposed" else None, group=group, layers=layers)
        for model, group, layers, *cells in rows
        for dataset, text in zip(("NCI1", "NCI109"), cells, strict=True)
        if text
    ]


def _ablation() -> list[Published]:
    rows = [  # table, model, dataset, one cell for each of ABLATIONS
        (2, "G2TAN", "NCI1", "80.1 0.7, 79.5 1.8, 81.6 1.6, 82.1 1.8, 81.8 0.9, 81.6 1.5, 82.4 0.9"),
        (2, "G2TAN", "NCI109", "78.2 1.2, 77.7 1.8, 77.5 1.3, 77.6 1.2, 78.3 1.3, 79.8 1.4, 77.6 1.3"),
        (3, "G2TN", "NCI1", "79.1 1.5, 80.7 0.6, 78.9 1.3, 79.4 1.9, 81.0 1.3, 79.5 1.1, 80.3 1.7"),
        (3, "G2TN", "NCI109", "77.8 1.2, 79.5 1.5, 76.5 1.7, 78.1 1.9, 77.0 1.6, 77.4 2.7, 77.6 1.8"),
    ]
    return [
        Published(number, "ablation", dataset, model, *_cell(text), seeds=5, variant=variant)
        for number, model, dataset, cells in rows
        for variant, text in zip(ABLATIONS, cells.split(","), strict=True)
    ]


def _node_table(number: int, table: str, models: tuple[str, ...], rows: list[tuple[int, str, str]]) -> list[Published]:
    return [
        Published(number, table, dataset, model, *_cell(text), seeds=100 if proposed else None, khop=khop, group=group)
        for khop, dataset, cells in rows
        for model, text in zip(models, cells.split(","), strict=True)
        for proposed in [model in MODELS]
        for group in ["proposed" if proposed else "baseline"]
    ]


_CITATION = _node_table(
    4,
    "citation",
    ("GCN", "GAT", "MoNet", "GraphSage (mean)", "G2TN", "G2TAN"),
    [
        (0, "Cora", "81.5 1.3, 81.8 1.3, 81.3 1.3, 79.2 7.7, 82.6 1.0, 82.0 1.1"),
        (0, "CiteSeer", "71.9 1.9, 71.1 1.9, 71.2 2.0, 71.6 1.9, 69.4 1.0, 68.2 1.3"),
        (0, "PubMed", "77.8 2.9, 78.7 2.3, 78.6 2.3, 77.4 2.2, 78.8 1.9, 78.0 1.9"),
    ],
)

_KHOP = _node_table(
    5,
    "khop",
    ("GCN", "GAT", "g-U-net", "HGNet-EP", "HGNet-L", "G2TN", "G2TAN"),
    [
        (1, "Cora", "76.7, 78.5, 78.1, 77.2, 77.1, 81.8 1.3, 80.9 1.4"),
        (1, "CiteSeer", "64.2, 66.4, 63.0, 64.3, 64.1, 68.1 1.3, 66.6 1.4"),
        (1, "PubMed", "75.8, 75.9, 75.8, 77.0, 76.3, 78.7 1.9, 77.5 2.0"),
        (2, "Cora", "72.0, 73.4, 74.4, 74.0, 75.4, 79.4 2.8, 78.3 2.9"),
        (2, "CiteSeer", "58.3, 59.4, 57.3, 57.8, 59.9, 63.6 1.8, 62.2 1.9"),
        (2, "PubMed", "72.1, 73.1, 72.4, 72.9, 75.1, 77.1 1.7, 76.3 1.6"),
    ],
)

PUBLISHED: tuple[Published, ...] = (*_nci(), *_ablation(), *_CITATION, *_KHOP)
