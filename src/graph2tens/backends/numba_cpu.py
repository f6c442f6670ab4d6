"""The CPU backend: compiled loops over the edges with a hand-written adjoint, as one PyTorch operator.

The loops are in `loops/`, the derivation of the adjoint in docs/notes/adjoint.md. Here their work is shared out to threads: a unit of it
is a piece of the graph and a block of functionals. Blocks change no number (but see `_Work`), so results are bitwise equal for any number
of threads. Between forward and backward only the inputs and the features are kept.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from . import threads
from .compiling import Compiled, compiled
from .loops import pieces, units
from .loops.sparse import Graph
from .memory import keep_freed_memory
from .problem import Problem
from .projection import project_all

_DIFFERENTIABLE = 5  # the first so many inputs of the operator
_PIECE = 256  # nodes and edges of a piece in a batch of small graphs: its states stay in the cache of a core
_WIDE, _NARROW = 128, 32  # functionals of a block: many while states fit the cache, else two of its lines
_CACHE_BYTES = 2**19
_WORK_PER_THREAD = 400_000  # additions of a row, about 50 microseconds

keep_freed_memory()


def features(problem: Problem) -> Tensor:
    """(n, M, R), degrees 1..M."""
    walk, variant = problem.walk, problem.variant
    p = walk.probabilities if walk.probabilities.dim() == 2 else walk.probabilities.unsqueeze(1)
    c = problem.coefficients if problem.coefficients.dim() == 2 else problem.coefficients.unsqueeze(1).expand(-1, problem.rank)
    flags = [problem.length, variant.increments, variant.has_start, not walk.stochastic]
    out: Tensor = low_rank(*project_all(problem), c, p, walk.graphs[0], walk.row_ptr, walk.col, [int(flag) for flag in flags])
    return out


@torch.library.custom_op("graph2tens::low_rank", mutates_args=(), device_types="cpu")
def low_rank(
    a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor, flags: list[int]
) -> Tensor:
    """Features from projections; shapes as in `loops.units.Inputs`, but `c` (M, R) and p (E, H)."""
    out = torch.empty_like(a, memory_format=torch.contiguous_format)
    work = _Work(a, offset, tau, c, p, batch, row_ptr, col, flags)
    work.run("forward", out.numpy())
    return out


@torch.library.custom_op("graph2tens::low_rank_backward", mutates_args=(), device_types="cpu")
def low_rank_backward(
    grad: Tensor, out: Tensor, a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor,
    flags: list[int], needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of a, offset, tau, c and p, the last four empty where they are not needed."""
    _, need_offset, need_tau, need_c, need_p = needs
    work = _Work(a, offset, tau, c, p, batch, row_ptr, col, flags, need_p)
    (_, M, R), count = a.shape, work.pieces.size - 1
    da = torch.empty_like(a, memory_format=torch.contiguous_format)
    dc, dtau = a.new_zeros(count if need_c else 0, M + 1, R), a.new_empty(count if need_tau and tau.numel() else 0, M, R)
    dp = a.new_zeros(work.lanes.size - 1 if need_p else 0, col.numel(), work.heads)
    wanted = units.Wanted(*(tensor.numpy() for tensor in (da, dc, dtau, dp)))
    work.run("backward", out.contiguous().numpy(), grad.contiguous().numpy(), wanted)
    d_offset = a.new_empty(0)
    if need_offset:
        # Offsets act in the start factor alone. Increments do not see a constant, so their part of da adds up to zero in every graph.
        used = work.options.increments and work.options.start
        d_offset = torch.zeros_like(offset).index_add_(0, batch, da) if used else torch.zeros_like(offset)
    d_tau = dtau.sum(0)[: tau.size(0)] if need_tau else a.new_empty(0)
    d_c = dc.sum(0)[1:].clone() if need_c else a.new_empty(0)
    # Blocks hold whole heads, or several blocks share one.
    groups = p.size(1) // work.heads
    by_group = dp.view(groups, dp.size(0) // groups, *dp.shape[1:]).sum(1)
    d_p = by_group.transpose(0, 1).reshape(p.shape) if need_p else a.new_empty(0)
    return da, d_offset, d_tau, d_c, d_p


class _Work:
    """The arguments of the loops, and how their units are shared out."""

    def __init__(
        self, a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor, flags: list[int],
        sums_over_lanes: bool = False,
    ) -> None:  # fmt: skip
        length, increments, start, carried = flags
        c = torch.cat([torch.ones_like(c[:1]), c])
        self.inputs = units.Inputs(*(tensor.detach().contiguous().numpy() for tensor in (a, offset, tau, c, batch)))
        self.graph = Graph(*(tensor.detach().contiguous().numpy() for tensor in (row_ptr, col, p)))
        self.options = units.Options(length, bool(increments), bool(start), bool(carried))
        self.kernels = _kernels(str(a.dtype))
        self.pieces: NDArray[np.int64] = self.kernels["pieces"](self.graph.row_ptr, self.graph.col, _PIECE)
        _, M, R = a.shape
        self.per_head = R // p.size(1)
        lanes = _WIDE
        if np.diff(self.pieces).max() * M * _WIDE * a.element_size() > _CACHE_BYTES:
            # One large piece: each thread gets a block. Only sums over the functionals of a head, the gradient of its probabilities, depend
            # on blocks, so they must not follow the number of threads where they part a head.
            parted = sums_over_lanes and self.per_head > _NARROW
            lanes = _NARROW if parted else max(_NARROW, -(-R // torch.get_num_threads()))
        self.heads = max([h for h in range(1, p.size(1) + 1) if p.size(1) % h == 0 and h * self.per_head <= lanes], default=1)
        width = self.heads * self.per_head
        self.lanes = np.append([left + r for left in range(0, R, width) for r in range(0, width, lanes)], R)

    def run(self, kernel: str, *arrays: Any) -> None:
        """Threads own pieces, or blocks of functionals where few pieces make up most of the graph."""
        weight = self.pieces + self.graph.row_ptr[self.pieces]
        work = int(weight[-1]) * self.inputs.a[0].size * max(1, self.options.length)
        count = max(1, min(torch.get_num_threads(), work // _WORK_PER_THREAD))
        inner = np.searchsorted(weight, weight[-1] * np.arange(1, count) / count)
        borders = np.unique([0, *inner, self.pieces.size - 1])
        blocks = np.array([0, self.lanes.size - 1])
        if np.diff(weight[borders]).max() > 1.3 * weight[-1] / count:  # then functionals are shared out
            borders, blocks = borders[[0, -1]], np.unique((self.lanes.size - 1) * np.arange(count + 1) // count)
        shares = [
            units.Share(self.pieces, self.lanes, self.per_head, int(first), int(last), int(left), int(right))
            for first, last in pairwise(borders)
            for left, right in pairwise(blocks)
        ]
        threads.run([partial(self.kernels[kernel], share, self.graph, self.inputs, self.options, *arrays) for share in shares])


@cache
def _kernels(dtype: str) -> dict[str, Compiled]:
    return {
        "pieces": compiled(pieces.pieces, ""),
        "forward": compiled(units.forward, dtype),
        "backward": compiled(units.backward, dtype),
    }


@low_rank.register_fake
def _(a, offset, tau, c, p, batch, row_ptr, col, flags):  # type: ignore[no-untyped-def]
    return a.new_empty(a.shape)


@low_rank_backward.register_fake
def _(grad, out, *rest):  # type: ignore[no-untyped-def]
    inputs, needs = rest[:_DIFFERENTIABLE], [True, *rest[-1][1:]]
    return tuple(tensor.new_empty(tensor.shape if need else 0) for tensor, need in zip(inputs, needs, strict=True))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.flags, ctx.needs = inputs[-1], [bool(needed) for needed in ctx.needs_input_grad[:_DIFFERENTIABLE]]
    ctx.save_for_backward(output, *inputs[:-1])


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    gradients = low_rank_backward(grad, *ctx.saved_tensors, ctx.flags, ctx.needs)
    rest = (None,) * (len(ctx.needs_input_grad) - _DIFFERENTIABLE)
    return (*(gradient if need else None for gradient, need in zip(gradients, ctx.needs, strict=True)), *rest)


def _no_second_derivative(ctx: Any, *grads: Tensor | None) -> None:
    raise NotImplementedError(
        "the numba backend of low_rank_features has no second derivatives; use backend='torch' where a gradient is differentiated again."
    )


low_rank.register_autograd(_backward, setup_context=_remember)
low_rank_backward.register_autograd(_no_second_derivative, setup_context=lambda ctx, inputs, output: None)
