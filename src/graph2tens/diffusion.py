r"""Exact hypo-elliptic diffusion: the expected features of a random walk, backward, forward, and by sampling.

Backward, :math:`v_k = \tilde P v_{k-1}` from :math:`v_0 = 1_H`, solves :math:`v_k - v_{k-1} = -\tilde L v_{k-1}` and gives
:math:`v_k(i) = E[\varphi(\delta_1) \cdots \varphi(\delta_k) \mid B_0 = i]` (Theorem 1). Forward multiplies from the other side.

There are two differences from the paper's print, both checked against enumeration of walks: the initial condition is
:math:`1_H` (the printed :math:`\varphi(f(i))` would append the *end* attribute on the right), and the start factor F is multiplied
from the left in :math:`\Phi` and :math:`\Psi`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .algebra import TensorAlgebra
from .checks import check_batch, check_coefficients, check_fits, check_integer
from .operators import check_attributes
from .sampling import sample_walks
from .sequences import Variant, product_of_factors
from .walks import RandomWalk, check_one_head

_CHUNK_NUMBERS = 2**24  # lifted entries held at a time: large enough for full speed, 128 MiB in float64


def node_features(
    x: Tensor,
    walk: RandomWalk,
    *,
    length: int,
    degree: int,
    increments: bool = True,
    zero_start: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
) -> Tensor:
    r"""Exact node features :math:`\Phi_k(i) = E[\text{what a walk of k steps from i has seen}]` in the tensor algebra.

    .. math:: \Phi_k(i) = \varphi(x_i) \cdot (\tilde P^k 1_H)(i)

    Costs :math:`O(k |E| M d^M)` time and :math:`O(|V| d^M)` memory (with gradients, :math:`O(k |E| d^M)`); for larger d or M pair the
    features with functionals by :func:`low_rank_features` instead.

    Args:
        x: (n, d) node attributes.
        walk: see :func:`random_walk`.
        length: number of steps k >= 0.
        degree: highest tensor level M.
        increments, zero_start, time, coefficients: the variant, see :func:`sequence_features`.

    Shapes:
        - **output:** (n, 1 + d + .. + d^M), with d + 1 for d if `time`
    """
    variant, algebra = _prepare(x, walk, length, Variant(degree, increments, zero_start, time, coefficients))
    c = check_coefficients(coefficients, degree, x)
    v = algebra.one(walk.num_nodes, dtype=x.dtype, device=x.device)
    for t in range(length, 0, -1):
        v = _step(x, walk, v, t, variant, algebra, c)
    return algebra.lift_mul(variant.start(x), v, c) if variant.has_start else v


def graph_features(
    x: Tensor,
    walk: RandomWalk,
    batch: Tensor | None = None,
    *,
    length: int,
    degree: int,
    increments: bool = True,
    zero_start: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
) -> Tensor:
    r"""Exact graph features :math:`\Psi = \frac{1}{n} \sum_i \Phi_k(i)`, one row for each graph of a batch.

    Args:
        batch: (n,) graph of each node, as PyG has it; by default the walk's own, or one graph. A graph without nodes gets zeros.

    The other arguments are those of :func:`node_features`.

    Shapes:
        - **output:** (number of graphs, 1 + d + .. + d^M)
    """
    features = node_features(
        x, walk, length=length, degree=degree, increments=increments, zero_start=zero_start, time=time, coefficients=coefficients
    )
    batch = walk.batch if batch is None else batch
    if batch is None:
        return features.mean(0, keepdim=True) if walk.num_nodes else features.new_zeros(1, features.size(1))
    batch = check_batch(batch, walk.num_nodes)
    graphs = int(batch.max()) + 1 if batch.numel() else 0
    check_fits(graphs * features.size(1), f"the features of {graphs:,} graphs", "Is an entry of `batch` a slip?", x.element_size())
    counts = torch.bincount(batch, minlength=graphs).clamp(min=1).to(features.dtype)
    return features.new_zeros(graphs, features.size(1)).index_add(0, batch, features) / counts.unsqueeze(1)


def forward_features(
    x: Tensor,
    walk: RandomWalk,
    *,
    length: int,
    degree: int,
    increments: bool = True,
    zero_start: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
) -> Tensor:
    r"""Forward diffusion: what walks that *end* at j have seen, :math:`P[B_k = j]\, E[\cdot \mid B_k = j]` with a uniform start.

    .. math:: v_k(j) = \sum_i v_{k-1}(i) \cdot \tilde P_{ij}, \qquad v_0(i) = \tfrac{1}{n} \varphi(x_i)

    The sum over j is the graph feature :math:`\Psi` of a single graph. Arguments and shapes as in :func:`node_features`.
    """
    variant, algebra = _prepare(x, walk, length, Variant(degree, increments, zero_start, time, coefficients))
    c = check_coefficients(coefficients, degree, x)
    one = algebra.one(walk.num_nodes, dtype=x.dtype, device=x.device)
    v = (algebra.lift_mul(variant.start(x), one, c) if variant.has_start else one) / max(walk.num_nodes, 1)
    for t in range(1, length + 1):
        v = _step(x, walk, v, t, variant, algebra, c, forward=True)
    return v


def sampled_node_features(
    x: Tensor,
    walk: RandomWalk,
    *,
    samples: int,
    length: int,
    degree: int,
    increments: bool = True,
    zero_start: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Monte-Carlo estimate of :func:`node_features` from `samples` walks per node, and its standard error.

    The standard error of each entry falls like :math:`1/\sqrt{\text{samples}}`.

    Shapes:
        - **output:** estimate and standard error, each (n, 1 + d + .. + d^M)
    """
    check_integer(samples, "samples", 2, " (a standard error needs two)")
    variant, algebra = _prepare(x, walk, length, Variant(degree, increments, zero_start, time, coefficients))
    mean = torch.zeros(walk.num_nodes, algebra.size, dtype=x.dtype, device=x.device)
    squares = torch.zeros_like(mean)
    nodes = torch.arange(walk.num_nodes, device=x.device)
    per_round = max(1, _CHUNK_NUMBERS // max(1, walk.num_nodes * algebra.size))
    done = 0
    while done < samples:
        count = min(per_round, samples - done)
        paths = sample_walks(walk, nodes.repeat(count), length, generator)
        drawn = product_of_factors(x[paths], variant).view(count, walk.num_nodes, algebra.size)
        # Chan's update: the variance of two sets from theirs, without the cancellation of E[f^2] - E[f]^2
        new_mean = drawn.mean(0)
        delta = new_mean - mean
        squares = squares + (drawn - new_mean).square().sum(0) + delta.square() * (done * count / (done + count))
        mean = mean + delta * (count / (done + count))
        done += count
    return mean, (squares / (samples - 1) / samples).sqrt()


def _prepare(x: Tensor, walk: RandomWalk, length: int, variant: Variant) -> tuple[Variant, TensorAlgebra]:
    check_attributes(x, walk)
    check_one_head(walk)
    check_integer(length, "length", 0, " (the number of steps)")
    algebra = variant.algebra(x.size(1))
    check_fits(
        3 * walk.num_nodes * algebra.size,
        f"exact features of {walk.num_nodes:,} nodes with {algebra.dim} coordinates up to degree {algebra.degree}",
        "Lower `degree`, or use `low_rank_features`.",
        x.element_size(),
    )
    return variant, algebra


def _step(
    x: Tensor,
    walk: RandomWalk,
    v: Tensor,
    t: int,
    variant: Variant,
    algebra: TensorAlgebra,
    coefficients: Tensor,
    forward: bool = False,
) -> Tensor:
    """One step of the diffusion, edges taken in chunks so that lifted entries never exist for all of them at once."""
    probabilities = walk.probabilities.to(x.dtype).unsqueeze(1)
    result = torch.zeros_like(v)
    chunk = max(1, _CHUNK_NUMBERS // algebra.size)
    for begin in range(0, walk.num_edges, chunk):
        row, col = walk.row[begin : begin + chunk], walk.col[begin : begin + chunk]
        vectors = variant.step(x[row], x[col], t)
        if forward:
            target, seen = col, algebra.mul(v[row], algebra.lift(vectors, coefficients))
        else:
            target, seen = row, algebra.lift_mul(vectors, v[col], coefficients)
        result = result.index_add(0, target, probabilities[begin : begin + chunk] * seen)
    return result
