"""Vectors of neighbouring functionals in registers: a small vocabulary to write Numba kernels that are vectorised for certain.

Numba leaves vectorisation to LLVM, which gives up on loops over many arrays because they might overlap. Here a kernel's innermost
part is written in Python over `Lanes`, symbols for `width` functionals at a time; adding and multiplying them emits the vector
instructions. Every sum has a fixed order, so a result depends neither on threads nor on how LLVM sees the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_INDEX = ir.IntType(64)
_FUSE = ("contract",)  # a product may be fused with the sum it goes into (FMA); nothing may be reordered


class Lanes:
    """`width` numbers in a register."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fadd(self.value, other.value, flags=_FUSE))

    def __sub__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fsub(self.value, other.value, flags=_FUSE))

    def __mul__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fmul(self.value, other.value, flags=_FUSE))


class Total:
    """A sum kept in a register over the turns of a loop."""

    def __init__(self, emit: Emitter) -> None:
        self.emit = emit
        self.slot = cgutils.alloca_once_value(emit.builder, ir.Constant(emit.vector, None))
        emit.builder.store(ir.Constant(emit.vector, None), self.slot)

    def add(self, term: Lanes) -> None:
        self.emit.builder.store((self.value + term).value, self.slot)

    @property
    def value(self) -> Lanes:
        return Lanes(self.emit.builder, self.emit.builder.load(self.slot))


class Array:
    """A C-contiguous array given by its address, addressed by a flat index. `kind` is what one entry is."""

    def __init__(self, emit: Emitter, kind: Any, address: Any) -> None:
        self.emit = emit
        self.pointer = emit.builder.inttoptr(address, kind.as_pointer())

    def scalar(self, index: Any) -> Any:
        """One number."""
        return self.emit.builder.load(self.emit.builder.gep(self.pointer, [index]))

    def add_scalar(self, index: Any, value: Any) -> None:
        place = self.emit.builder.gep(self.pointer, [index])
        self.emit.builder.store(self.emit.builder.fadd(self.emit.builder.load(place), value), place)

    def set_scalar(self, index: Any, value: Any) -> None:
        self.emit.builder.store(value, self.emit.builder.gep(self.pointer, [index]))

    def load(self, index: Any) -> Lanes:
        """`width` numbers from `index` on."""
        return Lanes(self.emit.builder, self.emit.builder.load(self._place(index), align=self.emit.alignment))

    def store(self, index: Any, lanes: Lanes) -> None:
        self.emit.builder.store(lanes.value, self._place(index), align=self.emit.alignment)

    def _place(self, index: Any) -> Any:
        builder = self.emit.builder
        return builder.bitcast(builder.gep(self.pointer, [index]), self.emit.vector.as_pointer())


class Emitter:
    """Where instructions go: an LLVM builder, the floating type, and how many numbers one register holds."""

    def __init__(self, builder: Any, double: bool, width: int) -> None:
        self.builder, self.width = builder, width
        self.element = ir.DoubleType() if double else ir.FloatType()
        self.vector = ir.VectorType(self.element, width)
        self.alignment = 8 if double else 4

    def numbers(self, address: Any) -> Array:
        return Array(self, self.element, address)

    def indices(self, address: Any) -> Array:
        return Array(self, _INDEX, address)

    def index(self, value: int) -> Any:
        return ir.Constant(_INDEX, value)

    def affine(self, outer: Any, size: Any, inner: Any) -> Any:
        """outer * size + inner, for flat indices."""
        return self.builder.add(self.builder.mul(outer, size), inner)

    def number(self, value: float) -> Lanes:
        """The same constant in every lane."""
        return Lanes(self.builder, ir.Constant(self.vector, [ir.Constant(self.element, value)] * self.width))

    def spread(self, scalar: Any) -> Lanes:
        """The same number in every lane."""
        if scalar.type != self.element:
            scalar = self.builder.fptrunc(scalar, self.element)
        first = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.width), None)
        return Lanes(self.builder, self.builder.shuffle_vector(first, ir.Constant(self.vector, ir.Undefined), mask))

    def first(self, lanes: Lanes) -> Any:
        """The number in the first lane."""
        return self.builder.extract_element(lanes.value, ir.Constant(ir.IntType(32), 0))

    def add_up(self, lanes: Lanes) -> Any:
        """The sum of all lanes as a scalar, pairing halves: log2(width) additions in a fixed order."""
        value, width = lanes.value, self.width
        while width > 1:
            width //= 2
            undefined = ir.Constant(value.type, ir.Undefined)
            halves = [
                self.builder.shuffle_vector(
                    value, undefined, ir.Constant(ir.VectorType(ir.IntType(32), width), [ir.Constant(ir.IntType(32), i) for i in part])
                )
                for part in (range(width), range(width, 2 * width))
            ]
            value = self.builder.fadd(*halves, flags=_FUSE)
        return self.builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    def total(self) -> Total:
        return Total(self)

    @contextmanager
    def loop(self, start: Any, stop: Any) -> Iterator[Any]:
        """Emit the body of a loop; yields the running index."""
        with cgutils.for_range(self.builder, stop, start=start, intp=_INDEX) as loop:
            yield loop.index


@intrinsic  # type: ignore[untyped-decorator]
def clear(typing_context: Any, address: Any, size: Any) -> Any:
    """Set `size` bytes at an address to zero, in a kernel."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = builder.inttoptr(values[0], ir.IntType(8).as_pointer())
        cgutils.memset(builder, pointer, values[1], 0)
        return context.get_dummy_value()

    return types.void(address, size), generate
