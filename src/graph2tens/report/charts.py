"""Pictures that every report has, as SVG drawn at the width of a phone: on a wide screen they stand side by side, so labels stay
readable on both.

Colour never speaks alone: shapes differ too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from xml.etree.ElementTree import Element

from ..training.records import Record
from .markup import Child, h
from .statistics import AGREEMENT, Difference

WIDTH = 340
CURVES_DRAWN = 10  # seeds whose learning curves a panel draws; more only blacken it

Scale = Callable[[float], float]


def svg(title: str, description: str, height: int, *children: Child, width: int = WIDTH) -> Element:
    """A picture with a name and a description for those who hear the page (:func:`page` links them)."""
    return h(
        "svg",
        h("title", title),
        h("desc", description),
        *children,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        class_="chart",
    )


def linear(domain: tuple[float, float], pixels: tuple[float, float]) -> Scale:
    (low, high), (start, end) = domain, pixels
    return lambda value: start + (value - low) / (high - low) * (end - start)


def widen(values: Iterable[float], share: float = 0.06, least: float = 1.0) -> tuple[float, float]:
    """An interval that holds all values with some air, never narrower than ``least``."""
    low, high = min(values := list(values)), max(values)
    air = max(share * (high - low), (least - (high - low)) / 2, 0.0)
    return low - air, high + air


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers inside the interval, as near to ``about`` of them as steps of 1, 2 or 5 times a power of ten allow."""

    def marks(step: float) -> list[float]:
        return [round(index * step, 10) for index in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]

    power = 10.0 ** math.floor(math.log10((high - low) / about))
    return min((marks(power * factor) for factor in (1, 2, 5, 10)), key=lambda found: abs(len(found) - about))


def label(value: float) -> str:
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")


def bottom_axis(scale: Scale, marks: Sequence[float], top: float, bottom: float, unit: str, end: float) -> list[Element]:
    grid = [h("line", x1=scale(mark), x2=scale(mark), y1=top, y2=bottom, class_="grid") for mark in marks]
    numbers = [h("text", label(mark), x=scale(mark), y=bottom + 13, class_="tick middle") for mark in marks]
    return [*grid, *numbers, h("text", unit, x=end, y=bottom + 27, class_="tick end")]


def swarm(values: Sequence[float], scale: Scale, radius: float, lanes: int) -> list[tuple[float, int]]:
    """Give dots that would cover each other different lanes, near the middle first; when all lanes are taken, let them overlap."""
    order = [lane // 2 + 1 if lane % 2 else -(lane // 2) for lane in range(lanes)]  # 0, 1, -1, 2, -2, ...
    last = dict.fromkeys(order, -math.inf)
    placed = []
    for x in sorted(map(scale, values)):
        lane = next((lane for lane in order if x - last[lane] >= 2 * radius), min(order, key=lambda lane: last[lane]))
        last[lane] = x
        placed.append((x, lane))
    return placed


def dots(by_seed: Sequence[tuple[int, float]], scale: Scale, y: float, radius: float, lanes: int, class_: str, whose: str) -> list[Element]:
    ordered = sorted(by_seed, key=lambda item: item[1])
    places = swarm([value for _, value in ordered], scale, radius, lanes)
    return [
        h("circle", h("title", f"{whose}, seed {seed}: {value:.1f} %"), cx=x, cy=y + 2 * radius * lane, r=radius, class_=class_)
        for (seed, value), (x, lane) in zip(ordered, places, strict=True)
    ]


def interval(gap: Difference, reach: float) -> Element:
    """A difference with two standard errors either side, against zero: the picture of a verdict, small enough for a table."""
    scale = linear((-reach, reach), (4, 106))
    low, high = (max(-reach, min(reach, gap.points + sign * AGREEMENT * gap.standard_error)) for sign in (-1, 1))
    class_ = "agrees" if gap.agrees else "differs"
    centre = scale(max(-reach, min(reach, gap.points)))
    return h(
        "svg",
        h("line", x1=scale(0.0), x2=scale(0.0), y1=1, y2=19, class_="zero"),
        h("line", x1=scale(low), x2=scale(high), y1=10, y2=10, class_=f"{class_} bar"),
        h("circle", cx=centre, cy=10, r=3.5, class_=f"{class_} dot"),
        viewBox="0 0 110 20",
        width=110,
        height=20,
        aria_hidden="true",  # the cell says it in words
        class_="interval",
    )


def _series(run: Record, key: str, factor: float = 1.0) -> list[tuple[float, float]]:
    pairs = zip(run.curve.get("epoch", ()), run.curve.get(key, ()), strict=False)
    return [(epoch, factor * value) for epoch, value in pairs if epoch is not None and value is not None]


def _plot(
    lines: Sequence[tuple[str, str, list[tuple[float, float]]]], epochs: tuple[float, float], top: float, height: float, unit: str
) -> list[Element]:
    """Lines (class, tooltip, points) over the epochs, in a frame of their own."""
    left, right = 40.0, WIDTH - 8.0
    domain = widen((value for _, _, points in lines for _, value in points), least=1e-6)
    x, y = linear(epochs, (left, right)), linear(domain, (top + height, top))
    shapes = [h("line", x1=left, x2=right, y1=y(mark), y2=y(mark), class_="grid") for mark in ticks(*domain, about=3)]
    shapes += [h("text", label(mark), x=left - 5, y=y(mark) + 4, class_="tick end") for mark in ticks(*domain, about=3)]
    shapes.append(h("text", unit, x=left, y=top - 6, class_="tick"))
    for class_, tooltip, points in lines:
        path = " ".join(f"{x(epoch):.1f},{y(value):.1f}" for epoch, value in points)
        shapes.append(h("polyline", h("title", tooltip), points=path, class_=f"{class_} curve"))
    return shapes


def learning_curves(runs: Sequence[Record]) -> Element | None:
    """Validation accuracy above, training and validation loss below, over the epochs; one thin line for each seed."""
    runs = [run for run in runs if len(run.curve.get("epoch", ())) > 1][:CURVES_DRAWN]
    accuracy = [("ours", f"seed {run.seed}", points) for run in runs if (points := _series(run, "validation_accuracy", 100.0))]
    losses = [
        (class_, f"{name} loss, seed {run.seed}", points)
        for class_, name, key in (("training", "training", "train_loss"), ("validation", "validation", "validation_loss"))
        for run in runs
        if (points := _series(run, key))
    ]
    if not accuracy and not losses:
        return None
    last = max(points[-1][0] for _, _, points in (*accuracy, *losses))
    first = min(points[0][0] for _, _, points in (*accuracy, *losses))
    epochs = (first, last if last > first else first + 1)
    shapes: list[Element] = []
    bottom = 4.0
    if accuracy:
        shapes += _plot(accuracy, epochs, bottom + 16, 84, "validation accuracy, %")
        bottom += 104
    if losses:
        top = bottom + 22
        shapes += _plot(losses, epochs, top, 74, "loss")
        shapes.append(
            h(
                "text",
                h("tspan", "— training", class_="training"),
                "  ",
                h("tspan", "- - validation", class_="validation"),
                x=WIDTH - 8,
                y=top - 6,
                class_="key end",
            )
        )
        bottom = top + 74
    x = linear(epochs, (40.0, WIDTH - 8.0))
    shapes += [h("text", label(mark), x=x(mark), y=bottom + 14, class_="tick middle") for mark in ticks(*epochs)]
    shapes.append(h("text", "epoch", x=WIDTH - 8, y=bottom + 28, class_="tick end"))
    told = [f"{len(runs)} seeds, {last:.0f} epochs"]
    if accuracy:
        ends = [points[-1][1] for _, _, points in accuracy]
        told.append(f"validation accuracy ends between {min(ends):.1f} and {max(ends):.1f} percent")
    return svg("Learning curves", "; ".join(told), int(bottom + 32), *shapes)
