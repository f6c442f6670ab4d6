r"""Degrees 1 and 2 with increments: only the first step looks at the projections, all others are plain diffusion.

For degree 2 the recursion reads :math:`f_1' = P f_1 + e_1` and
:math:`f_2' = P f_2 + c_1 (P(a_1 f_1) - a_1 P f_1 + \tau_1 P f_1) + e_2`, where :math:`e_1, e_2` are the levels after the first step and
:math:`\tau` is the time coordinate's part of the components, zero without time. In the sheared variable
:math:`h = f_2 + c_1 a_1 f_1` the projections drop out:

.. math:: f_1' = P f_1 + e_1, \qquad h' = P h + c_1 \tau_1 P f_1 + h_1, \qquad h_1 = e_2 + c_1 a_1 e_1.

So S = (f_1, h) obeys :math:`S' = P S + S_1`, two products with P a step instead of a chain on every edge. Its adjoint,
:math:`W' = P^T W + U` with U the gradient of the last state, needs no state but the first and the last, unless P or the clock
want gradients. All this needs :math:`f_0 = 1`, that is rows of P that sum to 1. Degree 1 is the same without h.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from .chain import horner, reverse
from .compiling import Compiled, specialised
from .lanes import Lanes
from .tiles import Config, Tile, adjoint_in_tile, adjoint_out_tile, forward, start, tile_intrinsic

HIGHEST_DEGREE = 2


def _shear(tile: Tile, i: Any, f: list[Lanes]) -> list[Lanes]:
    """Levels (f_1, f_2) to (f_1, h)."""
    return f if len(f) == 1 else [f[0], f[1] + tile.common("c")[0] * tile.rows("a", i)[0] * f[0]]


def _unshear(tile: Tile, i: Any, S: list[Lanes]) -> list[Lanes]:
    return S if len(S) == 1 else [S[0], S[1] - tile.common("c")[0] * tile.rows("a", i)[0] * S[0]]


def _gathered(tile: Tile, node: Any, pointer: str, neighbours: str, name: str, edge_of: Any = None, visit: Any = None) -> list[Lanes]:
    """The sum over a row's entries of p times the neighbour's vectors; `visit` sees each edge and those vectors."""
    totals = tile.totals()
    with tile.around(node, pointer) as entry:
        edge = entry if edge_of is None else tile.array(edge_of).scalar(entry)
        p, rows = tile.of_head("p", edge), tile.rows(name, tile.array(neighbours).scalar(entry))
        for total, row in zip(totals, rows, strict=True):
            total.add(p * row)
        if visit is not None:
            visit(edge, rows)
    return [total.value for total in totals]


def _coupling(tile: Tile) -> Lanes | None:
    """c_1 tau_1, by which f_1 enters h' when time is a coordinate."""
    return tile.common("c")[0] * tile.common("tau")[0] if tile.config.time and tile.config.degree == 2 else None


def _open(tile: Tile, i: Any) -> None:
    """The first state, from the projections."""
    tile.put("f_new", i, _shear(tile, i, forward(tile, i)))


def _spread(tile: Tile, i: Any) -> None:
    """S' = P S + S_1."""
    S, coupling = _gathered(tile, i, "row_ptr", "col", "f"), _coupling(tile)
    new = [value + constant for value, constant in zip(S, tile.rows("f_first", i), strict=True)]
    if coupling is not None:
        new[1] = new[1] + coupling * S[0]
    tile.put("f_new", i, new)


def _close(tile: Tile, i: Any) -> None:
    tile.put("out", i, _unshear(tile, i, tile.rows("f", i)))


def _close_with_start(tile: Tile, i: Any) -> None:
    levels = [tile.emit.number(1.0), *_unshear(tile, i, tile.rows("f", i))]
    tile.put("out", i, horner(start(tile, i), levels, tile.coefficients()))


def _shear_gradient(tile: Tile, i: Any, df: list[Lanes]) -> list[Lanes]:
    """The gradient of S from that of the levels. What the shear owes to a and c is added when the first state is reached."""
    return df if len(df) == 1 else [df[0] - tile.common("c")[0] * tile.rows("a", i)[0] * df[1], df[1]]


def _adjoint_close(tile: Tile, i: Any) -> None:
    tile.put("u", i, _shear_gradient(tile, i, tile.rows("g", i)))
    tile.put("da", i, [tile.emit.number(0.0)] * tile.config.degree)


def _adjoint_close_with_start(tile: Tile, i: Any) -> None:
    levels = [tile.emit.number(1.0), *_unshear(tile, i, tile.rows("f", i))]
    dF, df, dc = reverse(start(tile, i), levels, tile.coefficients(), tile.rows("g", i))
    tile.put("da", i, dF)
    tile.put("u", i, _shear_gradient(tile, i, df[1:]))
    tile.add_to_coefficients(dc[1:])


def _spread_back(tile: Tile, j: Any) -> None:
    """W' = P^T W + U. At the last turn W is the gradient of the first state, and becomes that of its levels."""
    W = _gathered(tile, j, "t_ptr", "t_row", "w", "t_position")
    W = [value + constant for value, constant in zip(W, tile.rows("u", j), strict=True)]
    if tile.config.first:
        W = _adjoint_open(tile, j, W)
    tile.put("w_new", j, W)


def _spread_back_through_states(tile: Tile, j: Any) -> None:
    """The same turn by turn: U' = P^T U, with U' added to W, which lets every step leave its gradients of P and the clock."""
    coupling, S = _coupling(tile), tile.rows("f", j)

    def visit(edge: Any, U: list[Lanes]) -> None:
        if tile.config.probability_gradient:
            U = U if coupling is None else [U[0] + coupling * U[1], U[1]]
            tile.array("dp").add_scalar(tile.at_head(edge), tile.dot(U, S))

    U = _gathered(tile, j, "t_ptr", "t_row", "w", "t_position", visit)
    if coupling is not None:
        both = S[0] * U[1]
        tile.increase("dtau", tile.block, [tile.common("c")[0] * both])
        tile.add_to_coefficients([tile.common("tau")[0] * both])
        U = [U[0] + coupling * U[1], U[1]]
    W = [value + more for value, more in zip(tile.rows("total_old", j), U, strict=True)]
    if tile.config.first:
        tile.put("w_new", j, _adjoint_open(tile, j, W))
    else:
        tile.put("w_new", j, U)
        tile.put("total", j, W)


def _adjoint_open(tile: Tile, i: Any, W: list[Lanes]) -> list[Lanes]:
    """The gradient of the first state's levels, and what both shears, there and at the end, owe to a_1 and c_1."""
    if len(W) == 1:
        return W
    a, c = tile.rows("a", i)[0], tile.common("c")[0]
    both = tile.rows("f_first", i)[0] * W[1] - tile.rows("f_last", i)[0] * tile.rows("u", i)[1]
    tile.increase("da", i, [c * both])
    tile.add_to_coefficients([a * both])
    return [W[0] + c * a * W[1], W[1]]


open_tile = tile_intrinsic(_open, "clock a tau c p row_ptr col f_new")
spread_tile = tile_intrinsic(_spread, "tau c p row_ptr col f f_first f_new")
close_tile = tile_intrinsic(_close, "a c f out")
close_with_start_tile = tile_intrinsic(_close_with_start, "a offset batch c f out")
adjoint_close_tile = tile_intrinsic(_adjoint_close, "a c g u da")
adjoint_close_with_start_tile = tile_intrinsic(_adjoint_close_with_start, "block a offset batch c f g u da dc")
_BACK = "block a tau c p t_ptr t_row t_position w u f_first f_last w_new da dc"
spread_back_tile = tile_intrinsic(_spread_back, _BACK)
spread_back_through_states_tile = tile_intrinsic(_spread_back_through_states, _BACK + " f total_old total dtau dp")


class ShearedKernels(NamedTuple):
    """The loops for one `Config`; conventions as in `kernels.py`."""

    forward: Compiled
    adjoint_close: Compiled
    adjoint: Compiled
    forward_by_piece: Compiled
    backward_by_piece: Compiled


# Constants of the functions below, which are compiled anew for each `Config` with its own.
key = first_key = ""
width, through_states = 1, False


def forward_sheared(  # type: ignore[no-untyped-def]
    first, last, begin, end, blocks, slots, R, H, stride, kept, work, a, tau, c, p, row_ptr, col, closing, offset, batch, out
):
    """Steps `begin` to `end`; after the last, the features if `closing` is 1, with a start factor if it is 2."""
    share = R // H
    f_first = kept + slots[1] * stride if slots[1] >= 0 else work + (-1 - slots[1]) * stride
    b = first
    while b < last:
        # As in kernels.py: blocks up to the next closed border go through all steps while they are in the cache.
        e = b + 1
        while e < last and blocks[1, e] == 0:
            e += 1
        for step in range(begin, end):
            slot = slots[step]
            f = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
            slot = slots[step + 1]
            f_new = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
            for i in range(blocks[0, b], blocks[0, e]):
                head, border = 0, share  # the next head begins at the border
                for lane in range(0, R, width):
                    if lane == border:
                        head, border = head + 1, border + share
                    if step == 0:
                        open_tile(first_key, (i, lane, R, head, H, 1.0, a, tau, c, p, row_ptr, col, f_new))
                    else:
                        spread_tile(key, (i, lane, R, head, H, tau, c, p, row_ptr, col, f, f_first, f_new))
        if closing > 0 and end == slots.size - 1:
            slot = slots[end]
            f = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
            for i in range(blocks[0, b], blocks[0, e]):
                head, border = 0, share  # the next head begins at the border
                for lane in range(0, R, width):
                    if lane == border:
                        head, border = head + 1, border + share
                    if closing == 2:
                        close_with_start_tile(key, (i, lane, R, head, H, a, offset, batch, c, f, out))
                    else:
                        close_tile(key, (i, lane, R, head, H, a, c, f, out))
        b = e


def adjoint_close(first, last, blocks, R, H, with_start, a, offset, batch, c, f, g, u, da, dc):  # type: ignore[no-untyped-def]
    share = R // H
    for b in range(first, last):
        for i in range(blocks[0, b], blocks[0, b + 1]):
            head, border = 0, share  # the next head begins at the border
            for lane in range(0, R, width):
                if lane == border:
                    head, border = head + 1, border + share
                if with_start:
                    adjoint_close_with_start_tile(key, (i, lane, R, head, H, b, a, offset, batch, c, f, g, u, da, dc))
                else:
                    adjoint_close_tile(key, (i, lane, R, head, H, a, c, g, u, da))


def adjoint(  # type: ignore[no-untyped-def]
    first, last, begin, end, blocks, slots, R, H, stride, kept, work, a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position,
    u, w, total, da, dc, dtau, dp,
):  # fmt: skip
    """Steps `end` back to `begin`; after the turn of step t the (t % 2)-th at `w` is W, after step 1 the first levels' gradient."""
    share, steps = R // H, slots.size - 1
    f_first, f_last = kept + slots[1] * stride, kept + slots[steps] * stride
    b = first
    while b < last:
        e = b + 1
        while e < last and blocks[1, e] == 0:
            e += 1
        for step in range(end - 1, begin - 1, -1):
            slot = slots[step]
            f = kept + slot * stride if slot >= 0 else work + (-1 - slot) * stride
            old, new = u if step == steps - 1 else w + (step + 1) % 2 * stride, w + step % 2 * stride
            total_old = u if step == steps - 1 else total
            for block in range(b, e):
                for i in range(blocks[0, block], blocks[0, block + 1]):
                    head, border = 0, share  # the next head begins at the border
                    for lane in range(0, R, width):
                        if lane == border:
                            head, border = head + 1, border + share
                        if step == 0:
                            adjoint_out_tile(first_key, (i, lane, R, head, H, 1.0, a, tau, c, p, row_ptr, col, 0, 0, old, da, dp))
                            adjoint_in_tile(first_key, (
                                i, lane, R, head, H, 1.0, block, a, tau, c, p, t_ptr, t_row, t_position, 0, 0, old, 0, 0, da, dc,
                                dtau, dp,
                            ))  # fmt: skip
                        elif through_states:
                            if step == 1:
                                spread_back_through_states_tile(first_key, (
                                    i, lane, R, head, H, block, a, tau, c, p, t_ptr, t_row, t_position, old, u, f_first, f_last,
                                    new, da, dc, f, total_old, total, dtau, dp,
                                ))  # fmt: skip
                            else:
                                spread_back_through_states_tile(key, (
                                    i, lane, R, head, H, block, a, tau, c, p, t_ptr, t_row, t_position, old, u, f_first, f_last,
                                    new, da, dc, f, total_old, total, dtau, dp,
                                ))  # fmt: skip
                        elif step == 1:
                            spread_back_tile(first_key, (
                                i, lane, R, head, H, block, a, tau, c, p, t_ptr, t_row, t_position, old, u, f_first, f_last, new,
                                da, dc,
                            ))  # fmt: skip
                        else:
                            spread_back_tile(key, (
                                i, lane, R, head, H, block, a, tau, c, p, t_ptr, t_row, t_position, old, u, f_first, f_last, new,
                                da, dc,
                            ))  # fmt: skip
        b = e


def forward_by_piece(  # type: ignore[no-untyped-def]
    first, last, scratch, rows, blocks, slots, R, H, row, a, tau, c, p, row_ptr, col, closing, offset, batch, out
):
    b = first
    while b < last:
        e = b + 1
        while e < last and blocks[1, e] == 0:
            e += 1
        work = scratch - blocks[0, b] * row
        forward_sheared(
            b, e, 0, slots.size - 1, blocks, slots, R, H, rows * row, work, work, a, tau, c, p, row_ptr, col, closing, offset, batch,
            out,
        )  # fmt: skip
        b = e


def backward_by_piece(  # type: ignore[no-untyped-def]
    first, last, scratch, rows, blocks, slots, R, H, row, a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position,
    with_start, offset, batch, grad, da, dc, dtau, dp,
):  # fmt: skip
    k, stride = slots.size - 1, rows * row
    b = first
    while b < last:
        e = b + 1
        while e < last and blocks[1, e] == 0:
            e += 1
        kept = scratch - blocks[0, b] * row
        u, w, total = kept + k * stride, kept + (k + 1) * stride, kept + (k + 3) * stride
        forward_sheared(b, e, 0, k, blocks, slots, R, H, stride, kept, kept, a, tau, c, p, row_ptr, col, 0, offset, batch, total)
        last_state = kept + slots[k] * stride
        adjoint_close(b, e, blocks, R, H, with_start, a, offset, batch, c, last_state, grad, u, da, dc)
        adjoint(
            b, e, 0, k, blocks, slots, R, H, stride, kept, kept, a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position,
            u, w, total, da, dc, dtau, dp,
        )  # fmt: skip
        b = e


@cache
def sheared_kernels(config: Config) -> ShearedKernels:
    """The kernels of a configuration."""
    plain = config.without_gradients()
    version = "sheared " + config.key
    constants = {
        "key": config.key,
        "first_key": config.at_first_step().key,
        "width": config.width,
        "through_states": needs_states(config.time, config.probability_gradient),
    }
    names = {
        "forward": specialised(forward_sheared, version, **constants) if config == plain else sheared_kernels(plain).forward,
        "adjoint_close": specialised(adjoint_close, version, **constants),
        "adjoint": specialised(adjoint, version, **constants),
    }
    called = {"forward_sheared": names["forward"], "adjoint_close": names["adjoint_close"], "adjoint": names["adjoint"]}
    return ShearedKernels(
        **names,
        forward_by_piece=specialised(forward_by_piece, version, **called) if config == plain else sheared_kernels(plain).forward_by_piece,
        backward_by_piece=specialised(backward_by_piece, version, **called),
    )


def needs_states(time: bool, probability_gradient: bool) -> bool:
    """Whether the backward pass needs states between the first and the last."""
    return time or probability_gradient
