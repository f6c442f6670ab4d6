"""The recursion and its adjoint on arrays: which states are kept where, and which thread runs which kernel on which nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from . import threads
from .kernels import Kernels, kernels
from .tiles import Config

_WORK_PER_THREAD = 100_000  # multiplications below which another thread costs more than it brings
_REGISTER_BYTES = 64  # functionals are taken in vectors of one cache line
_IMBALANCE = 1.2  # pieces that no edge leaves are shared out whole if no thread gets so many times its due


@dataclass(frozen=True)
class Gradients:
    """What the backward pass accumulates: gradients of a, of tau and c block by block, of p, and of the current state."""

    da: Tensor
    dtau: Tensor
    dc: Tensor
    dp: Tensor
    grads: Tensor
    grads_s: Tensor


@dataclass(frozen=True)
class Recursion:
    """One evaluation. All tensors are contiguous, on the CPU and of one floating type; names and shapes as in `tiles.py`.

    Attributes:
        spacing: every so many-th state is kept for the backward pass; 0 keeps none.
    """

    length: int
    increments: bool
    start: bool
    time: bool
    stochastic: bool
    spacing: int
    a: Tensor
    tau: Tensor
    c: Tensor
    p: Tensor
    row_ptr: Tensor
    col: Tensor
    blocks: Tensor
    coefficient_gradient: bool = False
    probability_gradient: bool = False

    def forward(self, offset: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The features, the kept states, and their level 0."""
        slots = self._slots()
        kept, kept_s = self._states(max(0, int(slots.max()) + 1))
        work, work_s = self._states(max(0, -int(slots.min())))
        out = torch.empty_like(self.a)
        self._run(self._bind(self._kernels.forward, slots, kept, work, kept_s, work_s, (self.start, offset, batch, out)), 0, self.length)
        if not self.start:
            _ = out.copy_(_slot(slots[-1], kept, work)) if self.length else out.zero_()
        return out, kept, kept_s

    def backward_start(self, grad: Tensor, offset: Tensor, batch: Tensor, kept: Tensor, kept_s: Tensor) -> Gradients:
        """Through the start factor: after it `da` holds the start factor's part alone."""
        count, (M, R) = self._block_count, self.a.shape[1:]
        grads, grads_s = self._states(2)
        gradients = Gradients(
            da=torch.empty_like(self.a) if self.start else torch.zeros_like(self.a),
            dtau=self.a.new_zeros(count, M, R) if self.time else self.a.new_empty(count, 0, R),
            dc=self.a.new_zeros(count, M, R) if self.coefficient_gradient else self.a.new_empty(count, 0, R),
            dp=torch.zeros_like(self.p) if self.probability_gradient else self.p.new_empty(0, self.p.size(1)),
            grads=grads,
            grads_s=grads_s.zero_(),
        )
        end = self.length % 2
        if not self.start:
            grads[end].copy_(grad)
            return gradients
        # With no step at all the state is f_0, which needs no array; the kernel must only be given one.
        last, last_s = (kept[-1], kept_s[-1]) if self.length else (self.a, grads_s[1])
        arrays = (self.blocks, self.a, offset, batch, self.c, last, last_s, grad, grads[end], grads_s[end], gradients.da, gradients.dc)
        kernel, views = self._kernels.adjoint_finish, [array.numpy() for array in arrays]
        self._share(lambda first, last: kernel(first, last, self.length == 0, *views), self._groups()[0])
        return gradients

    def backward_steps(self, gradients: Gradients, kept: Tensor, kept_s: Tensor, transposed: tuple[Tensor, ...]) -> None:
        """Back through all steps, completing `gradients`."""
        for begin, end in self._segments():
            slots = self._slots()
            # States inside a segment were not kept unless all were: they are computed again from the one before it.
            missing = [step for step in range(begin + 1, end) if slots[step] < 0]
            slots[missing] = -1 - np.arange(len(missing))
            work, work_s = self._states(len(missing))
            if missing:
                nothing = (False, self.a, transposed[0], self.a)  # no start factor here
                again = self._bind(self._kernels.forward, slots, kept, work, kept_s, work_s, nothing)
                self._run(again, begin, end - 1)
            g = gradients
            after = (*transposed, g.grads, g.grads_s, g.da, g.dc, g.dtau, g.dp)
            self._run(self._bind(self._kernels.adjoint, slots, kept, work, kept_s, work_s, after), begin, end, reverse=True)

    def _segments(self) -> Iterator[tuple[int, int]]:
        """Runs of steps, last first, between states that are kept."""
        size = self.length if self.spacing == 1 else self.spacing
        for begin in reversed(range(0, self.length, max(1, size))):
            yield begin, min(begin + size, self.length)

    def _slots(self) -> NDArray[np.int64]:
        """Where the state after t steps is, t = 0..length: kept, or one of two places used in turn. The state after 0 steps is nowhere."""
        slots, count = np.zeros(self.length + 1, np.int64), 0
        for t in range(1, self.length + 1):
            needed = self.start if t == self.length else self.spacing and t % self.spacing == 0
            slots[t], count = (count, count + 1) if needed and self.spacing else (-1 - t % 2, count)
        slots[0] = slots[-1] if self.length else -1  # never read
        return slots

    def _states(self, count: int) -> tuple[Tensor, Tensor]:
        """Room for states, and for their level 0 where it is not constant."""
        n = 0 if self.stochastic else self.a.size(0)
        return self.a.new_empty(count, *self.a.shape), self.a.new_empty(count, n, self.p.size(1))

    @property
    def _kernels(self) -> Kernels:
        share, widest = self.a.size(2) // self.p.size(1), _REGISTER_BYTES // self.a.element_size()
        width = next(size for size in (16, 8, 4, 2, 1) if size <= widest and share % size == 0)
        flags = (self.increments, self.time, not self.stochastic, self.coefficient_gradient, self.probability_gradient)
        return kernels(Config(self.a.size(1), width, *flags), str(self.a.dtype))

    @property
    def _clocks(self) -> NDArray[Any]:
        """The factor of tau at each step: with increments the clock always advances by 1, else it shows the time, the last step first."""
        times = np.ones(self.length) if self.increments else np.arange(self.length, 0, -1)
        return times.astype(self.a.numpy().dtype)

    def _bind(self, kernel: Callable[..., None], slots: NDArray[np.int64], *rest: Any) -> Callable[..., None]:
        """The kernel waiting for blocks and steps."""
        *states, after = rest
        common = (*states, self.a, self.tau, self.c, self.p, self.row_ptr, self.col, *after)
        views = (self.blocks.numpy(), self._clocks, slots, *(value.numpy() if isinstance(value, Tensor) else value for value in common))
        return lambda *where: kernel(*where, *views)

    def _run(self, kernel: Callable[..., None], begin: int, end: int, reverse: bool = False) -> None:
        """Run steps `begin` to `end` on all nodes."""
        groups, independent = self._groups()
        if independent or end - begin <= 1:
            self._share(lambda first, last: kernel(first, last, begin, end), groups)
            return
        for step in reversed(range(begin, end)) if reverse else range(begin, end):
            self._share(partial(lambda step, first, last: kernel(first, last, step, step + 1), step), groups)

    @staticmethod
    def _share(kernel: Callable[[int, int], None], groups: list[tuple[int, int]]) -> None:
        threads.run([partial(kernel, first, last) for first, last in groups])

    @property
    def _block_count(self) -> int:
        return int(np.searchsorted(self.blocks[0].numpy(), self.a.size(0)))

    def _groups(self) -> tuple[list[tuple[int, int]], bool]:
        """Blocks for each thread, and whether no edge leads from one group to another, so that no thread must wait for another's step."""
        count, work = self._block_count, self.col.numel() * self.a[0].numel() * max(1, self.length)
        wanted = max(1, min(torch.get_num_threads(), count, work // _WORK_PER_THREAD))
        if wanted == 1:
            return [(0, count)], True
        borders, closed = self.blocks.numpy()[:, : count + 1]
        weight = borders + self.row_ptr.numpy()[borders]
        due = weight[-1] * np.arange(1, wanted) / wanted
        free = np.flatnonzero(closed)
        for candidates, independent in ((free, True), (np.arange(count + 1), False)):
            inner = candidates[np.minimum(np.searchsorted(weight[candidates], due), len(candidates) - 1)]
            edges = np.concatenate([[0], inner, [count]])
            if not independent or np.diff(weight[edges]).max() <= _IMBALANCE * weight[-1] / wanted:
                break
        return [(int(first), int(last)) for first, last in pairwise(edges) if first < last], independent


def _slot(slot: int, kept: Tensor, work: Tensor) -> Tensor:
    return kept[slot] if slot >= 0 else work[-1 - slot]
