r"""G2TN and G2TAN: graph convolutions that read the order of what a random walk saw.

One engine, :class:`WalkConv`; the two layers differ in `transition`, how the probabilities of the walk come about, and in nothing else.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.parameter import UninitializedParameter

from ..backends.projection import project
from ..checks import check_integer
from ..walks import RandomWalk
from .attention import attention
from .dropout import dropout
from .transition import edge_attributes
from .walk_conv import WalkConv, optional_parameter


class G2TNConv(WalkConv):
    """Graph2Tens: the walker goes to all neighbours alike, or by the weights of the edges.

    For the arguments, the formula and the shapes see :class:`WalkConv`. It goes where any PyG conv goes::

        conv = G2TNConv(16, 64)             # in the place of GATConv(16, 64)
        h = conv(data.x, data.edge_index)   # (nodes, 64), read from walks of 5 steps
    """

    def transition(self, x: Tensor, walk: RandomWalk, edge_attr: Tensor | None = None) -> RandomWalk:
        """The walk as it is."""
        if edge_attr is not None:
            raise ValueError("`edge_attr` must be None: G2TNConv has no attention that could read it. Use G2TANConv(edge_dim=...).")
        return walk


class G2TANConv(WalkConv):
    r"""Graph2Tens with attention: the walker prefers some neighbours, each of H heads in its own way,

    .. math:: P^h_{ij} \propto w_{ij} \exp \mathrm{LeakyReLU}(\langle a^h_s, x_i \rangle + \langle a^h_t, x_j \rangle
              + \langle a^h_e, e_{ij} \rangle),

    and each head owns R/H of the functionals. The :math:`w_{ij}` are the probabilities of the walk that :class:`G2TNConv` would take, so
    weights, parallel edges, `self_loops` and `laziness` count; on a graph without them P is the softmax over the out-neighbours.

    Args:
        out_channels: size of the output, of all heads together unless `concat` says otherwise.
        heads: number H of heads, the third argument as in PyG's attention convs; divides the rank, which by default is the next number of
            functionals that it divides.
        concat: PyG's meaning of `out_channels`. True: the size of one head, and the output is H times as wide. False: the size of the
            output, for which each head has as many functionals; with ``mix="sum"`` the heads are averaged, as in GAT.
        dropout: probability, in training, that a given walk of a head is lost; kept steps grow, so that rows sum to 1 on average. With one
            step this is the dropout of GATConv. Each step is dropped with probability 1 - (1 - dropout)^(1/k): dropped with probability
            `dropout` each, hardly any walk of several steps would be left.
        step_dropout: the probability to drop a step, in the place of `dropout`; the paper's.
        negative_slope: of the LeakyReLU.
        edge_dim: size of the edges' attributes `edge_attr`, if there are any. Parallel edges are one step with their mean attributes; steps
            that are no edges (added self-loops, lazy steps, nodes without edges) have attributes 0.
        options: all other arguments of :class:`WalkConv`, by name, `walk_length` and `degree` too.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 8,
        *,
        walk_length: int = 5,
        degree: int = 2,
        concat: bool | None = None,
        dropout: float = 0.0,
        step_dropout: float | None = None,
        negative_slope: float = 0.2,
        edge_dim: int | None = None,
        **options: Any,
    ) -> None:
        self.heads = check_integer(heads, "heads", 1)
        self.concat = concat
        width = check_integer(out_channels, "out_channels", 1) * (heads if concat else 1)
        mix = options.get("mix")
        if options.get("rank") is None and mix is not False:
            options["rank"] = _rank(out_channels, heads, concat, mix)
        super().__init__(in_channels, width, walk_length, degree, **options)
        if self.rank % heads:
            raise ValueError(
                f"`heads` must divide the rank {self.rank}, of which each head owns a part (got {heads}). "
                f"Give another number of heads, or more functionals, e.g. rank={-(-self.rank // heads) * heads}."
            )
        for name, value in (("dropout", dropout), ("step_dropout", step_dropout or 0.0)):
            if not 0 <= value < 1:
                raise ValueError(f"`{name}` must lie in [0, 1) (got {value}).")
        if dropout and step_dropout is not None:
            raise ValueError(f"`step_dropout` must be None where `dropout` is given (got {step_dropout} and {dropout}).")
        self.dropout = float(dropout)
        self.step_dropout = 1 - (1 - self.dropout) ** (1 / max(walk_length, 1)) if step_dropout is None else float(step_dropout)
        self.negative_slope, self.edge_dim = float(negative_slope), edge_dim
        self.attention = UninitializedParameter() if self.is_lazy else Parameter(torch.empty(2, in_channels, heads))
        self.edge_attention = optional_parameter(edge_dim is not None, edge_dim or 0, heads)
        self._reset_attention()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_attention()

    def _reset_attention(self) -> None:
        parts = [] if isinstance(self.attention, UninitializedParameter) else list(self.attention.data)
        for part in parts if self.edge_attention is None else [*parts, self.edge_attention.data]:
            torch.nn.init.xavier_uniform_(part)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | RandomWalk,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """New attributes (|V|, out_channels); with `return_attention_weights` a pair of them and, as in PyG's attention convs, of the
        steps (2, |E|) of the walk and their probabilities (|E|, H)."""
        walk = self._walked(x, edge_index, edge_weight, edge_attr)
        out = self.combine(self._pair(x, walk), x)
        return (out, (torch.stack([walk.row, walk.col]), walk.probabilities)) if return_attention_weights else out

    def transition(self, x: Tensor, walk: RandomWalk, edge_attr: Tensor | None = None) -> RandomWalk:
        """The walk with the attention probabilities (E, heads); in training with dropped steps."""
        if (edge_attr is None) != (self.edge_attention is None):
            wanted = "None, since edge_dim is" if self.edge_attention is None else f"given, with edge_dim={self.edge_dim} columns"
            raise ValueError(f"`edge_attr` must be {wanted} (got {'None' if edge_attr is None else tuple(edge_attr.shape)}).")
        scores = project(x, self.attention.transpose(0, 1).flatten(1))  # both in one product
        source, target = scores.float().chunk(2, dim=1) if scores.dtype in (torch.float16, torch.bfloat16) else scores.chunk(2, dim=1)
        along = None
        if edge_attr is not None and self.edge_attention is not None:
            along = edge_attributes(walk, edge_attr.to(x.dtype)) @ self.edge_attention
        p = attention(walk, source, target, along, self.negative_slope, self.backend)
        if self.training and self.step_dropout > 0:
            return walk.with_probabilities(dropout(p, self.step_dropout, training=True), stochastic=False)
        return walk.with_probabilities(p, stochastic=True)

    @torch.no_grad()
    def _materialize(self, in_channels: int) -> None:
        super()._materialize(in_channels)
        if isinstance(self.attention, UninitializedParameter):
            self.attention.materialize((2, in_channels, self.heads))
            self._reset_attention()

    def _unusual(self) -> list[str]:
        unusual = [f"heads={self.heads}", *super()._unusual()]
        dropped = "dropout" if self.dropout else "step_dropout"
        return unusual + [f"{name}={getattr(self, name)}" for name in (dropped, "edge_dim") if getattr(self, name)]


def _rank(out_channels: int, heads: int, concat: bool | None, mix: bool | str | None) -> int:
    """As many functionals as outputs, or the next number that the heads can share."""
    if concat is not None:
        return heads * out_channels
    return -(-out_channels // heads) * heads if mix is True else math.lcm(heads, out_channels)
