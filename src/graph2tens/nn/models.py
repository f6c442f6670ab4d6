"""The paper's model, `GraphTensNet`: a shell around any stack of convs, so that baselines differ in the conv and in nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.nn.resolver import activation_resolver, aggregation_resolver

from ..checks import check_integer
from ..walks import RandomWalk
from .dropout import dropout as drop
from .pooling import GatedPooling
from .resolve import Conv, make_conv
from .walk_conv import WalkConv


class GraphTensNet(torch.nn.Module):
    r"""Pre-MLP, a stack of convs, jumping knowledge, pooling, post-MLP, linear head: section 5 of `"Capturing Graphs with Hypo-Elliptic
    Diffusions" <https://arxiv.org/abs/2205.14092>`_.

    The defaults are the sizes of the paper's model for NCI1 with G2TN layers; ``conv="G2TAN"`` has attention. Every ablation is one
    argument: ``increments=False`` (NoDiff), ``zero_start=False``, ``learn_lift=False`` (NoAlgOpt), ``jk=None``, ``skip=False``,
    ``norm=False``, ``pool="mean"`` (AvgPool).

    Args:
        in_channels: size of the attributes of a node; -1 finds it in the first batch.
        out_channels: number of classes, or of targets.
        conv: ``"G2TN"``, ``"G2TAN"``, the name of any PyG conv (``"GCN"``, ``"GAT"``, ..), a class, or a function of (in_channels,
            out_channels) that returns a conv of that width.
        hidden_channels: width of the pre-MLP and of the convs; with our convs the number of functionals too.
        num_layers: number of convs.
        pre_layers: blocks of the MLP before the convs, 0 for none.
        post_layers: blocks of the MLP after the pooling, 0 for none.
        post_channels: width of the post-MLP and of the gated pooling.
        jk: jumping knowledge over the convs, before dropout: ``"max"``, ``"cat"`` or None for the last conv alone.
        pool: ``"gated"``, the name of any PyG aggregation (``"mean"``, ``"sum"``, ``"max"``, ..), an `Aggregation`, or None for
            outputs node by node.
        skip: skip connections around the blocks of the MLPs. The first block of each MLP changes the width, so its skip is a linear map.
        norm: layer norm after MLPs, pooling and convs (ours: over the functionals of each degree).
        norm_affine: learn the scale and shift of all norms.
        norm_eps: of all norms.
        dropout: on the output of every block and every conv.
        attention_dropout: probability to drop a step that attention weighs: `dropout` of PyG's convs, `step_dropout` of G2TAN.
        act: activation of MLPs, and after PyG's convs; ours are not linear by themselves.
        conv_options: all options that the model does not know go to the conv. Our convs are the paper's here, ``mix=True`` and
            ``root_weight=False``, unless you say otherwise.

    Shapes:
        - **input:** x :math:`(|V|, F)`, edge_index :math:`(2, |E|)` or a `RandomWalk`, batch :math:`(|V|)`
        - **output:** :math:`(B, \mathrm{out\_channels})`, or :math:`(|V|, \mathrm{out\_channels})` without pooling
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        conv: Conv = "G2TN",
        hidden_channels: int = 128,
        num_layers: int = 4,
        pre_layers: int = 1,
        post_layers: int = 1,
        post_channels: int = 256,
        jk: str | None = "max",
        pool: str | pyg.aggr.Aggregation | None = "gated",
        skip: bool = True,
        norm: bool = True,
        norm_affine: bool = True,
        norm_eps: float = 1e-5,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        act: str | Callable[[Tensor], Tensor] = "relu",
        **conv_options: Any,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, check_integer(out_channels, "out_channels", 1)
        self.num_layers = check_integer(num_layers, "num_layers", 0)
        for name, width in (("hidden_channels", hidden_channels), ("post_channels", post_channels)):
            check_integer(width, name, 1)  # by this name, and not by that of the layer which is made of it
        if jk not in ("max", "cat", None):
            raise ValueError(f"`jk` must be 'max', 'cat' or None (got {jk!r}).")
        if not 0 <= dropout < 1:
            raise ValueError(f"`dropout` must lie in [0, 1) (got {dropout}).")
        self.dropout = float(dropout)
        self.act = activation_resolver(act)
        norms = {"mode": "node", "affine": norm_affine, "eps": norm_eps} if norm else None

        self.pre = _mlp(in_channels, hidden_channels, pre_layers, skip, dropout, act, norms)
        width = hidden_channels if pre_layers else in_channels
        self.convs, self.norms, widths = torch.nn.ModuleList(), torch.nn.ModuleList(), []
        # the paper's layer: a norm, a mixing map, and no map of the node's own attributes
        own = {"mix": True, "root_weight": False, "normalize": norm, "norm_affine": norm_affine, "norm_eps": norm_eps}
        theirs = {}
        if attention_dropout:
            own["step_dropout"] = theirs["dropout"] = attention_dropout
        for _ in range(num_layers):
            layer, width = make_conv(conv, width, hidden_channels, own, theirs, conv_options)
            self.convs.append(layer)
            # our convs have their own norm, before they mix
            self.norms.append(torch.nn.Identity() if isinstance(layer, WalkConv) else _norm(width, norms))
            widths.append(width)
        self.jk = _jumping_knowledge(jk) if num_layers else None
        width = sum(widths) if jk == "cat" and widths else width

        self.pool = GatedPooling(width, post_channels) if pool == "gated" else None if pool is None else aggregation_resolver(pool)
        width = post_channels if pool == "gated" else width
        self.pool_norm = torch.nn.Identity() if self.pool is None else _norm(width, norms)
        self.post = _mlp(width, post_channels, post_layers, skip, dropout, act, norms)
        self.head = _linear(post_channels if post_layers else width, out_channels)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for part in (*self.pre, *self.convs, *self.norms, self.pool, self.pool_norm, *self.post, self.head):
            if part is not None and hasattr(part, "reset_parameters"):
                part.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | RandomWalk,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits; a batch of graphs wants `batch`, and `batch_size` too if graphs without nodes may be among the last."""
        graph = self._graph(x, edge_index, edge_weight, batch)
        for block in self.pre:
            x = block(x)
        layers = []
        for layer, norm in zip(self.convs, self.norms, strict=True):
            if isinstance(layer, WalkConv):
                x = layer(x, graph, edge_attr=edge_attr)
            else:
                x = norm(self.act(layer(x, edge_index, **_supported(layer, edge_weight, edge_attr))))
            layers.append(x)
            x = drop(x, self.dropout, self.training)
        if self.jk is not None:
            x = self.jk(layers)
        if self.pool is not None:
            index = x.new_zeros(x.size(0), dtype=torch.long) if batch is None else batch
            x = self.pool_norm(self.pool(x, index, dim_size=1 if batch is None and batch_size is None else batch_size))
        for block in self.post:
            x = block(x)
        logits: Tensor = self.head(x)
        return logits

    def walk(
        self, edge_index: Tensor | RandomWalk, num_nodes: int, edge_weight: Tensor | None = None, batch: Tensor | None = None
    ) -> RandomWalk:
        """The walk that the convs share; give it to :meth:`forward` in the place of `edge_index` to build it once for many calls."""
        for layer in self.convs:
            if isinstance(layer, WalkConv):
                return layer.walk(edge_index, num_nodes, edge_weight, batch)
        raise ValueError(f"none of the convs of this model walks (got {[type(layer).__name__ for layer in self.convs]}).")

    @property
    def walk_options(self) -> dict[str, Any] | None:
        """What the walk of the convs does besides following edges; None if some of them read edges themselves."""
        layers = [layer for layer in self.convs if isinstance(layer, WalkConv)]
        if not layers or len(layers) < len(self.convs):
            return None
        return {"self_loops": layers[0].self_loops, "laziness": layers[0].laziness}

    def penalty(self) -> Tensor:
        """What L2 acts on, for lambda = 1: functionals by their tensor norms, weight matrices of MLPs and convs by their squares.

        Biases, skip connections, attention vectors, pooling and head are free, as in the authors' code.
        """
        weights = [block.mlp.lins[0].weight for block in (*self.pre, *self.post)]
        tensors = []
        for layer in self.convs:
            if isinstance(layer, WalkConv):
                tensors.append(layer.penalty())
                weights += [weight for weight in (layer.mix_weight, layer.root) if weight is not None]
            else:
                weights += [parameter for parameter in layer.parameters() if parameter.dim() == 2]
        terms = [*tensors, *(weight.square().sum() for weight in weights)]
        return torch.stack(terms).sum() if terms else next(self.parameters()).new_zeros(())

    def _graph(self, x: Tensor, edge_index: Tensor | RandomWalk, edge_weight: Tensor | None, batch: Tensor | None) -> Tensor | RandomWalk:
        """The walk, once for all convs, or the edges as they are if no conv walks."""
        walking = [isinstance(layer, WalkConv) for layer in self.convs]
        if isinstance(edge_index, RandomWalk) and not all(walking):
            raise TypeError("`edge_index` must be a tensor (got a RandomWalk): some of this model's convs are PyG's and read edges.")
        if not any(walking):
            return edge_index
        walk = self.walk(edge_index, x.size(0), edge_weight, batch)
        return walk.to(x.dtype) if x.dtype in (torch.float32, torch.float64) else walk


class ResidualBlock(torch.nn.Module):
    """``dropout(norm(act(linear(x)))) + skip(x)``, where skip is a linear map, the identity, or nothing."""

    def __init__(self, mlp: pyg.MLP, skip: torch.nn.Module | None, dropout: float) -> None:
        super().__init__()
        self.mlp, self.skip, self.dropout = mlp, skip, dropout

    def reset_parameters(self) -> None:
        for linear in self.mlp.lins:  # Glorot everywhere, as the functionals are
            linear.weight_initializer, linear.bias_initializer = "glorot", "zeros"
        self.mlp.reset_parameters()
        if isinstance(self.skip, pyg.Linear):
            self.skip.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        h = drop(self.mlp(x), self.dropout, self.training)
        return h if self.skip is None else h + self.skip(x)


class MaximumOfLayers(torch.nn.Module):
    """PyG's ``JumpingKnowledge("max")``, which stacks along the last axis and so takes twice the time on CPUs."""

    def forward(self, layers: list[Tensor]) -> Tensor:
        return torch.stack(layers).amax(0)


def _jumping_knowledge(kind: str | None) -> torch.nn.Module | None:
    return MaximumOfLayers() if kind == "max" else None if kind is None else pyg.JumpingKnowledge(kind)


def _mlp(
    in_channels: int, channels: int, layers: int, skip: bool, dropout: float, act: Any, norms: dict[str, Any] | None
) -> torch.nn.ModuleList:
    blocks = torch.nn.ModuleList()
    for layer in range(check_integer(layers, "pre_layers and post_layers", 0)):
        width = channels if layer else in_channels
        # PyG's MLP of one layer: linear, activation, norm
        kind = None if norms is None else "LayerNorm"
        mlp = pyg.MLP([width, channels], act=act, act_first=True, norm=kind, norm_kwargs=norms, plain_last=False)
        across = torch.nn.Identity() if layer else _linear(width, channels)
        block = ResidualBlock(mlp, across if skip else None, dropout)
        block.reset_parameters()
        blocks.append(block)
    return blocks


def _norm(width: int, norms: dict[str, Any] | None) -> torch.nn.Module:
    return torch.nn.Identity() if norms is None else pyg.LayerNorm(width, **norms)


def _linear(in_channels: int, out_channels: int) -> pyg.Linear:
    return pyg.Linear(in_channels, out_channels, weight_initializer="glorot", bias_initializer="zeros")


def _supported(layer: torch.nn.Module, edge_weight: Tensor | None, edge_attr: Tensor | None) -> dict[str, Tensor]:
    """Those of the edges' weights and attributes that a PyG conv has arguments for."""
    accepted = inspect.signature(layer.forward).parameters
    given = {"edge_weight": edge_weight, "edge_attr": edge_attr}
    return {name: value for name, value in given.items() if value is not None and name in accepted}
