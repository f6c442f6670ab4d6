"""The compiled loops around the tiles: steps, nodes, heads. Every kernel is told which blocks of nodes are its own.

States are addressed by slots: slot t >= 0 is ``kept[t]``, which lives until the backward pass, slot -1 - t is ``work[t]``.
``blocks`` (2, B + 1) holds the borders of the blocks and whether no edge crosses them; see `pattern.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from .compiling import compiled
from .tiles import Config, adjoint_finish_tile, adjoint_in_tile, adjoint_out_tile, finish_tile, forward_tile


class Kernels(NamedTuple):
    """The loops for one `Config`."""

    forward: Callable[..., None]
    adjoint_finish: Callable[..., None]
    adjoint: Callable[..., None]


@cache
def kernels(config: Config, dtype: str) -> Kernels:
    """The kernels of a configuration and floating type; each is compiled at its first call, which takes a second unless it is on disk."""
    key, first_key, width = config.key, config.at_first_step().key, config.width
    carried, probability_gradient = config.carried, config.probability_gradient
    outgoing = config.increments

    def forward(  # type: ignore[no-untyped-def]
        first, last, begin, end, blocks, slots, kept, work, kept_s, work_s, clocks, a, tau, c, p, row_ptr, col, start, offset, batch, out
    ):
        """Steps `begin` to `end` on the blocks from `first` to `last`, and after the last step the start factor."""
        R, H = a.shape[2], p.shape[1]
        share = R // H
        b = first
        while b < last:
            # Blocks up to the next closed border are a piece that no edge leaves: it goes through all steps while it is in the cache.
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(begin, end):
                slot = slots[step]
                f, s = (kept[slot], kept_s[slot]) if slot >= 0 else (work[-1 - slot], work_s[-1 - slot])
                slot = slots[step + 1]
                f_new, s_new = (kept[slot], kept_s[slot]) if slot >= 0 else (work[-1 - slot], work_s[-1 - slot])
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
                slot = slots[end]
                f, s = (kept[slot], kept_s[slot]) if slot >= 0 else (work[-1 - slot], work_s[-1 - slot])
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
        first, last, begin, end, blocks, slots, kept, work, kept_s, work_s, clocks, a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position,
        grads, grads_s, da, dc, dtau, dp,
    ):  # fmt: skip
        """Steps `end` back to `begin`; the gradient of the state after t steps is ``grads[t % 2]``."""
        R, H = a.shape[2], p.shape[1]
        share = R // H
        b = first
        while b < last:
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(end - 1, begin - 1, -1):
                slot = slots[step]
                f, s = (kept[slot], kept_s[slot]) if slot >= 0 else (work[-1 - slot], work_s[-1 - slot])
                g, gs, g_new, gs_new = grads[(step + 1) % 2], grads_s[(step + 1) % 2], grads[step % 2], grads_s[step % 2]
                clock = clocks[step]
                for block in range(b, e):
                    for i in range(blocks[0, block], blocks[0, block + 1]):
                        for head in range(H):
                            if carried:
                                total = clock - clock
                                for entry in range(t_ptr[i], t_ptr[i + 1]):
                                    edge, origin = t_position[entry], t_row[entry]
                                    total += p[edge, head] * gs[origin, head]
                                    if probability_gradient and not outgoing:  # one thread alone may write to an entry of dp
                                        dp[edge, head] += gs[origin, head] * (s[i, head] if step > 0 else 1)
                                gs_new[i, head] = total
                                if probability_gradient and outgoing:
                                    for edge in range(row_ptr[i], row_ptr[i + 1]):
                                        dp[edge, head] += gs[i, head] * (s[col[edge], head] if step > 0 else 1)
                            for lane in range(head * share, (head + 1) * share, width):
                                outgoing_arrays = (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, g, da, dp)
                                incoming_arrays = (
                                    i, lane, R, head, H, clock, a, tau, c, p, t_ptr, t_row, t_position, f, s, g, g_new, gs_new, da,
                                    dc[block], dtau[block], dp,
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

    plain = replace(config, coefficient_gradient=False, probability_gradient=False)
    return Kernels(
        forward=compiled(forward, dtype, key) if config == plain else kernels(plain, dtype).forward,
        adjoint_finish=compiled(adjoint_finish, dtype, key),
        adjoint=compiled(adjoint, dtype, key),
    )
