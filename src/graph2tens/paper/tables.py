"""Every row of G2TN and G2TAN in the paper's tables as data, and the settings a name stands for under either protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..nn import ABLATIONS as NETWORKS
from ..nn import model_options
from ..training.config import MODELS, Run, Training

COMPOUNDS = ("NCI1", "NCI109")
CITATIONS = ("Cora", "CiteSeer", "PubMed")
ABLATIONS = tuple(variant for variant in NETWORKS if variant != "base")

# What both protocols share in training, by task. The paper's text has the mean loss; the authors' code sums over the batch of graphs (so
# the same L2 is weaker by the batch size) and averages over the nodes of a citation graph. Keras' Adam has epsilon 1e-7. The loss that
# early stopping watches contains the penalty, in Keras as well as in the experiments of Shchur et al. (2018), which the text follows.
_TRAINING: Mapping[tuple[str, str], Training] = {
    ("graph", "paper"): Training(epochs=200, batch_size=128, learning_rate=1e-3, schedule="cosine", l2=1e-4, loss="mean"),
    ("graph", "authors"): Training(epochs=200, batch_size=128, learning_rate=1e-3, schedule="cosine", l2=1e-4, loss="sum", epsilon=1e-7),
    ("node", "paper"): Training(1000, None, 0.01, "constant", l2=0.01, loss="mean", patience=50, watch_penalty=True),
    ("node", "authors"): Training(1000, None, 0.01, "constant", l2=0.01, loss="mean", patience=50, watch_penalty=True, epsilon=1e-7),
}

# The built-in digits: small graphs, ten classes, a network that a laptop trains in a minute.
_DIGITS_NETWORK: Mapping[str, Any] = {"hidden_channels": 48, "num_layers": 3, "walk_length": 3, "post_channels": 128}
_DIGITS_TRAINING = Training(epochs=30, batch_size=32, learning_rate=5e-3, schedule="cosine", l2=1e-4, loss="mean")


@dataclass(frozen=True)
class Row:
    """A cell of a table: everything about a run but seed and protocol."""

    dataset: str
    model: str
    variant: str = "base"
    khop: int = 0


# Points where the authors' code departs from their text: their code's run with this one point turned to the text.
DIFFERENCES: Mapping[str, Callable[[Run], Run]] = {
    "NoSelfLoops": lambda run: _with_network(run, self_loops=False),
    "AttentionDropout": lambda run: _with_network(run, attention_dropout=0.3 if run.dataset in CITATIONS else 0.1),
    "L2Mean": lambda run: replace(run, training=replace(run.training, loss="mean")),
    "Mixing": lambda run: _with_network(run, mix=True, bias=True),
    "StayPut": lambda run: _with_network(run, isolated="stay"),
    "Suffixes": lambda run: _with_network(run, levels_from="last"),
    "BalancedSplit": lambda run: replace(run, split="paper"),
}


def _differences() -> list[Row]:
    rows = []
    for dataset in (*CITATIONS, "NCI1"):
        rows += [Row(dataset, "G2TN", "NoSelfLoops"), Row(dataset, "G2TAN", "AttentionDropout")]
        rows += [Row(dataset, model, "Mixing") for model in MODELS]
    # On citation graphs the authors' loss is a mean already, and graphs of compounds are split alike by text and code.
    rows += [Row("NCI1", model, "L2Mean") for model in MODELS]
    rows += [Row(dataset, model, "Suffixes") for dataset in (*CITATIONS, "NCI1") for model in MODELS]
    rows += [Row(dataset, model, "BalancedSplit") for dataset in CITATIONS for model in MODELS]
    # Of the citation graphs CiteSeer alone has nodes without edges.
    return rows + [Row("CiteSeer", "G2TAN", "StayPut", khop) for khop in (0, 1, 2)]


TABLES: Mapping[str, tuple[Row, ...]] = {
    "nci": tuple(Row(dataset, model) for dataset in COMPOUNDS for model in MODELS),
    "ablation": tuple(Row(dataset, model, variant) for dataset in COMPOUNDS for model in MODELS for variant in ABLATIONS),
    "citation": tuple(Row(dataset, model) for dataset in CITATIONS for model in MODELS),
    "khop": tuple(Row(dataset, model, khop=khop) for khop in (1, 2) for dataset in CITATIONS for model in MODELS),
    "differences": tuple(_differences()),
}


def base_run(dataset: str, model: str = "G2TN", protocol: str = "paper", seed: int = 0, task: str = "graph", **fields: Any) -> Run:
    """The run that a data set's name stands for when nothing else is said."""
    if dataset == "digits":
        network = {**model_options(model, protocol), **_DIGITS_NETWORK}
        return Run(dataset, model, protocol, seed, network=network, training=_DIGITS_TRAINING, **fields)
    task = "node" if dataset in CITATIONS else task
    network = model_options(model, protocol, task)
    return Run(dataset, model, protocol, seed, network=network, training=_TRAINING[task, protocol], **fields)


def plan(
    table: str,
    *,
    seeds: Iterable[int],
    protocol: str = "paper",
    datasets: Iterable[str] | None = None,
    models: Iterable[str] | None = None,
    variants: Iterable[str] | None = None,
    khops: Iterable[int] | None = None,
    epochs: int | None = None,
) -> list[Run]:
    """All runs of a table, seed by seed so that every cell grows alike. Filters keep the rows they name; None keeps all.

    With `epochs` runs are trials: they stop after so many epochs and are kept apart from full ones.
    """
    if table not in TABLES:
        raise ValueError(f"`table` must be one of {', '.join(TABLES)} (got {table!r}).")
    rows: Iterable[Row] = TABLES[table]
    for name, chosen in (("dataset", datasets), ("model", models), ("variant", variants), ("khop", khops)):
        if chosen is None:
            continue
        wanted, known = list(chosen), {getattr(row, name) for row in TABLES[table]}
        if unknown := [value for value in wanted if value not in known]:
            raise ValueError(f"table {table} has no {name} {unknown[0]!r}; there is {', '.join(map(str, sorted(known)))}.")
        rows = [row for row in rows if getattr(row, name) in wanted]
    return [_run(table, row, protocol, seed, epochs) for seed in seeds for row in rows]


def _run(table: str, row: Row, protocol: str, seed: int, epochs: int | None) -> Run:
    run = base_run(row.dataset, row.model, protocol, seed, table=table, khop=row.khop, variant=row.variant)
    if row.variant in DIFFERENCES:
        run = DIFFERENCES[row.variant](run)
    elif row.variant != "base":
        run = replace(run, network=model_options(row.model, protocol, "graph", row.variant))
    if epochs is not None and epochs != run.training.epochs:
        run = replace(run, training=replace(run.training, epochs=epochs), epochs_limit=epochs)
    return run


def _with_network(run: Run, **options: Any) -> Run:
    return replace(run, network={**run.network, **options})
