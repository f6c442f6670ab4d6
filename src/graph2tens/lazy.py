"""Public names that are imported on first use (PEP 562): `import graph2tens` takes no time, and nothing that is not used is loaded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def on_first_use(package: str, names: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: its ``__name__``.
        names: module of the package -> public names that live there. The modules themselves are public, too.
    """
    homes = {name: module for module, inside in names.items() for name in inside}
    vars(sys.modules[package])["__all__"] = sorted(homes)  # `from package import *` asks for nothing else

    def find(name: str) -> Any:
        if name in homes:
            value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
            setattr(sys.modules[package], name, value)  # the next use finds it there
            return value
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names_of_package() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *names})

    return find, names_of_package
