"""Keeping freed memory: fresh pages cost as much as the arithmetic on them.

A call of the loops takes some arrays of a few MiB and gives them back. glibc returns such memory to the system and asks for it again in the
next call, and every page of it faults once more: half the time of a training step on 1e5 edges. It stops doing so for blocks up to the
largest that a program has freed (at most 32 MiB), and keeps twice as much at hand. So one such block, never touched, is taken and freed.
Under other allocators, or with ``MALLOC_*`` settings of the user's own, this does nothing.
"""

from __future__ import annotations

import numpy as np

_LARGEST = 32 * 2**20 - 2**16  # glibc adapts to blocks below 32 MiB


def keep_freed_memory() -> None:
    """Tell the C library once that blocks of some MiB come and go."""
    np.empty(_LARGEST, dtype=np.uint8)
