"""`graph2tens predict`: a model of `train` or of `fit` applied to other data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import DataRoot, Threads, check_choice

if TYPE_CHECKING:
    from ..datasets import GraphDataset
    from ..training.saved import SavedModel


def predict(
    model: Annotated[
        Path, typer.Argument(help="Folder that `graph2tens train` or `graph2tens fit` wrote, or a .safetensors file of `train`.")
    ],
    molecules: Annotated[Path | None, typer.Argument(help="For a model of `fit`: a file of molecules, as `fit` reads them.")] = None,
    data: Annotated[
        str | None, typer.Option(help="For a model of `train`: a data set by name, or a folder in TU format; labels are not needed.")
    ] = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="Write a table (CSV) here; by default it is printed.")] = None,
    data_root: DataRoot = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Graphs at a time.")] = 256,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print predictions as JSON, for a model of `train`.")] = False,
    smiles: Annotated[str | None, typer.Option(help="Molecules: the column of SMILES, found by its name if not given.")] = None,
    measure_next: Annotated[int | None, typer.Option(min=1, help="Molecules: show this many to measure next.")] = None,
    prefer: Annotated[str, typer.Option(help="Molecules to measure next: with high or low predictions, or uncertain ones.")] = "high",
    target: Annotated[str | None, typer.Option(help="Molecules to measure next: by which target, if there are several.")] = None,
) -> None:
    """Predict with a model: the property of every molecule of a file, or the class of every graph (or node) of a data set.

    Molecules (a model of [bold]graph2tens fit[/bold]): every line of the file comes back with prediction, standard deviation and 90 %
    interval (or probabilities), the most similar training molecule, and a flag if even that is unlike; lines that cannot be read say
    why.

    Graphs (a model of [bold]graph2tens train[/bold]): each line has the number of the graph, its class, and the probability of every
    class. If the data has labels, the share of right answers is shown; remember that it means nothing on data the model was trained with.

    Examples:

      graph2tens predict model new.csv --out predictions.csv --measure-next 10

      graph2tens predict runs/digits-G2TN-paper-0 --data digits --out digits.csv
    """
    from .molecules import KINDS_OF_NEXT, is_model, predict_file

    check_choice("--prefer", prefer, KINDS_OF_NEXT)
    if is_model(model):
        if molecules is None or data is not None:
            raise typer.BadParameter("this model predicts for a file of molecules; name one, without --data.", param_hint="MOLECULES")
        predict_file(model, molecules, out, smiles=smiles, jobs=threads, measure_next=measure_next, prefer=prefer, target=target)
        return
    if molecules is not None and not model.is_file() and not (model / "model.json").is_file():
        raise ValueError(f"{model} is not a model, the folder that `graph2tens fit` or `graph2tens train` wrote. Is the name right?")
    if molecules is not None:
        raise typer.BadParameter(f"this model of `graph2tens train` reads a data set; write --data {molecules}.", param_hint="MOLECULES")
    if data is None:
        raise typer.BadParameter("a model of `graph2tens train` needs the data set it is applied to.", param_hint="--data")
    import torch

    from ..datasets import load
    from ..files import write_text
    from ..paper.authors import NETWORKS
    from ..training.provenance import cores
    from ..training.saved import load_model

    torch.set_num_threads(threads or cores())
    saved = load_model(model, networks=NETWORKS)
    dataset = load(data, data_root, encoding=saved.encoding)
    probabilities = saved.probabilities(dataset, batch_size)
    names = [saved.class_names[label] for label in probabilities.argmax(1).tolist()]
    right = _share_of_right_answers(saved, dataset, names)
    table = _table(saved, names, probabilities.tolist())
    if out is not None:
        write_text(out, table)
    if as_json:
        rows = [{"class": name, "probabilities": row} for name, row in zip(names, probabilities.tolist(), strict=True)]
        print(json.dumps({"accuracy": right, "class_names": list(saved.class_names), "predictions": rows}))
        return
    if out is None:
        sys.stdout.write(table)
    unit = "nodes" if saved.task == "node" else "graphs"
    accuracy = "" if right is None else f", {right:.2%} as labelled"
    print(f"{len(names)} {unit}{accuracy}{'' if out is None else f', written to {out}'}", file=sys.stderr)


def _share_of_right_answers(saved: SavedModel, dataset: GraphDataset, names: list[str]) -> float | None:
    if any(graph.y is None for graph in dataset.graphs):
        return None
    labels = [dataset.class_name(label) for label in dataset.labels.tolist()]
    return sum(name == label for name, label in zip(names, labels, strict=True)) / len(labels)


def _table(saved: SavedModel, names: list[str], probabilities: list[list[float]]) -> str:
    from ..files import as_csv

    header = [saved.task, "class", *(f"probability of {name}" for name in saved.class_names)]
    # graphs are numbered from 1, as in the files; nodes of citation graphs from 0, as in theirs
    numbered = enumerate(zip(names, probabilities, strict=True), saved.task == "graph")
    return as_csv([header, *([number, name, *(f"{value:.6g}" for value in row)] for number, (name, row) in numbered)])
