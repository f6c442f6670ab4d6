"""The innermost part of the fused kernels: one node and one register of functionals, all degrees at once.

Each function here emits the instructions for a `Config`, which is fixed when a kernel is compiled. Between two kernels of different
degree or variant only the chains of `chain.py` and the terms of C differ.

Names: ``a`` (n, M, R) projections, ``offset`` (G, M, R) what the start factor adds to them, ``tau`` (M, R) projections of the time
coordinate, ``c`` (M, R) coefficients, ``p`` (E, H) probabilities, ``f`` (n, M, R) levels 1..M of a state, ``s`` (n, H) its level 0,
``g`` and ``gs`` their gradients, ``dc`` and ``dtau`` (B, M, R) gradients summed over each block of nodes.

Tiles are given addresses, not arrays: arrays in a call are counted in and out by Numba in every turn of the innermost loop, which costs
more than the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numba import types
from numba.extending import intrinsic

from .chain import horner, reverse
from .lanes import Emitter, Lanes, Total

_INDICES = ("row_ptr", "col", "t_ptr", "t_row", "t_position", "batch")  # all other arrays hold floating numbers


@dataclass(frozen=True)
class Config:
    """What a kernel is compiled for."""

    degree: int
    width: int  # functionals in one register; divides the functionals of a head
    double: bool  # float64, else float32
    increments: bool
    time: bool
    carried: bool  # level 0 is a state, not the constant 1
    coefficient_gradient: bool = False
    probability_gradient: bool = False
    first: bool = False  # the step from f_0, all of whose levels vanish but level 0, which is 1

    @property
    def key(self) -> str:
        """The same as a string, which Numba can take for a compile-time constant."""
        return " ".join(str(int(value)) for value in self.__dict__.values())

    def at_first_step(self) -> Config:
        return replace(self, first=True)

    def without_gradients(self) -> Config:
        return replace(self, coefficient_gradient=False, probability_gradient=False)

    @classmethod
    def parse(cls, key: str) -> Config:
        degree, width, *flags = map(int, key.split())
        return cls(degree, width, *map(bool, flags))


class Tile:
    """The functionals lane, ..., lane + width - 1 of head `head`: reads and writes them in the arrays of a kernel."""

    def __init__(self, config: Config, builder: Any, given: dict[str, Any]) -> None:
        self.config, self.given = config, given
        self.emit = Emitter(builder, config.double, config.width)
        self.lane, self.rank, self.head, self.heads, self.block = (given.get(n) for n in ("lane", "rank", "head", "heads", "block"))
        self.clock = self.emit.spread(given["clock"]) if "clock" in given else None

    def array(self, name: str) -> Any:
        return (self.emit.indices if name in _INDICES else self.emit.numbers)(self.given[name])

    def address(self, node: Any, m: int) -> Any:
        """Flat index of entry (node, m, lane) of an (n, M, R) array."""
        builder, M = self.emit.builder, self.config.degree
        return self.emit.affine(builder.add(builder.mul(node, self.emit.index(M)), self.emit.index(m)), self.rank, self.lane)

    def rows(self, name: str, node: Any) -> list[Lanes]:
        """The M vectors of a node."""
        array = self.array(name)
        return [array.load(self.address(node, m)) for m in range(self.config.degree)]

    def put(self, name: str, node: Any, values: list[Lanes]) -> None:
        array = self.array(name)
        for m, value in enumerate(values):
            array.store(self.address(node, m), value)

    def increase(self, name: str, node: Any, values: list[Lanes]) -> None:
        """Add to the vectors of the first degrees, as many as there are values."""
        self.put(name, node, [old + new for old, new in zip(self.rows(name, node), values, strict=False)])

    def common(self, name: str) -> list[Lanes]:
        """The M vectors of an (M, R) array."""
        return self.rows(name, self.emit.index(0))

    def coefficients(self) -> list[Lanes]:
        return [self.emit.number(1.0), *self.common("c")]

    def at_head(self, outer: Any) -> Any:
        """Flat index of entry (outer, head) of an array whose last axis are the heads."""
        return self.emit.affine(outer, self.heads, self.head)

    def of_head(self, name: str, outer: Any) -> Lanes:
        """Entry (outer, head) in every lane."""
        return self.emit.spread(self.array(name).scalar(self.at_head(outer)))

    def levels(self, node: Any) -> list[Lanes | None]:
        """Levels 0..M of the state at a node."""
        if self.config.first:
            return [self.emit.number(1.0)] + [None] * self.config.degree
        return [self.level_zero(node), *self.rows("f", node)]

    def level_zero(self, node: Any) -> Lanes:
        return self.of_head("s", node) if self.config.carried and not self.config.first else self.emit.number(1.0)

    def fixed_part(self, node: Any | None) -> list[Lanes] | None:
        """What every step out of `node` adds to the projections at its end: - a_i with increments, the clock's share with time."""
        parts = [self.clock * tau for tau in self.common("tau")] if self.config.time and self.clock is not None else None
        if not self.config.increments or node is None:
            return parts
        own = self.rows("a", node)
        zero = self.emit.number(0.0)
        return [(zero if parts is None else parts[q]) - own[q] for q in range(self.config.degree)]

    def around(self, node: Any, pointer: str) -> Any:
        """The loop over the entries of a row of the CSR pattern."""
        array = self.array(pointer)
        return self.emit.loop(array.scalar(node), array.scalar(self.emit.builder.add(node, self.emit.index(1))))

    def totals(self, count: int | None = None) -> list[Total]:
        return [self.emit.total() for _ in range(self.config.degree if count is None else count)]

    def dot(self, left: list[Lanes], right: list[Lanes]) -> Any:
        """The sum of products over all degrees and lanes, a scalar."""
        total, *others = [x * y for x, y in zip(left, right, strict=True)]
        for other in others:
            total = total + other
        return self.emit.add_up(total)

    def add_to_coefficients(self, dc: list[Lanes]) -> None:
        if self.config.coefficient_gradient:
            self.increase("dc", self.block, dc)


def added(values: list[Lanes], parts: list[Lanes] | None) -> list[Lanes]:
    return values if parts is None else [value + part for value, part in zip(values, parts, strict=True)]


def forward(tile: Tile, i: Any) -> list[Lanes]:
    """Levels of the next state at node i: the sum over the steps i -> j of P_ij times the chain."""
    c, fixed, totals = tile.coefficients(), tile.fixed_part(i), tile.totals()
    with tile.around(i, "row_ptr") as edge:
        j = tile.array("col").scalar(edge)
        p, C = tile.of_head("p", edge), added(tile.rows("a", j), fixed)
        for total, level in zip(totals, horner(C, tile.levels(j), c), strict=True):
            total.add(p * level)
    return [total.value for total in totals]


def _forward(tile: Tile, i: Any) -> None:
    tile.put("f_new", i, forward(tile, i))


def _adjoint_out(tile: Tile, i: Any) -> None:
    """Over the steps out of node i, with increments: what they owe to its own projections, which C contains with a minus, and to P."""
    c, fixed, g, totals = tile.coefficients(), tile.fixed_part(i), tile.rows("g", i), tile.totals()
    with tile.around(i, "row_ptr") as edge:
        j = tile.array("col").scalar(edge)
        p, C, f = tile.of_head("p", edge), added(tile.rows("a", j), fixed), tile.levels(j)
        for total, dC in zip(totals, reverse(C, f, c, g)[0], strict=True):
            total.add(p * dC)
        if tile.config.probability_gradient:
            tile.array("dp").add_scalar(tile.at_head(edge), tile.dot(g, horner(C, f, c)))
    tile.put("da", i, [old - total.value for old, total in zip(tile.rows("da", i), totals, strict=True)])


def _adjoint_in(tile: Tile, j: Any) -> None:
    """Over the steps into node j: what they owe to its levels and projections, to coefficients and clock; without increments also to P."""
    config, M = tile.config, tile.config.degree
    c, f, own = tile.coefficients(), tile.levels(j), added(tile.rows("a", j), tile.fixed_part(None))
    dC, df, dc, weighted = tile.totals(M), tile.totals(M + 1), tile.totals(M + 1), tile.totals(M)
    with tile.around(j, "t_ptr") as entry:
        i, edge = tile.array("t_row").scalar(entry), tile.array("t_position").scalar(entry)
        p, g = tile.of_head("p", edge), tile.rows("g", i)
        if config.increments:
            C = [mine - other for mine, other in zip(own, tile.rows("a", i), strict=True)]
            _accumulate((dC, df, dc), reverse(C, f, c, g), p)
        else:  # the chain is the same for all steps into j, so their weighted gradients can be added up before it
            for total, g_m in zip(weighted, g, strict=True):
                total.add(p * g_m)
            if config.probability_gradient:
                tile.array("dp").add_scalar(tile.at_head(edge), tile.dot(g, horner(own, f, c)))
    if not config.increments:
        _accumulate((dC, df, dc), reverse(own, f, c, [total.value for total in weighted]), tile.emit.number(1.0))
    tile.increase("da", j, [total.value for total in dC])
    tile.add_to_coefficients([total.value for total in dc[1:]])
    if not config.first:  # f_0 is no variable
        tile.put("g_new", j, [total.value for total in df[1:]])
        _add_to_level_zero(tile, j, df[0].value)
    if config.time and tile.clock is not None:
        tile.increase("dtau", tile.block, [tile.clock * total.value for total in dC])


def _zero(tile: Tile, i: Any) -> None:
    """Level 0 of the next state at node i, for one head."""
    (total,) = tile.totals(1)
    with tile.around(i, "row_ptr") as edge:
        total.add(tile.of_head("p", edge) * tile.level_zero(tile.array("col").scalar(edge)))
    tile.array("s_new").set_scalar(tile.at_head(i), tile.emit.first(total.value))


def _adjoint_zero(tile: Tile, j: Any) -> None:
    """What level 0 of the next states owes to level 0 at node j and to P."""
    (total,) = tile.totals(1)
    s = tile.level_zero(j)
    with tile.around(j, "t_ptr") as entry:
        edge, gs = tile.array("t_position").scalar(entry), tile.of_head("gs", tile.array("t_row").scalar(entry))
        total.add(tile.of_head("p", edge) * gs)
        if tile.config.probability_gradient:
            tile.array("dp_zero").add_scalar(tile.at_head(edge), tile.emit.first(gs * s))
    tile.array("gs_new").set_scalar(tile.at_head(j), tile.emit.first(total.value))


def _finish(tile: Tile, i: Any) -> None:
    """The start factor: the chain with F_i for C and the node's own levels."""
    tile.put("out", i, horner(start(tile, i), tile.levels(i), tile.coefficients()))


def _adjoint_finish(tile: Tile, i: Any) -> None:
    dF, df, dc = reverse(start(tile, i), tile.levels(i), tile.coefficients(), tile.rows("g", i))
    tile.put("da", i, dF)
    tile.put("g_new", i, df[1:])
    _add_to_level_zero(tile, i, df[0])
    tile.add_to_coefficients(dc[1:])


def start(tile: Tile, i: Any) -> list[Lanes]:
    """F_i: with increments `a` is centred, and the projection of the centre (and the bias) comes back in here."""
    own = tile.rows("a", i)
    return added(own, tile.rows("offset", tile.array("batch").scalar(i))) if tile.config.increments else own


def _add_to_level_zero(tile: Tile, node: Any, gradient: Lanes) -> None:
    if tile.config.carried:
        tile.array("gs_new").add_scalar(tile.at_head(node), tile.emit.add_up(gradient))


def _accumulate(totals: Any, gradients: Any, p: Lanes) -> None:
    for kind, terms in zip(totals, gradients, strict=True):
        for total, term in zip(kind, terms, strict=True):
            if term is not None:
                total.add(p * term)


def tile_intrinsic(body: Any, names: str) -> Any:
    """An intrinsic for Numba kernels, called as ``(key, (node, lane, rank, head, heads, *names))``; `body` emits its instructions."""
    order = ("node", "lane", "rank", "head", "heads", *names.split())

    def define(typing_context: Any, key: Any, arguments: Any) -> Any:
        config = Config.parse(key.literal_value)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            given = {name: builder.extract_value(values[1], index) for index, name in enumerate(order)}
            body(Tile(config, builder, given), given["node"])
            return context.get_dummy_value()

        if len(arguments) != len(order):
            raise TypeError(f"this tile takes {order} (got {len(arguments)} values).")
        return types.void(key, arguments), generate

    return intrinsic(prefer_literal=True)(define)


forward_tile = tile_intrinsic(_forward, "clock a tau c p row_ptr col f s f_new")
zero_tile = tile_intrinsic(_zero, "p row_ptr col s s_new")
finish_tile = tile_intrinsic(_finish, "a offset batch c f s out")
adjoint_finish_tile = tile_intrinsic(_adjoint_finish, "block a offset batch c f s g g_new gs_new da dc")
adjoint_zero_tile = tile_intrinsic(_adjoint_zero, "p t_ptr t_row t_position s gs gs_new dp_zero")
adjoint_out_tile = tile_intrinsic(_adjoint_out, "clock a tau c p row_ptr col f s g da dp")
adjoint_in_tile = tile_intrinsic(_adjoint_in, "clock block a tau c p t_ptr t_row t_position f s g g_new gs_new da dc dtau dp")
