"""The compiled loops around the tiles: steps, nodes, heads, registers. Every kernel is told which blocks of nodes are its own.

Arguments without brackets are addresses of arrays, named in `tiles.py`. States are addressed by slots: slot t >= 0 is the t-th of the
states at ``kept``, which live until the backward pass, slot -1 - t the t-th at ``work``; states are ``stride`` bytes apart, their levels
0 ``stride_s``. ``blocks[0]`` are the borders of blocks, ``blocks[1]`` says whether no edge crosses them; see `pattern.py`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .compiling import Compiled, specialised
from .lanes import clear
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

    forward: Compiled
    adjoint_finish: Compiled
    adjoint: Compiled
    forward_by_piece: Compiled
    backward_by_piece: Compiled


# Constants of the functions below, which are compiled anew for each `Config` with its own.
key = first_key = ""
width, increments, carried = 1, True, False


def forward(  # type: ignore[no-untyped-def]
    first, last, begin, end, blocks, slots, clocks, R, H, stride, stride_s, kept, work, kept_s, work_s,
    a, tau, c, p, row_ptr, col, start, offset, batch, out,
):  # fmt: skip
    """Steps `begin` to `end` on the blocks from `first` to `last`, and after the last step the start factor.

    Without a start factor the last state goes to `out` and not to its slot.
    """
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
            if step + 1 == clocks.size and not start:
                f_new = out
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
    a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position, top, grads, grads_s, da, dc, dtau, dp, dp_zero,
):  # fmt: skip
    """Steps `end` back to `begin`; the gradient of the state after t steps is the (t % 2)-th at `grads`, that of the last is `top`."""
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
            g = top if step + 1 == clocks.size else grads + (step + 1) % 2 * stride
            gs = grads_s + (step + 1) % 2 * stride_s
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
                                    adjoint_out_tile(first_key, (i, lane, R, head, H, clock, a, tau, c, p, row_ptr, col, f, s, g, da, dp))
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


def forward_by_piece(  # type: ignore[no-untyped-def]
    first, last, scratch, rows, blocks, slots, clocks, R, H, row, row_s, a, tau, c, p, row_ptr, col, start, offset, batch, out
):
    """All steps, piece by piece, with states in `scratch`, which has room for `rows` nodes and stays in the cache."""
    b = first
    while b < last:
        e = b + 1
        while e < last and blocks[1, e] == 0:
            e += 1
        # Addresses are moved so that the first node of the piece finds its state at the beginning of the scratch.
        work, work_s = scratch - blocks[0, b] * row, scratch + 2 * rows * row - blocks[0, b] * row_s
        forward(
            b, e, 0, clocks.size, blocks, slots, clocks, R, H, rows * row, rows * row_s, work, work, work_s, work_s,
            a, tau, c, p, row_ptr, col, start, offset, batch, out,
        )  # fmt: skip
        b = e


def backward_by_piece(  # type: ignore[no-untyped-def]
    first, last, scratch, rows, blocks, slots, clocks, R, H, row, row_s, a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position,
    start, offset, batch, grad, da, dc, dtau, dp, dp_zero,
):  # fmt: skip
    """The same for the backward pass: states are computed again, then all steps are taken back."""
    k, stride, stride_s = clocks.size, rows * row, rows * row_s
    b = first
    while b < last:
        e = b + 1
        while e < last and blocks[1, e] == 0:
            e += 1
        shift, shift_s = blocks[0, b] * row, blocks[0, b] * row_s
        kept, grads = scratch - shift, scratch + (k + 1) * stride - shift
        kept_s = scratch + (k + 3) * stride - shift_s
        grads_s = kept_s + (k + 1) * stride_s
        last_state = kept + slots[k] * stride
        forward(
            b, e, 0, k, blocks, slots, clocks, R, H, stride, stride_s, kept, kept, kept_s, kept_s,
            a, tau, c, p, row_ptr, col, False, offset, batch, last_state,
        )  # fmt: skip
        clear(grads_s + shift_s, 2 * stride_s)
        top = grad
        if start:
            top = grads + k % 2 * stride
            adjoint_finish(
                b, e, k == 0, blocks, R, H, a, offset, batch, c, last_state, kept_s + slots[k] * stride_s, grad, top,
                grads_s + k % 2 * stride_s, da, dc,
            )  # fmt: skip
        else:
            clear(da + shift, (blocks[0, e] - blocks[0, b]) * row)
        adjoint(
            b, e, 0, k, blocks, slots, clocks, R, H, stride, stride_s, kept, kept, kept_s, kept_s,
            a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position, top, grads, grads_s, da, dc, dtau, dp, dp_zero,
        )  # fmt: skip
        b = e


@cache
def kernels(config: Config) -> Kernels:
    """The kernels of a configuration; each is compiled at its first call, which takes a second unless it is on disk."""
    plain = config.without_gradients()
    version = config.key
    constants = {
        "key": config.key,
        "first_key": config.at_first_step().key,
        "width": config.width,
        "increments": config.increments,
        "carried": config.carried,
    }
    compiled_forward = specialised(forward, version, **constants) if config == plain else kernels(plain).forward
    names = {
        "forward": compiled_forward,
        "adjoint_finish": specialised(adjoint_finish, version, **constants),
        "adjoint": specialised(adjoint, version, **constants),
    }
    return Kernels(
        **names,
        forward_by_piece=specialised(forward_by_piece, version, **names) if config == plain else kernels(plain).forward_by_piece,
        backward_by_piece=specialised(backward_by_piece, version, **names),
    )
