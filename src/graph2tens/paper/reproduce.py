"""`reproduce`: a table of runs done by one or many processes; each finished run is a line in a file.

No process is assigned anything. Every one goes through the whole plan and takes what is neither recorded nor claimed, so `jobs`
workers of one command, several commands and several machines on one disk all do the same thing.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from ..datasets import GraphDataset, load
from ..training.config import KEY, Run
from ..training.provenance import cores
from ..training.records import Record
from ..training.run import CURVE_POINTS, perform, prepare
from ..training.state import Epoch
from ..training.store import RunStore
from .authors import NETWORKS
from .rivals import RIVALS
from .splits import split_of

RIVAL_CURVE_POINTS = 10  # thousands of runs: their curves must not make the files of records heavy


def record_path(out: Path, table: str, trial: bool = False) -> Path:
    """Where the runs of a table are kept. Trials, runs with another number of epochs, lie in a folder of their own."""
    return out / "trials" / f"{table}.jsonl" if trial else out / f"{table}.jsonl"


@dataclass(frozen=True)
class Event:
    """Something to show: a run was skipped (``recorded`` or ``claimed`` elsewhere), has an epoch done, is ``finished``, or failed."""

    kind: str
    run: Run
    epoch: Epoch | None = None
    record: Record | None = None
    error: BaseException | None = None


def work_through(runs: Sequence[Run], store: RunStore, perform_run: Callable[[Run], Record]) -> Iterator[Event]:
    """Do all runs that nobody has done or is doing. Records are written before their event is yielded."""
    recorded = store.keys()
    for run in runs:
        if run.key in recorded:
            yield Event("recorded", run)
            continue
        with store.claim(run.key) as mine:
            if not mine:
                recorded = store.keys()
                yield Event("recorded" if run.key in recorded else "claimed", run)
                continue
            record = perform_run(run)
            store.append(record.to_dict())
        yield Event("finished", run, record=record)


def reproduce(
    runs: Sequence[Run],
    path: Path,
    *,
    jobs: int = 1,
    threads: int | None = None,
    data_root: str | os.PathLike[str] | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
) -> None:
    """Do `runs` in `jobs` processes and record them in `path`; those recorded already are skipped.

    Args:
        threads: of each process; by default the cores are shared out.
    """
    threads = threads or max(1, cores() // jobs)
    if jobs == 1:
        _work(runs, path, threads, data_root, on_event)
        return
    context = multiprocessing.get_context("spawn")  # forking a process with threads in it can hang
    events: Any = context.Queue()
    arguments = (list(runs), path, threads, data_root, events, os.getpid())
    workers = [context.Process(target=_worker, args=arguments, daemon=True) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        while True:
            alive = any(worker.is_alive() for worker in workers)
            try:
                event: Event = events.get(timeout=0.2)
            except queue.Empty:
                if not alive:
                    break
                continue
            if event.error is not None:
                raise event.error
            on_event(event)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join()
    if failed := [worker.exitcode for worker in workers if worker.exitcode not in (0, -15)]:
        raise OSError(f"a worker ended with exit code {failed[0]}; its finished runs are recorded, start again for the others.")


def _worker(runs: Sequence[Run], path: Path, threads: int, data_root: str | None, events: Any, parent: int) -> None:
    def tell(event: Event) -> None:
        if os.getppid() != parent:  # killed: nobody is left to stop us
            os._exit(1)
        events.put(event)

    try:
        _work(runs, path, threads, data_root, tell)
    except KeyboardInterrupt:
        pass  # the parent got it, too
    except Exception as error:
        events.put(Event("failed", runs[0], error=error))


def _work(
    runs: Sequence[Run], path: Path, threads: int, data_root: str | os.PathLike[str] | None, on_event: Callable[[Event], None]
) -> None:
    torch.set_num_threads(threads)  # the compiled kernels follow PyTorch's number
    with RunStore(path, KEY) as store:

        def perform_run(run: Run) -> Record:
            data = _load(run.cell.dataset, None if data_root is None else os.fspath(data_root))
            prepared = prepare(run, data, split_of(run, data), networks=NETWORKS)
            points = RIVAL_CURVE_POINTS if run.cell.model in RIVALS else CURVE_POINTS
            return perform(prepared, on_epoch=lambda epoch, state: on_event(Event("epoch", run, epoch)), curve_points=points).record

        for event in work_through(runs, store, perform_run):
            on_event(event)


@lru_cache(maxsize=2)
def _load(name: str, root: str | None) -> GraphDataset:
    return load(name, root)
