"""The recursion and its adjoint on arrays: which states are kept where, and which thread runs which kernel on which nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from . import threads
from .kernels import Kernels, kernels
from .sheared import HIGHEST_DEGREE, ShearedKernels, needs_states, sheared_kernels
from .tiles import Config

_WORK_PER_THREAD = 100_000  # multiplications below which another thread costs more than it brings
_REGISTER_BYTES = 64  # functionals are taken in vectors of one cache line
_IMBALANCE = 1.2  # pieces that no edge leaves are shared out whole if no thread gets so many times its due


@dataclass(frozen=True)
class Flags:
    """What is computed and what is kept.

    Attributes:
        spacing: every so many-th state is kept for the backward pass; 0 keeps none.
    """

    length: int
    increments: bool
    start: bool
    time: bool
    stochastic: bool
    spacing: int

    def sheared(self, degree: int) -> bool:
        """Whether the form of `sheared.py` applies."""
        return degree <= HIGHEST_DEGREE and self.increments and self.stochastic and self.length > 1

    def kept(self, degree: int) -> list[int]:
        """The steps after which a state is kept."""
        if not self.spacing:
            return []
        always = {1, self.length} if self.sheared(degree) else {self.length} if self.start else set()
        return [t for t in range(1, self.length + 1) if t in always or (t < self.length and t % self.spacing == 0)]


@dataclass(frozen=True)
class Gradients:
    """What the backward pass accumulates: gradients of a, of tau and c block by block, of p; and its own working arrays."""

    da: Tensor
    dtau: Tensor
    dc: Tensor
    dp: Tensor
    grads: Tensor
    grads_s: Tensor


@dataclass(frozen=True)
class Recursion:
    """One evaluation. All tensors are contiguous, on the CPU and of one floating type; names and shapes as in `tiles.py`."""

    flags: Flags
    a: Tensor
    tau: Tensor
    c: Tensor
    p: Tensor
    row_ptr: Tensor
    col: Tensor
    blocks: Tensor
    coefficient_gradient: bool = False
    probability_gradient: bool = False

    @property
    def _kernels(self) -> Kernels:
        return kernels(self._config)

    def forward(self, offset: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The features, the kept states, and their level 0."""
        slots = self._slots()
        kept, kept_s = self._states(len(self.flags.kept(self.a.size(1))))
        work, work_s = self._states(max(0, -int(slots.min())))
        out = torch.empty_like(self.a)
        after = (self.flags.start, offset, batch, out)
        states = (slots, self._clocks, *self._sizes, kept, work, kept_s, work_s)
        self._run(self._bind(self._kernels.forward, *states, *self._inputs, *after), 0, self.flags.length)
        if not self.flags.start:
            _ = out.copy_(kept[slots[-1]] if slots[-1] >= 0 else work[-1 - slots[-1]]) if self.flags.length else out.zero_()
        return out, kept, kept_s

    def backward_start(self, grad: Tensor, offset: Tensor, batch: Tensor, kept: Tensor, kept_s: Tensor) -> Gradients:
        """Through the start factor: after it `da` holds the start factor's part alone."""
        gradients, length = self._no_gradients(2), self.flags.length
        end = length % 2
        if not self.flags.start:
            gradients.da.zero_()
            gradients.grads[end].copy_(grad)
            return gradients
        # With no step at all the state is f_0, which needs no array; the kernel must only be given one.
        last, last_s = (kept[-1], kept_s[-1]) if length else (self.a, gradients.grads_s[1])
        after = (grad, gradients.grads[end], gradients.grads_s[end], gradients.da, gradients.dc)
        kernel = self._bind(self._kernels.adjoint_finish, *self._sizes[:2], self.a, offset, batch, self.c, last, last_s, *after)
        self._share(lambda first, last: kernel(first, last, length == 0), self._groups[0])
        return gradients

    def backward_steps(self, gradients: Gradients, kept: Tensor, kept_s: Tensor, transposed: tuple[Tensor, ...]) -> None:
        """Back through all steps, completing `gradients`."""
        g = gradients
        dp_zero = torch.zeros_like(g.dp)  # what level 0 owes to P comes from the other end of an edge, that is from another thread
        after = (*self._inputs, *transposed, g.grads, g.grads_s, g.da, g.dc, g.dtau, g.dp, dp_zero)
        for begin, end in self._segments():
            slots, missing = self._slots_of_segment(begin, end)
            work, work_s = self._states(missing)
            states = (slots, self._clocks, *self._sizes, kept, work, kept_s, work_s)
            if missing:
                nothing = (False, self.a, transposed[0], self.a)  # no start factor here
                self._run(self._bind(self._kernels.forward, *states, *self._inputs, *nothing), begin, end - 1)
            self._run(self._bind(self._kernels.adjoint, *states, *after), begin, end, reverse=True)
        g.dp.add_(dp_zero)

    @property
    def _inputs(self) -> tuple[Any, ...]:
        return self.a, self.tau, self.c, self.p, self.row_ptr, self.col

    @property
    def _sizes(self) -> tuple[int, ...]:
        """R, H, and the bytes of a state and of its level 0."""
        R, H, size = self.a.size(2), self.p.size(1), self.a.element_size()
        return R, H, self.a.numel() * size, (0 if self.flags.stochastic else self.a.size(0) * H * size)

    @property
    def _clocks(self) -> NDArray[np.float64]:
        """The factor of tau at each step: with increments the clock always advances by 1, else it shows the time, the last step first."""
        length = self.flags.length
        return np.ones(length) if self.flags.increments else np.arange(length, 0.0, -1.0)

    @property
    def _config(self) -> Config:
        share, widest = self.a.size(2) // self.p.size(1), _REGISTER_BYTES // self.a.element_size()
        width = next(size for size in (16, 8, 4, 2, 1) if size <= widest and share % size == 0)
        variant = (self.flags.increments, self.flags.time, not self.flags.stochastic)
        return Config(self.a.size(1), width, self.a.dtype == torch.float64, *variant, self.coefficient_gradient, self.probability_gradient)

    def _no_gradients(self, working: int) -> Gradients:
        """Room for all gradients, zero but for `da`, and for so many working arrays."""
        count, (M, R) = self._block_count, self.a.shape[1:]
        grads, grads_s = self._states(working)
        return Gradients(
            da=torch.empty_like(self.a),
            dtau=self.a.new_zeros(count, M, R) if self.flags.time else self.a.new_empty(count, 0, R),
            dc=self.a.new_zeros(count, M, R) if self.coefficient_gradient else self.a.new_empty(count, 0, R),
            dp=torch.zeros_like(self.p) if self.probability_gradient else self.p.new_empty(0, self.p.size(1)),
            grads=grads,
            grads_s=grads_s.zero_(),
        )

    def _segments(self) -> Iterator[tuple[int, int]]:
        """Runs of steps, last first, between states that are kept. They are one run if all are."""
        length, size = self.flags.length, self.flags.spacing if self.flags.spacing > 1 else self.flags.length
        for begin in reversed(range(0, length, max(1, size))):
            yield begin, min(begin + size, length)

    def _slots(self) -> NDArray[np.int64]:
        """Where the state after t steps is, t = 0..length: kept, or one of two places used in turn. The state after 0 steps is nowhere."""
        kept = self.flags.kept(self.a.size(1))
        slots = np.array([kept.index(t) if t in kept else -1 - t % 2 for t in range(self.flags.length + 1)])
        slots[0] = slots[-1] if self.flags.length else -1  # never read
        return slots

    def _slots_of_segment(self, begin: int, end: int) -> tuple[NDArray[np.int64], int]:
        """The same in the backward pass, where each state inside a segment has a place of its own; and how many were not kept."""
        slots = self._slots()
        missing = [t for t in range(begin + 1, end) if slots[t] < 0]
        slots[missing] = -1 - np.arange(len(missing))
        return slots, len(missing)

    def _states(self, count: int) -> tuple[Tensor, Tensor]:
        """Room for states, and for their level 0 where it is not constant."""
        n = 0 if self.flags.stochastic else self.a.size(0)
        return self.a.new_empty(count, *self.a.shape), self.a.new_empty(count, n, self.p.size(1))

    def _bind(self, kernel: Callable[..., None], *rest: Any) -> Callable[..., None]:
        """The kernel, waiting for its place. Tensors go in as their addresses, and live as long as what is returned."""
        arguments = [value.data_ptr() if isinstance(value, Tensor) else value for value in rest]
        return lambda *where, alive=rest: kernel(*where, self.blocks.numpy(), *arguments)

    def _run(self, kernel: Callable[..., None], begin: int, end: int, reverse: bool = False) -> None:
        """Run steps `begin` to `end` on all nodes."""
        groups, independent = self._groups
        if independent or end - begin <= 1:
            self._share(lambda first, last: kernel(first, last, begin, end), groups)
            return
        for step in reversed(range(begin, end)) if reverse else range(begin, end):
            self._share(partial(lambda step, first, last: kernel(first, last, step, step + 1), step), groups)

    @staticmethod
    def _share(kernel: Callable[[int, int], None], groups: list[tuple[int, int]]) -> None:
        threads.run([partial(kernel, first, last) for first, last in groups])

    @cached_property
    def _block_count(self) -> int:
        return int(np.searchsorted(self.blocks[0].numpy(), self.a.size(0)))

    @cached_property
    def _groups(self) -> tuple[list[tuple[int, int]], bool]:
        """Blocks for each thread, and whether no edge leads from one group to another, so that no thread must wait for another's step."""
        count, work = self._block_count, self.col.numel() * self.a[0].numel() * max(1, self.flags.length)
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


class ShearedRecursion(Recursion):
    """The same for degrees 1 and 2, in the variables of `sheared.py`."""

    @property
    def _sheared(self) -> ShearedKernels:
        return sheared_kernels(self._config)

    def forward(self, offset: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        slots = self._slots()
        kept, kept_s = self._states(len(self.flags.kept(self.a.size(1))))
        work, _ = self._states(max(0, -int(slots.min())))
        out = torch.empty_like(self.a)
        after = (self.flags.start, offset, batch, out)
        self._run(self._bind(self._sheared.forward, slots, *self._sizes[:3], kept, work, *self._inputs, *after), 0, self.flags.length)
        return out, kept, kept_s

    def backward_start(self, grad: Tensor, offset: Tensor, batch: Tensor, kept: Tensor, kept_s: Tensor) -> Gradients:
        g = self._no_gradients(4 if self._through_states else 3)
        after = (self.flags.start, self.a, offset, batch, self.c, kept[-1], grad, g.grads[0], g.da, g.dc)
        self._share(self._bind(self._sheared.adjoint_close, *self._sizes[:2], *after), self._groups[0])
        if self._through_states:
            g.grads[3].copy_(g.grads[0])
        return g

    def backward_steps(self, gradients: Gradients, kept: Tensor, kept_s: Tensor, transposed: tuple[Tensor, ...]) -> None:
        g = gradients
        after = (*self._inputs, *transposed, g.grads[0], g.grads[1:3], g.grads[-1], g.da, g.dc, g.dtau, g.dp)
        for begin, end in self._segments() if self._through_states else [(0, self.flags.length)]:
            slots, missing = self._slots_of_segment(begin, end)
            work, _ = self._states(missing if self._through_states else 0)
            states = (slots, *self._sizes[:3], kept, work)
            if missing and self._through_states:
                nothing = (False, self.a, transposed[0], self.a)
                self._run(self._bind(self._sheared.forward, *states, *self._inputs, *nothing), max(1, begin), end - 1)
            self._run(self._bind(self._sheared.adjoint, *states, *after), begin, end, reverse=True)

    @property
    def _through_states(self) -> bool:
        return needs_states(self.flags.time, self.probability_gradient)

    def _slots(self) -> NDArray[np.int64]:
        slots = super()._slots()
        if not self.flags.spacing:
            slots[1] = -3  # the first state is read in every step
        return slots


def recursion(flags: Flags, a: Tensor, *rest: Any) -> Recursion:
    """The recursion in the form that suits it best."""
    return (ShearedRecursion if flags.sheared(a.size(1)) else Recursion)(flags, a, *rest)
