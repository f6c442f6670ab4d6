r"""Matrices over H, sparse in the graph: tensor adjacency, tensor transition and the hypo-elliptic Laplacian.

They multiply each other and vectors over H as ordinary matrices do, with the (not commutative) product of H for the scalar one.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import torch
from torch import Tensor

from .algebra import TensorAlgebra
from .checks import check_attribute_values, check_coefficients, check_edges, check_fits, check_floating, check_integer, check_weight
from .sampling import expand_rows
from .sequences import Variant
from .walks import RandomWalk, check_one_head, row_pointer


@dataclass(frozen=True, eq=False)
class TensorMatrix:
    """A sparse n x n matrix with entries in H.

    Attributes:
        algebra: H.
        num_nodes: n.
        index: (2, E) row and column of each stored entry, sorted, no pair twice.
        values: (E, algebra.size), the entries.
    """

    algebra: TensorAlgebra
    num_nodes: int
    index: Tensor
    values: Tensor

    def __matmul__(self, other: TensorMatrix | Tensor) -> TensorMatrix | Tensor:
        """Times a matrix over H, or times a column vector over H given as a tensor (n, size)."""
        if isinstance(other, TensorMatrix):
            return self._matmat(other)
        self._check_vector(other)
        row, col = self.index
        return other.new_zeros(self.num_nodes, self.algebra.size).index_add(0, row, self.algebra.mul(self.values, other[col]))

    def __rmatmul__(self, vector: Tensor) -> Tensor:
        return self.left_apply(vector)

    def left_apply(self, vector: Tensor) -> Tensor:
        """A row vector over H, (n, size), times this matrix: new factors come in on the right."""
        self._check_vector(vector)
        row, col = self.index
        return vector.new_zeros(self.num_nodes, self.algebra.size).index_add(0, col, self.algebra.mul(vector[row], self.values))

    def __add__(self, other: TensorMatrix) -> TensorMatrix:
        self._check_matrix(other)
        return _summed(self, torch.cat([self.index, other.index], dim=1), torch.cat([self.values, other.values]))

    def __neg__(self) -> TensorMatrix:
        return TensorMatrix(self.algebra, self.num_nodes, self.index, -self.values)

    def __sub__(self, other: TensorMatrix) -> TensorMatrix:
        return self + (-other)

    def __pow__(self, exponent: int) -> TensorMatrix:
        check_integer(exponent, "exponent", 0)
        power = identity(self.algebra, self.num_nodes, like=self.values)
        for _ in range(exponent):
            power = power._matmat(self)
        return power

    def __getitem__(self, position: tuple[int, int]) -> Tensor:
        """Entry (i, j), zero where none is stored; shape (size,)."""
        i, j = (operator.index(index) for index in position)
        if not (0 <= i < self.num_nodes and 0 <= j < self.num_nodes):
            raise IndexError(f"entry {position} lies outside a matrix of {self.num_nodes} nodes.")
        return self.values[(self.index[0] == i) & (self.index[1] == j)].sum(0)

    def _matmat(self, other: TensorMatrix) -> TensorMatrix:
        self._check_matrix(other)
        pointer = row_pointer(torch.bincount(other.index[0], minlength=self.num_nodes))
        mine, theirs = expand_rows(pointer, self.index[1])
        check_fits(mine.numel() * self.algebra.size, "this product of matrices over H", "Apply the matrices to a vector one by one.")
        values = self.algebra.mul(self.values[mine], other.values[theirs])
        return _summed(self, torch.stack([self.index[0][mine], other.index[1][theirs]]), values)

    def _check_vector(self, vector: Tensor) -> None:
        if not isinstance(vector, Tensor) or tuple(vector.shape) != (self.num_nodes, self.algebra.size):
            got = tuple(vector.shape) if isinstance(vector, Tensor) else type(vector).__name__
            raise ValueError(f"a vector over H must have shape ({self.num_nodes}, {self.algebra.size}) (got {got}).")
        if (vector.dtype, vector.device) != (self.values.dtype, self.values.device):
            raise ValueError(
                f"a vector over H must be {self.values.dtype} on {self.values.device}, as the matrix is "
                f"(got {vector.dtype} on {vector.device})."
            )

    def _check_matrix(self, other: TensorMatrix) -> None:
        if not isinstance(other, TensorMatrix):
            raise TypeError(f"expected a TensorMatrix (got {type(other).__name__}).")
        if (other.algebra, other.num_nodes) != (self.algebra, self.num_nodes):
            raise ValueError(
                f"matrices over H must share algebra and nodes (got {self.algebra} with {self.num_nodes} nodes and "
                f"{other.algebra} with {other.num_nodes})."
            )


def identity(algebra: TensorAlgebra, num_nodes: int, like: Tensor) -> TensorMatrix:
    """The identity over H, with the type and device of `like`."""
    nodes = torch.arange(num_nodes, device=like.device)
    return TensorMatrix(algebra, num_nodes, torch.stack([nodes, nodes]), algebra.one(num_nodes, dtype=like.dtype, device=like.device))


def tensor_adjacency(
    x: Tensor,
    edge_index: Tensor,
    edge_weight: Tensor | None = None,
    *,
    degree: int,
    increments: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
    step: int = 1,
) -> TensorMatrix:
    r"""The tensor adjacency :math:`\tilde A_{ij} = w_{ij} \varphi(x_j - x_i)`, or :math:`w_{ij} \varphi(x_j)` without increments.

    :math:`(\tilde A^k)_{ij}` is the sum over walks from i to j of their weight times what they saw. Unlike a walk it is neither
    normalised nor completed at nodes without out-edges. Weights may have any sign. `step` as in :func:`tensor_transition`.
    """
    check_attributes(x)
    check_edges(edge_index, x.size(0))
    weight = check_weight(edge_weight, edge_index, signed=True).to(x.dtype)
    variant = Variant(degree, increments, False, time, coefficients)
    return _lifted(x, edge_index[0].long(), edge_index[1].long(), weight, variant, check_integer(step, "step", 1))


def tensor_transition(
    x: Tensor,
    walk: RandomWalk,
    *,
    degree: int,
    increments: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
    step: int = 1,
) -> TensorMatrix:
    r"""The tensor transition matrix :math:`\tilde P_{ij} = P_{ij} \varphi(x_j - x_i)`, or :math:`P_{ij} \varphi(x_j)` without increments.

    `step` is the time t of the step; it matters only for time without increments, where every step has its own operator.
    """
    check_attributes(x, walk)
    check_one_head(walk)
    variant = Variant(degree, increments, False, time, coefficients)
    return _lifted(x, walk.row, walk.col, walk.probabilities.to(x.dtype), variant, check_integer(step, "step", 1))


def hypoelliptic_laplacian(
    x: Tensor,
    walk: RandomWalk,
    *,
    degree: int,
    increments: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
    step: int = 1,
) -> TensorMatrix:
    r"""The hypo-elliptic Laplacian :math:`\tilde L = I - \tilde P`, the generator of :math:`v_k - v_{k-1} = -\tilde L v_{k-1}`.

    `step` as in :func:`tensor_transition`.
    """
    transition = tensor_transition(x, walk, degree=degree, increments=increments, time=time, coefficients=coefficients, step=step)
    return identity(transition.algebra, transition.num_nodes, like=transition.values) - transition


def check_attributes(x: Tensor, walk: RandomWalk | None = None) -> None:
    """Attributes must be finite floats (n, d), and as many as the walk has nodes."""
    check_floating(x, "x", " of shape (nodes, attributes)")
    if x.dim() != 2 or x.size(1) < 1:
        raise ValueError(
            f"`x` must have shape (nodes, attributes) with at least one attribute (got {tuple(x.shape)}). "
            "Give a single attribute as x.unsqueeze(1)."
        )
    if walk is not None and not isinstance(walk, RandomWalk):
        raise TypeError(f"`walk` must be a RandomWalk, as `random_walk(edge_index, num_nodes=...)` gives (got {type(walk).__name__}).")
    if walk is not None and x.size(0) != walk.num_nodes:
        raise ValueError(f"`x` must have one row for each of the walk's {walk.num_nodes} nodes (got {x.size(0)} rows).")
    if walk is not None and x.device != walk.device:
        raise ValueError(f"`x` and `walk` must be on one device (got {x.device} and {walk.device}). Move it with walk.to(x.device).")
    check_attribute_values(x)


def _lifted(x: Tensor, row: Tensor, col: Tensor, weight: Tensor, variant: Variant, t: int) -> TensorMatrix:
    algebra = variant.algebra(x.size(1))
    check_fits(
        row.numel() * algebra.size,
        f"the lifted entries of {row.numel():,} edges",
        "Lower `degree`, or use `node_features`, which holds no entry longer than one step.",
        x.element_size(),
    )
    values = weight.unsqueeze(1) * algebra.lift(
        variant.step(x[row], x[col], t), check_coefficients(variant.coefficients, variant.degree, x)
    )
    return _summed(TensorMatrix(algebra, x.size(0), torch.stack([row, col]), values), torch.stack([row, col]), values)


def _summed(like: TensorMatrix, index: Tensor, values: Tensor) -> TensorMatrix:
    """Entries of the same position added, positions sorted."""
    n = like.num_nodes
    key, position = torch.unique(index[0] * n + index[1], return_inverse=True)
    summed = values.new_zeros(key.numel(), like.algebra.size).index_add(0, position, values)
    return TensorMatrix(like.algebra, n, torch.stack([key.div(n, rounding_mode="floor"), key.remainder(n)]), summed)
