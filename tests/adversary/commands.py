"""All commands of the command line with their options, read from the app itself, so that a new command is tested the day it lands."""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer.models import OptionInfo

from graph2tens.cli import app
from graph2tens.cli.options import Within


@dataclass(frozen=True)
class Parameter:
    """An option or argument. `kind` is int, float, bool, str or Path; `flags` are empty for an argument."""

    name: str
    kind: type
    flags: tuple[str, ...]
    required: bool
    repeats: bool
    least: float | None
    most: float | None


@dataclass(frozen=True)
class Command:
    """A command, ``("features", "fit")`` for one of a group."""

    path: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return " ".join(self.path)


def all_commands(typer_app: Any = app, path: tuple[str, ...] = ()) -> list[Command]:
    found = []
    for info in typer_app.registered_commands:
        name = info.name or info.callback.__name__.replace("_", "-")
        found.append(Command((*path, name), tuple(_parameters(info.callback))))
    for group in typer_app.registered_groups:
        name = group.name or group.typer_instance.info.name
        found += all_commands(group.typer_instance, (*path, str(name)))
    return found


def _parameters(callback: Any) -> typing.Iterator[Parameter]:
    hints = typing.get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        hint = hints[name]
        if typing.get_origin(hint) is not Annotated:
            continue  # typer.Context
        info, kinds = hint.__metadata__[0], plain_types(hint.__origin__)
        (kind,) = (one for one in (bool, int, float, Path, str) if one in kinds)
        flags = ()
        if isinstance(info, OptionInfo):
            dashed = name.replace("_", "-")
            flags = info.param_decls or ((f"--{dashed}", f"--no-{dashed}") if kind is bool else (f"--{dashed}",))
            flags = tuple(flag for declared in flags for flag in declared.split("/") if flag.startswith("--"))
        repeats = "list" in str(hint.__origin__)
        limits = (info.callback.least, info.callback.most) if isinstance(info.callback, Within) else (info.min, info.max)
        yield Parameter(name, kind, flags, parameter.default is parameter.empty, repeats, *limits)


def plain_types(hint: Any) -> set[Any]:
    arguments = typing.get_args(hint)
    return set().union(*map(plain_types, arguments)) if arguments else {hint}
