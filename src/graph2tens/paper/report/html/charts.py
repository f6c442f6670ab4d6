"""The report's pictures, as SVG drawn at the width of a phone: on a wide screen they stand side by side, so labels stay readable on both.

Colour never speaks alone: ours is a filled disc, the authors' runs are rings, the paper's mean is a diamond with a bar of one deviation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from xml.etree.ElementTree import Element

from ....report.charts import WIDTH, bottom_axis, dots, label, linear, svg, swarm, ticks, widen
from ....report.markup import h
from ....report.statistics import AGREEMENT
from ....training.records import Record
from ..data import CellResult, Effect


def _diamond(x: float, y: float, size: float = 4.5) -> Element:
    return h("path", d=f"M{x:.1f} {y - size:.1f}l{size} {size}l-{size} {size}l-{size} -{size}z", class_="paper mark")


def seed_strip(result: CellResult, domain: tuple[float, float]) -> Element:
    """Test accuracy of every seed on a line: ours, the authors' where known, and the paper's mean with one deviation either side."""
    left, right = 64.0, WIDTH - 12.0
    scale = linear(domain, (left, right))
    shapes: list[Element] = []
    y = 6.0
    told = []
    lanes = 5 if len(result.runs) > 5 else 1
    y += 10 if lanes == 1 else 16
    shapes.append(h("text", "ours", x=0, y=y + 4, class_="row-label"))
    if result.ours is None:
        shapes.append(h("text", "not run yet", x=left, y=y + 4, class_="missing"))
    else:
        shapes += dots(sorted(result.by_seed.items()), scale, y, 3.2, lanes, "ours dot", "ours")
        shapes += [h("line", x1=scale(result.ours.mean), x2=scale(result.ours.mean), y1=y - 17, y2=y + 17, class_="mean")]
        told.append(f"ours: mean {result.ours.mean:.1f} percent of {result.ours.n} seeds")
    y += 10 if lanes == 1 else 16
    if result.authors:
        y += 20
        shapes.append(h("text", "authors", x=0, y=y + 4, class_="row-label"))
        shapes += dots(sorted(result.authors.items()), scale, y, 2.6, 7, "authors dot", "authors")
        told.append(f"authors: mean {fmean(result.authors.values()):.1f} percent of {len(result.authors)} seeds")
        y += 18
    if result.published is not None:
        y += 10
        mean, std = result.published.mean, result.published.std or 0.0
        shapes.append(h("text", "paper", x=0, y=y + 4, class_="row-label"))
        shapes.append(h("line", x1=scale(mean - std), x2=scale(mean + std), y1=y, y2=y, class_="paper bar"))
        shapes.append(_diamond(scale(mean), y))
        told.append(f"paper: mean {mean:.1f}, deviation {std:.1f}")
        y += 10
    axis = bottom_axis(scale, ticks(*domain), 2, y, "test accuracy, %", right)
    return svg("Test accuracy by seed", "; ".join(told) or "not run yet", int(y + 32), *axis, *shapes)


def overview(results: Sequence[CellResult]) -> Element:
    """All comparisons on one line, in standard errors from the paper; within the band they agree."""
    gaps = [(result, result.difference.in_standard_errors) for result in results if result.difference is not None]
    reach = min(8.0, max([3.5, *(abs(value) + 0.3 for _, value in gaps)]))  # what lies farther is drawn at the edge, its tooltip says where
    left, right, middle, bottom = 10.0, WIDTH - 10.0, 44.0, 84.0
    scale = linear((-reach, reach), (left, right))
    ordered = sorted(gaps, key=lambda item: item[1])
    places = swarm([max(-reach, min(reach, value)) for _, value in ordered], scale, 4.4, 9)
    shapes = [h("rect", x=scale(-AGREEMENT), y=2, width=scale(AGREEMENT) - scale(-AGREEMENT), height=bottom - 2, class_="band")]
    shapes += bottom_axis(scale, ticks(-reach, reach, 6), 2, bottom, "difference from the paper, in standard errors", right)
    shapes.append(h("line", x1=scale(0.0), x2=scale(0.0), y1=2, y2=bottom, class_="zero"))
    for (result, value), (x, lane) in zip(ordered, places, strict=True):
        cell = result.cell
        name = f"{cell.model}, {cell.dataset}, {cell.variant}, {cell.khop} hops, {cell.protocol}: {value:+.1f}"
        class_ = ("agrees" if abs(value) <= AGREEMENT else "differs") + (" ring" if cell.protocol == "paper" else " dot")
        y = middle + 8.4 * lane
        if abs(value) > reach:  # a triangle that points to where it would be
            way = 1 if value > 0 else -1
            shapes.append(h("path", h("title", name), d=f"M{x - 3 * way:.1f} {y - 4.5:.1f}v9l{8 * way} -4.5z", class_=class_))
        else:
            shapes.append(h("circle", h("title", name), cx=x, cy=y, r=4.0, class_=class_))
    inside = sum(abs(value) <= AGREEMENT for _, value in gaps)
    return svg("All comparisons", f"{inside} of {len(gaps)} lie within two standard errors of the paper", int(bottom + 32), *shapes)


def forest(effects: Sequence[Effect], reach: float, title: str, names: Mapping[str, str] | None = None) -> Element:
    """One line for each changed ingredient: the change in accuracy against the unchanged model, ours above the paper's.

    `names` are words for variants; they take more room than the variants' own names.
    """
    left, right, step = 92.0 if names is None else 140.0, WIDTH - 10.0, 34
    scale = linear((-reach, reach), (left, right))
    shapes: list[Element] = []
    told = []
    for row, effect in enumerate(effects):
        y = 16 + step * row
        label = (names or {}).get(effect.cell.variant, effect.cell.variant)
        beside = 4 if effect.ours and effect.paper else -1
        shapes.append(h("text", label, x=0, y=y + beside, class_="row-label"))
        if effect.ours is None:
            shapes.append(h("text", "not run yet", x=0, y=y + 12, class_="missing"))
        for gap, dy, class_ in ((effect.ours, -5, "ours"), (effect.paper, 6, "paper")):
            if gap is None:
                continue
            ends = [max(-reach, min(reach, gap.points + sign * AGREEMENT * gap.standard_error)) for sign in (-1, 1)]
            shapes.append(h("line", x1=scale(ends[0]), x2=scale(ends[1]), y1=y + dy, y2=y + dy, class_=f"{class_} bar"))
            x = scale(gap.points)
            shapes.append(_diamond(x, y + dy, 4) if class_ == "paper" else h("circle", cx=x, cy=y + dy, r=3.6, class_="ours dot"))
            told.append(f"{label}, {class_}: {gap.points:+.1f} plus or minus {AGREEMENT * gap.standard_error:.1f} points")
    bottom = 16 + step * len(effects) - 14
    axis = bottom_axis(scale, ticks(-reach, reach), 2, bottom, "change in accuracy, points", right)
    zero = h("line", x1=scale(0.0), x2=scale(0.0), y1=2, y2=bottom, class_="zero")
    return svg(title, "; ".join(told) or "not run yet", bottom + 32, *axis, zero, *shapes)


def accuracy_against_seconds(runs: Sequence[Record]) -> Element | None:
    """Every run as a mark: how long its training took, on a logarithmic axis, and what it reached.

    Discs are G2TN, triangles G2TAN, squares anything else; open marks stand for the settings of the paper's text.
    """
    timed = [(run.seconds, run) for run in runs if run.seconds is not None and run.seconds > 0]
    if not timed:
        return None
    left, right, top, bottom = 40.0, WIDTH - 8.0, 20.0, 170.0
    low, high = widen([math.log10(seconds) for seconds, _ in timed], 0.08, 0.5)
    domain = widen([run.test for _, run in timed])
    x, y = linear((low, high), (left, right)), linear(domain, (bottom, top))
    factors = (1, 2, 5) if high - low < 2 else (1,)  # or their numbers would touch
    marks = [
        mark for power in range(math.floor(low), math.ceil(high) + 1) for f in factors if low <= (mark := power + math.log10(f)) <= high
    ]
    shapes = [h("line", x1=left, x2=right, y1=y(mark), y2=y(mark), class_="grid") for mark in ticks(*domain)]
    shapes += [h("text", label(mark), x=left - 5, y=y(mark) + 4, class_="tick end") for mark in ticks(*domain)]
    shapes += [h("text", label(float(f"{10**mark:.3g}")), x=x(mark), y=bottom + 14, class_="tick middle") for mark in marks]
    shapes += [
        h("text", "test accuracy, %", x=left, y=top - 8, class_="tick"),
        h("text", "seconds of training (log scale)", x=right, y=bottom + 29, class_="tick end"),
    ]
    for seconds, run in timed:
        tooltip = h(
            "title", f"{run.cell.model}, {run.cell.variant}, {run.cell.protocol}, seed {run.seed}: {run.test:.1f} % in {seconds:.1f} s"
        )
        cx, cy = x(math.log10(seconds)), y(run.test)
        form = "open" if run.cell.protocol == "paper" else "full"
        if run.cell.model == "G2TAN":
            shapes.append(h("path", tooltip, d=f"M{cx:.1f} {cy - 4:.1f}l4 7h-8z", class_=f"{form} second"))
        elif run.cell.model == "G2TN":
            shapes.append(h("circle", tooltip, cx=cx, cy=cy, r=3.4, class_=f"{form} first"))
        else:
            shapes.append(h("rect", tooltip, x=cx - 3, y=cy - 3, width=6, height=6, class_="full third"))
    fastest, slowest = min(s for s, _ in timed), max(s for s, _ in timed)
    return svg(
        "Accuracy against seconds of training", f"{len(timed)} runs of {fastest:.1f} to {slowest:.1f} seconds", int(bottom + 34), *shapes
    )
