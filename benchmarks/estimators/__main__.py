"""``python -m benchmarks.estimators [QUESTION ..]``: measure what is not recorded yet, and write the tables of docs/estimators.md.

Questions: nodes, intervals, labels, landmarks, curve; none writes the tables alone. Data is looked for where ``GRAPH2TENS_DATA`` says.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from . import curve, intervals, labels, landmarks, nodes
from .records import recorded

QUESTIONS: dict[str, ModuleType] = {"nodes": nodes, "intervals": intervals, "labels": labels, "landmarks": landmarks, "curve": curve}
PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"
NOTE = "<!-- written by python -m benchmarks.estimators; do not edit -->"


def write_tables() -> None:
    """Replace what stands between the marks of the page, for questions that have runs."""
    text = PAGE.read_text()
    for name, module in QUESTIONS.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        if recorded(name) and begin in text:
            text = f"{text.split(begin)[0]}{begin}\n{NOTE}\n\n{module.table()}\n\n{end}{text.split(end)[1]}"
    PAGE.write_text(text)


def main() -> None:
    asked = sys.argv[1:]
    unknown = [name for name in asked if name not in QUESTIONS]
    if unknown:
        sys.exit(f"no question {unknown[0]!r}; there are {', '.join(QUESTIONS)}")
    for name in asked:
        QUESTIONS[name].run()
        print(QUESTIONS[name].table())
    write_tables()


if __name__ == "__main__":
    main()
