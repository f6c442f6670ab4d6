r"""H, the truncated tensor algebra over :math:`\mathbb{R}^d`.

Storage, fixed here and assumed nowhere else: an element is a plain tensor whose *last* axis holds the levels 0..M one after
the other, level m flattened in C order, so that axis has ``1 + d + ... + d^M`` entries. All leading axes are batch axes.
Other files ask a :class:`TensorAlgebra` for levels, products and lifts; they never slice an element themselves.

Notation: section 2 of the paper; our ``degree`` is its M, our ``dim`` its d, ``lift`` its algebra lifting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from .checks import check_coefficients, check_fits, check_floating, check_integer


@dataclass(frozen=True)
class TensorAlgebra:
    r"""The algebra :math:`H = \bigoplus_{m=0}^{M} (\mathbb{R}^d)^{\otimes m}` with the truncated tensor product.

    .. math:: (u \cdot v)_m = \sum_{i=0}^{m} u_i \otimes v_{m-i}, \qquad 1_H = (1, 0, \dots, 0).

    Args:
        dim: the dimension d of the attributes.
        degree: the highest level M that is kept.

    Every method is batched over leading axes (which broadcast), differentiable, and runs in the type and on the device of
    its input.

    Shapes:
        - **elements:** :math:`(*, 1 + d + \dots + d^M)`
        - **vectors:** :math:`(*, d)`
    """

    dim: int
    degree: int

    def __post_init__(self) -> None:
        # plain ints: NumPy's would overflow in the powers below
        object.__setattr__(self, "dim", check_integer(self.dim, "dim", 1, " (the number of attributes)"))
        object.__setattr__(self, "degree", check_integer(self.degree, "degree", 0, " (the highest tensor level)"))
        digits = self.degree * math.log10(self.dim)
        check_fits(
            self.size if digits < 100 else 10**100,  # beyond, the number itself would be a burden
            f"one element of the tensor algebra of dim={self.dim} and degree={self.degree}",
            "Lower `degree` or `dim`, or use `low_rank_features`, whose cost does not grow with dim**degree.",
        )

    @cached_property
    def size(self) -> int:
        """Numbers in one element, ``1 + d + ... + d^M``."""
        return self.degree + 1 if self.dim == 1 else (self.dim ** (self.degree + 1) - 1) // (self.dim - 1)

    @cached_property
    def _level_sizes(self) -> list[int]:
        return [self.dim**m for m in range(self.degree + 1)]

    def _check_element(self, a: Tensor, name: str = "a") -> None:
        check_floating(a, name, f" whose last axis has {self.size} entries")
        if a.dim() < 1 or a.size(-1) != self.size:
            raise ValueError(
                f"`{name}` must be an element of {self}, whose last axis has {self.size} entries (got shape {tuple(a.shape)})."
            )

    def _check_vector(self, x: Tensor) -> None:
        check_floating(x, "x", f" whose last axis has {self.dim} entries")
        if x.dim() < 1 or x.size(-1) != self.dim:
            raise ValueError(f"`x` must hold vectors of dimension {self.dim} on its last axis (got shape {tuple(x.shape)}).")

    def levels(self, a: Tensor) -> tuple[Tensor, ...]:
        """Views of the levels 0..M of `a`; level m has shape (*, d^m)."""
        self._check_element(a)
        return torch.split(a, self._level_sizes, dim=-1)

    def one(self, *batch: int, dtype: torch.dtype | None = None, device: torch.device | str | None = None) -> Tensor:
        """The unit, of shape (*batch, size)."""
        unit = torch.zeros(*batch, self.size, dtype=dtype, device=device)
        unit[..., 0] = 1
        return unit

    def lift(self, x: Tensor, coefficients: Tensor | None = None) -> Tensor:
        r"""The algebra lifting :math:`\varphi(x) = (c_m x^{\otimes m})_m` with :math:`c_0 = 1`; by default :math:`c_m = 1/m!`."""
        self._check_vector(x)
        c = check_coefficients(coefficients, self.degree, x)
        power, levels = torch.ones_like(x[..., :1]), [torch.ones_like(x[..., :1])]
        for m in range(self.degree):
            power = _outer(power, x)
            levels.append(c[m] * power)
        return torch.cat(levels, dim=-1)

    def lift_mul(self, x: Tensor, a: Tensor, coefficients: Tensor | None = None) -> Tensor:
        r"""The product :math:`\varphi(x) \cdot a` by a Horner scheme that never forms :math:`\varphi(x)`.

        Level m is :math:`a_m + x \otimes (c_1 a_{m-1} + x \otimes (c_2 a_{m-2} + \dots))`.
        """
        self._check_vector(x)
        a_levels, c = self.levels(a), check_coefficients(coefficients, self.degree, x)
        batch = _common_batch(x, a, "x", "a")
        levels = []
        for m, a_m in enumerate(a_levels):
            inner = c[m - 1] * a_levels[0] if m else a_m
            for r in range(m - 1, -1, -1):
                lower = a_levels[m - r] if r == 0 else c[r - 1] * a_levels[m - r]
                inner = lower + _outer(x, inner)
            levels.append(inner.expand(*batch, inner.size(-1)))
        return torch.cat(levels, dim=-1)

    def mul(self, a: Tensor, b: Tensor) -> Tensor:
        r"""The truncated product :math:`a \cdot b`; not commutative."""
        self._check_element(b, "b")
        u, v = self.levels(a), self.levels(b)
        _common_batch(a, b, "a", "b")
        levels = []
        for m in range(self.degree + 1):
            level = u[0] * v[m]
            for i in range(1, m + 1):
                level = level + _outer(u[i], v[m - i])
            levels.append(level)
        return torch.cat(levels, dim=-1)

    def exp(self, x: Tensor) -> Tensor:
        r"""The tensor exponential :math:`\sum_m x^{\otimes m} / m!` of vectors (*, d), or of whole elements (*, size).

        For a vector this is the signature of a straight line; for elements it undoes :meth:`log`.
        """
        if isinstance(x, Tensor) and x.dim() and x.size(-1) == self.size != self.dim:
            scalar, nilpotent = self._split_scalar(x)
            result = self.one(dtype=x.dtype, device=x.device)
            for m in range(self.degree, 0, -1):
                result = self.one(dtype=x.dtype, device=x.device) + self.mul(nilpotent, result) / m
            return torch.exp(scalar) * result.expand_as(x)
        return self.lift(x)

    def log(self, a: Tensor) -> Tensor:
        r"""The logarithm :math:`\sum_{m \ge 1} (-1)^{m+1} (a - 1)^m / m`; the scalar level must be positive, else the result is NaN."""
        self._check_element(a)
        scalar = a[..., :1]
        _, nilpotent = self._split_scalar(a / scalar)
        result = torch.zeros_like(a)
        for m in range(self.degree, 0, -1):
            result = self.one(dtype=a.dtype, device=a.device) / m - self.mul(nilpotent, result)
        return self.mul(nilpotent, result) + torch.log(scalar) * self.one(dtype=a.dtype, device=a.device)

    def inverse(self, a: Tensor) -> Tensor:
        r"""The inverse under :meth:`mul`, a finite Neumann series; the scalar level must not be 0, else infinity comes out."""
        self._check_element(a)
        scalar = a[..., :1]
        _, nilpotent = self._split_scalar(a / scalar)
        one = self.one(dtype=a.dtype, device=a.device)
        result = one.expand_as(a)
        for _ in range(self.degree):
            result = one - self.mul(nilpotent, result)
        return result / scalar

    def inner(self, a: Tensor, b: Tensor) -> Tensor:
        """The inner product of H, levels orthogonal; shape (*)."""
        self._check_element(a)
        self._check_element(b, "b")
        _common_batch(a, b, "a", "b")
        return (a * b).sum(-1)

    def norm(self, a: Tensor) -> Tensor:
        """The Hilbert norm ``sqrt(inner(a, a))``; shape (*)."""
        self._check_element(a)
        return torch.linalg.vector_norm(a, dim=-1)

    def _split_scalar(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """Level 0, and the rest of `a` with level 0 set to zero (nilpotent: its power M+1 vanishes)."""
        return a[..., :1], torch.cat([torch.zeros_like(a[..., :1]), a[..., 1:]], dim=-1)


def _common_batch(a: Tensor, b: Tensor, first: str, second: str) -> torch.Size:
    """The shape that the leading axes of both broadcast to."""
    try:
        batch: torch.Size = torch.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except RuntimeError as error:
        raise ValueError(
            f"the leading axes of `{first}` and `{second}` must broadcast (got shapes {tuple(a.shape)} and {tuple(b.shape)})."
        ) from error
    return batch


def _outer(a: Tensor, b: Tensor) -> Tensor:
    """Tensor product of flat levels, (*, p) and (*, q) to (*, p q) in C order."""
    return (a.unsqueeze(-1) * b.unsqueeze(-2)).flatten(-2)
