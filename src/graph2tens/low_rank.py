r"""Rank-1 functionals of the features of random walks, without ever forming a tensor: the engine under every layer.

Notation: Theorem 3 of the paper; our ``length`` is its k, ``degree`` its M, ``rank`` its R. There is one difference: the start
factor acts on every degree with the coefficients of its own power, not on degree M alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .backends import BACKENDS, Problem, available_backends, choose
from .checks import check_coefficients, check_finite, check_floating, check_integer, transformed
from .operators import check_attributes
from .sequences import Variant
from .walks import RandomWalk


def low_rank_features(
    x: Tensor,
    walk: RandomWalk,
    components: Tensor,
    *,
    length: int,
    increments: bool = True,
    zero_start: bool = True,
    time: bool = False,
    coefficients: Tensor | None = None,
    bias: Tensor | None = None,
    backend: str = "auto",
    recompute: bool = False,
) -> Tensor:
    r"""Pair the expected feature of a ``length``-step random walk with rank-1 functionals, without forming a tensor.

    .. math:: f_{k,m}(i) = \sum_j P_{ij} \sum_{r=0}^{m} c_r
              \Big(\prod_{s=1}^{r} \langle u_{M-m+s}, x_j - x_i\rangle\Big)\, f_{k-1,m-r}(j), \qquad f_{k,0} = 1,\; f_{0,m} = 0,

    and with a start factor :math:`\sum_{r=0}^m c_r \langle u_{M-m+1}, x_i\rangle \cdots \langle u_{M-m+r}, x_i\rangle f_{k,m-r}(i)`. The
    result is :math:`\langle u_{M-m+1} \otimes \dots \otimes u_M, \Phi_k(i)\rangle` with :math:`\Phi_k` as :func:`node_features` computes
    it. Degree m uses the *last* m components, so all degrees share one pass: :math:`O(k M^2 |E| R)` time, no :math:`d^m` anywhere.

    Differentiable in `x`, `components`, `coefficients`, `bias` and the walk's probabilities.

    Args:
        x: node attributes. Half and bfloat16 are computed in float32 and returned in their own type. A sparse CSR tensor is projected
            without being filled; it gets no gradient and is not centred.
        walk: see :func:`random_walk`. With probabilities (E, H), head h owns the h-th block of R/H functionals.
        components: the vectors :math:`u^r_m`, ``components[m - 1, :, r]``.
        length: number of steps k >= 0.
        increments, zero_start, time: the variant, see :func:`sequence_features`.
        coefficients: :math:`c_1..c_M` of the lift, common or one set for each functional; :math:`1/m!` by default.
        bias: added to every projection :math:`\langle u, x_i\rangle`; it cancels in increments, and acts in the start factor and
            without increments.
        backend: ``"auto"``, or one of the table in :mod:`graph2tens.backends`. Inside ``torch.func`` (vmap, grad, jvp) ``"auto"`` takes
            ``"reference"``, the only one that goes through.
        recompute: with ``"torch"``, keep only the states between forward and backward and compute what lies between again: less memory,
            more time. ``"numba"`` keeps no states in any case.

    Shapes:
        - **input:** x :math:`(|V|, d)`, components :math:`(M, d, R)` or with time :math:`(M, d + 1, R)`, time coordinate first,
          coefficients :math:`(M)` or :math:`(M, R)`, bias :math:`(M, R)`
        - **output:** :math:`(|V|, M, R)`; degree 0 is constantly 1 and is left out
    """
    _check_attributes(x, walk)
    length = check_integer(length, "length", 0, " (the number of steps)")
    _check_components(components, x, time)
    degree, _, rank = components.shape
    _check_bias(bias, degree, rank, x)
    _check_heads(walk, rank)
    if backend != "auto" and backend not in BACKENDS:
        raise ValueError(f"`backend` must be 'auto' or one of {', '.join(map(repr, available_backends()))} (got {backend!r}).")

    # Half types cannot hold sums over many steps; parameters of a wider type than x must not lose theirs either.
    working = torch.promote_types(torch.promote_types(x.dtype, components.dtype), torch.float32)
    like = x.to(working)
    c = check_coefficients(coefficients, degree, like, rank)
    problem = Problem(
        x=like,
        walk=walk.to(working),
        components=components.to(working),
        length=length,
        variant=Variant(degree, increments, zero_start, time, c),
        coefficients=c,
        bias=None if bias is None else bias.to(working),
        recompute=bool(recompute),
    )
    name = choose(problem) if backend == "auto" or problem.is_empty else backend
    if name != "reference" and transformed():
        raise NotImplementedError(
            f"backend {name!r} does not go through forward-mode differentiation and torch.func; use backend='reference' or 'auto' there."
        )
    if torch.is_autocast_enabled(x.device.type):  # it would round the projections to a half type, and with them the increments
        with torch.autocast(x.device.type, enabled=False):
            return BACKENDS[name](problem).to(x.dtype)
    return BACKENDS[name](problem).to(x.dtype)


def _check_attributes(x: Tensor, walk: RandomWalk) -> None:
    if not isinstance(x, Tensor) or x.layout != torch.sparse_csr:
        check_attributes(x, walk)
        return
    if x.requires_grad:
        raise ValueError("a sparse `x` gets no gradient (got one that requires it). Did you mean x.detach() or x.to_dense()?")
    check_attributes(x.values().unsqueeze(1))
    if not isinstance(walk, RandomWalk) or x.size(0) != walk.num_nodes:
        raise ValueError(f"`x` must have one row for each node of `walk` (got {x.size(0)} rows and {walk!r}).")


def _check_components(components: Tensor, x: Tensor, time: bool) -> None:
    check_floating(components, "components", " of shape (degree, in_channels, rank)")
    channels = x.size(1) + bool(time)
    if components.dim() != 3 or components.size(1) != channels or components.size(0) < 1:
        with_time = ", the time coordinate first," if time else ""
        swapped = components.dim() == 3 and components.size(0) == channels
        raise ValueError(
            f"`components` must have shape (degree, in_channels, rank) with degree >= 1 and in_channels={channels}{with_time} to match "
            f"`x` of shape {tuple(x.shape)} (got {tuple(components.shape)})."
            + (" Did you pass (in_channels, degree, rank)?" if swapped else "")
        )
    _check_device(components, "components", x)
    check_finite(components, "components", "degree index")


def _check_bias(bias: Tensor | None, degree: int, rank: int, x: Tensor) -> None:
    if bias is None:
        return
    check_floating(bias, "bias", " of shape (degree, rank)")
    if tuple(bias.shape) != (degree, rank):
        raise ValueError(f"`bias` must have shape (degree, rank) = ({degree}, {rank}) to match `components` (got {tuple(bias.shape)}).")
    _check_device(bias, "bias", x)
    check_finite(bias, "bias", "degree index")


def _check_heads(walk: RandomWalk, rank: int) -> None:
    heads = walk.probabilities.size(1) if walk.probabilities.dim() == 2 else 1
    if heads < 1 or rank % heads:
        raise ValueError(
            f"the rank of `components` must be a multiple of the walk's heads, each of which owns rank / heads functionals "
            f"(got rank {rank} and {heads} heads)."
        )


def _check_device(tensor: Tensor, name: str, x: Tensor) -> None:
    if tensor.device != x.device:
        raise ValueError(f"`{name}` and `x` must be on one device (got {tensor.device} and {x.device}).")
