r"""GCN, GAT, MoNet and GraphSAGE as `Shchur et al. (2018) <https://arxiv.org/abs/1811.05868>`_ tuned them: the baselines of table 4.

All have two layers, Glorot weights, no norms, and read which words occur in an article. They are written for one graph with sparse
words: the same formulas as PyG's layers, where PyG has them (tests compare), at a fraction of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, leaky_relu, relu
from torch_geometric.utils import scatter, softmax

from ...nn.dropout import dropout
from ...training.config import Training
from .rival import Rival
from .sparse import Edges, WordReader, Words


def settings(learning_rate: float, weight_decay: float) -> Training:
    """Settings all four share. TensorFlow's L2 of weight w is w/2 times the sum of squares, which early stopping watches, too."""
    return Training(
        epochs=100_000,
        batch_size=None,
        learning_rate=learning_rate,
        schedule="constant",
        l2=weight_decay / 2,
        patience=50,
        watch_penalty=True,
    )


class TwoLayers(WordReader):
    """The shell: dropout before both layers, an activation between them, L2 on the weights of the first."""

    def __init__(
        self, in_channels: int, first: nn.Module, second: nn.Module, dropout: float, act: Callable[[Tensor], Tensor] = relu
    ) -> None:
        super().__init__()
        self.in_channels, self.first, self.second, self.dropout, self.act = in_channels, first, second, dropout, act

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        edges = Edges.of(edge_index, x.size(0))
        hidden = self.act(self.first(Words.read(x, "binary").dropout(self.dropout, self.training), edges))
        logits: Tensor = self.second(Words(dropout(hidden, self.dropout, self.training)), edges)
        return logits

    def penalty(self) -> Tensor:
        """Sum of squares of what L2 acts on."""
        return torch.stack([weight.square().sum() for weight in self.decayed()]).sum()

    def decayed(self) -> list[Tensor]:
        weights: list[Tensor] = [self.first.weight]  # type: ignore[list-item]
        return weights


class Convolution(nn.Module):
    r"""GCN's layer :math:`\hat A X W + b`, as PyG's ``GCNConv``."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight, self.bias = glorot(in_channels, out_channels), nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Words, edges: Edges) -> Tensor:
        return edges.convolve(x.times(self.weight)) + self.bias


class GCN(TwoLayers):
    """Kipf & Welling's network. Shchur's public code builds the loops and then leaves them out; these have them."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 64, dropout: float = 0.8) -> None:
        super().__init__(in_channels, Convolution(in_channels, width), Convolution(width, out_channels), dropout)


class Attention(nn.Module):
    """GAT's layer as PyG's ``GATConv``, with one more dropout: on the transformed features before they are aggregated."""

    def __init__(self, in_channels: int, out_channels: int, heads: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.heads, self.width, self.dropout, self.attention_dropout = heads, out_channels, dropout, attention_dropout
        # Glorot for each head: a head is a matrix of its own in the source
        self.weight = nn.Parameter(torch.cat([glorot(in_channels, out_channels).data for _ in range(heads)], dim=1))
        self.to_target, self.to_source = (nn.Parameter(_heads_of_vectors(heads, out_channels)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(heads * out_channels))

    def forward(self, x: Words, edges: Edges) -> Tensor:
        z = x.times(self.weight).view(-1, self.heads, self.width)
        row, col = edges.pattern.row, edges.pattern.col
        score = (z * self.to_target).sum(-1).index_select(0, row) + (z * self.to_source).sum(-1).index_select(0, col)
        alpha = softmax(leaky_relu(score, 0.2), row, num_nodes=z.size(0))
        alpha = dropout(alpha, self.attention_dropout, self.training)
        z = dropout(z, self.dropout, self.training)
        heads = [edges.pattern.times(alpha[:, head].contiguous(), z[:, head].contiguous()) for head in range(self.heads)]
        return torch.cat(heads, dim=1) + self.bias


class GAT(TwoLayers):
    """Velickovic et al.'s network: 8 heads of 8, then one head. L2 acts on all matrices and attention vectors.

    Two simplifications: the heads of a layer share the dropout of its input (each draws its own in the source), and the attention score
    has no bias of its own.
    """

    def __init__(self, in_channels: int, out_channels: int, width: int = 8, heads: int = 8) -> None:
        first = Attention(in_channels, width, heads, dropout=0.6, attention_dropout=0.3)
        super().__init__(in_channels, first, Attention(width * heads, out_channels, 1, 0.6, 0.3), 0.6, elu)

    def decayed(self) -> list[Tensor]:
        return [parameter for name, parameter in self.named_parameters() if not name.endswith("bias")]


class Gaussians(nn.Module):
    """MoNet's edge weights: Gaussian kernels of transformed degrees, normalised over the neighbours of a node; both layers share them."""

    def __init__(self, kernels: int = 2, coordinates: int = 2) -> None:
        super().__init__()
        self.transform, self.shift = glorot(2, coordinates), nn.Parameter(torch.zeros(coordinates))
        centres = -1 + 1 / (2 * kernels) + 2 / kernels * torch.arange(kernels)
        self.mu = nn.Parameter(centres[:, None].repeat(1, coordinates))
        self.sigma = nn.Parameter(torch.ones(kernels, coordinates))

    def forward(self, edges: Edges) -> Tensor:
        """(kernels, E)."""
        row, col = edges.pattern.row, edges.pattern.col
        place = edges.degree.to(self.mu.dtype).rsqrt()
        u = torch.tanh(torch.stack([place[row], place[col]], dim=1) @ self.transform + self.shift)
        exponent = ((u[:, None] - self.mu) ** 2 / (1e-14 + self.sigma**2)).sum(-1)
        weight = torch.exp(-0.5 * exponent)
        total = scatter(weight, row, dim_size=place.numel())
        normalised: Tensor = weight / (1e-14 + total[row])
        return normalised.t().contiguous()


class GaussianMixture(nn.Module):
    """MoNet's layer: a matrix for each kernel."""

    def __init__(self, in_channels: int, out_channels: int, gaussians: Gaussians) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.cat([glorot(in_channels, out_channels).data for _ in gaussians.mu], dim=1))
        self._gaussians = [gaussians]  # in a list, so that the parameters belong to the network alone

    def forward(self, x: Words, edges: Edges) -> Tensor:
        weights = self._gaussians[0](edges)
        parts = x.times(self.weight).chunk(len(weights), dim=1)
        return torch.stack([edges.pattern.times(w, part.contiguous()) for w, part in zip(weights, parts, strict=True)]).sum(0)


class MoNet(TwoLayers):
    """Monti et al.'s network as Shchur et al. have it; PyG's ``GMMConv`` is another one (own Gaussians per layer, not normalised)."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 32, dropout: float = 0.7) -> None:
        gaussians = Gaussians()
        first, second = (GaussianMixture(*sizes, gaussians) for sizes in ((in_channels, width), (width, out_channels)))
        super().__init__(in_channels, first, second, dropout)
        self.gaussians = gaussians


class Sage(nn.Module):
    r"""GraphSAGE's layer with mean aggregation: :math:`z_i = W_1 \mathrm{mean}_{j \in N(i) \cup i} x_j + W_2 x_i + b`, divided by
    :math:`\max(1, |z_i|)`. PyG's ``SAGEConv`` has no loops and always scales to length 1."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.cat([glorot(in_channels, out_channels).data for _ in range(2)], dim=1))
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Words, edges: Edges) -> Tensor:
        neighbours, own = x.times(self.weight).chunk(2, dim=1)  # transformed before it is moved along edges: fewer columns
        z = edges.pattern.times(edges.mean.to(own.dtype), neighbours.contiguous()) + own + self.bias
        scaled: Tensor = z / z.norm(dim=1, keepdim=True).clamp(min=1)
        return scaled


class GraphSAGE(TwoLayers):
    """Hamilton et al.'s network with mean aggregation; the logits are scaled to length 1 at most, too."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 32, dropout: float = 0.4) -> None:
        super().__init__(in_channels, Sage(in_channels, width), Sage(width, out_channels), dropout)


def glorot(in_channels: int, out_channels: int) -> nn.Parameter:
    """A matrix (in, out), uniform of variance 2 / (in + out)."""
    bound = math.sqrt(6 / (in_channels + out_channels))
    return nn.Parameter(torch.empty(in_channels, out_channels).uniform_(-bound, bound))


def _heads_of_vectors(heads: int, width: int) -> Tensor:
    return torch.cat([glorot(width, 1).data.t() for _ in range(heads)])


_SOURCE = "Shchur et al. (2018), tuned settings of their code"
RIVALS = {
    "GCN": Rival(GCN, settings(0.01, 1e-3), "node", _SOURCE, printed={"citation": "GCN"}),
    "GAT": Rival(GAT, settings(0.01, 1e-2), "node", _SOURCE, printed={"citation": "GAT"}),
    "MoNet": Rival(MoNet, settings(0.003, 5e-2), "node", _SOURCE, printed={"citation": "MoNet"}),
    "GraphSAGE": Rival(GraphSAGE, settings(0.001, 0.1), "node", _SOURCE, printed={"citation": "GraphSage (mean)"}),
}
