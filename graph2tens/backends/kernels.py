"""The compiled loops around the tiles: steps, nodes, heads, registers. Every kernel is told which blocks of nodes are its own.

Arguments without brackets are addresses of arrays, named in `tiles.py`. States are addressed by slots: slot t >= 0 is the t-th of the
states at ``kept``, which live until the backward pass, slot -1 - t the t-th at ``work``; states are ``stride`` bytes apart, their levels
0 ``stride_s``. ``blocks[0]`` are the borders of blocks, ``blocks[1]`` says whether no edge crosses them; see `pattern.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from .compiling import compiled
from .tiles import (
    Config,
    adjoint_finish_tile,
    adjoint_in_tile,
    adjoint_out_tile,
    adjoint_zero_tile,
    finish_tile,
    forward_tile,
    zero_tile,
)


class Kernels(NamedTuple):
    """The loops for one `Config`."""

    forward: Callable[..., None]
    adjoint_finish: Callable[..., None]
    adjoint: Callable[..., None]


@cache
def kernels(config: Config) -> Kernels:
    """The kernels of a configuration; each is compiled at its first call, which takes a second unless it is on disk."""
    key, first_key, width = config.key, config.at_first_step().key, config.width
    increments, carried = config.increments, config.carried

    def forward(  # type: ignore[no-untyped-def]
        first, last, begin, end, blocks, slots, clocks, R, H, stride, stride_s, kept, work, kept_s, work_s,
        a, tau, c, p, row_ptr, col, start, offset, batch, out,
    ):  # fmt: skip
        """Steps `begin` to `end` on the blocks from `first` to `last`, and after the last step the start factor."""
        share = R // H
        b = first
        while b < last:
            # Blocks up to the next closed border are a piece that no edge leaves: it goes through all steps while it is in the cache.
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(begin, end):
                slot, clock = slots[step], clocks[step]
                f = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
                s = kept_s + slot * stride_s if slot >= 0 else work_s + (-1 - slot) * stride_s
                slot = slots[step + 1]
                f_new = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
                s_new = kept_s + slot * stride_s if slot >= 0 else work_s + (-1 - slot) * stride_s
                for i in range(blocks[0, b], blocks[0, e]):
                    for head in range(H):
                        if carried:
                            if step == 0:
                                zero_tile(first_key, (i, 0, R, head, H, p, row_ptr, col, s, s_new))
                            else:
                                zero_tile(key, (i, 0, R, head, H, p, row_ptr, col, s, s_new))
                        for lane in range(head * share, (head + 1) * share, width):
                            if step == 0:
                                forward_tile(first_key, (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, f_new))
                            else:
                                forward_tile(key, (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, f_new))
            if start and end == clocks.size:
                slot = slots[end]
                f = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
                s = kept_s + slot * stride_s if slot >= 0 else work_s + (-1 - slot) * stride_s
                for i in range(blocks[0, b], blocks[0, e]):
                    for head in range(H):
                        for lane in range(head * share, (head + 1) * share, width):
                            if end == 0:
                                finish_tile(first_key, (i, lane, R, head, H, a, offset, batch, c, f, s, out))
                            else:
                                finish_tile(key, (i, lane, R, head, H, a, offset, batch, c, f, s, out))
            b = e

    def adjoint_finish(first, last, empty, blocks, R, H, a, offset, batch, c, f, s, g, g_new, gs_new, da, dc):  # type: ignore[no-untyped-def]
        """Through the start factor: the gradient of its output `g` becomes that of the last state, and the first term of `da`."""
        share = R // H
        for b in range(first, last):
            for i in range(blocks[0, b], blocks[0, b + 1]):
                for head in range(H):
                    for lane in range(head * share, (head + 1) * share, width):
                        if empty:
                            adjoint_finish_tile(first_key, (i, lane, R, head, H, b, a, offset, batch, c, f, s, g, g_new, gs_new, da, dc))
                        else:
                            adjoint_finish_tile(key, (i, lane, R, head, H, b, a, offset, batch, c, f, s, g, g_new, gs_new, da, dc))

    def adjoint(  # type: ignore[no-untyped-def]
        first, last, begin, end, blocks, slots, clocks, R, H, stride, stride_s, kept, work, kept_s, work_s,
        a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position, grads, grads_s, da, dc, dtau, dp, dp_zero,
    ):  # fmt: skip
        """Steps `end` back to `begin`; the gradient of the state after t steps is the (t % 2)-th at `grads`."""
        share = R // H
        b = first
        while b < last:
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(end - 1, begin - 1, -1):
                slot, clock = slots[step], clocks[step]
                f = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
                s = kept_s + slot * stride_s if slot >= 0 else work_s + (-1 - slot) * stride_s
                g, gs = grads + (step + 1) % 2 * stride, grads_s + (step + 1) % 2 * stride_s
                g_new, gs_new = grads + step % 2 * stride, grads_s + step % 2 * stride_s
                for block in range(b, e):
                    for i in range(blocks[0, block], blocks[0, block + 1]):
                        for head in range(H):
                            if carried:
                                if step == 0:
                                    adjoint_zero_tile(first_key, (i, 0, R, head, H, p, t_ptr, t_row, t_position, s, gs, gs_new, dp_zero))
                                else:
                                    adjoint_zero_tile(key, (i, 0, R, head, H, p, t_ptr, t_row, t_position, s, gs, gs_new, dp_zero))
                            for lane in range(head * share, (head + 1) * share, width):
                                if increments:
                                    if step == 0:
                                        adjoint_out_tile(
                                            first_key, (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, g, da, dp)
                                        )
                                    else:
                                        adjoint_out_tile(key, (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, g, da, dp))
                                if step == 0:
                                    adjoint_in_tile(first_key, (
                                        i, lane, R, head, H, clock, block, a, tau, c, p, t_ptr, t_row, t_position, f, s, g, g_new, gs_new,
                                        da, dc, dtau, dp,
                                    ))  # fmt: skip
                                else:
                                    adjoint_in_tile(key, (
                                        i, lane, R, head, H, clock, block, a, tau, c, p, t_ptr, t_row, t_position, f, s, g, g_new, gs_new,
                                        da, dc, dtau, dp,
                                    ))  # fmt: skip
            b = e

    plain = config.without_gradients()
    return Kernels(
        forward=compiled(forward, key) if config == plain else kernels(plain).forward,
        adjoint_finish=compiled(adjoint_finish, key),
        adjoint=compiled(adjoint, key),
    )
