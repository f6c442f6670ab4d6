"""`graph2tens features`: a data set as a table of numbers, for whatever comes next."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import DataRoot

if TYPE_CHECKING:
    from ..datasets import GraphDataset

FORMATS = (".parquet", ".npz", ".csv")

# Options of GraphTensFeatures, for all commands that make features. None stands for the default of the class, which is only shown here: to
# import it would make every command wait for scikit-learn.
WalkLength = Annotated[int | None, typer.Option(min=0, show_default="1", help="Steps of a walk.")]
Degree = Annotated[int | None, typer.Option(min=1, show_default="2", help="Highest tensor degree.")]
Layers = Annotated[int | None, typer.Option(min=0, show_default="10", help="Layers of random functionals.")]
Functionals = Annotated[int | None, typer.Option(min=1, show_default="128", help="Random functionals of each degree in a layer.")]
Waves = Annotated[
    int | None, typer.Option(min=0, show_default="512", help="Random waves that describe how a layer's outputs are distributed.")
]
Increments = Annotated[
    bool | None, typer.Option(show_default="increments", help="Walks see changes of attributes, or the attributes themselves.")
]
ZeroStart = Annotated[bool | None, typer.Option(show_default="zero-start", help="Walks see the attributes they start with.")]
WithTime = Annotated[bool | None, typer.Option("--time/--no-time", show_default="no-time", help="Walks count their steps.")]
DegreeAttribute = Annotated[
    bool | None, typer.Option("--degrees/--no-degrees", show_default="degrees", help="Describe nodes by their degree too.")
]
Structure = Annotated[
    str | None, typer.Option(show_default="none", help="Further attributes of nodes: rings, returns (of a walk) or rings,returns.")
]

# What these options are called in GraphTensFeatures. Commands read them together, with `unusual`, and not one by one.
ARGUMENTS = {
    "walk_length": "walk_length",
    "degree": "degree",
    "layers": "n_layers",
    "functionals": "n_functionals",
    "waves": "n_waves",
    "increments": "increments",
    "zero_start": "zero_start",
    "with_time": "time",
    "degree_attribute": "degree_attribute",
    "pooling": "pooling",
    "structure": "structure",
}


def features(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A data set by name, or a folder in TU format.")],
    out: Annotated[Path, typer.Option(dir_okay=False, help="The table to write: .csv, .npz or .parquet (needs graph2tens\\[data]).")],
    exact: Annotated[bool, typer.Option("--exact", help="All coordinates of the exact feature of one walk: for few attributes.")] = False,
    walk_length: WalkLength = None,
    degree: Degree = None,
    layers: Layers = None,
    functionals: Functionals = None,
    waves: Waves = None,
    increments: Increments = None,
    zero_start: ZeroStart = None,
    with_time: WithTime = None,
    degree_attribute: DegreeAttribute = None,
    structure: Structure = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            show_default="sqrt; none for citation graphs",
            help="sqrt, sum, mean or both, with one row per graph; none, with one row per node.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the functionals.")] = 0,
    jobs: Annotated[int, typer.Option(min=-1, help="Threads; -1 for all cores.")] = -1,
    data_root: DataRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write the features of every graph of a data set (or node of a citation graph) as a table.

    Nothing is trained: random functionals of what random walks see, layer upon layer, or with --exact all coordinates of one walk's
    feature. The table has one row per graph, one named column per feature, and the columns graph (and node) and class. Graphs are
    numbered from 1, as in the files; nodes of citation graphs from 0, as in theirs.

    Examples:

      graph2tens features NCI1 --out nci1.parquet

      graph2tens features digits --exact --walk-length 3 --degree 3 --pooling mean --out digits.npz
    """
    from ..datasets import load
    from ..sklearn import GraphTensFeatures

    if out.suffix not in FORMATS:
        raise typer.BadParameter(f"{out.name!r} must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.", param_hint="--out")
    if jobs == 0:
        raise typer.BadParameter("0 threads do nothing: give -1 for all cores, or their number.", param_hint="--jobs")
    data = load(dataset, data_root)
    options = unusual(context.params)
    if pooling == "none" or (pooling is None and data.task == "node"):
        options["pooling"] = None
    made = GraphTensFeatures(**options, functionals="exact" if exact else "random", n_jobs=jobs, random_state=seed)
    started = time.perf_counter()
    table = made.fit_transform(data.graphs)
    seconds = time.perf_counter() - started
    _write(out, table, _readable(made.get_feature_names_out(), data), _keys(data, made.pooling is None))
    facts = {"rows": table.shape[0], "columns": table.shape[1], "seconds": round(seconds, 3), "written": str(out)}
    if as_json:
        print(json.dumps(facts))
        return
    unit = "nodes" if made.pooling is None else "graphs"
    print(f"{data.name}: {table.shape[1]:,} features of {table.shape[0]:,} {unit} in {seconds:.1f} s, written to {out}")


def unusual(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for the options that differ from the defaults of the features, so that asking for a default is not another variant."""
    from ..sklearn import GraphTensFeatures

    usual = GraphTensFeatures().get_params()
    chosen = {argument: given.get(option) for option, argument in ARGUMENTS.items()}
    return {name: value for name, value in chosen.items() if value is not None and value != usual[name]}


def _readable(names: Any, data: GraphDataset) -> Any:
    """Names of features that say ``label=6`` where the files have labels, and not the number of a column."""
    import numpy as np

    columns = data.encoding.column_names
    if not columns:
        return names
    columns = columns + data.encoding.edge_column_names  # of nodes that stand for edges
    pattern = re.compile(r"(?<![a-z_])attribute(\d+)")
    return np.array([pattern.sub(lambda found: columns[int(found[1])], name) for name in names], dtype=object)


def _keys(data: GraphDataset, of_nodes: bool) -> dict[str, Any]:
    """The columns that say what a row is: graph, node, class."""
    import numpy as np

    sizes = [graph.num_nodes for graph in data.graphs]
    graph = np.arange(len(sizes)) + 1
    keys: dict[str, Any] = {"graph": np.repeat(graph, sizes) if of_nodes else graph}
    if of_nodes:
        keys["node"] = np.concatenate([np.arange(size) for size in sizes]) + (data.task == "graph")
    if all(one.y is not None for one in data.graphs):
        classes = np.array([data.class_name(label) for label in data.labels.tolist()])
        if of_nodes == (data.task == "node"):
            keys["class"] = classes
        elif of_nodes:  # every node carries the class of its graph
            keys["class"] = np.repeat(classes, sizes)
    return keys


def _write(out: Path, table: Any, names: Any, keys: dict[str, Any]) -> None:
    import numpy as np

    from ..files import replacing

    if out.suffix == ".npz":
        with replacing(out) as stream:
            np.savez_compressed(stream, features=table, names=names.astype(str), **keys)
        return
    if out.suffix == ".csv":
        with replacing(out) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            writer = csv.writer(text)
            writer.writerow([*keys, *names])
            columns = [values.tolist() for values in keys.values()]
            for place, row in enumerate(table):
                writer.writerow([*(column[place] for column in columns), *row.tolist()])
            text.detach()  # flushes, and leaves the file to its owner
        return
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("Parquet files need pandas and pyarrow: pip install 'graph2tens[data]', or write .npz.") from None
    with replacing(out) as stream:
        pd.concat([pd.DataFrame(keys), pd.DataFrame(table, columns=names)], axis=1).to_parquet(stream, index=False)
