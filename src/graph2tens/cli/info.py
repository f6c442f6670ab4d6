"""`graph2tens info`: what this installation can do and where it looks for data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import DataRoot


def info(
    data_root: DataRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Show devices, threads, backends, versions and where data is looked for.

    Put this into a bug report.
    """
    facts = collect(data_root)
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in facts.items():
        if isinstance(value, dict):
            text = "\n".join(f"{key} {item}" for key, item in value.items())
        elif isinstance(value, list):
            text = "\n".join(map(str, value)) or "none"
        else:
            text = str(value)
        table.add_row(name.replace("_", " "), text, style=None)
    Console(highlight=False, soft_wrap=True).print(table)


def collect(data_root: Path | None = None) -> dict[str, Any]:
    """The facts as plain values."""
    import torch

    from ..backends import available_backends
    from ..datasets import BUILT_IN, data_roots
    from ..training.provenance import commit, machine, versions

    devices = ["cpu"]
    devices += [f"cuda:{index} ({torch.cuda.get_device_name(index)})" for index in range(torch.cuda.device_count())]
    devices += ["mps"] if torch.backends.mps.is_available() else []
    here = machine()
    return {
        "version": versions()["graph2tens"],
        "commit": commit(),
        "processor": here["processor"],
        "cores": here["cores"],
        "threads": here["threads"],
        "devices": devices,
        "backends": available_backends(),
        "data_folders": [f"{root}{'' if root.is_dir() else ' (does not exist)'}" for root in data_roots(data_root)],
        "datasets_found": _datasets_in(data_roots(data_root)),
        "datasets_built_in": list(BUILT_IN),
        "libraries": {name: version for name, version in versions().items() if name != "graph2tens"},
    }


def _datasets_in(roots: list[Path]) -> list[str]:
    """Names of the folders that hold something to load, and what TU files say about nodes and edges."""
    from ..datasets.tu import OPTIONAL

    found = []
    for root in roots:
        for home in sorted(root.iterdir()) if root.is_dir() else []:
            places = [place for place in (home / "raw", home) if place.is_dir()]
            files = [path.name for place in places for path in place.iterdir()]
            if any(name.endswith("_A.txt") or name.startswith("ind.") for name in files):
                said = [kind.replace("_", " ") for kind in OPTIONAL if any(name.endswith(f"_{kind}.txt") for name in files)]
                plain = "" if any(name.startswith("ind.") for name in files) else " (no labels or attributes of nodes and edges)"
                found.append(home.name + (f" ({', '.join(said)})" if said else plain))
    return list(dict.fromkeys(found))
