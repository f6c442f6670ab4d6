"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

MOST_THREADS = max(64, 4 * (os.cpu_count() or 1))  # far more only cost time and, by the thousand, the stacks of threads crash the process

DataRoot = Annotated[Path | None, typer.Option(help="Folder with data sets; see `graph2tens info`.")]
Threads = Annotated[int | None, typer.Option(min=1, max=MOST_THREADS, help="Threads on the CPU; by default all cores.")]


def check_choice(option: str, value: str | None, known: list[str] | tuple[str, ...]) -> None:
    """End with wrong usage unless `value` is one of `known`."""
    if value not in known:
        raise typer.BadParameter(f"{value!r} is none of {', '.join(known)}.", param_hint=option)


def parse_seeds(text: str) -> list[int]:
    """``0-9`` or ``0,3,5-7`` as numbers, without repetitions."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", part)
        if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
            raise typer.BadParameter(f"write seeds as 0-9 or 0,3,5-7 (got {text!r}).", param_hint="--seeds")
        seeds += range(int(match[1]), int(match[2] or match[1]) + 1)
    return list(dict.fromkeys(seeds))
