"""Pages of the docs whose marked sections are written anew: ``<!-- results:begin -->`` to ``<!-- results:end -->``."""

from __future__ import annotations

from pathlib import Path

from ..data import Study
from .sections import SECTIONS

_WITH_AUTHORS, _OF_AUTHORS = "--authors-runs", ("results", "agreement", "disagreement", "parts")  # the sections that show their runs


def updated_sections(path: Path, study: Study) -> tuple[str, list[str]]:
    """The file's text with every marked section written anew, and the names of those sections."""
    if not path.is_file():
        raise ValueError(f"`{path}` is not a file; --readme and --docs name pages that exist and have marked sections")
    text, found = path.read_bytes().decode("utf-8"), []
    for name, write in SECTIONS.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if begin not in text and end not in text:
            continue
        head, _, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not closed or begin in tail or end in head + tail:
            raise ValueError(f"`{path}` must have `{begin}` once and `{end}` once after it; repair the markers and run again")
        if _WITH_AUTHORS in rest.partition(end)[0] and name in _OF_AUTHORS and not study.with_authors:
            raise ValueError(
                f"`{path}`, section {name}, compares with the authors' runs, which would be lost; name their table (--authors-runs)"
            )
        option = f" {_WITH_AUTHORS}" if study.with_authors and name in _OF_AUTHORS else ""
        text = f"{head}{begin}\n<!-- written by `graph2tens report{option}`; do not edit -->\n\n{write(study)}\n{end}{tail}"
        found.append(name)
    if not found:
        raise ValueError(
            f"`{path}` has no marked section; put `<!-- results:begin -->` and `<!-- results:end -->` where the results belong"
        )
    return text, found
