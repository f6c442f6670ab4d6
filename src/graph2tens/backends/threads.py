"""Threads for compiled kernels that release the GIL: those that PyTorch's own products run on, or a pool of ours.

After a parallel operation PyTorch's OpenMP threads stay awake for a few milliseconds, waiting for the next; a thread of ours would share
its core with one of them, and two threads were no faster than one. So tasks are given to that very team, by OpenMP's C interface.
Where there is none (other systems, a forked child, in which OpenMP hangs) a plain pool of Python threads does the same: it is made anew
after a fork, and many callers may use it at once, since no task waits for another. Kernels are told their rows and do not care who
runs them. Numba's own threading layers each fail one of our demands: ``omp`` dies after a fork, ``workqueue`` aborts when two Python
threads call it at once, ``tbb`` is often not installed.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from threading import Lock, get_ident
from typing import Any

import torch

_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_pool: ThreadPoolExecutor | None = None
_lock = Lock()
_forked = False


def run(tasks: Sequence[Callable[[], object]]) -> None:
    """Run all tasks, some of them in the calling thread, and return when every one is done; the first error is raised."""
    if len(tasks) <= 1:
        for task in tasks:
            task()
        return
    parallel = None if _forked else _openmp()
    if parallel is None:
        _run_in_pool(tasks)
    else:
        _run_in_team(tasks, parallel)


def _run_in_team(tasks: Sequence[Callable[[], object]], parallel: Any) -> None:
    waiting, errors, caller = deque(tasks), list[BaseException](), get_ident()
    caller_finished = False

    def body(_: object) -> None:
        nonlocal caller_finished
        is_caller = get_ident() == caller
        while True:  # the team may be smaller than asked for
            try:
                task = waiting.popleft()
            except IndexError:
                break
            try:
                task()
            except BaseException as error:  # no exception may pass through C code
                errors.append(error)
        if is_caller:  # the very last thing: Python raises what a signal's handler raises after calls and jumps, not after an assignment
            caller_finished = True

    parallel(_BODY(body), None, len(tasks), 0)
    if not caller_finished:  # Ctrl-C came between two lines of `body`: C code cannot pass it on, and must not lose it
        raise KeyboardInterrupt
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Exception))  # an interrupt before an error


def _run_in_pool(tasks: Sequence[Callable[[], object]]) -> None:
    futures = [_executor().submit(task) for task in tasks[1:]]
    try:
        tasks[0]()
    finally:
        wait(futures)  # their arrays must outlive them, whatever happened here
    for future in futures:
        future.result()


@cache
def _openmp() -> Any:
    """``GOMP_parallel(body, data, threads, flags)`` of the OpenMP library that PyTorch itself is linked to, or None."""
    for library in (Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*"):
        try:
            parallel = ctypes.CDLL(str(library)).GOMP_parallel
        except (OSError, AttributeError):
            continue
        parallel.argtypes, parallel.restype = (_BODY, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint), None
        return parallel
    return None


def _executor() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) - 1), thread_name_prefix="graph2tens")
        return _pool


def _after_fork() -> None:
    """In a forked child the threads of pool and team do not exist, and the lock may be held by one of them."""
    global _pool, _lock, _forked
    _pool, _lock, _forked = None, Lock(), True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
