"""Cheap rivals that the paper's tables do not have: words without edges, edges without words, and the two joined without a graph layer.

A system for nodes that cannot beat these has not learned from the graph, or not from the words.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, relu

from ...nn.dropout import dropout
from ...training.config import Training
from .rival import Rival
from .shchur import glorot, settings
from .sparse import Edges, WordReader, Words


class Dense(nn.Module):
    """A linear layer on words."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight, self.bias = glorot(in_channels, out_channels), nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Words) -> Tensor:
        return x.times(self.weight) + self.bias


class MLP(WordReader):
    """Two layers on the words alone, with Shchur et al.'s settings: what the text of an article says about its subject."""

    scaling = "binary"

    def __init__(self, in_channels: int, out_channels: int, width: int = 64, dropout: float = 0.8) -> None:
        super().__init__()
        self.in_channels, self.dropout = in_channels, dropout
        self.first, self.second = Dense(in_channels, width), Dense(width, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = relu(self.first(Words.read(x, self.scaling).dropout(self.dropout, self.training)))
        logits: Tensor = self.second(Words(dropout(hidden, self.dropout, self.training)))
        return logits

    def penalty(self) -> Tensor:
        return self.first.weight.square().sum() + self.second.weight.square().sum()


class APPNP(MLP):
    r"""`Gasteiger et al. (2019) <https://arxiv.org/abs/1810.05997>`_: the MLP's answers Z, spread by ten steps of personalised PageRank,
    :math:`H \leftarrow (1 - \alpha) \hat A H + \alpha Z`. L2 on the first layer."""

    scaling = "rows"

    def __init__(self, in_channels: int, out_channels: int, steps: int = 10, teleport: float = 0.1) -> None:
        super().__init__(in_channels, out_channels, 64, 0.5)
        self.steps, self.teleport = steps, teleport

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        start = super().forward(x, edge_index)
        edges, spread = Edges.of(edge_index, x.size(0)), start
        for _ in range(self.steps):
            spread = (1 - self.teleport) * edges.convolve(spread) + self.teleport * start
        return spread

    def penalty(self) -> Tensor:
        return self.first.weight.square().sum()


class SGC(WordReader):
    r"""`Wu et al. (2019) <https://arxiv.org/abs/1902.07153>`_: logistic regression on :math:`\hat A^2 X`."""

    def __init__(self, in_channels: int, out_channels: int, steps: int = 2) -> None:
        super().__init__()
        self.in_channels, self.steps, self.head = in_channels, steps, Dense(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        z = Words.read(x, "rows").times(self.head.weight)  # few columns, so weights first
        edges = Edges.of(edge_index, x.size(0))
        for _ in range(self.steps):
            z = edges.convolve(z)
        return z + self.head.bias


class LabelPropagation(WordReader):
    r"""Labels of training nodes spread along edges, :math:`H \leftarrow (1 - \alpha) D^{-1/2} A D^{-1/2} H + \alpha Y`; no words.

    Nothing is learned but one number, the scale that makes logits of scores; it does not change an answer. It answers for the graph
    whose labels it was told, so a saved one cannot be applied to data.
    """

    labels: Tensor

    def __init__(self, in_channels: int, out_channels: int, steps: int = 100, teleport: float = 0.05) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.steps, self.teleport = in_channels, out_channels, steps, teleport
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("labels", torch.zeros(0, out_channels), persistent=False)

    def remember(self, y: Tensor, nodes: Tensor, num_nodes: int) -> None:
        """Take the classes `y` of `nodes` as known."""
        self.labels = torch.zeros(num_nodes, self.out_channels, device=y.device)
        self.labels[nodes] = one_hot(y, self.out_channels).to(self.labels.dtype)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if self.labels.size(0) != x.size(0):
            raise ValueError(
                f"label propagation answers for the graph whose labels it was told, with {self.labels.size(0)} nodes (got {x.size(0)}). "
                "It has learned nothing that could be applied to a graph without labels."
            )
        edges, spread = Edges.of(edge_index, x.size(0)), self.labels
        # without the loops: a node hears of its own label by the second term alone
        place = (edges.degree - 1).clamp(min=1).to(spread.dtype).rsqrt()[:, None]
        ones = (edges.pattern.row != edges.pattern.col).to(spread.dtype)
        for _ in range(self.steps):
            spread = (1 - self.teleport) * place * edges.pattern.times(ones, place * spread) + self.teleport * self.labels
        return self.scale * spread


RIVALS = {
    "MLP": Rival(MLP, settings(0.005, 1e-2), "node", "Shchur et al. (2018), tuned settings of their code"),
    "LabelPropagation": Rival(
        LabelPropagation,
        Training(epochs=1, batch_size=None, schedule="constant", l2=0.0),
        "node",
        "Zhou et al. (2004), with the return probability of Shchur et al. (2018)",
    ),
    "SGC": Rival(
        SGC,
        Training(
            epochs=200, batch_size=None, learning_rate=0.2, schedule="constant", l2=0.0, weight_decay=5e-5, keep_best=True, watch="score"
        ),
        "node",
        "Wu et al. (2019); they tune the decay for each data set, here it is one value for all, chosen on seed 0 of Cora and CiteSeer",
    ),
    "APPNP": Rival(
        APPNP,
        Training(epochs=10_000, batch_size=None, learning_rate=0.01, schedule="constant", l2=5e-3 / 2, patience=100, watch_penalty=True),
        "node",
        "Gasteiger et al. (2019)",
    ),
}
