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
from .loops import pieces, steps, units
from .memory import keep_freed_memory
from .problem import Problem
from .projection import project_all

_DIFFERENTIABLE = 5  # the first so many inputs of the operator
_PIECE = 256  # nodes and edges of a piece in a batch of small graphs: its states stay in the cache of a core
_WIDE, _NARROW = 128, 32  # functionals of a block: many while states fit the cache, else so many that each thread gets some
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
    """Features (n, M, R) from projections (n, M, R), offsets (G, M, R), clock (M, R) or (0, R), c (M, R), p (E, H), batch (n,)."""
    out = torch.empty_like(a, memory_format=torch.contiguous_format)
    _Work(a, offset, tau, c, p, batch, row_ptr, col, flags).run("forward", out.numpy())
    return out


@torch.library.custom_op("graph2tens::low_rank_backward", mutates_args=(), device_types="cpu")
def low_rank_backward(
    grad: Tensor, out: Tensor, a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor,
    flags: list[int], needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of a, offset, tau, c and p, the last four empty where they are not needed."""
    _, need_offset, need_tau, need_c, need_p = needs
    need_tau = need_tau and tau.numel() > 0
    work = _Work(a, offset, tau, c, p, batch, row_ptr, col, flags, need_tau, need_p)
    (_, M, R), pieces = a.shape, work.pieces.size - 1
    da = torch.empty_like(a, memory_format=torch.contiguous_format)
    dc, dclock = a.new_zeros(pieces if need_c else 0, M + 1, R), a.new_zeros(pieces if need_tau else 0, M, R)
    dp = a.new_zeros(work.parts, col.numel() if need_p else 0, p.size(1))
    wanted = units.Wanted(*(tensor.numpy() for tensor in (da, dc, dclock, dp)))
    work.run("backward", out.contiguous().numpy(), grad.contiguous().numpy(), wanted)
    # Offsets act in the start factor alone. Increments do not see a constant, so their part of da adds up to zero in every graph.
    d_offset = torch.zeros_like(offset) if need_offset else a.new_empty(0)
    if need_offset and work.options.increments and work.options.start:
        d_offset.index_add_(0, batch, da)
    d_tau = dclock.sum(0) if need_tau else a.new_empty(tau.shape if needs[2] else 0)
    d_c = dc.sum(0)[1:].clone() if need_c else a.new_empty(0)
    return da, d_offset, d_tau, d_c, dp.sum(0) if need_p else a.new_empty(0)


class _Work:
    """The arguments of the loops, and how their units are shared out."""

    def __init__(
        self, a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor, flags: list[int],
        wants_clock: bool = False, sums_over_heads: bool = False,
    ) -> None:  # fmt: skip
        length, increments, start, carried = (int(flag) for flag in flags)
        (_, M, R), clock = a.shape, (tau if tau.numel() else torch.zeros_like(c)).unsqueeze(0)
        every_c = torch.cat([torch.ones_like(c[:1]), c]).unsqueeze(0)
        tensors = (row_ptr, col, p, batch, a, -offset, clock, every_c)
        arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
        self.inputs = units.Inputs((0,) * M, (0,) * carried, *arrays)
        timed = wants_clock or bool(clock.any())
        is_diffusion = bool(increments) and M <= 2 and length > 0 and not carried and not timed
        self.way = "_diffusion" if is_diffusion else ""
        self.options = steps.Options(length, bool(increments), bool(start), timed)
        self.pieces: NDArray[np.int64] = _pieces()(self.inputs.row_ptr, self.inputs.col, _PIECE)
        self.per_head, most = R // p.size(1), _WIDE
        if int(np.diff(self.pieces).max()) * M * _WIDE * a.element_size() > _CACHE_BYTES:
            # One large piece is shared out by functionals. Of all sums only those over a head's, the gradient of its probabilities, depend
            # on blocks; so blocks must not follow the number of threads where they cut a head in two.
            cut = sums_over_heads and self.per_head > _NARROW
            most = _NARROW if cut else max(_NARROW, -(-R // torch.get_num_threads()))
        self.width = min(self.per_head, most) * max(1, most // self.per_head)
        self.parts = -(-self.per_head // most)  # of a head
        heads = np.arange(0, R, max(self.per_head, self.width))
        self.blocks = np.append((heads[:, None] + np.arange(self.parts) * self.width).ravel(), R)
        self.version = f"{a.dtype} {M} {carried}".removeprefix("torch.")

    def run(self, kernel: str, *arrays: Any) -> None:
        """Threads own pieces, or blocks of functionals where few pieces make up most of the graph."""
        weight, all_blocks = self.pieces + self.inputs.row_ptr[self.pieces], self.blocks.size - 1
        work = int(weight[-1]) * self.inputs.a[0].size * max(1, self.options.length)
        count = max(1, min(torch.get_num_threads(), work // _WORK_PER_THREAD))
        inner = np.searchsorted(weight, weight[-1] * np.arange(1, count) / count)
        borders, blocks = np.unique([0, *inner, self.pieces.size - 1]), np.array([0, all_blocks])
        if np.diff(weight[borders]).max() > 1.3 * weight[-1] / count:  # then functionals are shared out
            borders, blocks = borders[[0, -1]], np.unique(all_blocks * np.arange(count + 1) // count)
        shares = [
            units.Share(self.pieces, self.blocks, int(first), int(last), int(left), int(right), self.width, self.per_head)
            for first, last in pairwise(borders)
            for left, right in pairwise(blocks)
        ]
        function = _kernel(kernel + self.way, self.version)
        threads.run([partial(function, share, self.inputs, self.options, *arrays) for share in shares])


@cache
def _pieces() -> Compiled:
    return compiled(pieces.pieces)


@cache
def _kernel(name: str, version: str) -> Compiled:
    return compiled(getattr(units, name), version)


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
