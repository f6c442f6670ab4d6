"""Threads of our own for compiled kernels that release the GIL.

Numba's threading layers each fail one of our demands: ``omp`` dies after a fork, ``workqueue`` aborts when two Python threads call it
at once, ``tbb`` is often not installed. A plain pool of Python threads has neither trouble: it is made anew after a fork, it may be
used by many callers, since no task ever waits for another, and kernels that are told their rows do not care how many threads there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock

_pool: ThreadPoolExecutor | None = None
_lock = Lock()


def run(tasks: Sequence[Callable[[], object]]) -> None:
    """Run all tasks, the first of them in the calling thread, and return when every one is done; the first error is raised."""
    if len(tasks) == 1:
        tasks[0]()
        return
    futures = [_executor().submit(task) for task in tasks[1:]]
    try:
        tasks[0]()
    finally:
        wait(futures)  # their arrays must outlive them, whatever happened here
    for future in futures:
        future.result()


def _executor() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) - 1), thread_name_prefix="graph2tens")
        return _pool


def _forget() -> None:
    """In a forked child the pool's threads do not exist, and the lock may be held by one of them."""
    global _pool, _lock
    _pool, _lock = None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
