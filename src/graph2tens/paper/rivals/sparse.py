r"""Products with sparse matrices for networks on one graph: word counts times weights, edge weights times features.

The words of a citation graph fill about 1 % of x. PyTorch multiplies by a CSR matrix quickly, but its backward pass transposes the matrix
anew at every step, which takes several times as long as the product. A pattern is transposed once here and used for all values on it:
dropout and attention change values, never the pattern.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_remaining_self_loops, coalesce

from ...nn.dropout import dropout

_SEEN: Any = WeakTensorKeyDictionary()  # patterns and scaled values of sparse x, forgotten with it


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where a matrix may differ from 0, in CSR and in the CSR of its transpose.

    Attributes:
        shape: rows and columns.
        row_ptr, col, row: entry e stands in row ``row[e]`` and column ``col[e]``; rows are sorted.
        back_ptr, back_row: the transpose's pointer and columns.
        order: entries of the transpose as entries of the matrix.
    """

    shape: tuple[int, int]
    row_ptr: Tensor
    col: Tensor
    row: Tensor
    back_ptr: Tensor
    back_row: Tensor
    order: Tensor

    @classmethod
    def of(cls, row: Tensor, col: Tensor, shape: tuple[int, int]) -> Pattern:
        """From entries sorted by row."""
        order = torch.argsort(col, stable=True)
        return cls(shape, _pointer(row, shape[0]), col, row, _pointer(col, shape[1]), row[order], order)

    def times(self, values: Tensor, dense: Tensor) -> Tensor:
        """The matrix with these values (E) times `dense` (columns, K), differentiable in both."""
        product: Tensor = _Product.apply(values, dense, self)
        return product

    def forward_product(self, values: Tensor, dense: Tensor) -> Tensor:
        return _csr(self.row_ptr, self.col, values, self.shape) @ dense

    def backward_product(self, values: Tensor, dense: Tensor) -> Tensor:
        """The transposed matrix times `dense`."""
        return _csr(self.back_ptr, self.back_row, values.index_select(0, self.order), (self.shape[1], self.shape[0])) @ dense


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, dense: Tensor, pattern: Pattern) -> Tensor:
        ctx.save_for_backward(values, dense if ctx.needs_input_grad[0] else None)
        ctx.pattern = pattern
        return pattern.forward_product(values, dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        values, dense = ctx.saved_tensors
        pattern: Pattern = ctx.pattern
        grad = grad.contiguous()
        to_values = (grad.index_select(0, pattern.row) * dense.index_select(0, pattern.col)).sum(1) if ctx.needs_input_grad[0] else None
        return to_values, pattern.backward_product(values, grad) if ctx.needs_input_grad[1] else None, None


class Words:
    """Attributes as a layer reads them: dropped and multiplied by weights, dense or sparse (CSR).

    Of sparse attributes only stored values are dropped; the others are 0 with or without it.
    """

    def __init__(self, x: Tensor, pattern: Pattern | None = None) -> None:
        self._values, self._pattern = x, pattern

    @classmethod
    def read(cls, x: Tensor, scaling: str) -> Words:
        """The words of articles, ``binary`` (which occur) or ``rows`` (each row divided by its sum, if that is more than 1)."""
        if x.layout == torch.strided:
            return cls((x > 0).to(x.dtype) if scaling == "binary" else x / x.sum(1, keepdim=True).clamp(min=1))
        seen: dict[str, Any] = _SEEN.setdefault(x, {})
        if not seen:
            row = torch.repeat_interleave(torch.arange(x.size(0), device=x.device), x.crow_indices().diff())
            seen["pattern"] = Pattern.of(row, x.col_indices(), (x.size(0), x.size(1)))
        if scaling not in seen:
            values, row = x.values(), seen["pattern"].row
            sums = values.new_zeros(x.size(0)).index_add(0, row, values).clamp(min=1)
            seen[scaling] = (values > 0).to(values.dtype) if scaling == "binary" else values / sums[row]
        return cls(seen[scaling], seen["pattern"])

    def dropout(self, p: float, training: bool) -> Words:
        return Words(dropout(self._values, p, training), self._pattern)

    def times(self, weight: Tensor) -> Tensor:
        """x times `weight` (d, h)."""
        return self._values @ weight if self._pattern is None else self._pattern.times(self._values, weight)


class WordReader(nn.Module):
    """A network on one graph that wants its words as they are: not scaled, and sparse where they are."""

    raw_attributes = True


class Edges:
    """Edges of one graph with a loop at every node, as :class:`Pattern` and ready-made weights on it.

    Row i reads from column j for an edge from j to i, as PyG's layers do. Kept for the last graph that was asked for: networks on one
    graph see the same `edge_index` at every step.
    """

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        loops, _ = add_remaining_self_loops(edge_index, num_nodes=num_nodes)
        source, target = coalesce(loops, num_nodes=num_nodes, sort_by_row=False)
        self.pattern = Pattern.of(target, source, (num_nodes, num_nodes))
        self.degree = self.pattern.row_ptr.diff()
        self.symmetric = gcn_norm(torch.stack([source, target]), None, num_nodes, add_self_loops=False)[1]
        self.mean = 1.0 / self.degree[target]

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int) -> Edges:
        kept = _LAST.get("edges")
        if kept is None or kept[0] is not edge_index or kept[1] != num_nodes:
            kept = _LAST["edges"] = (edge_index, num_nodes, cls(edge_index, num_nodes))
        edges: Edges = kept[2]
        return edges

    def convolve(self, x: Tensor) -> Tensor:
        r""":math:`D^{-1/2} (A + I) D^{-1/2} x`."""
        return self.pattern.times(self.symmetric.to(x.dtype), x)


_LAST: dict[str, tuple[Tensor, int, Edges]] = {}


def _pointer(index: Tensor, size: int) -> Tensor:
    return torch.cat([index.new_zeros(1), torch.bincount(index, minlength=size).cumsum(0)])


def _csr(pointer: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():  # CSR tensors are in beta state: nothing that a user could act on
        warnings.simplefilter("ignore")
        return torch.sparse_csr_tensor(pointer, col, values, shape, check_invariants=False)
