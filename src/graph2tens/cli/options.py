"""Options that several commands have, the limits of all options, and how values are read."""

from __future__ import annotations

import inspect
import os
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

MOST_THREADS = max(64, 4 * (os.cpu_count() or 1))  # far more only cost time and, by the thousand, the stacks of threads crash the process
MOST_SEED = 2**32 - 1  # what NumPy and Lightning accept
MOST_SEEDS = 10_000  # of one command

# Upper limits by the name of an option, the same in every command that has it. They are far beyond what makes sense, and keep slips and
# numbers that no machine integer holds away from the code behind. Whether sizes fit into memory is checked where they are known.
MOST: dict[str, float] = {
    "batch_size": 10**9,
    "degree": 64,
    "devices": 1024,
    "dropout": 1,
    "epochs": 10**6,
    "folds": 1000,
    "functionals": 10**6,
    "jobs": MOST_THREADS,
    "khop": 10**4,
    "layers": 1000,
    "patience": 10**6,
    "seed": MOST_SEED,
    "threads": MOST_THREADS,
    "walk_length": 10**4,
    "waves": 10**6,
    "width": 2**16,
}
MOST_INTEGER, MOST_FLOAT = 2**31 - 1, 1e30  # of options that are not listed
LEAST = {"seed": 0, "khop": 0, "learning_rate": 0, "l2": 0, "dropout": 0}
WRITTEN = ("out", "markdown")  # options that say where a file or folder goes

DataRoot = Annotated[Path | None, typer.Option(help="Folder with data sets; see `graph2tens info`.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads on the CPU; by default all cores.")]


def set_limits(app: typer.Typer) -> None:
    """Give every number among the options of an app, and of the groups below it, its limits, and have places to write to checked.

    Done once for all commands, so that none of them can be forgotten. A limit that a command sets itself stays. Their help loses the
    line ends of its source, which would cut lines of a narrow terminal in two.
    """
    for command in [*app.registered_commands, app.registered_callback]:
        if command is not None and command.callback is not None:
            _set_limits(command.callback)
            command.help = flowing(command.callback.__doc__ or "")
    for group in app.registered_groups:
        if group.typer_instance is not None:
            set_limits(group.typer_instance)


def flowing(text: str) -> str:
    """Paragraphs of a docstring as one line each; indented ones, the examples, as they are."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith(" ") else " ".join(part.split()) for part in paragraphs)


def _set_limits(command: Callable[..., Any]) -> None:
    hints = typing.get_type_hints(command, include_extras=True)
    for name, hint in hints.items():
        if typing.get_origin(hint) is not Annotated:
            continue
        kinds = _kinds(hint.__origin__)
        for info in hint.__metadata__:
            if kinds & {int, float} and hasattr(info, "max") and info.callback is None:
                most = MOST.get(name, MOST_INTEGER if int in kinds else MOST_FLOAT)
                most = most if info.max is None else min(info.max, most)
                least = LEAST.get(name, -most) if info.min is None else info.min
                # Typer's own limits would stand in the help, and take the room of what an option means.
                info.min = info.max = None
                info.callback = Within(least, most)
            elif Path in kinds and name in WRITTEN and info.callback is None:
                info.callback = _check_place
    command.__annotations__ = hints  # evaluated once: Typer would make new ones of text


def _kinds(hint: Any) -> set[Any]:
    """The plain types in a hint such as ``list[int] | None``."""
    arguments = typing.get_args(hint)
    return set().union(*map(_kinds, arguments)) if arguments else {hint}


@dataclass(frozen=True)
class Within:
    """The check of a number among the options, or of several; they come back as they are."""

    least: float
    most: float

    def __call__(self, value: Any) -> Any:
        for number in value if isinstance(value, (list, tuple)) else [value]:
            if number is not None and not self.least <= number <= self.most:  # NaN included
                raise typer.BadParameter(f"{number} is not in the range {self.least}<=x<={self.most}.")
        return value


def _check_place(value: Path | None) -> Path | None:
    """A path at which a file or folder can be made: what lies above it is a folder."""
    if value is None:
        return None
    try:
        above = next(place for place in value.absolute().parents if place.exists())
    except (OSError, ValueError) as error:  # a name too long, or with a null character
        raise typer.BadParameter(f"{str(value)[:200]!r} cannot be a path here ({getattr(error, 'strerror', None) or error}).") from None
    if not above.is_dir():
        raise typer.BadParameter(f"{value} cannot be written: {above} is a file, not a folder.")
    if not value.exists() and not os.access(above, os.W_OK | os.X_OK):
        raise typer.BadParameter(f"{value} cannot be written: the folder {above} is not yours to write to.")
    return value


def check_choice(option: str, value: str | None, known: list[str] | tuple[str, ...]) -> None:
    """End with wrong usage unless `value` is one of `known`."""
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}.", param_hint=option)


def parse_seeds(text: str) -> list[int]:
    """``0-9`` or ``0,3,5-7`` as numbers, without repetitions."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,20})(?:\s*-\s*([0-9]{1,20}))?\s*", part)
        if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
            raise typer.BadParameter(f"write seeds as 0-9 or 0,3,5-7 (got {text[:100]!r}).", param_hint="--seeds")
        first, last = int(match[1]), int(match[2] or match[1])
        if last > MOST_SEED or len(seeds) + last - first >= MOST_SEEDS:
            raise typer.BadParameter(f"at most {MOST_SEEDS:,} seeds up to {MOST_SEED} (got {text[:100]!r}).", param_hint="--seeds")
        seeds += range(first, last + 1)
    return list(dict.fromkeys(seeds))
