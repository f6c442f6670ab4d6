"""The whole recursion where `areas.py` has the shorter way, for one unit, and its adjoint."""

from __future__ import annotations

import numpy as np

from .areas import Jumps, first_step, first_step_adjoint
from .dialect import Array, copied, count, inline, loop
from .sparse import add_along, average, spread_anew
from .steps import Options, Unit


@loop
def jumps_of(unit: Unit, options: Options) -> Jumps:
    if options.start:
        return Jumps(unit.a, unit.offset, unit.graph_of, unit.c)
    return Jumps(unit.a, np.zeros_like(unit.clock), np.zeros(1, np.int64), unit.c)


@inline
def divide(a: Array, c: Array, U: Array, i: int, out: Array) -> None:
    """Out of the features of a row the start factor that is not wanted."""
    for r in range(count(a.shape[2])):
        out[i, 0, r] = U[i, 0, r] - c[1, r] * a[i, 0, r]
    for m in range(1, a.shape[1]):
        for r in range(count(a.shape[2])):
            out[i, m, r] = U[i, m, r] - c[1, r] * a[i, m, r] * out[i, 0, r] - c[2, r] * (a[i, m, r] * a[i, 0, r])


@loop
def diffusion(unit: Unit, options: Options, out: Array) -> None:
    """The features after `length` > 0 steps."""
    rows, M, L = unit.a.shape
    E, U, new = np.empty((rows, M - 1, L), out.dtype), np.empty_like(unit.a), np.empty_like(unit.a)
    last = out if options.start else new  # where the features shall come to stand
    U, new = (U, last) if options.length % 2 == 0 else (last, U)
    first_step(unit.edges, jumps_of(unit, options), E, U)
    for _ in range(options.length - 1):
        average(unit.edges, U, E, new)
        U, new = new, U
    for i in range(0 if options.start else rows):
        divide(unit.a, unit.c, U, i, out)


@inline
def divide_adjoint(a: Array, c: Array, out: Array, i: int, g: Array, da: Array, dc: Array) -> None:
    """g, the gradient of row i of `out`, becomes that of the features with a start factor."""
    for m in range(1, a.shape[1]):
        for r in range(count(a.shape[2])):
            g[i, 0, r] -= c[1, r] * a[i, m, r] * g[i, m, r]
            da[i, m, r] -= (c[1, r] * out[i, 0, r] + c[2, r] * a[i, 0, r]) * g[i, m, r]
            da[i, 0, r] -= c[2, r] * a[i, m, r] * g[i, m, r]
    for r in range(count(a.shape[2])):
        da[i, 0, r] -= c[1, r] * g[i, 0, r]
    if len(dc):
        for r in range(count(a.shape[2])):
            dc[0, 1, r] -= a[i, 0, r] * g[i, 0, r]
        for m in range(1, a.shape[1]):
            for r in range(count(a.shape[2])):
                dc[0, 1, r] -= a[i, m, r] * out[i, 0, r] * g[i, m, r]
                dc[0, 2, r] -= a[i, m, r] * a[i, 0, r] * g[i, m, r]


@inline
def add_last(dE: Array, i: int, W: Array) -> None:
    for m in range(1, W.shape[1]):
        for r in range(count(W.shape[2])):
            dE[i, 0, r] += W[i, m, r]


@loop
def features_before(unit: Unit, options: Options, jumps: Jumps) -> Array:
    """The features after 1..length - 1 steps."""
    rows, M, L = unit.a.shape
    states, E = np.empty((max(1, options.length - 1), rows, M, L), unit.a.dtype), np.empty((rows, M - 1, L), unit.a.dtype)
    first_step(unit.edges, jumps, E, states[0])
    for k in range(1, options.length - 1):
        average(unit.edges, states[k - 1], E, states[k])
    return states


@inline
def set_start(jumps: Jumps, i: int, U: Array) -> None:
    """The features after no step."""
    at = jumps.place[i] if jumps.place.size > 1 else jumps.place[0]
    for r in range(count(U.shape[2])):
        U[i, 0, r] = jumps.c[1, r] * (jumps.a[i, 0, r] - jumps.offset[at, 0, r])
    for m in range(1, U.shape[1]):
        for r in range(count(U.shape[2])):
            F = jumps.a[i, m, r] - jumps.offset[at, m, r]
            U[i, m, r] = jumps.c[2, r] * (F * (jumps.a[i, 0, r] - jumps.offset[at, 0, r]))


@loop
def diffusion_adjoint(unit: Unit, options: Options, out: Array, grad: Array, da: Array, dc: Array, dp: Array) -> None:
    """From the gradient of the features `out`, add to the others."""
    rows, M, L = unit.a.shape
    W, new, dE, jumps = copied(grad), np.empty_like(grad), np.zeros((rows, M - 1, L), grad.dtype), jumps_of(unit, options)
    for i in range(0 if options.start else rows):
        divide_adjoint(unit.a, unit.c, out, i, W, da, dc)
    states, before = W[:0].reshape(0, rows, M, L), W[:0]
    if len(dp):
        states, before = features_before(unit, options, jumps), np.empty_like(unit.a)
        for i in range(rows):
            set_start(jumps, i, before)
    for k in range(options.length - 1, 0, -1):
        if len(dp):  # rows of P sum to 1: what a row adds to all of its edges is such that the gradient is that of a sum over edges
            add_along(unit.edges, W, states[k - 1], before, dp)
        for i in range(rows):
            add_last(dE, i, W)
        spread_anew(unit.edges, W, new)
        W, new = new, W
    first_step_adjoint(unit.edges, jumps, W, dE, da, dc, dp)
