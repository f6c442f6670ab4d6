r"""Attention over the steps of a walk: a softmax for each node and head,

.. math:: p_{ij} = \frac{P_{ij} \exp \sigma_{ij}}{\sum_k P_{ik} \exp \sigma_{ik}}, \qquad
          \sigma_{ij} = \mathrm{LeakyReLU}(s_i + t_j + e_{ij}).

On CPUs one compiled pass over the rows takes the place of a dozen small operators, each of which would call all threads together. With
:math:`g_{ij} = p_{ij} (\dot p_{ij} - \sum_k p_{ik} \dot p_{ik}) \, \mathrm{LeakyReLU}'(s_i + t_j + e_{ij})` its adjoint is
:math:`\dot s_i = \sum_j g_{ij}`, :math:`\dot t_j = \sum_i g_{ij}`, :math:`\dot e_{ij} = g_{ij}`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from ..backends.compiling import compiled
from ..checks import transformed
from ..walks import RandomWalk
from .transition import exporting


def attention(
    walk: RandomWalk,
    source: Tensor,
    target: Tensor,
    along: Tensor | None = None,
    negative_slope: float = 0.2,
    backend: str = "auto",
) -> Tensor:
    r"""Softmax over the steps out of each node, separately for each head, weighted by the given walk (the formula is above).

    Where P is uniform over the neighbours, as it is on graphs without weights, this is the usual softmax. Rows always sum to 1. With a
    `backend` other than ``"auto"`` and ``"numba"`` it is made of PyTorch's operators and has gradients of any order.

    Shapes:
        - **input:** source :math:`s` and target :math:`t` :math:`(|V|, H)`, along :math:`e` :math:`(|E|, H)` or None
        - **output:** :math:`(|E|, H)`
    """
    _check_prior(walk)
    prior = walk.probabilities.to(source.dtype)
    prior = prior.unsqueeze(1) if prior.dim() == 1 else prior
    # Weights of edges rarely want gradients, and exported programs should run where Numba is not.
    if source.device.type != "cpu" or prior.requires_grad or exporting() or transformed() or backend not in ("auto", "numba"):
        return by_operators(walk, source, target, along, prior, negative_slope)
    none = source.new_empty(0, source.size(1))
    p: Tensor = row_softmax(source, target, none if along is None else along, prior, walk.row_ptr, walk.col, negative_slope)
    return p


def _check_prior(walk: RandomWalk) -> None:
    """A softmax weighed by what is no probability would be negative, or 0 / 0; walks whose rows sum to 1 were checked when made."""
    if walk.stochastic or torch.compiler.is_compiling() or transformed():
        return
    p = walk.probabilities.detach()
    p = p.unsqueeze(1) if p.dim() == 1 else p
    if not bool((p >= 0).all()):
        entry = int((~(p >= 0)).nonzero()[0, 0])
        raise ValueError(f"attention needs a walk whose probabilities are not negative (got {p[entry].tolist()} at entry {entry}).")
    total = p.new_zeros(walk.num_nodes, p.size(1)).index_add(0, walk.row, p)
    if not bool((total > 0).all()):
        node = int((total <= 0).nonzero()[0, 0])
        raise ValueError(f"attention needs a step of positive probability out of every node (got none at node {node}).")


def by_operators(walk: RandomWalk, source: Tensor, target: Tensor, along: Tensor | None, prior: Tensor, negative_slope: float) -> Tensor:
    """The same in PyTorch's operators, for any device."""
    row, n = walk.row, walk.num_nodes
    score = source.index_select(0, row) + target.index_select(0, walk.col)
    score = leaky_relu(score if along is None else score + along, negative_slope)
    with torch.no_grad():  # shifting a row does not change its softmax; steps of probability 0 must not set the shift
        possible = score.masked_fill(prior == 0, -torch.inf)
        lowest = score.new_full((n, score.size(1)), -torch.inf)
        shift = lowest.scatter_reduce(0, row.unsqueeze(1).expand_as(score), possible, "amax")
    weight = prior * (score - shift.index_select(0, row)).clamp(max=0).exp()
    total = weight.new_zeros(n, weight.size(1)).index_add(0, row, weight)
    return weight / total.index_select(0, row)


@torch.library.custom_op("graph2tens::row_softmax", mutates_args=(), device_types="cpu")
def row_softmax(
    source: Tensor, target: Tensor, along: Tensor, prior: Tensor, row_ptr: Tensor, col: Tensor, negative_slope: float
) -> Tensor:
    """The attention probabilities (E, H); an empty `along` stands for none."""
    p = source.new_empty(col.numel(), source.size(1))
    _kernels(source.dtype).forward(*_arrays(source, target, along, prior, row_ptr, col), negative_slope, p.numpy())
    return p


@torch.library.custom_op("graph2tens::row_softmax_backward", mutates_args=(), device_types="cpu")
def row_softmax_backward(
    grad: Tensor, p: Tensor, source: Tensor, target: Tensor, along: Tensor, row_ptr: Tensor, col: Tensor, negative_slope: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The adjoint with respect to `source`, `target` and `along`."""
    gradients = source.new_zeros(source.shape), target.new_zeros(target.shape), along.new_zeros(along.shape)
    given = _arrays(grad, p, source, target, along, row_ptr, col)
    _kernels(source.dtype).backward(*given, negative_slope, *(tensor.numpy() for tensor in gradients))
    return gradients


@row_softmax.register_fake
def _(source: Tensor, target: Tensor, along: Tensor, prior: Tensor, row_ptr: Tensor, col: Tensor, negative_slope: float) -> Tensor:
    return source.new_empty(col.numel(), source.size(1))


@row_softmax_backward.register_fake
def _(
    grad: Tensor, p: Tensor, source: Tensor, target: Tensor, along: Tensor, row_ptr: Tensor, col: Tensor, negative_slope: float
) -> tuple[Tensor, Tensor, Tensor]:
    return source.new_empty(source.shape), target.new_empty(target.shape), along.new_empty(along.shape)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    source, target, along, _, row_ptr, col, ctx.negative_slope = inputs
    ctx.save_for_backward(output, source, target, along, row_ptr, col)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return (*row_softmax_backward(grad, *ctx.saved_tensors, ctx.negative_slope), None, None, None, None)


def _no_second_derivative(ctx: Any, *grads: Tensor | None) -> None:
    raise NotImplementedError(
        "attention compiled for CPUs has no second derivatives; use backend='torch' where a gradient is differentiated again."
    )


row_softmax.register_autograd(_backward, setup_context=_setup)
row_softmax_backward.register_autograd(_no_second_derivative, setup_context=lambda ctx, inputs, output: None)


class _Kernels(NamedTuple):
    forward: Any
    backward: Any


@cache
def _kernels(dtype: torch.dtype) -> _Kernels:
    one = np.float32(1) if dtype == torch.float32 else np.float64(1)
    lowest = -math.inf * one

    def forward(source, target, along, prior, row_ptr, col, slope, p):  # type: ignore[no-untyped-def]
        heads, step, slope = source.shape[1], int(prior.shape[1] > 1), one * slope  # one prior for all heads, or one each
        highest, total = np.empty(heads, p.dtype), np.empty(heads, p.dtype)
        for i in range(row_ptr.size - 1):
            highest[:], total[:] = lowest, 0
            for e in range(row_ptr[i], row_ptr[i + 1]):
                j = col[e]
                for h in range(heads):
                    score = source[i, h] + target[j, h] + (along[e, h] if along.size else 0 * one)
                    score = score if score > 0 else slope * score
                    p[e, h] = score
                    if prior[e, h * step] > 0:  # steps of probability 0 must not set the shift
                        highest[h] = max(highest[h], score)
            for e in range(row_ptr[i], row_ptr[i + 1]):
                for h in range(heads):
                    weight = prior[e, h * step]
                    p[e, h] = weight * math.exp(p[e, h] - highest[h]) if weight > 0 else 0
                    total[h] += p[e, h]
            for e in range(row_ptr[i], row_ptr[i + 1]):
                for h in range(heads):
                    p[e, h] /= total[h]

    def backward(grad, p, source, target, along, row_ptr, col, slope, d_source, d_target, d_along):  # type: ignore[no-untyped-def]
        heads, slope = source.shape[1], one * slope
        mean = np.empty(heads, p.dtype)
        for i in range(row_ptr.size - 1):
            mean[:] = 0
            for e in range(row_ptr[i], row_ptr[i + 1]):
                for h in range(heads):
                    mean[h] += p[e, h] * grad[e, h]
            for e in range(row_ptr[i], row_ptr[i + 1]):
                j = col[e]
                for h in range(heads):
                    score = source[i, h] + target[j, h] + (along[e, h] if along.size else 0 * one)
                    g = p[e, h] * (grad[e, h] - mean[h]) * (one if score > 0 else slope)
                    d_source[i, h] += g
                    d_target[j, h] += g
                    if along.size:
                        d_along[e, h] = g

    return _Kernels(compiled(forward, f"attention {dtype}"), compiled(backward, f"attention {dtype}"))


def _arrays(*tensors: Tensor) -> list[Any]:
    return [tensor.contiguous().numpy() for tensor in tensors]
