"""The compiled loops around the tiles: steps, nodes, heads. Every kernel is told which blocks of nodes are its own.

States are addressed by slots: slot t >= 0 is ``kept[t]``, which lives until the backward pass, slot -1 - t is ``work[t]``.
``blocks`` (2, B + 1) holds the borders of the blocks and whether no edge crosses them; see `pattern.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numba import njit

from .tiles import Config, adjoint_finish_tile, adjoint_in_tile, adjoint_out_tile, finish_tile, forward_tile


class Kernels(NamedTuple):
    """The loops for one `Config`."""

    forward: Callable[..., None]
    adjoint_finish: Callable[..., None]
    adjoint: Callable[..., None]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at first use and keep the result on disk, beside this file or in the user's cache; if neither can be written, in memory."""
    options = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no place to write to
        return njit(**options)(function)


@cache
def _sources() -> str:
    """Numba takes the time stamp of one file to decide whether what it kept on disk is current; the kernels are made from several."""
    here = Path(__file__).parent
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in ("chain.py", "lanes.py", "tiles.py"))).hexdigest()


@compiled
def _state(slot, kept, work):  # type: ignore[no-untyped-def]
    return kept[slot] if slot >= 0 else work[-1 - slot]


@cache
def kernels(config: Config) -> Kernels:
    """The kernels of a configuration; each is compiled when it is first called, which takes a second or two unless it is on disk."""
    key, first_key, width = config.key, config.first_step().key, config.width
    start, carried, outgoing = config.start, config.carried, config.increments or config.probability_gradient
    probability_gradient = config.probability_gradient
    sources = _sources()  # a constant of every kernel, and so part of its key on disk

    def forward(  # type: ignore[no-untyped-def]
        first, last, begin, end, blocks, clocks, slots, kept, work, kept_s, work_s, a, tau, c, p, row_ptr, col, offset, batch, out
    ):
        """Steps `begin` to `end` on the blocks from `first` to `last`, and after the last step the start factor."""
        sources  # noqa: B018
        R, H = a.shape[2], p.shape[1]
        share = R // H
        b = first
        while b < last:
            # Blocks up to the next closed border are a piece that no edge leaves: it goes through all steps while it is in the cache.
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(begin, end):
                f, s = _state(slots[step], kept, work), _state(slots[step], kept_s, work_s)
                f_new, s_new = _state(slots[step + 1], kept, work), _state(slots[step + 1], kept_s, work_s)
                clock = clocks[step]
                for i in range(blocks[0, b], blocks[0, e]):
                    for head in range(H):
                        if carried:
                            total = clock - clock
                            for edge in range(row_ptr[i], row_ptr[i + 1]):
                                total += p[edge, head] * (s[col[edge], head] if step > 0 else 1)
                            s_new[i, head] = total
                        for lane in range(head * share, (head + 1) * share, width):
                            if step == 0:
                                forward_tile(first_key, (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, f_new))
                            else:
                                forward_tile(key, (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, f_new))
            if start and end == clocks.size:
                f, s = _state(slots[end], kept, work), _state(slots[end], kept_s, work_s)
                for i in range(blocks[0, b], blocks[0, e]):
                    for head in range(H):
                        for lane in range(head * share, (head + 1) * share, width):
                            if end == 0:
                                finish_tile(first_key, (i, lane, R, head, H, a, offset, batch, c, f, s, out))
                            else:
                                finish_tile(key, (i, lane, R, head, H, a, offset, batch, c, f, s, out))
            b = e

    def adjoint_finish(first, last, empty, blocks, a, offset, batch, c, f, s, g, g_new, gs_new, da, dc):  # type: ignore[no-untyped-def]
        """Through the start factor: the gradient of its output `g` becomes that of the last state, and the first term of `da`."""
        sources  # noqa: B018
        R, H = a.shape[2], s.shape[1]
        share = R // H
        for b in range(first, last):
            for i in range(blocks[0, b], blocks[0, b + 1]):
                for head in range(H):
                    for lane in range(head * share, (head + 1) * share, width):
                        if empty:
                            adjoint_finish_tile(first_key, (i, lane, R, head, H, a, offset, batch, c, f, s, g, g_new, gs_new, da, dc[b]))
                        else:
                            adjoint_finish_tile(key, (i, lane, R, head, H, a, offset, batch, c, f, s, g, g_new, gs_new, da, dc[b]))

    def adjoint(  # type: ignore[no-untyped-def]
        first, last, begin, end, blocks, clocks, slots, kept, work, kept_s, work_s, a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position,
        grads, grads_s, da, dc, dtau, dp,
    ):  # fmt: skip
        """Steps `end` back to `begin`; the gradient of the state after t steps is ``grads[t % 2]``."""
        sources  # noqa: B018
        R, H = a.shape[2], p.shape[1]
        share = R // H
        b = first
        while b < last:
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(end - 1, begin - 1, -1):
                f, s = _state(slots[step], kept, work), _state(slots[step], kept_s, work_s)
                g, gs, g_new, gs_new = grads[(step + 1) % 2], grads_s[(step + 1) % 2], grads[step % 2], grads_s[step % 2]
                clock = clocks[step]
                for block in range(b, e):
                    for i in range(blocks[0, block], blocks[0, block + 1]):
                        for head in range(H):
                            if carried:
                                total = clock - clock
                                for entry in range(t_ptr[i], t_ptr[i + 1]):
                                    total += p[t_position[entry], head] * gs[t_row[entry], head]
                                gs_new[i, head] = total
                                if probability_gradient:
                                    for edge in range(row_ptr[i], row_ptr[i + 1]):
                                        dp[edge, head] += gs[i, head] * (s[col[edge], head] if step > 0 else 1)
                            for lane in range(head * share, (head + 1) * share, width):
                                outgoing_arrays = (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, g, da, dp)
                                incoming_arrays = (
                                    i, lane, R, head, H, clock, a, tau, c, p, t_ptr, t_row, t_position, f, s, g, g_new, gs_new, da,
                                    dc[block], dtau[block],
                                )  # fmt: skip
                                if step == 0:
                                    if outgoing:
                                        adjoint_out_tile(first_key, outgoing_arrays)
                                    adjoint_in_tile(first_key, incoming_arrays)
                                else:
                                    if outgoing:
                                        adjoint_out_tile(key, outgoing_arrays)
                                    adjoint_in_tile(key, incoming_arrays)
            b = e

    return Kernels(compiled(forward), compiled(adjoint_finish), compiled(adjoint))
