"""What `graph2tens.scale` takes: ``python -m benchmarks.scale many|huge|blocks|build|sampler|train|resume --help``.

Everything that is made goes to a temporary folder and is deleted. Processor seconds are the measure on a machine that does other work too;
speed-ups between numbers of workers mean something on a quiet one only, so the load is printed beside them.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from .huge import blocks, build, huge, sampler
from .many import many
from .training import resume, train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="where temporary folders are made")
    commands = parser.add_subparsers(required=True)
    options: dict[Any, dict[str, Any]] = {
        many: {"graphs": 200_000, "engines": "local:1,local:2,dask:2", "layers": 3, "functionals": 64, "waves": 128},
        huge: {"nodes": 10**7, "edges": 10**8, "rank": 64, "memory": "7GiB", "threads": 2, "checked": 1000, "at_a_time": 0},
        blocks: {"nodes": 2_500_000, "edges": 10**7, "rank": 64},
        build: {"nodes": 2_500_000, "edges": 10**7},
        sampler: {"nodes": 2_500_000, "edges": 10**7},
        train: {"epochs": 3, "repeat": 2},
        resume: {"epochs": 8, "devices": 2, "kills": 2},
    }
    for function, defaults in options.items():
        command = commands.add_parser(function.__name__, help=function.__doc__)
        command.set_defaults(function=function)
        for option, value in defaults.items():
            command.add_argument(f"--{option.replace('_', '-')}", type=type(value), default=value)
    given = vars(parser.parse_args())
    function, place = given.pop("function"), given.pop("folder")
    if "engines" in given:
        given["engines"] = given["engines"].split(",")
    with tempfile.TemporaryDirectory(dir=place) as folder:
        function(**given, folder=Path(folder))


if __name__ == "__main__":
    main()
