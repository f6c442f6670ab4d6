"""The walks themselves, as sequences of nodes: drawn at random, or all of them with their probabilities."""

from __future__ import annotations

import torch
from torch import Tensor

from .checks import check_integer, check_tensor
from .walks import RandomWalk, check_one_head


def sample_walks(walk: RandomWalk, start: Tensor, length: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw one walk of `length` steps from every node in `start`; vectorised over walks.

    Shapes:
        - **input:** start (S,) nodes, repeat a node for several walks from it
        - **output:** (S, length + 1) nodes, ``start`` first
    """
    check_one_head(walk)
    length = check_integer(length, "length", 0, " (the number of steps)")
    start = _check_start(walk, start)
    probabilities = _check_stochastic(walk)
    running = torch.cat([probabilities.new_zeros(1), probabilities.cumsum(0)])
    first, last = walk.row_ptr[:-1][walk.row], walk.row_ptr[1:][walk.row]
    cumulative = (running[1:] - running[first]) / (running[last] - running[first])  # ends at exactly 1 in each row
    halvings = int(walk.row_ptr.diff().max()).bit_length() if start.numel() else 0
    steps = [start]
    for _ in range(length):
        here = steps[-1]
        uniform = torch.rand(here.shape, generator=generator, dtype=torch.float64, device=walk.device)
        # Bisection inside the row, for the first entry above the random number. One torch.searchsorted over all rows, told
        # apart by adding their numbers, took up to twice as long and lost digits to those numbers.
        low, high = walk.row_ptr[here], walk.row_ptr[here + 1] - 1
        for _ in range(halvings):
            middle = (low + high) // 2
            above = cumulative[middle] > uniform
            low, high = torch.where(above, low, middle + 1), torch.where(above, middle, high)
        steps.append(walk.col[low])
    return torch.stack(steps, dim=1)


def enumerate_walks(walk: RandomWalk, length: int, max_walks: int = 10_000_000) -> tuple[Tensor, Tensor]:
    """Every walk of `length` steps that has positive probability, from every node, with its probability given the start.

    Shapes:
        - **output:** nodes (W, length + 1), probabilities (W,)
    """
    check_one_head(walk)
    length = check_integer(length, "length", 0, " (the number of steps)")
    check_integer(max_walks, "max_walks", 1)
    total = _count_walks(walk, length)
    if total > max_walks:
        raise ValueError(
            f"there are {total:,.0f} walks of length {length}, more than `max_walks`={max_walks:,}; use `sample_walks` instead."
        )
    nodes = torch.arange(walk.num_nodes, device=walk.device).unsqueeze(1)
    weight = torch.ones(walk.num_nodes, dtype=walk.probabilities.dtype, device=walk.device)
    for _ in range(length):
        parent, entry = expand_rows(walk.row_ptr, nodes[:, -1])
        nodes = torch.cat([nodes[parent], walk.col[entry].unsqueeze(1)], dim=1)
        weight = weight[parent] * walk.probabilities[entry]
        possible = weight != 0
        nodes, weight = nodes[possible], weight[possible]
    return nodes, weight


def expand_rows(row_ptr: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """All entries of the given CSR rows: for each, the position in `rows` it belongs to and its position among the entries."""
    counts = row_ptr[rows + 1] - row_ptr[rows]
    owner = torch.repeat_interleave(torch.arange(rows.numel(), device=rows.device), counts)
    first = row_ptr[rows] - (counts.cumsum(0) - counts)
    return owner, torch.arange(owner.numel(), device=rows.device) + first[owner]


def _count_walks(walk: RandomWalk, length: int) -> float:
    counts = torch.ones(walk.num_nodes, dtype=torch.float64, device=walk.device)
    present = (walk.probabilities.detach() != 0).double()
    for _ in range(length):
        counts = torch.zeros_like(counts).index_add(0, walk.row, present * counts[walk.col])
    return float(counts.sum())


def _check_start(walk: RandomWalk, start: Tensor) -> Tensor:
    check_tensor(start, "start", " of nodes, shape (S,)")
    if start.dim() != 1 or start.is_floating_point() or start.is_complex() or start.dtype == torch.bool:
        raise ValueError(f"`start` must be a vector of integers, one node for each walk (got shape {tuple(start.shape)}, {start.dtype}).")
    if start.numel() and not (0 <= int(start.min()) <= int(start.max()) < walk.num_nodes):
        wrong = int(start.min()) if int(start.min()) < 0 else int(start.max())
        raise ValueError(f"`start` must hold nodes in [0, {walk.num_nodes}) (got {wrong}).")
    return start.to(walk.device, torch.int64)


def _check_stochastic(walk: RandomWalk) -> Tensor:
    """The walk's probabilities in float64, after they were found to be such."""
    probabilities = walk.probabilities.detach().double()
    total = torch.zeros(walk.num_nodes, dtype=torch.float64, device=walk.device).index_add(0, walk.row, probabilities)
    wrong = (total - 1).abs() > 1e-4  # float32 probabilities of a row of many thousands
    if bool(wrong.any()) or bool((probabilities < 0).any()):
        row = int(wrong.nonzero()[0]) if bool(wrong.any()) else int(walk.row[(probabilities < 0).nonzero()[0]])
        raise ValueError(
            f"`walk` must have probabilities, not negative and of sum 1 at every node, to be sampled (got the sum {float(total[row])} "
            f"at node {row}). Were edges dropped, or are they free parameters?"
        )
    return probabilities
