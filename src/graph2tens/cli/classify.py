"""`graph2tens classify`: how good are features without training? Accuracy over the paper's splits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .features import Degree, DegreeAttribute, Functionals, Increments, Layers, Structure, WalkLength, Waves, WithTime, ZeroStart, unusual
from .options import DataRoot, Threads, check_choice, parse_seeds

if TYPE_CHECKING:
    from ..datasets import GraphDataset
    from ..training.store import Fields, Key, RunStore

MODELS = {"features": "GraphTensFeatures+SVM", "wl": "WL+SVM"}


def classify(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A data set by name, or a folder in TU format, with one class per graph.")],
    method: Annotated[
        str, typer.Option(help="features: random walk features; wl: the Weisfeiler-Lehman kernel, a baseline; or both.")
    ] = "features",
    seeds: Annotated[str, typer.Option(help="Splits, as 0-9 or 0,3,5-7. A seed draws the split and the functionals.")] = "0-9",
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
    pooling: Annotated[str | None, typer.Option(show_default="sqrt", help="sqrt, sum, mean or both.")] = None,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder of the records. Runs that are recorded there are skipped.")] = Path(
        "results"
    ),
    jobs: Threads = None,
    data_root: DataRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record of each split as a line of JSON.")] = False,
) -> None:
    """Classify graphs without training a network, and compare with the paper's networks.

    For each split: features of all graphs, an SVM whose C and width are chosen on the validation part, accuracy on the test part. Each
    finished split becomes one line of OUT/features.jsonl, like the runs of [bold]graph2tens reproduce[/bold]; started twice, the command
    shares the splits out. Results of other data of the same name need another OUT.

    Examples:

      graph2tens classify NCI1 --method both

      graph2tens classify digits --seeds 0-2 --layers 5
    """
    from ..datasets import load
    from ..sklearn.evaluate import TABLE, cell_of, evaluate
    from ..training.config import KEY
    from ..training.provenance import cores
    from ..training.store import RunStore

    check_choice("--method", method, (*MODELS, "both"))
    check_choice("--pooling", pooling or "sqrt", ("sqrt", "sum", "mean", "both"))
    numbers = parse_seeds(seeds)
    data = load(dataset, data_root)
    mark = data.fingerprint()
    keys = []
    with RunStore(out / f"{TABLE}.jsonl", KEY) as store:
        for model in MODELS.values() if method == "both" else [MODELS[method]]:
            options = unusual(context.params)
            if model != MODELS["features"]:  # of all options the kernel shares this one
                options = {name: value for name, value in options.items() if name == "structure"}
            variant = variant_name(options)
            for seed in numbers:
                key = (*cell_of(data, model, variant), seed, None)
                keys.append(key)
                record, made = _recorded(store, data, mark).get(key), False
                if record is None:
                    with store.claim(key) as made:
                        if made:
                            store.append(evaluate(data, model, seed, variant=variant, n_jobs=jobs or cores(), **options).to_dict())
                    record = _recorded(store, data, mark).get(key)
                if record is None:
                    print(f"{_name(model, variant)} split {seed}: another process is at it", file=sys.stderr, flush=True)
                elif as_json:
                    print(json.dumps(record), flush=True)
                else:
                    _show_split(record, made)
    if not as_json:
        found = _recorded(store, data, mark)  # other processes may have finished meanwhile
        _show_summary(data.name, [found[key] for key in keys if key in found])
        print(f"Records: {store.path}")


def _recorded(store: RunStore, data: GraphDataset, mark: str) -> dict[Key, Fields]:
    """Finished runs by their keys, of equal keys the first. Runs are known by the name of their data, which must not be other data."""
    from ..datasets import BUILT_IN, DataError
    from ..datasets.loading import TU_SPELLINGS

    # Records from before there were fingerprints are trusted where a name stands for certain data.
    unmarked = mark if data.name in (*BUILT_IN, *TU_SPELLINGS.values()) else None
    records = store.records()
    for record in records:
        if record.get("dataset") == data.name and (record.get("options") or {}).get("fingerprint", unmarked) != mark:
            raise DataError(f"{store.path} holds results of other data of the name {data.name!r}; choose another --out")
    return {store.key(record): record for record in reversed(records)}


def variant_name(options: dict[str, Any]) -> str:
    """``base``, or what is unusual: ``n_layers=5 pooling=mean``."""
    return " ".join(f"{name}={value}" for name, value in options.items()) or "base"


def _name(model: str, variant: str) -> str:
    return model if variant == "base" else f"{model} {variant}"


def _show_split(record: Fields, made: bool) -> None:
    print(
        f"{_name(record['model'], record['variant'])} split {record['seed']}: "
        f"test {record['test_accuracy']:.2%}, validation {record['validation_accuracy']:.2%}, {record['seconds']:.1f} s"
        f"{'' if made else ' (recorded before)'}",
        flush=True,
    )


def _show_summary(dataset: str, records: list[Fields]) -> None:
    from statistics import mean

    from rich.console import Console
    from rich.table import Table

    from ..paper.numbers import PUBLISHED
    from ..report.statistics import summarise
    from ..report.words import mean_std

    table = Table(title=f"Test accuracy on {dataset}, %", title_justify="left")
    for name in ("model", "accuracy", "splits", "seconds per split", "source"):
        table.add_column(name, justify="left" if name in ("model", "source") else "right")
    for model, variant in dict.fromkeys((record["model"], record["variant"]) for record in records):
        chosen = [record for record in records if (record["model"], record["variant"]) == (model, variant)]
        accuracy = mean_std(summarise(100 * record["test_accuracy"] for record in chosen))
        seconds = mean(record["seconds"] for record in chosen)
        table.add_row(_name(model, variant), accuracy, str(len(chosen)), f"{seconds:.1f}", "measured here")
    for number in PUBLISHED:
        if number.dataset == dataset and number.table == "nci":
            table.add_row(number.model, mean_std(number), str(number.seeds or ""), "", "paper, trained")
    Console(highlight=False, width=100).print(table)
