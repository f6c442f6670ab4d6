"""What the loops do with neighbouring functionals: a vocabulary of vectors, each word one loop over few arrays, which LLVM vectorises.

LLVM makes words part of their caller (``forceinline``): a call that passes arrays costs more than such a loop. Nothing may be reordered or
fused (no `fastmath`; fused multiply-add made no measurable difference), so IEEE arithmetic fixes every bit on every processor.
"""

from __future__ import annotations

from numba import njit

OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
word = njit(**OPTIONS, forceinline=True)
loop = njit(**OPTIONS)


@word
def copy(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] = x[r]


@word
def set_to(y, value):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] = value


@word
def add(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] += x[r]


@word
def subtract(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] -= x[r]


@word
def subtract_from(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    """y = x - y."""
    for r in range(y.size):
        y[r] = x[r] - y[r]


@word
def set_scaled(y, weight, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] = weight * x[r]


@word
def add_scaled(y, weight, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] += weight * x[r]


@word
def add_two_scaled(y, weight, x, other, z):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The same bits as `add_scaled` twice, with half the traffic of y."""
    for r in range(y.size):
        y[r] = (y[r] + weight * x[r]) + other * z[r]


@word
def add_product(y, x, z):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] += x[r] * z[r]


@word
def set_product(y, x, z):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] = x[r] * z[r]


@word
def multiply(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] *= x[r]


@word
def add_product_and_multiply(y, x, z, w):  # type: ignore[no-untyped-def]  # pragma: no cover
    """y += x z, then z *= w: a step of the chain rule."""
    for r in range(y.size):
        y[r] += x[r] * z[r]
        z[r] *= w[r]


@word
def set_sum(y, x, z):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] = x[r] + z[r]


@word
def set_increment(y, there, here, clock):  # type: ignore[no-untyped-def]  # pragma: no cover
    for r in range(y.size):
        y[r] = (there[r] - here[r]) + clock[r]


@word
def set_bracket(y, c, f, C, inner):  # type: ignore[no-untyped-def]  # pragma: no cover
    """y = c f + C inner, one bracket of a Horner chain."""
    for r in range(y.size):
        y[r] = c[r] * f[r] + C[r] * inner[r]


@word
def set_innermost(y, c, f, C, highest, s):  # type: ignore[no-untyped-def]  # pragma: no cover
    """y = c f + C highest s, the first bracket from inside."""
    for r in range(y.size):
        y[r] = c[r] * f[r] + C[r] * (highest[r] * s[r])


@word
def set_second_moment(y, xz, x, z, u, v):  # type: ignore[no-untyped-def]  # pragma: no cover
    """y = (xz - x z) + u v: the mean of a product, from a covariance and two means."""
    for r in range(y.size):
        y[r] = (xz[r] - x[r] * z[r]) + u[r] * v[r]


@word
def fold_bracket(y, c, f, C):  # type: ignore[no-untyped-def]  # pragma: no cover
    """y = c f + C y. (`set_bracket` with y for `inner` would fail the test for overlap that guards the vectorised loop.)"""
    for r in range(y.size):
        y[r] = c[r] * f[r] + C[r] * y[r]


@word
def total(x):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The sum, by four running sums: one alone waits for itself at every turn. The order is the same on every processor."""
    s0 = s1 = s2 = s3 = x.dtype.type(0)
    whole = x.size // 4 * 4
    for r in range(0, whole, 4):
        s0 += x[r]
        s1 += x[r + 1]
        s2 += x[r + 2]
        s3 += x[r + 3]
    for r in range(whole, x.size):
        s0 += x[r]
    return (s0 + s1) + (s2 + s3)


@loop
def fill(y, value):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Whole arrays of any shape; an assignment to ``y[:]`` walks through their indices one by one."""
    set_to(y.reshape(y.size), value)


@loop
def assign(y, x):  # type: ignore[no-untyped-def]  # pragma: no cover
    copy(y.reshape(y.size), x.reshape(x.size))
