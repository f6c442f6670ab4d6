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
from .kernels import kernels
from .pages import empty
from .sheared import HIGHEST_DEGREE, needs_states, sheared_kernels
from .tiles import Config

_WORK_PER_THREAD = 100_000  # multiplications below which another thread costs more than it brings
_LINE = 64  # bytes of a cache line; functionals are taken in vectors of one line
_IMBALANCE = 1.2  # pieces that no edge leaves are shared out whole if no thread gets so many times its due


@dataclass(frozen=True)
class Flags:
    """What is computed and what is kept.

    Attributes:
        spacing: every so many-th state is kept for the backward pass; 0 keeps none.
        piece: if not 0, the graph falls into pieces of at most so many nodes that no edge leaves, small enough to go through all steps
            in the cache of a core. Nothing is kept then, since states are soonest computed again.
    """

    length: int
    increments: bool
    start: bool
    time: bool
    stochastic: bool
    spacing: int
    piece: int

    def as_list(self) -> list[int]:
        """For operators, which know no classes; the more arguments they have, the longer PyTorch takes to call them."""
        return [int(value) for value in vars(self).values()]

    @classmethod
    def from_list(cls, values: list[int]) -> Flags:
        length, increments, start, time, stochastic, spacing, piece = values
        return cls(length, bool(increments), bool(start), bool(time), bool(stochastic), spacing, piece)

    def sheared(self, degree: int) -> bool:
        """Whether the form of `sheared.py` applies."""
        return degree <= HIGHEST_DEGREE and self.increments and self.stochastic and self.length > 1

    def kept(self, degree: int) -> list[int]:
        """The steps after which a state is kept."""
        if not self.spacing or self.piece:
            return []
        always = {1, self.length} if self.sheared(degree) else {self.length} if self.start else set()
        return [t for t in range(1, self.length + 1) if t in always or (t < self.length and t % self.spacing == 0)]


@dataclass(frozen=True)
class Gradients:
    """Gradients of a, of tau and c block by block, and of p."""

    da: Tensor
    dtau: Tensor
    dc: Tensor
    dp: Tensor


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

    def forward(self, offset: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The features, the kept states, and their level 0."""
        slots, kernels = self._slots(), self._kernels
        kept, kept_s = self._states(len(self.flags.kept(self.a.size(1))))
        out = empty(self.a, *self.a.shape)
        if self.flags.length == 0 and not self.flags.start:
            return out.zero_(), kept, kept_s
        after = (*self._inputs, self._closing, offset, batch, out)
        if self.flags.piece:
            self._by_piece(kernels.forward_by_piece, -int(slots.min()), slots, *after)
        else:
            work, work_s = self._states(max(0, -int(slots.min())))
            self._run(self._bind(kernels.forward, *self._places(slots, kept, work, kept_s, work_s), *after), 0, self.flags.length)
        return out, kept, kept_s

    def backward(
        self, grad: Tensor, offset: Tensor, batch: Tensor, kept: Tensor, kept_s: Tensor, transposed: tuple[Tensor, ...]
    ) -> Gradients:
        """Gradients of everything, from that of the features."""
        count, (M, R) = self._block_count, self.a.shape[1:]
        g = Gradients(
            da=empty(self.a, *self.a.shape),
            dtau=self.a.new_zeros(count, M, R) if self.flags.time else self.a.new_empty(count, 0, R),
            dc=self.a.new_zeros(count, M, R) if self.coefficient_gradient else self.a.new_empty(count, 0, R),
            dp=torch.zeros_like(self.p) if self.probability_gradient else self.p.new_empty(0, self.p.size(1)),
        )
        if self.flags.piece:
            slots = np.maximum(np.arange(self.flags.length + 1) - 1, 0)
            after = (*self._inputs, *transposed, self.flags.start, offset, batch, grad, *self._outputs(g))
            self._by_piece(self._kernels.backward_by_piece, self._scratch_states, slots, *after)
        else:
            self._backward_steps(g, grad, offset, batch, kept, kept_s, transposed)
        return self._completed(g)

    _lines = 1  # cache lines that a tile takes at a time

    @property
    def _kernels(self) -> Any:
        return kernels(self._config)

    @property
    def _scratch_states(self) -> int:
        """States that the backward pass by pieces has at the same time."""
        return self.flags.length + 3

    @property
    def _closing(self) -> int:
        """What `forward` does at the end."""
        return int(self.flags.start)

    @cached_property
    def _dp_zero(self) -> Tensor:
        """What level 0 owes to P comes from the other end of an edge, that is from another thread."""
        return torch.zeros_like(self.p) if self.probability_gradient and not self.flags.stochastic else self.p.new_empty(0)

    def _outputs(self, g: Gradients) -> tuple[Tensor, ...]:
        return g.da, g.dc, g.dtau, g.dp, self._dp_zero

    def _completed(self, g: Gradients) -> Gradients:
        if self._dp_zero.numel():
            g.dp.add_(self._dp_zero)
        return g

    def _backward_steps(
        self, g: Gradients, grad: Tensor, offset: Tensor, batch: Tensor, kept: Tensor, kept_s: Tensor, transposed: tuple[Tensor, ...]
    ) -> None:
        length, kernels = self.flags.length, self._kernels
        grads, grads_s = self._states(2)
        grads_s.zero_()
        top, end = grad, length % 2
        if self.flags.start:
            top = grads[end]
            # With no step at all the state is f_0, which needs no array; the kernel must only be given one.
            last, last_s = (kept[-1], kept_s[-1]) if length else (self.a, grads_s[1])
            arrays = (self.a, offset, batch, self.c, last, last_s, grad, top, grads_s[end], g.da, g.dc)
            finish = self._bind(kernels.adjoint_finish, *self._sizes[:2], *arrays)
            self._share(lambda first, last: finish(first, last, length == 0))
        else:
            g.da.zero_()
        after = (*self._inputs, *transposed, top, grads, grads_s, *self._outputs(g))
        for begin, end in self._segments():
            slots, missing = self._slots_of_segment(begin, end)
            places = self._places(slots, kept, *self._states(missing)[:1], kept_s, *self._states(missing)[1:])
            if missing:
                self._run(self._bind(kernels.forward, *places, *self._inputs, True, self.a, batch, self.a), begin, end - 1)
            self._run(self._bind(kernels.adjoint, *places, *after), begin, end, reverse=True)

    def _places(self, slots: NDArray[np.int64], kept: Tensor, work: Tensor, kept_s: Tensor, work_s: Tensor) -> tuple[Any, ...]:
        R, H, row, row_s = self._sizes
        n = self.a.size(0)
        return slots, self._clocks, R, H, n * row, n * row_s, kept, work, kept_s, work_s

    @property
    def _inputs(self) -> tuple[Tensor, ...]:
        return self.a, self.tau, self.c, self.p, self.row_ptr, self.col

    @property
    def _sizes(self) -> tuple[int, ...]:
        """R, H, and the bytes of a node's state and of its level 0."""
        (_, M, R), H, size = self.a.shape, self.p.size(1), self.a.element_size()
        return R, H, M * R * size, 0 if self.flags.stochastic else H * size

    @property
    def _clocks(self) -> NDArray[np.float64]:
        """The factor of tau at each step: with increments the clock always advances by 1, else it shows the time, the last step first."""
        length = self.flags.length
        return np.ones(length) if self.flags.increments else np.arange(length, 0.0, -1.0)

    @property
    def _config(self) -> Config:
        share, widest = self.a.size(2) // self.p.size(1), self._lines * _LINE // self.a.element_size()
        width = next(size for size in (32, 16, 8, 4, 2, 1) if size <= widest and share % size == 0)
        variant = (self.flags.increments, self.flags.time, not self.flags.stochastic)
        return Config(self.a.size(1), width, self.a.dtype == torch.float64, *variant, self.coefficient_gradient, self.probability_gradient)

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
        return empty(self.a, count, *self.a.shape), self.a.new_empty(count, n, self.p.size(1))

    def _bind(self, kernel: Callable[..., None], *rest: Any) -> Callable[..., None]:
        """The kernel, waiting for its place. Tensors go in as their addresses, and live as long as what is returned."""
        arguments = [value.data_ptr() if isinstance(value, Tensor) else value for value in rest]
        return lambda *where, alive=rest: kernel(*where, self.blocks.numpy(), *arguments)

    def _by_piece(self, kernel: Callable[..., None], states: int, slots: NDArray[np.int64], *rest: Any) -> None:
        """Run a kernel piece by piece; each thread has room for so many states of one piece, which stay in its core's cache."""
        R, H, row, row_s = self._sizes
        size, scratch = self.flags.piece * states * (row + row_s), []
        sizes = self._piece_sizes(R, H, row, row_s)
        bound = self._bind(kernel, slots, *sizes, *rest)

        def task(first: int, last: int) -> None:
            own = torch.empty(size + _LINE, dtype=torch.uint8)
            scratch.append(own)
            bound(first, last, own.data_ptr() + -own.data_ptr() % _LINE, self.flags.piece)

        self._share(task)

    def _piece_sizes(self, R: int, H: int, row: int, row_s: int) -> tuple[Any, ...]:
        return self._clocks, R, H, row, row_s

    def _run(self, kernel: Callable[..., None], begin: int, end: int, reverse: bool = False) -> None:
        """Run steps `begin` to `end` on all nodes."""
        if self._groups[1] or end - begin <= 1:
            self._share(lambda first, last: kernel(first, last, begin, end))
            return
        for step in reversed(range(begin, end)) if reverse else range(begin, end):
            self._share(partial(lambda step, first, last: kernel(first, last, step, step + 1), step))

    def _share(self, kernel: Callable[[int, int], None]) -> None:
        threads.run([partial(kernel, first, last) for first, last in self._groups[0]])

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
            if self.flags.piece or not independent or np.diff(weight[edges]).max() <= _IMBALANCE * weight[-1] / wanted:
                break
        return [(int(first), int(last)) for first, last in pairwise(edges) if first < last], independent


class ShearedRecursion(Recursion):
    """The same for degrees 1 and 2, in the variables of `sheared.py`."""

    _lines = 2  # there are registers for more, and half the turns of the loop

    @property
    def _kernels(self) -> Any:
        return sheared_kernels(self._config)

    @property
    def _scratch_states(self) -> int:
        return self.flags.length + 4

    @property
    def _closing(self) -> int:
        return 2 if self.flags.start else 1

    def _outputs(self, g: Gradients) -> tuple[Tensor, ...]:
        return g.da, g.dc, g.dtau, g.dp

    def _backward_steps(
        self, g: Gradients, grad: Tensor, offset: Tensor, batch: Tensor, kept: Tensor, kept_s: Tensor, transposed: tuple[Tensor, ...]
    ) -> None:
        through_states = needs_states(self.flags.time, self.probability_gradient)
        u, w, total = self._states(1)[0], self._states(2)[0], self._states(1 if through_states else 0)[0]
        close = (*self._sizes[:2], self.flags.start, self.a, offset, batch, self.c, kept[-1], grad, u, g.da, g.dc)
        self._share(self._bind(self._kernels.adjoint_close, *close))
        after = (*self._inputs, *transposed, u, w, total, *self._outputs(g))
        for begin, end in self._segments() if through_states else [(0, self.flags.length)]:
            slots, missing = self._slots_of_segment(begin, end)
            places = self._places(slots, kept, *self._states(missing if through_states else 0), kept_s)
            if missing and through_states:
                self._run(self._bind(self._kernels.forward, *places, *self._inputs, 0, self.a, batch, self.a), max(1, begin), end - 1)
            self._run(self._bind(self._kernels.adjoint, *places, *after), begin, end, reverse=True)

    def _places(self, slots: NDArray[np.int64], kept: Tensor, work: Tensor, *level_zero: Tensor) -> tuple[Any, ...]:
        R, H, row, _ = self._sizes
        return slots, R, H, self.a.size(0) * row, kept, work

    def _piece_sizes(self, R: int, H: int, row: int, row_s: int) -> tuple[Any, ...]:
        return R, H, row

    def _slots(self) -> NDArray[np.int64]:
        slots, length = super()._slots(), self.flags.length
        if not self.flags.kept(self.a.size(1)):
            slots[1] = -3  # the first state is read in every step
        elif self.flags.spacing == length:  # only the first and the last are wanted: its place serves every other one before it
            slots[2:] = np.where((length - np.arange(2, length + 1)) % 2 == 0, 1, -1)
        return slots


def recursion(flags: Flags, a: Tensor, *rest: Any) -> Recursion:
    """The recursion in the form that suits it best."""
    return (ShearedRecursion if flags.sheared(a.size(1)) else Recursion)(flags, a, *rest)
