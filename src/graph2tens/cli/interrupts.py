"""Ctrl-C and SIGTERM are remembered, also where Python would drop the exception."""

from __future__ import annotations

import signal
import sys
from typing import Any


class Interrupts:
    """Inside ``with Interrupts() as interrupts:`` Ctrl-C and SIGTERM (as batch systems send it) raise KeyboardInterrupt and are remembered.

    Python drops an exception that is raised in a destructor or a callback of C code, and a signal that comes just then would be gone. A
    loop that calls :meth:`check` now and then stops all the same.
    """

    def __init__(self) -> None:
        self.came = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if there was one that the code below did not pass on."""
        if self.came:
            raise KeyboardInterrupt

    def __enter__(self) -> Interrupts:
        # Who ignores one (nohup) goes on doing so; None is a handler of C code that could not be put back.
        numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        self._before = {number: signal.signal(number, self._interrupt) for number in numbers}
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self._hook
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _interrupt(self, *_: Any) -> None:
        self.came = True
        raise KeyboardInterrupt

    def _unraisable(self, dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):  # it is remembered, and not worth a page of traceback
            self._hook(dropped)
