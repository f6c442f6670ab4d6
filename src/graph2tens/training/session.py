"""`train`: a data set in, a trained model in a folder out, resumable; what ``graph2tens train`` calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lightning_fabric import Fabric

from ..datasets import GraphDataset, Split
from ..files import holding, write_json
from .checkpoint import RECORD, STATE, export, remove_run
from .config import Run
from .objectives import Objective
from .records import read_record
from .run import NETWORKS, Networks, Outcome, Prepared, perform, prepare
from .saved import check_same_run, save_description
from .state import DivergedError, Epoch, TrainingState


def train(
    run: Run,
    dataset: GraphDataset,
    parts: Split | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    networks: Networks = NETWORKS,
    objective: Objective | None = None,
    fabric: Fabric | None = None,
    on_start: Callable[[Prepared], None] = lambda prepared: None,
    on_epoch: Callable[[Epoch, TrainingState], None] | None = None,
    on_end: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Do a run and keep what it made in `folder`.

    The folder gets ``model.json`` and a training state before the first step, the best and last weights and ``record.json`` at the end. An
    interrupted or diverged run leaves its weights too. One process at a time writes to a folder.

    Args:
        run: what is trained and how.
        dataset: on what.
        parts: which graphs or nodes are for what; by default :func:`graph2tens.datasets.split` with the run's seed.
        folder: where the model goes; None keeps it in memory.
        resume: continue the run in the folder, which must be this one on the same data. Of a finished run the kept record is returned.
        overwrite: replace the run in the folder; other files stay.
        networks, objective, fabric: see :func:`graph2tens.training.run.prepare`.
        on_start: is told when everything is ready.
        on_epoch: is told about every epoch.
        on_end: is told the outcome while the folder is still held, to add files of its own.

    Raises:
        FolderInUseError: another process trains in the folder.
        DivergedError: the loss was no longer finite; the best weights before that are kept.
    """
    prepared = prepare(run, dataset, parts, networks=networks, objective=objective, fabric=fabric)
    if folder is None:
        on_start(prepared)
        return perform(prepared, on_epoch=on_epoch)
    folder = Path(folder)
    if not prepared.fabric.is_global_zero:  # the first process writes for all
        return perform(prepared, state_path=folder / STATE, resume=resume, on_epoch=on_epoch)
    with holding(folder):
        if resume:
            check_same_run(folder, run, dataset)
        else:
            _make_room(folder, overwrite)
            save_description(folder, prepared, dataset)
        on_start(prepared)
        try:
            outcome = perform(prepared, state_path=folder / STATE, resume=resume, on_epoch=on_epoch)
        except (KeyboardInterrupt, DivergedError):
            export(folder)
            raise
        if resume and (folder / RECORD).exists():  # finished before: when, by which code and how fast stays as it was written down then
            outcome = replace(outcome, record=read_record(folder / RECORD))
        else:
            export(folder)
            write_json(folder / RECORD, outcome.record.to_dict())
        if on_end is not None:
            on_end(outcome)
    return outcome


def _make_room(folder: Path, overwrite: bool) -> None:
    if (folder / STATE).exists():
        if not overwrite:
            raise ValueError(
                f"{folder} holds a run already. Continue it with --resume, replace it with --overwrite, or choose another --out."
            )
        remove_run(folder)
