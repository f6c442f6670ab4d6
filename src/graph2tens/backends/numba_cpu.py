r"""The fused backend for CPUs: compiled loops over the CSR rows with a hand-written adjoint, as one PyTorch operator.

Per step and node all degrees and functionals are computed in one pass over the node's edges, in registers; nothing of size
:math:`|E| \times R` exists. The adjoint gathers over the transposed pattern, so no two threads ever write to the same place and results
are the same bits for any number of threads. The derivation is in docs/notes/adjoint.md, with the symbols used here.

What is kept between forward and backward, and the peak of memory, stand in docs/engine.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .fused import Flags, recursion
from .pattern import largest_piece, pattern
from .problem import Problem
from .projection import add_up_by_graph, fused_centre, project_all
from .sheared import needs_states

_DIFFERENTIABLE = 5  # the first so many inputs of the operator
_CACHE_BYTES = 2**21  # what the states of one piece of the graph may take to be computed piece by piece


def features(problem: Problem) -> Tensor:
    """(n, M, R), degrees 1..M."""
    walk, variant, M, R = problem.walk, problem.variant, problem.degree, problem.rank
    p = walk.probabilities if walk.probabilities.dim() == 2 else walk.probabilities.unsqueeze(1)
    c = problem.coefficients if problem.coefficients.dim() == 2 else problem.coefficients.unsqueeze(1).expand(M, R)
    inputs = (*project_all(problem, fused_centre), c, p)
    wanted = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)
    transposed_and_blocks = pattern(walk)
    flags = Flags(problem.length, variant.increments, variant.has_start, variant.time, walk.stochastic, int(wanted), 0)
    piece = largest_piece(walk)
    scratch = piece * (problem.length + 4) * M * R * problem.x.element_size()
    if piece and scratch <= _CACHE_BYTES:
        flags = replace(flags, piece=piece)
    elif wanted and flags.sheared(M) and not needs_states(variant.time, p.requires_grad):
        flags = replace(flags, spacing=problem.length)  # the first state and the last will do
    elif wanted and problem.recompute:
        flags = replace(flags, spacing=max(1, round(problem.length**0.5)))
    graph = (walk.graphs[0], walk.row_ptr.contiguous(), walk.col.contiguous(), *transposed_and_blocks)
    out: Tensor = low_rank(*inputs, *graph, flags.as_list())[0]
    return out


@torch.library.custom_op("graph2tens::low_rank", mutates_args=(), device_types="cpu")
def low_rank(
    a: Tensor,
    offset: Tensor,
    tau: Tensor,
    c: Tensor,
    p: Tensor,
    batch: Tensor,
    row_ptr: Tensor,
    col: Tensor,
    t_ptr: Tensor,
    t_row: Tensor,
    t_position: Tensor,
    blocks: Tensor,
    flags: list[int],
) -> tuple[Tensor, Tensor, Tensor]:
    """Features, and for the backward pass every `spacing`-th state and its level 0."""
    a, offset, tau, c, p = (tensor.contiguous() for tensor in (a, offset, tau, c, p))
    return recursion(Flags.from_list(flags), a, tau, c, p, row_ptr, col, blocks).forward(offset, batch)


@torch.library.custom_op("graph2tens::low_rank_backward", mutates_args=(), device_types="cpu")
def low_rank_backward(
    grad: Tensor,
    a: Tensor,
    offset: Tensor,
    tau: Tensor,
    c: Tensor,
    p: Tensor,
    batch: Tensor,
    row_ptr: Tensor,
    col: Tensor,
    t_ptr: Tensor,
    t_row: Tensor,
    t_position: Tensor,
    blocks: Tensor,
    kept: Tensor,
    kept_s: Tensor,
    flags: list[int],
    needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of a, offset, tau, c and p, the last four empty where not needed."""
    _, need_offset, need_tau, need_c, need_p = needs
    a, offset, tau, c, p = (tensor.contiguous() for tensor in (a, offset, tau, c, p))
    given = Flags.from_list(flags)
    steps = recursion(given, a, tau, c, p, row_ptr, col, blocks, need_c, need_p)
    gradients = steps.backward(grad.contiguous(), offset, batch, kept, kept_s, (t_ptr, t_row, t_position))
    d_offset = a.new_empty(0)
    if need_offset:
        # Offsets act in the start factor alone. Increments do not see a constant, so their part of da adds up to zero in every graph.
        used = given.increments and given.start
        d_offset = add_up_by_graph(gradients.da.flatten(1), batch, offset.size(0)).view_as(offset) if used else torch.zeros_like(offset)
    d_tau, d_c = (part.sum(0) if need else a.new_empty(0) for part, need in ((gradients.dtau, need_tau), (gradients.dc, need_c)))
    return gradients.da, d_offset, d_tau, d_c, gradients.dp if need_p else a.new_empty(0)


@low_rank.register_fake
def _(a, offset, tau, c, p, batch, row_ptr, col, t_ptr, t_row, t_position, blocks, flags):  # type: ignore[no-untyped-def]
    given = Flags.from_list(flags)
    kept = len(given.kept(a.size(1)))
    return a.new_empty(a.shape), a.new_empty(kept, *a.shape), a.new_empty(kept, 0 if given.stochastic else a.size(0), p.size(1))


@low_rank_backward.register_fake
def _(grad, *rest):  # type: ignore[no-untyped-def]
    inputs, needs = rest[:_DIFFERENTIABLE], [True, *rest[-1][1:]]
    return tuple(tensor.new_empty(tensor.shape if need else 0) for tensor, need in zip(inputs, needs, strict=True))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.set_materialize_grads(False)  # or zeros as large as all kept states would be made for outputs nobody uses
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    ctx.flags, ctx.needs = inputs[-1], [bool(needed) for needed in ctx.needs_input_grad[:_DIFFERENTIABLE]]
    ctx.save_for_backward(*tensors, *output[1:])


def _backward(ctx: Any, grad: Tensor | None, *unused: None) -> tuple[Tensor | None, ...]:
    rest = (None,) * (len(ctx.needs_input_grad) - _DIFFERENTIABLE)
    if grad is None:
        return (None,) * _DIFFERENTIABLE + rest
    if Flags.from_list(ctx.flags).spacing == 0:
        raise RuntimeError("graph2tens::low_rank was called with spacing=0, which keeps no states for a backward pass.")
    gradients = low_rank_backward(grad, *ctx.saved_tensors, ctx.flags, ctx.needs)
    return (*(gradient if need else None for gradient, need in zip(gradients, ctx.needs, strict=True)), *rest)


def _no_second_derivative(ctx: Any, *grads: Tensor | None) -> None:
    raise NotImplementedError(
        "the numba backend of low_rank_features has no second derivatives; use backend='torch' where a gradient is differentiated again."
    )


low_rank.register_autograd(_backward, setup_context=_remember)
low_rank_backward.register_autograd(_no_second_derivative, setup_context=lambda ctx, inputs, output: None)
