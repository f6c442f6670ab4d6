"""GraphTrans of `Wu et al. (2021) <https://arxiv.org/abs/2201.08821>`_: graph convolutions, then a Transformer over the nodes; table 1.

Text and published configurations disagree. The printed numbers are linked to the configurations, which are the default here.

Tokens stay packed, one row per node and graph, for everything but attention itself: padded to the longest graph of a batch, two thirds of
the rows would be padding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, relu, scaled_dot_product_attention
from torch_geometric.utils import degree, scatter

from .norm import BatchNorm
from .recipe import Recipe, Rival

DROPOUT = 0.1


class OgbGCN(nn.Module):
    r"""OGB's graph convolution with edge features of 0: :math:`\sum_j \mathrm{relu}(z_j) / \sqrt{d_i d_j} + \mathrm{relu}(z_i + r) / d_i`,
    z = Wx + b, d = degree + 1. The ReLU inside the sum is what PyG's ``GCNConv`` does not have."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear, self.root = nn.Linear(width, width), nn.Parameter(torch.randn(width))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        z, (source, target) = self.linear(x), edge_index
        d = degree(source, x.size(0), dtype=x.dtype) + 1
        weight = (d[source] * d[target]).rsqrt()
        gathered = scatter(relu(z)[source] * weight[:, None], target, dim_size=x.size(0))
        summed: Tensor = gathered + relu(z + self.root) / d[:, None]
        return summed


class OgbGIN(nn.Module):
    r"""OGB's GIN layer with edge features of 0: :math:`\mathrm{MLP}((1 + \epsilon) x_i + \sum_j \mathrm{relu}(x_j))`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), BatchNorm(2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.eps = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        source, target = edge_index
        logits: Tensor = self.mlp((1 + self.eps) * x + scatter(relu(x)[source], target, dim_size=x.size(0)))
        return logits


class Places:
    """Where packed tokens stand when they are padded: graph and position of each, and which positions are taken."""

    def __init__(self, batch: Tensor, batch_size: int) -> None:
        counts = torch.bincount(batch, minlength=batch_size)
        start = counts.cumsum(0) - counts
        self.graph, self.position = batch, torch.arange(batch.numel(), device=batch.device) - start[batch]
        self.shape = (batch_size, int(counts.max()))
        self.taken = torch.arange(self.shape[1], device=batch.device) < counts[:, None]

    def pad(self, rows: Tensor) -> Tensor:
        padded: Tensor = rows.new_zeros(*self.shape, rows.size(1)).index_put((self.graph, self.position), rows)
        return padded

    def pack(self, padded: Tensor) -> Tensor:
        return padded[self.graph, self.position]


class PackedLayer(nn.TransformerEncoderLayer):
    """PyTorch's encoder layer (same parameters, norm after each block) on packed tokens."""

    def forward(self, tokens: Tensor, places: Places) -> Tensor:  # type: ignore[override]
        tokens = self.norm1(tokens + self.dropout1(self._attend(tokens, places)))
        after: Tensor = self.norm2(tokens + self._ff_block(tokens))
        return after

    def _attend(self, tokens: Tensor, places: Places) -> Tensor:
        attention = self.self_attn
        projected = nn.functional.linear(tokens, attention.in_proj_weight, attention.in_proj_bias)
        graphs, length = places.shape
        q, k, v = places.pad(projected).view(graphs, length, 3, attention.num_heads, -1).permute(2, 0, 3, 1, 4)
        read = scaled_dot_product_attention(
            q, k, v, attn_mask=places.taken[:, None, None], dropout_p=attention.dropout if self.training else 0.0
        )
        mixed: Tensor = attention.out_proj(places.pack(read.transpose(1, 2).flatten(2)))
        return mixed


class GraphTrans(nn.Module):
    """Graph convolutions with batch normalisation, one learned token per graph that attends to all nodes, no positions.

    Args:
        conv: ``GCN`` or ``GIN``, in OGB's form.
        layers: graph convolutions.
        width: of them.
        blocks: Transformer layers.
        feedforward: width inside a Transformer layer.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        conv: str = "GCN",
        layers: int = 5,
        width: int = 128,
        blocks: int = 3,
        feedforward: int = 256,
    ) -> None:
        super().__init__()
        d_model, heads = 128, 4
        self.in_channels = in_channels
        self.first = nn.Linear(in_channels, width)
        self.convs = nn.ModuleList([OgbGCN(width) if conv == "GCN" else OgbGIN(width) for _ in range(layers)])
        self.norms = nn.ModuleList([BatchNorm(width) for _ in range(layers)])
        self.to_tokens = nn.Linear(width, d_model)
        self.token = nn.Parameter(torch.randn(d_model))
        self.norm_in, self.norm_out = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.blocks = nn.ModuleList([PackedLayer(d_model, heads, feedforward, DROPOUT) for _ in range(blocks)])
        self.head = nn.Linear(d_model, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        x = self.first(x)
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            x = norm(conv(x, edge_index))
            x = dropout(x if layer == len(self.convs) - 1 else relu(x), DROPOUT, self.training)
        # The graphs' own tokens come first; attention without positions does not care.
        tokens = self.norm_in(torch.cat([self.token.expand(batch_size, -1), self.to_tokens(x)]))
        owner = torch.cat([torch.arange(batch_size, device=batch.device), batch])
        order = torch.argsort(owner, stable=True)
        places = Places(owner[order], batch_size)
        tokens = tokens[order]
        for block in self.blocks:
            tokens = block(tokens, places)
        logits: Tensor = self.head(self.norm_out(tokens[places.position == 0]))
        return logits


_RECIPE = Recipe(100, 1e-4, batch_size=128, optimiser="adamw", weight_decay=1e-4, schedule="cosine", watch="accuracy")


def _rival(printed: str, **options: Any) -> Rival:
    return Rival(GraphTrans, _RECIPE, "graph", "Wu et al. (2021), their configuration files", options, {"nci": printed})


RIVALS = {
    "GraphTrans-small": _rival("GraphTrans (small)", conv="GCN", blocks=3),
    "GraphTrans-large": _rival("GraphTrans (large)", conv="GIN", blocks=4),
}
