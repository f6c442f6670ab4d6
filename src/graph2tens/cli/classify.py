"""`graph2tens classify`: how good are features without training? Accuracy over splits or folds."""

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
    folds: Annotated[int | None, typer.Option(min=3, max=1000, help="Cross-validation with this many folds instead of seeds.")] = None,
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
    draws: Annotated[int, typer.Option(min=1, max=100, help="Draws of the functionals, side by side: less luck, more time.")] = 1,
    pooling: Annotated[str | None, typer.Option(show_default="sqrt", help="sqrt, sum, mean or both.")] = None,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder of the records. Runs that are recorded there are skipped.")] = Path(
        "runs"
    ),
    jobs: Threads = None,
    data_root: DataRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record of each split as a line of JSON.")] = False,
) -> None:
    """Classify graphs without training a network: features and an SVM, beside the most frequent class.

    For each split or fold: features of all graphs, an SVM whose C and width are chosen on the validation part, accuracy on the test part.
    Each becomes one line of OUT/features.jsonl; started twice, the command shares the splits out. Methods are compared on equal test
    parts. [bold]graph2tens report runs[/bold] makes a page of these runs and of trainings. Results of other data of the same name need
    another OUT.

    Examples:

      graph2tens classify NCI1 --method both

      graph2tens classify digits --seeds 0-2 --layers 5

      graph2tens classify path/to/my_graphs --folds 10 --method both
    """
    from ..datasets import load
    from ..sklearn.evaluate import TABLE, cell_of, evaluate
    from ..training.config import KEY
    from ..training.provenance import cores
    from ..training.store import RunStore

    check_choice("--method", method, (*MODELS, "both"))
    check_choice("--pooling", pooling or "sqrt", ("sqrt", "sum", "mean", "both"))
    numbers = parse_seeds(seeds) if folds is None else list(range(folds))
    data = load(dataset, data_root)
    mark = data.fingerprint()
    keys: list[Key] = []
    new: set[Key] = set()
    with RunStore(out / f"{TABLE}.jsonl", KEY) as store:
        for model in MODELS.values() if method == "both" else [MODELS[method]]:
            options = {**unusual(context.params), **({"draws": draws} if draws > 1 else {})}
            if model != MODELS["features"]:  # of all options the kernel shares this one
                options = {name: value for name, value in options.items() if name == "structure"}
            variant = variant_name(options)
            for seed in numbers:
                key = (*cell_of(data, model, variant, folds), seed, None)
                keys.append(key)
                record, made = _recorded(store, data, mark).get(key), False
                if record is None:
                    with store.claim(key) as made:
                        if made:
                            found = evaluate(data, model, seed, folds=folds, variant=variant, n_jobs=jobs or cores(), **options)
                            store.append(found.to_dict())
                            new.add(key)
                    record = _recorded(store, data, mark).get(key)
                if record is None:
                    what = f"{_name(model, variant)} {'split' if folds is None else 'fold'} {seed}"
                    print(f"{what}: another process is at it", file=sys.stderr, flush=True)
                elif as_json:
                    print(json.dumps(record), flush=True)
                else:
                    _show_split(record, made)
    if not as_json:
        done = _recorded(store, data, mark)  # other processes may have finished meanwhile
        _show_summary([(done[key], key in new) for key in keys if key in done])
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
    what = "fold" if record["table"].endswith(" folds") else "split"
    print(
        f"{_name(record['model'], record['variant'])} {what} {record['seed']}: "
        f"test {record['test_accuracy']:.2%}, validation {record['validation_accuracy']:.2%}, {record['seconds']:.1f} s"
        f"{'' if made else f' (recorded on {_day(record)})'}",
        flush=True,
    )


def _day(record: Fields) -> str:
    return str(record.get("finished") or "an unknown day")[:10]


def _show_summary(records: list[tuple[Fields, bool]]) -> None:
    """Methods with the most frequent class and paired differences; recorded runs are not passed off as new. Then the paper's networks."""
    from ..paper.published import PUBLISHED
    from ..report.own.data import collect_own
    from ..report.words import mean_std
    from .summary import show_study

    if not records:
        return
    study = collect_own(record for record, _ in records)
    made: dict[str, str] = {}
    for method in (method for result in study.data for method in result.methods):
        mine = [(record, new) for record, new in records if (record["model"], record["variant"]) == method.runs[0].cell[2:4]]
        old = sorted({_day(record) for record, new in mine if not new})
        now = sum(new for _, new in mine)
        made[method.name] = "now" if not old else f"{now} now, {len(mine) - now} recorded from {old[0]} to {old[-1]}"
    show_study(study, made)
    dataset = records[0][0]["dataset"]
    for number in PUBLISHED:
        if number.dataset == dataset and number.table == "nci" and not records[0][0]["table"].endswith(" folds"):
            print(f"in the paper, trained: {number.model} {mean_std(number)}")
