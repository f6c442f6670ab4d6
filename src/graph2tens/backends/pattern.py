"""What the fused kernels need to know about a graph beside its CSR: the transposed pattern, and blocks of nodes to share out."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor

from ..walks import RandomWalk, for_keeps
from .compiling import Compiled, compiled

_BLOCKS = 1024  # at most about so many blocks of nodes, however large the graph
_BLOCK_WEIGHT = 256  # nodes + edges of a block in small graphs: its states stay in the cache of a core over all steps


def pattern(walk: RandomWalk) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pointer, rows and positions of the transposed pattern as ``walk.transpose`` has them, and the blocks; kept with the walk."""
    known: tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]] | None = walk.derived.get("pattern")
    if known is None or known[0] is not walk.col:
        with for_keeps():
            known = (walk.col, _pattern(walk.row_ptr, walk.col))
        if not torch.compiler.is_compiling():
            walk.derived["pattern"] = known
    return known[1]


def largest_piece(walk: RandomWalk) -> int:
    """Nodes of the largest piece of the graph that no edge leaves, as the blocks have it; 0 where the pattern is not known yet."""
    if "piece" not in walk.derived and not torch.compiler.is_compiling():
        borders, closed = pattern(walk)[3]
        walk.derived["piece"] = int(borders[closed.bool()].diff().max())
    piece: int = walk.derived.get("piece", 0)
    return piece


@torch.library.custom_op("graph2tens::pattern", mutates_args=())
def _pattern(row_ptr: Tensor, col: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    row_ptr, col = row_ptr.contiguous(), col.contiguous()
    n, E = row_ptr.numel() - 1, col.numel()
    t_ptr, t_row, t_position = (torch.zeros(size, dtype=torch.int64) for size in (n + 1, E, E))
    blocks = torch.empty(2, _BLOCKS + 2, dtype=torch.int64)
    transpose, cut = _kernels()
    transpose(row_ptr.numpy(), col.numpy(), t_ptr.numpy(), t_row.numpy(), t_position.numpy())
    cut(row_ptr.numpy(), col.numpy(), max(_BLOCK_WEIGHT, -(-(n + E) // _BLOCKS)), blocks.numpy())
    return t_ptr, t_row, t_position, blocks


@_pattern.register_fake
def _(row_ptr: Tensor, col: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return torch.empty_like(row_ptr), torch.empty_like(col), torch.empty_like(col), row_ptr.new_empty(2, _BLOCKS + 2)


@cache
def _kernels() -> tuple[Compiled, Compiled]:
    return compiled(_transpose), compiled(_cut)


def _transpose(row_ptr, col, t_ptr, t_row, t_position):  # type: ignore[no-untyped-def]
    """A counting sort by column, which keeps the order of rows."""
    n = row_ptr.size - 1
    for edge in range(col.size):
        t_ptr[col[edge] + 1] += 1
    for i in range(n):
        t_ptr[i + 1] += t_ptr[i]
    place = t_ptr[:-1].copy()
    for i in range(n):
        for edge in range(row_ptr[i], row_ptr[i + 1]):
            j = col[edge]
            t_row[place[j]] = i
            t_position[place[j]] = edge
            place[j] += 1


def _cut(row_ptr, col, weight, blocks):  # type: ignore[no-untyped-def]
    """Borders of blocks of at least `weight` nodes and edges, at most twice that where no edge crosses a border in between.

    ``blocks[0]`` are the borders, repeated at the end, ``blocks[1]`` is 1 where no edge crosses. They depend on the graph alone, not
    on the number of threads, because sums over all nodes are taken block by block.
    """
    n = row_ptr.size - 1
    crossing = np.zeros(n + 1, np.int64)  # differences, along the nodes, of the number of edges across the border before a node
    for i in range(n):
        for edge in range(row_ptr[i], row_ptr[i + 1]):
            j = col[edge]
            if i != j:
                crossing[min(i, j) + 1] += 1
                if max(i, j) + 1 <= n:
                    crossing[max(i, j) + 1] -= 1
    blocks[0, 0], blocks[1, 0] = 0, 1
    count, begin, across = 1, 0, 0
    for i in range(1, n):
        across += crossing[i]
        size = (i - begin) + (row_ptr[i] - row_ptr[begin])
        if (size >= weight and across == 0) or size >= 2 * weight:
            blocks[0, count], blocks[1, count] = i, across == 0
            count += 1
            begin = i
    blocks[0, count:] = n
    blocks[1, count:] = 1
