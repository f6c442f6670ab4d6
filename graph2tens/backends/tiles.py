"""The innermost part of the fused kernels: one node and one register of functionals, all degrees at once.

Each function here emits the instructions for a `Config`, which is fixed when a kernel is compiled. Between two kernels of different
degree or variant only the chains of `chain.py` and the terms of C differ.

Names: ``a`` (n, M, R) projections, ``tau`` (M, R) projections of the time coordinate, ``c`` (M, R) coefficients, ``p`` (E, H)
probabilities, ``f`` (n, M, R) levels 1..M of a state, ``s`` (n, H) its level 0, ``g`` and ``gs`` their gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numba import types
from numba.extending import intrinsic

from .chain import horner, reverse
from .lanes import Emitter, Lanes, Total


@dataclass(frozen=True)
class Config:
    """What a kernel is compiled for."""

    degree: int
    width: int  # functionals in one register; divides the functionals of a head
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

    @classmethod
    def parse(cls, key: str) -> Config:
        degree, width, *flags = map(int, key.split())
        return cls(degree, width, *map(bool, flags))


class Tile:
    """Addresses of one tile: the functionals lane, ..., lane + width - 1 of head `head`."""

    def __init__(self, config: Config, emit: Emitter, arrays: dict[str, Any], scalars: dict[str, Any]) -> None:
        self.config, self.emit = config, emit
        self.arrays, self.lane, self.rank = arrays, scalars["lane"], scalars["rank"]
        self.heads, self.head = scalars["heads"], scalars["head"]
        self.clock = emit.spread(scalars["clock"]) if "clock" in scalars else None

    def address(self, node: Any, m: int) -> Any:
        """Flat index of entry (node, m, lane) of an (n, M, R) array."""
        builder, M = self.emit.builder, self.config.degree
        return self.emit.affine(builder.add(builder.mul(node, self.emit.index(M)), self.emit.index(m)), self.rank, self.lane)

    def rows(self, name: str, node: Any) -> list[Lanes]:
        """The M vectors of a node."""
        return [self.arrays[name].load(self.address(node, m)) for m in range(self.config.degree)]

    def put(self, name: str, node: Any, values: list[Lanes]) -> None:
        for m, value in enumerate(values):
            self.arrays[name].store(self.address(node, m), value)

    def increase(self, name: str, node: Any, values: list[Lanes]) -> None:
        self.put(name, node, [old + new for old, new in zip(self.rows(name, node), values, strict=True)])

    def increase_first_of(self, name: str, node: Any, value: Lanes) -> None:
        """Add to the vector of degree 1 alone."""
        address = self.address(node, 0)
        self.arrays[name].store(address, self.arrays[name].load(address) + value)

    def increase_first(self, name: str, value: Lanes) -> None:
        """The same for an (M, R) array."""
        self.increase_first_of(name, self.emit.index(0), value)

    def common(self, name: str) -> list[Lanes]:
        """The M vectors of an (M, R) array."""
        return self.rows(name, self.emit.index(0))

    def coefficients(self) -> list[Lanes]:
        return [self.emit.number(1.0), *self.common("c")]

    def at_head(self, outer: Any) -> Any:
        """Flat index of entry (outer, head) of an array whose last axis are the heads."""
        return self.emit.affine(outer, self.heads, self.head)

    def probability(self, edge: Any) -> Lanes:
        return self.emit.spread(self.arrays["p"].scalar(self.at_head(edge)))

    def levels(self, node: Any) -> list[Lanes | None]:
        """Levels 0..M of the state at a node."""
        if self.config.first:
            return [self.emit.number(1.0)] + [None] * self.config.degree
        zero = self.emit.spread(self.arrays["s"].scalar(self.at_head(node))) if self.config.carried else self.emit.number(1.0)
        return [zero, *self.rows("f", node)]

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
        array = self.arrays[pointer]
        return self.emit.loop(array.scalar(node), array.scalar(self.emit.builder.add(node, self.emit.index(1))))

    def totals(self) -> list[Total]:
        return [self.emit.total() for _ in range(self.config.degree)]

    def add_scalar(self, name: str, index: Any, value: Any) -> None:
        array = self.arrays[name]
        array.set_scalar(index, self.emit.builder.fadd(array.scalar(index), value))


def _added(values: list[Lanes], parts: list[Lanes] | None) -> list[Lanes]:
    return values if parts is None else [value + part for value, part in zip(values, parts, strict=True)]


def forward(tile: Tile, i: Any) -> list[Lanes]:
    """Levels of the next state at node i: the sum over the steps i -> j of P_ij times the chain."""
    c, fixed, totals = tile.coefficients(), tile.fixed_part(i), tile.totals()
    with tile.around(i, "row_ptr") as edge:
        j = tile.arrays["col"].scalar(edge)
        p, C = tile.probability(edge), _added(tile.rows("a", j), fixed)
        for total, level in zip(totals, horner(C, tile.levels(j), c), strict=True):
            total.add(p * level)
    return [total.value for total in totals]


def _forward(tile: Tile, i: Any) -> None:
    tile.put("f_new", i, forward(tile, i))


def _adjoint_out(tile: Tile, i: Any) -> None:
    """Over the steps out of node i, with increments: what they owe to its own projections, which C contains with a minus, and to P."""
    c, fixed, g, totals = tile.coefficients(), tile.fixed_part(i), tile.rows("g", i), tile.totals()
    with tile.around(i, "row_ptr") as edge:
        j = tile.arrays["col"].scalar(edge)
        p, C, f = tile.probability(edge), _added(tile.rows("a", j), fixed), tile.levels(j)
        for total, dC in zip(totals, reverse(C, f, c, g)[0], strict=True):
            total.add(p * dC)
        if tile.config.probability_gradient:
            tile.add_scalar("dp", tile.at_head(edge), dot(tile, g, horner(C, f, c)))
    tile.put("da", i, [old - total.value for old, total in zip(tile.rows("da", i), totals, strict=True)])


def _adjoint_in(tile: Tile, j: Any) -> None:
    """Over the steps into node j: what they owe to its levels and projections, to coefficients and clock; without increments also to P."""
    emit, arrays, config = tile.emit, tile.arrays, tile.config
    M = config.degree
    c, f, own = tile.coefficients(), tile.levels(j), _added(tile.rows("a", j), tile.fixed_part(None))
    dC, df, dc = ([emit.total() for _ in range(count)] for count in (M, M + 1, M + 1))
    weighted = tile.totals()
    with tile.around(j, "t_ptr") as entry:
        i, edge = arrays["t_row"].scalar(entry), arrays["t_position"].scalar(entry)
        p, g = tile.probability(edge), tile.rows("g", i)
        if config.increments:
            C = [mine - other for mine, other in zip(own, tile.rows("a", i), strict=True)]
            _accumulate((dC, df, dc), reverse(C, f, c, g), p)
        else:  # the chain is the same for all steps into j, so their weighted gradients can be added up before it
            for total, g_m in zip(weighted, g, strict=True):
                total.add(p * g_m)
            if config.probability_gradient:
                tile.add_scalar("dp", tile.at_head(edge), dot(tile, g, horner(own, f, c)))
    if not config.increments:
        _accumulate((dC, df, dc), reverse(own, f, c, [total.value for total in weighted]), emit.number(1.0))
    tile.increase("da", j, [total.value for total in dC])
    add_to_coefficients(tile, [total.value for total in dc[1:]])
    if not config.first:  # f_0 is no variable
        tile.put("g_new", j, [total.value for total in df[1:]])
        _add_to_level_zero(tile, j, df[0].value)
    if config.time and tile.clock is not None:
        tile.increase("dtau", emit.index(0), [tile.clock * total.value for total in dC])


def dot(tile: Tile, left: list[Lanes], right: list[Lanes]) -> Any:
    """The sum of products over all degrees and lanes, a scalar."""
    total, *others = [x * y for x, y in zip(left, right, strict=True)]
    for other in others:
        total = total + other
    return tile.emit.add_up(total)


def _finish(tile: Tile, i: Any) -> None:
    """The start factor: the chain with F_i for C and the node's own levels."""
    tile.put("out", i, horner(start(tile, i), tile.levels(i), tile.coefficients()))


def _adjoint_finish(tile: Tile, i: Any) -> None:
    dF, df, dc = reverse(start(tile, i), tile.levels(i), tile.coefficients(), tile.rows("g", i))
    tile.put("da", i, dF)
    tile.put("g_new", i, df[1:])
    _add_to_level_zero(tile, i, df[0])
    add_to_coefficients(tile, dc[1:])


def start(tile: Tile, i: Any) -> list[Lanes]:
    """F_i: with increments `a` is centred, and the projection of the centre (and the bias) comes back in here."""
    own = tile.rows("a", i)
    return _added(own, tile.rows("offset", tile.arrays["batch"].scalar(i))) if tile.config.increments else own


def _add_to_level_zero(tile: Tile, node: Any, gradient: Lanes) -> None:
    if tile.config.carried:
        tile.add_scalar("gs_new", tile.at_head(node), tile.emit.add_up(gradient))


def add_to_coefficients(tile: Tile, dc: list[Lanes]) -> None:
    if tile.config.coefficient_gradient:
        tile.increase("dc", tile.emit.index(0), dc)


def _accumulate(totals: Any, gradients: Any, p: Lanes) -> None:
    for kind, terms in zip(totals, gradients, strict=True):
        for total, term in zip(kind, terms, strict=True):
            if term is not None:
                total.add(p * term)


def tile_intrinsic(body: Any, scalars: tuple[str, ...], arrays: tuple[str, ...]) -> Any:
    """An intrinsic ``(key, node, *scalars, *arrays)`` for Numba kernels; `body` emits its instructions."""
    names = ("node", *scalars, *arrays)

    def define(typing_context: Any, key: Any, arguments: Any) -> Any:
        config = Config.parse(key.literal_value)
        if any(isinstance(kind, types.Array) and kind.layout != "C" for kind in arguments.types):
            raise TypeError(f"tiles address arrays by a flat index and need them contiguous (got {arguments}).")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = signature.args[1].types
            parts = [builder.extract_value(values[1], index) for index in range(len(kinds))]
            element = context.get_data_type(kinds[names.index(arrays[0])].dtype)
            emit = Emitter(context, builder, element, config.width)
            given = dict(zip(names, zip(kinds, parts, strict=True), strict=True))
            tile = Tile(
                config,
                emit,
                {name: emit.array(*given[name]) for name in arrays},
                {name: given[name][1] for name in scalars},
            )
            body(tile, given["node"][1])
            return context.get_dummy_value()

        return types.void(key, arguments), generate

    return intrinsic(prefer_literal=True)(define)


WHERE = ("lane", "rank", "head", "heads")
forward_tile = tile_intrinsic(_forward, (*WHERE, "clock"), ("a", "tau", "c", "p", "row_ptr", "col", "f", "s", "f_new"))
adjoint_out_tile = tile_intrinsic(_adjoint_out, (*WHERE, "clock"), ("a", "tau", "c", "p", "row_ptr", "col", "f", "s", "g", "da", "dp"))
adjoint_in_tile = tile_intrinsic(
    _adjoint_in,
    (*WHERE, "clock"),
    ("a", "tau", "c", "p", "t_ptr", "t_row", "t_position", "f", "s", "g", "g_new", "gs_new", "da", "dc", "dtau", "dp"),
)
finish_tile = tile_intrinsic(_finish, WHERE, ("a", "offset", "batch", "c", "f", "s", "out"))
adjoint_finish_tile = tile_intrinsic(_adjoint_finish, WHERE, ("a", "offset", "batch", "c", "f", "s", "g", "g_new", "gs_new", "da", "dc"))
