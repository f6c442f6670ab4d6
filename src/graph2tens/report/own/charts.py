"""Every run as a dot, a line for each method, on one axis with the most frequent class."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from ..charts import WIDTH, bottom_axis, dots, linear, svg, ticks, widen
from ..markup import h
from .data import DataResult

STEP = 58


def strips(result: DataResult) -> Element:
    """Dots are runs, the tick is their mean, the bar its 95 % interval; the dashed line is the most frequent class."""
    values = [value for method in result.methods for value in method.by_part.values()]
    values += [end for method in result.methods if method.interval for end in method.interval]
    values += [result.majority.mean] if result.majority else []
    left, right, bottom = 8.0, WIDTH - 12.0, float(STEP * len(result.methods) + 4)
    domain = widen(values, least=2.0)
    scale = linear(domain, (left, right))
    unit = "test accuracy, %" if result.best.metric == "accuracy" else f"100 x test {result.best.metric}"
    shapes = bottom_axis(scale, ticks(*domain), 2, bottom, unit, right)
    told = []
    if result.majority is not None:
        at = scale(result.majority.mean)
        shapes.append(
            h("line", h("title", f"most frequent class: {result.majority.mean:.1f} %"), x1=at, x2=at, y1=2, y2=bottom, class_="floor")
        )
        told.append(f"most frequent class {result.majority.mean:.1f} percent")
    for row, method in enumerate(result.methods):
        y, mean = STEP * row + 38.0, scale(method.summary.mean)
        name = method.name if len(method.name) < 48 else method.name[:46] + "…"
        shapes.append(h("text", name, x=left, y=y - 22, class_="row-label"))
        if method.interval is not None:
            shapes.append(h("line", x1=scale(method.interval[0]), x2=scale(method.interval[1]), y1=y, y2=y, class_="ours bar"))
        by_seed = [(seed, value) for (_, seed), value in method.by_part.items()]
        shapes += dots(by_seed, scale, y, 3.2, 5 if len(by_seed) > 5 else 1, "ours dot", method.name)
        shapes.append(h("line", x1=mean, x2=mean, y1=y - 14, y2=y + 14, class_="mean"))
        told.append(f"{method.name}: mean {method.summary.mean:.1f} of {len(method.runs)} runs")
    return svg("Test score of every run", "; ".join(told), int(bottom + 32), *shapes)
