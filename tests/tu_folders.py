"""Folders in the TU format for tests: written line by line, so that any line can be spoilt."""

from __future__ import annotations

from pathlib import Path

# Two triangles, an edge, a path: node labels 3 and 7 (a gap), classes -1 and 1.
SMALL: dict[str, list[str]] = {
    "A": [
        *("1, 2", "2, 1", "2, 3", "3, 2", "1, 3", "3, 1"),
        *("4, 5", "5, 4", "5, 6", "6, 5", "4, 6", "6, 4"),
        *("7, 8", "8, 7"),
        *("9, 10", "10, 9", "10, 11", "11, 10"),
        *("12, 13", "13, 12"),
    ],
    "graph_indicator": [*"111222334445566"],
    "graph_labels": ["1", "-1", "1", "-1", "1", "-1"],
    "node_labels": ["3", "7", "3", "7", "3", "3", "7", "7", "3", "3", "7", "3", "3", "7", "7"],
}


def write_tu(folder: Path, name: str = "TOY", end: str = "\n", **files: list[str] | None) -> Path:
    """Write the lines of `files`, by default `SMALL`, as NAME_<kind>.txt; None leaves a file out."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, lines in {**SMALL, **files}.items():
        if lines is not None:
            (folder / f"{name}_{kind}.txt").write_bytes("".join(line + end for line in lines).encode())
    return folder


def spoilt(kind: str, line: int, text: str) -> dict[str, list[str]]:
    """The small folder's file with its line, counted from 1, replaced."""
    lines = list(SMALL[kind])
    lines[line - 1] = text
    return {kind: lines}
