"""Where tasks run: in this process, in processes of this machine, on a Dask cluster, on a Ray cluster.

An engine places tasks and runs them again when a worker is lost. Tasks are functions of this package with small arguments; what they make
goes to files and not through the engine. Nothing here starts or manages a cluster: an address is given, or a Dask client or Ray that is
running already is used, or, for one machine, the engine's own local one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import Any

ENGINES = ("local", "dask", "ray")
PATIENCE = 3  # workers lost one after the other without one finished task between: then the task kills them
START_SECONDS = 20  # after which a local Dask cluster without workers is taken for dead
# Dask's nanny sets a threshold that makes glibc give every freed array back to the system, which doubles the processor time.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "268435456"}

Task = tuple[Any, ...]
Result = tuple[int, Any]


class WorkersLostError(RuntimeError):
    """Workers die again and again."""


def run_tasks(
    function: Callable[..., Any], tasks: Sequence[Task], *, engine: str = "local", workers: int | None = None, address: str | None = None
) -> Iterator[Result]:
    """Run ``function(*task)`` for all tasks; yields (number of the task, result) as they come.

    Args:
        function: of a module, so that workers can import it.
        tasks: the arguments.
        engine: "local", "dask" or "ray".
        workers: processes on this machine; all cores by default. Not for a cluster, which has its own.
        address: of a running cluster.

    Raises:
        WorkersLostError: if workers die without finishing anything, for example for lack of memory.
    """
    from ..training.provenance import cores  # here, since workers load this file and need not wait for torch

    check_engine(engine, address)
    runner = _runner(engine)
    count = workers or cores()
    waiting = set(range(len(tasks)))
    lost = 0
    while waiting:
        order = sorted(waiting)
        finished = 0
        try:
            for place, result in runner(function, [tasks[number] for number in order], count, address):
                waiting.discard(order[place])
                finished += 1
                yield order[place], result
        except _LostError as error:
            lost = 1 if finished else lost + 1
            if lost >= PATIENCE:
                raise WorkersLostError(
                    f"workers were lost {lost} times without finishing a task ({error}). Out of memory? Use fewer workers."
                ) from None


def check_engine(engine: str, address: str | None = None) -> None:
    """Say at once what is wrong with the name of an engine or its address, or what to install for it."""
    _runner(engine)
    if address is not None and engine == "local":
        raise ValueError(f"`address` is for engine='dask' and 'ray' (got {address!r} with engine='local').")


class _LostError(Exception):
    """A worker died."""


def _runner(engine: str) -> Callable[..., Iterator[Result]]:
    if engine not in ENGINES:
        raise ValueError(f"`engine` must be one of {', '.join(map(repr, ENGINES))} (got {engine!r}).")
    if engine == "local":
        return _local
    module = {"dask": "distributed", "ray": "ray"}[engine]
    try:
        __import__(module)
    except ImportError:
        raise ImportError(f"engine={engine!r} needs the package {module}: pip install 'graph2tens[{engine}]'.") from None
    return _dask if engine == "dask" else _ray


def _numbered(function: Callable[..., Any], place: int, task: Task) -> Result:
    return place, function(*task)


def _local(function: Callable[..., Any], tasks: Sequence[Task], workers: int, address: None) -> Iterator[Result]:
    if workers == 1:
        for place, task in enumerate(tasks):
            yield place, function(*task)
        return
    from joblib import Parallel, delayed

    calls = (delayed(_numbered)(function, place, task) for place, task in enumerate(tasks))
    try:
        yield from Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")(calls)
    except BrokenExecutor as error:
        raise _LostError(str(error).splitlines()[0]) from None


def _dask(function: Callable[..., Any], tasks: Sequence[Task], workers: int, address: str | None) -> Iterator[Result]:
    from distributed import Client, KilledWorker

    with ExitStack() as ours:
        local = None
        if address is not None:
            client = ours.enter_context(Client(address, set_as_default=False))
        else:
            try:
                client = Client.current()
            except ValueError:
                local = ours.enter_context(_dask_cluster(workers))
                client = ours.enter_context(Client(local, set_as_default=False))
        if local is None:
            _warn_of_allocator(client)
        done: SimpleQueue[Any] = SimpleQueue()
        # Pure tasks of equal arguments would be one task and be forgotten with their results; ours are known by their files.
        futures = [client.submit(_numbered, function, place, task, pure=False, retries=3) for place, task in enumerate(tasks)]
        for future in futures:
            future.add_done_callback(done.put)
        for _ in futures:
            try:
                yield _next_done(done, local).result()
            except KilledWorker as error:
                raise _LostError(str(error).splitlines()[0]) from None


def _dask_cluster(workers: int) -> Any:
    """Processes of this machine, asked for after the start: if one died in it, all of it would fail, and leave the others behind."""
    from distributed import LocalCluster

    # Nannies read this before Dask's configuration, when their workers start, now or later on; and write there what they have read.
    os.environ.update(ALLOCATOR)
    cluster = LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0")
    cluster.scale(workers)
    return cluster


def _next_done(done: SimpleQueue[Any], local: Any) -> Any:
    """The next finished future. Dask does not replace a worker that died while it started, and without any would wait for ever."""
    while True:
        try:
            return done.get(timeout=None if local is None else START_SECONDS)
        except Empty:
            if not local.scheduler_info["workers"]:
                raise _LostError("no worker is left") from None


def _warn_of_allocator(client: Any) -> None:
    found = client.run(_allocator)
    if any(setting != ALLOCATOR for setting in found.values()):
        wanted = ", ".join(f"{name}={value}" for name, value in ALLOCATOR.items())
        warnings.warn(
            f"Dask's workers give memory back to the system so eagerly that tasks take twice the processor time. Start them with {wanted} "
            "in `distributed.nanny.pre-spawn-environ`.",
            stacklevel=2,
        )


def _allocator() -> dict[str, str]:
    return {name: os.environ.get(name, "") for name in ALLOCATOR}


def _ray(function: Callable[..., Any], tasks: Sequence[Task], workers: int, address: str | None) -> Iterator[Result]:
    import ray
    from ray.exceptions import LocalRayletDiedError, NodeDiedError, OutOfMemoryError, RayTaskError, WorkerCrashedError

    own = not ray.is_initialized()
    if own:
        local = {} if address is not None else {"num_cpus": workers, "include_dashboard": False}
        ray.init(address=address or "local", log_to_driver=False, logging_level="error", **local)
    try:
        remote = ray.remote(max_retries=3, num_cpus=1)(_numbered)
        waiting = [remote.remote(function, place, task) for place, task in enumerate(tasks)]
        while waiting:
            ready, waiting = ray.wait(waiting)
            for reference in ready:
                try:
                    yield ray.get(reference)
                except RayTaskError as error:
                    raise error.cause from None
                except (WorkerCrashedError, OutOfMemoryError, NodeDiedError, LocalRayletDiedError) as error:
                    raise _LostError(str(error).splitlines()[0]) from None
    finally:
        if own:
            ray.shutdown()
