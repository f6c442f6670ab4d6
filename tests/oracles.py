"""What the package must compute, by listing every walk: slow, obvious, pure NumPy, and independent of the package.

Nothing of graph2tens may be imported here (test_architecture.py enforces it), or a function would be proved by itself.
An element of the tensor algebra is the list of its levels 0..M, level m flattened in C order, with walks on the first axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Levels = list[Array]


def transition_matrix(n: int, edges: ArrayLike, weights: ArrayLike | None = None, laziness: float = 0.0) -> Array:
    """P, (n, n): the walker steps from edges[e][0] to edges[e][1]; parallel edges add, a node without out-edges stays put."""
    A = np.zeros((n, n))
    pairs = np.asarray(edges, dtype=int).reshape(-1, 2)
    for (i, j), w in zip(pairs, np.ones(len(pairs)) if weights is None else np.asarray(weights, dtype=float), strict=True):
        A[i, j] += w
    P = np.zeros((n, n))
    for i in range(n):
        if A[i].sum() == 0:
            P[i, i] = 1
        else:
            P[i] = A[i] / A[i].sum()
    return laziness * np.eye(n) + (1 - laziness) * P


def all_walks(P: Array, length: int) -> tuple[NDArray[np.int64], Array]:
    """Every walk of `length` steps with non-zero weight, (W, length + 1), and the product of P along it, (W,)."""
    walks: list[tuple[list[int], float]] = [([i], 1.0) for i in range(len(P))]
    for _ in range(length):
        walks = [([*path, j], weight * P[path[-1], j]) for path, weight in walks for j in range(len(P)) if P[path[-1], j] != 0]
    nodes = np.array([path for path, _ in walks], dtype=np.int64).reshape(len(walks), length + 1)
    return nodes, np.array([weight for _, weight in walks], dtype=float)


def factors(points: Array, *, increments: bool = True, zero_start: bool = True, time: bool = False) -> list[Array]:
    """The vectors that are lifted and multiplied, from left to right, for sequences `points` (W, k + 1, d)."""
    if time:
        clock = np.broadcast_to(np.arange(points.shape[1], dtype=float)[None, :, None], (*points.shape[:2], 1))
        points = np.concatenate([clock, points], axis=2)
    x = [points[:, t] for t in range(points.shape[1])]
    if not increments:
        return x
    steps = [x[t] - x[t - 1] for t in range(1, len(x))]
    return [x[0], *steps] if zero_start else steps


def outer(a: Array, b: Array) -> Array:
    """(W, p) and (W, q) to (W, p q), C order."""
    return np.einsum("wp,wq->wpq", a, b).reshape(len(a), a.shape[1] * b.shape[1])


def product(a: Levels, b: Levels) -> Levels:
    """(a . b)_m = sum_i a_i (x) b_{m-i}."""
    return [sum((outer(a[i], b[m - i]) for i in range(m + 1)), np.zeros(1)) for m in range(len(a))]


def lift(x: Array, degree: int, coefficients: ArrayLike | None = None) -> Levels:
    """(c_m x^(x)m)_m with c_0 = 1; `coefficients` are c_1..c_M, by default 1/m!."""
    c = [1 / math.factorial(m) for m in range(1, degree + 1)] if coefficients is None else list(np.asarray(coefficients))
    power, levels = np.ones((len(x), 1)), [np.ones((len(x), 1))]
    for m in range(degree):
        power = outer(power, x)
        levels.append(c[m] * power)
    return levels


def sequence_levels(points: Array, degree: int, coefficients: ArrayLike | None = None, **variant: bool) -> Levels:
    """The ordered product of the lifted factors of sequences (W, k + 1, d), multiplied from left to right."""
    dim = points.shape[2] + bool(variant.get("time", False))
    total: Levels = [np.ones((len(points), 1)), *(np.zeros((len(points), dim**m)) for m in range(1, degree + 1))]
    for factor in factors(points, **variant):
        total = product(total, lift(factor, degree, coefficients))
    return total


def _grouped(levels: Levels, weight: Array, group: NDArray[np.int64], n: int) -> Levels:
    sums = []
    for level in levels:
        total = np.zeros((n, level.shape[1]))
        np.add.at(total, group, weight[:, None] * level)
        sums.append(total)
    return sums


def node_levels(x: Array, P: Array, length: int, degree: int, coefficients: ArrayLike | None = None, **variant: bool) -> Levels:
    """E[features of the walk | B_0 = i], level by level, each (n, dim^m)."""
    nodes, weight = all_walks(P, length)
    return _grouped(sequence_levels(x[nodes], degree, coefficients, **variant), weight, nodes[:, 0], len(P))


def node_features(x: Array, P: Array, length: int, degree: int, coefficients: ArrayLike | None = None, **variant: bool) -> Array:
    """Phi, (n, 1 + dim + .. + dim^M)."""
    return np.concatenate(node_levels(x, P, length, degree, coefficients, **variant), axis=1)


def graph_features(x: Array, P: Array, length: int, degree: int, coefficients: ArrayLike | None = None, **variant: bool) -> Array:
    """Psi, (1 + dim + .. + dim^M,), of a single graph."""
    return node_features(x, P, length, degree, coefficients, **variant).mean(0)


def forward_features(x: Array, P: Array, length: int, degree: int, coefficients: ArrayLike | None = None, **variant: bool) -> Array:
    """P[B_k = j] E[features | B_k = j] under a uniform start, (n, 1 + dim + .. + dim^M)."""
    nodes, weight = all_walks(P, length)
    levels = sequence_levels(x[nodes], degree, coefficients, **variant)
    return np.concatenate(_grouped(levels, weight / len(P), nodes[:, -1], len(P)), axis=1)


def functional(components: Array, m: int) -> Array:
    """ell_m = u_{M-m+1} (x) .. (x) u_M of one functional's components (M, dim), flat (dim^m,): the LAST m components."""
    ell = np.ones((1, 1))
    for u in components[len(components) - m :]:
        ell = outer(ell, u[None])
    return ell[0]


def low_rank_features(
    x: Array,
    P: Array,
    components: Array,
    length: int,
    *,
    coefficients: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    **variant: bool,
) -> Array:
    """<ell^r_m, E[features of the walk | B_0 = i]>, (n, M, R), m = 1..M, from dense tensors.

    Args:
        P: (n, n), or (n, n, H) for H heads, of which head h owns the functionals h R/H .. (h + 1) R/H - 1. Rows need not sum to 1.
        components: (M, dim, R), dim = d, or d + 1 with time.
        coefficients: (M,) or one column a functional, (M, R).
        bias: (M, R), added to every projection <u, f>: the same as a further attribute that is 1 at every node.
    """
    degree, _, ranks = components.shape
    heads = P[:, :, None] if P.ndim == 2 else P
    per_head = ranks // heads.shape[2]
    c = None if coefficients is None else np.asarray(coefficients, dtype=float)
    if bias is not None:
        x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
        components = np.concatenate([components, np.asarray(bias, dtype=float)[:, None, :]], axis=1)
    result = np.zeros((len(x), degree, ranks))
    for r in range(ranks):
        own = c if c is None or c.ndim == 1 else c[:, r]
        levels = node_levels(x, heads[:, :, r // per_head], length, degree, own, **variant)
        for m in range(1, degree + 1):
            result[:, m - 1, r] = levels[m] @ functional(components[:, :, r], m)
    return result


def adjacency_power(
    x: Array, n: int, edges: ArrayLike, weights: ArrayLike | None, length: int, degree: int
) -> dict[tuple[int, int], Array]:
    """(A~^k)_ij flat: the sum over walks i -> j of length k of the product of weights times the product of lifted increments."""
    A = np.zeros((n, n))
    pairs = np.asarray(edges, dtype=int).reshape(-1, 2)
    for (i, j), w in zip(pairs, np.ones(len(pairs)) if weights is None else np.asarray(weights, dtype=float), strict=True):
        A[i, j] += w
    nodes, weight = all_walks(A, length)
    flat = np.concatenate(sequence_levels(x[nodes], degree, increments=True, zero_start=False), axis=1)
    entries: dict[tuple[int, int], Array] = {}
    for path, w, features in zip(nodes, weight, flat, strict=True):
        ends = (int(path[0]), int(path[-1]))
        entries[ends] = entries.get(ends, 0.0) + w * features
    return entries


def penalty(components: Array) -> float:
    """sum_r sum_m ||u^r_{M-m+1}||^2 .. ||u^r_M||^2, the squared tensor norms, by building the tensors."""
    degree, _, ranks = components.shape
    pairs: Sequence[tuple[int, int]] = [(m, r) for m in range(1, degree + 1) for r in range(ranks)]
    return float(sum((functional(components[:, :, r], m) ** 2).sum() for m, r in pairs))
