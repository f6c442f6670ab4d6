"""Processor seconds, memory and the load of the machine."""

from __future__ import annotations

import os
import resource
import threading
from typing import Any


class Memory:
    """Private memory of this process and all its children, twice a second; or of this process alone, which costs less, more often."""

    def __init__(self, every: float = 0.5, alone: bool = False) -> None:
        self._every, self._alone = every, alone

    def __enter__(self) -> Memory:
        self.seen: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        import psutil

        while not self._stop.wait(self._every):
            total = 0
            own = psutil.Process()
            for process in [own, *([] if self._alone else own.children(recursive=True))]:
                try:
                    total += process.memory_info().rss - process.memory_info().shared
                except psutil.Error:
                    continue
            self.seen.append(total)


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def say(text: str) -> None:
    print(f"[load {os.getloadavg()[0]:.1f}] {text}", flush=True)
