"""The CPU backend: compiled loops over the edges with a hand-written adjoint, as one PyTorch operator.

The loops are in `loops/`, the derivation of the adjoint in docs/notes/adjoint.md. Here their work is shared out to threads: a unit of it
is a piece of the graph and a block of functionals. Blocks change no number (but see `_Work`), so results are bitwise equal for any number
of threads. Between forward and backward only the inputs are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from .memory import keep_freed_memory
from .problem import Problem
from .projection import project_all, without_start

_DIFFERENTIABLE = 5  # the first so many inputs of the operator
_PIECE = 256  # nodes and edges of a piece in a batch of small graphs: its states stay in the cache of a core
_WIDE, _NARROW = 128, 32  # functionals of a block: many while states fit the cache, else so many that each thread gets some
_CACHE_BYTES = 2**19
_WORK_PER_THREAD = 400_000  # additions of a row, about 50 microseconds

Arrays = Sequence[NDArray[Any]]

keep_freed_memory()


def features(problem: Problem) -> Tensor:
    """(n, M, R), degrees 1..M."""
    walk, variant = problem.walk, problem.variant
    p = walk.probabilities if walk.probabilities.dim() == 2 else walk.probabilities.unsqueeze(1)
    c = problem.coefficients if problem.coefficients.dim() == 2 else problem.coefficients.unsqueeze(1).expand(-1, problem.rank)
    a, offset, tau = project_all(problem)
    divide = problem.is_diffusion and not variant.has_start  # plain diffusion has a start factor
    flags = [problem.length, variant.increments, variant.has_start or divide, not walk.stochastic]
    offset = torch.zeros_like(offset) if divide else offset
    out: Tensor = low_rank(a, offset, tau, c, p, walk.graphs[0], walk.row_ptr, walk.col, [int(flag) for flag in flags])
    return without_start(out, a, c) if divide else out


@torch.library.custom_op("graph2tens::low_rank", mutates_args=(), device_types="cpu")
def low_rank(
    a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor, flags: list[int]
) -> Tensor:
    """Features (n, M, R) from projections (n, M, R), offsets (G, M, R), clock (M, R) or (0, R), c (M, R), p (E, H), batch (n,)."""
    out = torch.empty_like(a, memory_format=torch.contiguous_format)
    _Work(a, offset, tau, c, p, batch, row_ptr, col, flags).run("forward", of_nodes=[out.numpy()])
    return out


@torch.library.custom_op("graph2tens::low_rank_backward", mutates_args=(), device_types="cpu")
def low_rank_backward(
    grad: Tensor, a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor,
    flags: list[int], needs: list[bool],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of a, offset, tau, c and p, the last four empty where they are not needed."""
    _, need_offset, need_tau, need_c, need_p = needs
    work, (_, M, R) = _Work(a, offset, tau, c, p, batch, row_ptr, col, flags, need_p), a.shape
    pieces = work.pieces.size - 1
    da = torch.empty_like(a, memory_format=torch.contiguous_format)
    dc, dclock = a.new_zeros(pieces if need_c else 0, M + 1, R), a.new_zeros(pieces if need_tau and tau.numel() else 0, M, R)
    dp = a.new_zeros(-(-work.per_head // work.width), col.numel() if need_p else 0, p.size(1))
    work.run("backward", [grad.contiguous().numpy()], [da.numpy()], [dc.numpy(), dclock.numpy()], [dp.numpy()])
    # Offsets act in the start factor alone. Increments do not see a constant, so their part of da adds up to zero in every graph.
    d_offset = torch.zeros_like(offset) if need_offset else a.new_empty(0)
    _, increments, has_start, _ = flags
    if need_offset and increments and has_start:
        d_offset.index_add_(0, batch, da)
    d_tau = (dclock.sum(0) if tau.numel() else torch.zeros_like(tau)) if need_tau else a.new_empty(0)
    return da, d_offset, d_tau, dc.sum(0)[1:].clone() if need_c else a.new_empty(0), dp.sum(0) if need_p else a.new_empty(0)


class _Work:
    """The inputs of the loops, and how their units are shared out.

    Blocks hold whole heads, or a part of one. One large piece is shared out by functionals. Of all sums only those over a head's, the
    gradient of its probabilities, depend on blocks; so blocks must not follow the number of threads where they cut a head in two.
    """

    def __init__(
        self, a: Tensor, offset: Tensor, tau: Tensor, c: Tensor, p: Tensor, batch: Tensor, row_ptr: Tensor, col: Tensor, flags: list[int],
        gradient_of_p: bool = False,
    ) -> None:  # fmt: skip
        self.length, self.has_start = int(flags[0]), bool(flags[2])
        increments, carried = bool(flags[1]), int(flags[3])
        _, M, R = a.shape
        is_diffusion = increments and self.has_start and M <= 2 and not carried and not tau.numel()
        self.way = "diffusion" if is_diffusion else "along_edges" if increments else "at_nodes"
        self.levels = (0,) * M, (0,) * carried, (0,) * (M if gradient_of_p or is_diffusion else M - 1)
        clock = tau.unsqueeze(0) if tau.numel() else c.new_empty(0, M, R)
        every_c = torch.cat([torch.ones_like(c[:1]), c]).unsqueeze(0)
        self.small = [tensor.detach().numpy() for tensor in (-offset, clock, every_c)]
        tensors = (a, batch, row_ptr, col, p)
        self.a, self.batch, self.row_ptr, self.col, self.p = (tensor.detach().contiguous().numpy() for tensor in tensors)

        self.pieces: NDArray[np.int64] = _pieces()(self.row_ptr, self.col, _PIECE)
        self.per_head, most = R // p.size(1), _WIDE
        if int(np.diff(self.pieces).max()) * M * _WIDE * a.element_size() > _CACHE_BYTES:
            cut = gradient_of_p and self.per_head > _NARROW
            most = _NARROW if cut else max(_NARROW, -(-R // torch.get_num_threads()))
        self.width = most // self.per_head * self.per_head or most
        whole = max(self.width, self.per_head)
        self.blocks = [*(left for first in range(0, R, whole) for left in range(first, min(first + whole, R), self.width)), R]

    def run(self, kernel: str, given: Arrays = (), of_nodes: Arrays = (), of_pieces: Arrays = (), of_edges: Arrays = ()) -> None:
        """Call a kernel for all units: with what is `given` of nodes, then with what it writes. Arrays have functionals as their last axis;
        those of edges a part of a head as their first.

        Threads own pieces, or blocks of functionals where few pieces make up most of the graph.
        """
        M, carried, kept = map(len, self.levels)
        function = _kernel(f"{kernel}_{self.way}", f"{self.a.dtype} {M} {carried} {kept}")
        weight, all_blocks = self.pieces + self.row_ptr[self.pieces], len(self.blocks) - 1
        work = int(weight[-1]) * self.a[0].size * max(1, self.length)
        count = max(1, min(torch.get_num_threads(), work // _WORK_PER_THREAD))
        inner = np.searchsorted(weight, weight[-1] * np.arange(1, count) / count)
        borders, blocks = np.unique([0, *inner, self.pieces.size - 1]), np.array([0, all_blocks])
        if np.diff(weight[borders]).max() > 1.3 * weight[-1] / count:  # then functionals are shared out
            borders, blocks = borders[[0, -1]], np.unique(all_blocks * np.arange(count + 1) // count)

        def units_of(pieces: slice, some: range) -> None:
            nodes = slice(*self.pieces[[pieces.start, pieces.stop]].tolist())
            for lanes in (slice(self.blocks[b], self.blocks[b + 1]) for b in some):
                places = [(x, nodes) for x in (*given, *of_nodes)] + [(x, pieces) for x in of_pieces]
                parts = [np.ascontiguousarray(x[rows, :, lanes]) for x, rows in places]  # no copies if they are all functionals
                function(self._inputs(pieces, nodes, lanes), *parts, *(x[lanes.start % self.per_head // self.width] for x in of_edges))
                for part, (x, rows) in list(zip(parts, places, strict=True))[len(given) :]:
                    if part.shape[2] < x.shape[2]:
                        x[rows, :, lanes] = part

        shares = [(slice(*ends), range(*some)) for ends in pairwise(borders.tolist()) for some in pairwise(blocks.tolist())]
        threads.run([partial(units_of, *share) for share in shares])

    def _inputs(self, pieces: slice, nodes: slice, lanes: slice) -> units.Inputs:
        borders, a = self.pieces[pieces.start : pieces.stop + 1], np.ascontiguousarray(self.a[nodes, :, lanes])
        heads = lanes.start // self.per_head, max(1, (lanes.stop - lanes.start) // self.per_head), self.per_head
        offset, clock, c = (np.ascontiguousarray(x[:, :, lanes]) for x in self.small)
        walk = borders, self.row_ptr, self.col, self.p
        return units.Inputs(self.length, self.has_start, *self.levels, *walk, *heads, self.batch[nodes], a, offset, clock, c)


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
def _(grad, *rest):  # type: ignore[no-untyped-def]
    inputs, needs = rest[:_DIFFERENTIABLE], [True, *rest[-1][1:]]
    return tuple(tensor.new_empty(tensor.shape if need else 0) for tensor, need in zip(inputs, needs, strict=True))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.flags, ctx.needs = inputs[-1], [bool(needed) for needed in ctx.needs_input_grad[:_DIFFERENTIABLE]]
    ctx.save_for_backward(*inputs[:-1])


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
