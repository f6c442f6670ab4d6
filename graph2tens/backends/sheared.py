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

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from .chain import horner, reverse
from .compiling import compiled
from .lanes import Lanes
from .tiles import WHERE, Config, Tile, add_to_coefficients, adjoint_in_tile, adjoint_out_tile, dot, forward, start, tile_intrinsic

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
        edge = entry if edge_of is None else tile.arrays[edge_of].scalar(entry)
        p, rows = tile.probability(edge), tile.rows(name, tile.arrays[neighbours].scalar(entry))
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
    add_to_coefficients(tile, dc[1:])


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
            tile.add_scalar("dp", tile.at_head(edge), dot(tile, U, S))

    U = _gathered(tile, j, "t_ptr", "t_row", "w", "t_position", visit)
    if coupling is not None:
        both = S[0] * U[1]
        tile.increase_first("dtau", tile.common("c")[0] * both)
        if tile.config.coefficient_gradient:
            tile.increase_first("dc", tile.common("tau")[0] * both)
        U = [U[0] + coupling * U[1], U[1]]
    W = [value + more for value, more in zip(tile.rows("total", j), U, strict=True)]
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
    tile.increase_first_of("da", i, c * both)
    if tile.config.coefficient_gradient:
        tile.increase_first("dc", a * both)
    return [W[0] + c * a * W[1], W[1]]


open_tile = tile_intrinsic(_open, (*WHERE, "clock"), ("a", "tau", "c", "p", "row_ptr", "col", "f_new"))
spread_tile = tile_intrinsic(_spread, WHERE, ("tau", "c", "p", "row_ptr", "col", "f", "f_first", "f_new"))
close_tile = tile_intrinsic(_close, WHERE, ("a", "c", "f", "out"))
close_with_start_tile = tile_intrinsic(_close_with_start, WHERE, ("a", "offset", "batch", "c", "f", "out"))
adjoint_close_tile = tile_intrinsic(_adjoint_close, WHERE, ("a", "c", "g", "u", "da"))
adjoint_close_with_start_tile = tile_intrinsic(_adjoint_close_with_start, WHERE, ("a", "offset", "batch", "c", "f", "g", "u", "da", "dc"))
_BACK = ("a", "tau", "c", "p", "t_ptr", "t_row", "t_position", "w", "u", "f_first", "f_last", "w_new", "da", "dc")
spread_back_tile = tile_intrinsic(_spread_back, WHERE, _BACK)
spread_back_through_states_tile = tile_intrinsic(_spread_back_through_states, WHERE, (*_BACK, "f", "total", "dtau", "dp"))


class ShearedKernels(NamedTuple):
    """The loops for one `Config`; conventions as in `kernels.py`."""

    forward: Callable[..., None]
    adjoint_close: Callable[..., None]
    adjoint: Callable[..., None]


@cache
def sheared_kernels(config: Config, dtype: str) -> ShearedKernels:
    key, first_key, width = config.key, config.at_first_step().key, config.width
    through_states = needs_states(config.time, config.probability_gradient)

    def forward(first, last, begin, end, blocks, slots, kept, work, a, tau, c, p, row_ptr, col, one, with_start, offset, batch, out):  # type: ignore[no-untyped-def]
        R, H = a.shape[2], p.shape[1]
        share = R // H
        f_first = kept[slots[1]] if slots[1] >= 0 else work[-1 - slots[1]]
        b = first
        while b < last:
            # As in kernels.py: blocks up to the next closed border go through all steps while they are in the cache.
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(begin, end):
                f = kept[slots[step]] if slots[step] >= 0 else work[-1 - slots[step]]
                f_new = kept[slots[step + 1]] if slots[step + 1] >= 0 else work[-1 - slots[step + 1]]
                for i in range(blocks[0, b], blocks[0, e]):
                    for head in range(H):
                        for lane in range(head * share, (head + 1) * share, width):
                            if step == 0:
                                open_tile(first_key, (i, lane, R, head, H, one, a, tau, c, p, row_ptr, col, f_new))
                            else:
                                spread_tile(key, (i, lane, R, head, H, tau, c, p, row_ptr, col, f, f_first, f_new))
            if end == slots.size - 1:
                f = kept[slots[end]] if slots[end] >= 0 else work[-1 - slots[end]]
                for i in range(blocks[0, b], blocks[0, e]):
                    for head in range(H):
                        for lane in range(head * share, (head + 1) * share, width):
                            if with_start:
                                close_with_start_tile(key, (i, lane, R, head, H, a, offset, batch, c, f, out))
                            else:
                                close_tile(key, (i, lane, R, head, H, a, c, f, out))
            b = e

    def adjoint_close(first, last, blocks, heads, a, with_start, offset, batch, c, f, g, u, da, dc):  # type: ignore[no-untyped-def]
        R, H = a.shape[2], heads
        share = R // H
        for b in range(first, last):
            for i in range(blocks[0, b], blocks[0, b + 1]):
                for head in range(H):
                    for lane in range(head * share, (head + 1) * share, width):
                        if with_start:
                            adjoint_close_with_start_tile(key, (i, lane, R, head, H, a, offset, batch, c, f, g, u, da, dc[b]))
                        else:
                            adjoint_close_tile(key, (i, lane, R, head, H, a, c, g, u, da))

    def adjoint(  # type: ignore[no-untyped-def]
        first, last, begin, end, blocks, slots, kept, work, a, tau, c, p, row_ptr, col, t_ptr, t_row, t_position, one, u, w, total, nothing,
        da, dc, dtau, dp,
    ):  # fmt: skip
        """Steps `end` back to `begin`; after the turn of step t, ``w[t % 2]`` is W, and after that of step 1 the first levels' gradient."""
        R, H = a.shape[2], p.shape[1]
        share = R // H
        f_first, f_last = kept[slots[1]], kept[slots[slots.size - 1]]
        b = first
        while b < last:
            e = b + 1
            while e < last and blocks[1, e] == 0:
                e += 1
            for step in range(end - 1, begin - 1, -1):
                f = kept[slots[step]] if slots[step] >= 0 else work[-1 - slots[step]]
                old, new = (u if step == slots.size - 2 else w[(step + 1) % 2]), w[step % 2]
                for block in range(b, e):
                    for i in range(blocks[0, block], blocks[0, block + 1]):
                        for head in range(H):
                            for lane in range(head * share, (head + 1) * share, width):
                                where = (i, lane, R, head, H)
                                back = (a, tau, c, p, t_ptr, t_row, t_position, old, u, f_first, f_last, new, da, dc[block])
                                if step == 0:
                                    out_of = (one, a, tau, c, p, row_ptr, col, nothing, nothing, old, da, dp)
                                    into = (one, a, tau, c, p, t_ptr, t_row, t_position, nothing, nothing, old, nothing, nothing)
                                    adjoint_out_tile(first_key, where + out_of)
                                    adjoint_in_tile(first_key, where + into + (da, dc[block], dtau[block], dp))
                                elif through_states:
                                    if step == 1:
                                        spread_back_through_states_tile(first_key, where + back + (f, total, dtau[block], dp))
                                    else:
                                        spread_back_through_states_tile(key, where + back + (f, total, dtau[block], dp))
                                elif step == 1:
                                    spread_back_tile(first_key, where + back)
                                else:
                                    spread_back_tile(key, where + back)
            b = e

    plain = replace(config, coefficient_gradient=False, probability_gradient=False)
    return ShearedKernels(
        forward=compiled(forward, dtype, "sheared " + key) if config == plain else sheared_kernels(plain, dtype).forward,
        adjoint_close=compiled(adjoint_close, dtype, "sheared " + key),
        adjoint=compiled(adjoint, dtype, "sheared " + key),
    )


def needs_states(time: bool, probability_gradient: bool) -> bool:
    """Whether the backward pass needs states between the first and the last."""
    return time or probability_gradient
