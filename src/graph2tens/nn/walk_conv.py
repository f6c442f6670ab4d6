r"""`WalkConv`: all that G2TN and G2TAN share. It owns parameters; the mathematics is in :func:`graph2tens.low_rank_features`."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import layer_norm, linear
from torch.nn.parameter import UninitializedParameter
from torch_geometric.nn import MessagePassing

from ..backends.projection import project
from ..checks import check_integer
from ..low_rank import low_rank_features
from ..walks import RandomWalk
from .init import glorot_by_level_, lift_coefficients, squared_tensor_norms
from .keywords import unknown_keyword
from .masks import further_hops, masked
from .transition import as_walk, exporting


class WalkConv(MessagePassing):  # type: ignore[misc]
    r"""What G2TN and G2TAN share. For every node i, with :math:`\Phi_k(i)` the expected feature of a k-step walk from i,

    .. math:: z_{m,r}(i) = \langle u^r_{M-m+1} \otimes \dots \otimes u^r_M, \Phi_k(i) \rangle, \qquad
              h_i = \sum_{m=1}^M z_m(i) + V x_i + b.

    from `"Capturing Graphs with Hypo-Elliptic Diffusions" <https://arxiv.org/abs/2205.14092>`_.

    There is one difference from PyG's convs: **node i reads from the nodes that its out-edges point to**, since the walker steps from
    ``edge_index[0]`` to ``edge_index[1]``. On undirected graphs (both directions listed) it is the same. A sparse matrix A is read
    likewise, ``A[i, j]`` is the step from i to j.

    Args:
        in_channels: size d of the attributes of a node; -1 finds it in the first batch.
        out_channels: size of the output.
        walk_length: steps k of the walk, so one layer reads k hops.
        degree: highest tensor degree M: interactions of up to M nodes of a walk, in their order.
        rank: number R of functionals; by default `out_channels`, and `out_channels` / M where degrees stand side by side. With a norm
            give more where there are few outputs: it leaves little of two functionals, and nothing of one.
        increments: read the differences :math:`x_t - x_{t-1}` along the walk (the paper's Diff) or the attributes themselves.
        zero_start: start each walk at 0, so that the attributes of the first node count and not only differences.
        time: give the walker a clock, as one further coordinate.
        learn_lift: learn the coefficients :math:`c_m` of the algebra lift (AlgOpt), which start as 1/m!.
        mix: how M R functionals become the output. ``"sum"``: the degrees of each functional are added, so that an output is one
            functional of the whole tensor, as it is one linear functional in GCN; where R is a multiple of `out_channels`, its blocks
            are averaged. True, the paper's: by a learned linear map W. False: the M blocks of R stand side by side. By default
            ``"sum"``, and True for a `rank` that is no multiple of `out_channels`.
        normalize: layer norm over the R functionals of each degree, as in the paper; by default so unless `mix` is ``"sum"``, since a
            norm undoes weight decay. (`normalize` of PyG's GCNConv divides by degrees; a walk always does.)
        root_weight: add a learned linear map V of the node's own attributes, as PyG's SAGEConv does: after several steps a walker has
            forgotten, at degree 1, where it started.
        norm_affine: learn the scale and shift of the norm.
        norm_eps: added to the variance.
        self_loops: add an edge of weight 1 from every node without self-loop to itself.
        add_self_loops: the same by PyG's name.
        laziness: probability that the walker stays put in a step.
        cached: keep the walk of the first graph for all further calls, for training on one graph.
        bias: add a learned bias to the output.
        backend: see :func:`graph2tens.low_rank_features`.
        recompute: less memory in training for more time, with ``backend="torch"``; the compiled backend keeps no states in any case.

    Shapes:
        - **input:** x :math:`(|V|, d)`, dense or sparse (CSR, without gradient), edge_index :math:`(2, |E|)` or whatever
          :func:`as_walk` takes, edge_weight :math:`(|E|)`
        - **output:** :math:`(|V|, \mathrm{out\_channels})`

    `self_loops`, `laziness` and weights describe how a walk is made of a graph; a `RandomWalk` is taken as it is. The layers are for one
    kind of nodes and edges: a walk of k > 1 steps cannot pass through a bipartite piece of a heterogeneous graph, so `to_hetero` does
    not apply. Convert such data with ``data.to_homogeneous()`` and put the node type into the attributes.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        walk_length: int = 5,
        degree: int = 2,
        *,
        rank: int | None = None,
        increments: bool = True,
        zero_start: bool = True,
        time: bool = False,
        learn_lift: bool = True,
        mix: bool | str | None = None,
        normalize: bool | None = None,
        root_weight: bool = True,
        norm_affine: bool = True,
        norm_eps: float = 1e-5,
        self_loops: bool = False,
        add_self_loops: bool | None = None,
        laziness: float = 0.0,
        cached: bool = False,
        bias: bool = True,
        backend: str = "auto",
        recompute: bool = False,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            known = [*inspect.signature(type(self)).parameters, *inspect.signature(WalkConv).parameters]
            raise TypeError(unknown_keyword(type(self).__name__, name, known))
        super().__init__(aggr=None, flow="target_to_source")
        if in_channels != -1:
            check_integer(in_channels, "in_channels", 1, ", or -1 to find it in the first batch")
        self.in_channels = in_channels
        self.out_channels = check_integer(out_channels, "out_channels", 1)
        self.walk_length = check_integer(walk_length, "walk_length", 0, " (the number of steps)")
        self.degree = check_integer(degree, "degree", 1, " (the highest tensor level)")
        if mix is None:
            mix = True if rank is not None and check_integer(rank, "rank", 1) % self.out_channels else "sum"
        if mix not in (True, False, "sum"):
            raise ValueError(f"`mix` must be True, False or 'sum' (got {mix!r}).")
        self.rank = _rank(rank, self.out_channels, self.degree, mix)
        normalize = mix != "sum" if normalize is None else normalize
        if self.rank == 1 and normalize:
            warnings.warn("layer norm over one functional is 0 for any input; give a higher `rank`, or normalize=False.", stacklevel=2)
        self.increments, self.zero_start, self.time = increments, zero_start, time
        self.learn_lift, self.mix, self.normalize = learn_lift, mix, normalize
        self.norm_affine, self.norm_eps = norm_affine, norm_eps
        self.self_loops, self.laziness = self_loops if add_self_loops is None else add_self_loops, laziness
        self.cached = cached
        self._kept: RandomWalk | None = None
        self.backend, self.recompute = backend, recompute
        self.further_hops = further_hops(self.walk_length)

        M, R = self.degree, self.rank
        self.components = UninitializedParameter() if in_channels == -1 else Parameter(torch.empty(M, in_channels + time, R))
        self.coefficients = optional_parameter(learn_lift, *self._lift().shape)
        self.norm_weight = optional_parameter(normalize and norm_affine, M * R)
        self.norm_bias = optional_parameter(normalize and norm_affine, M * R)
        self.mix_weight = optional_parameter(mix is True, self.out_channels, M * R)
        waits = root_weight and in_channels == -1
        self.root = UninitializedParameter() if waits else optional_parameter(root_weight, in_channels, self.out_channels)
        self.bias = optional_parameter(bias, self.out_channels)
        WalkConv.reset_parameters(self)  # a subclass draws its own parameters once it has them

    def reset_parameters(self) -> None:
        """Draw all parameters anew; see :mod:`graph2tens.nn.init` for the functionals. A cached walk is forgotten."""
        self._kept = None
        if not self.is_lazy:
            self._draw_readers()
        with torch.no_grad():
            if self.coefficients is not None:
                self.coefficients.copy_(self._lift())
            if self.norm_weight is not None:
                self.norm_weight.fill_(1.0)
        if self.mix_weight is not None:
            torch.nn.init.xavier_uniform_(self.mix_weight)
        for zero in (self.norm_bias, self.bias):
            if zero is not None:
                torch.nn.init.zeros_(zero)

    def _draw_readers(self) -> None:
        """Draw what reads the attributes of nodes: functionals and root weight."""
        glorot_by_level_(self.components, self._taken_up())
        if self.root is not None:
            torch.nn.init.xavier_uniform_(self.root)

    @property
    def is_lazy(self) -> bool:
        """Whether `in_channels` still waits for the first batch."""
        return isinstance(self.components, UninitializedParameter)

    def forward(
        self, x: Tensor, edge_index: Tensor | RandomWalk, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
    ) -> Tensor:
        """New attributes (|V|, out_channels); see the class for the arguments."""
        return self.combine(self.functionals(x, edge_index, edge_weight, edge_attr), x)

    def combine(self, z: Tensor, x: Tensor) -> Tensor:
        """Functionals (|V|, M, R) and attributes (|V|, d) to new attributes (|V|, out_channels), node by node."""
        mixed = self._mixed(z)
        return mixed if self.root is None else mixed + project(x, self.root)

    def _mixed(self, z: Tensor) -> Tensor:
        """Norm, mixing and bias."""
        z = (self._norm(z) if self.normalize else z).flatten(1)
        scale, shift = self.norm_weight, self.norm_bias
        if self.mix_weight is None:
            z = z if scale is None or shift is None else torch.addcmul(shift, z, scale)
            if self.mix == "sum":
                z = z.view(z.size(0), self.degree, self.rank // self.out_channels, self.out_channels).mean(2).sum(1)
            return z if self.bias is None else z + self.bias
        if scale is None or shift is None:
            return linear(z, self.mix_weight, self.bias)
        # Scale and shift of the norm go into the small matrix and not over all nodes: W (s z + t) + b = (W s) z + (W t + b).
        shifted = self.mix_weight @ shift
        return linear(z, self.mix_weight * scale, shifted if self.bias is None else shifted + self.bias)

    def functionals(
        self, x: Tensor, edge_index: Tensor | RandomWalk, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
    ) -> Tensor:
        r"""The raw functionals :math:`\langle \ell^r_m, \Phi_k(i) \rangle`, before norm and mixing, (|V|, M, R)."""
        walk = self._walked(x, edge_index, edge_weight, edge_attr)
        return self._pair(x, walk)

    def _walked(self, x: Tensor, edge_index: Tensor | RandomWalk, edge_weight: Tensor | None, edge_attr: Tensor | None) -> RandomWalk:
        """The walk that is walked, weighed by an explainer's mask if there is one."""
        self._check_attributes(x)
        return masked(self.transition(x, self.walk(edge_index, x.size(0), edge_weight), edge_attr), self)

    def _pair(self, x: Tensor, walk: RandomWalk, bias: Tensor | None = None) -> Tensor:
        """The functionals of the walk that is walked; `bias` is added to each projection (see `low_rank_features`)."""
        return low_rank_features(
            x,
            walk,
            self.components,
            length=self.walk_length,
            increments=self.increments,
            zero_start=self.zero_start,
            time=self.time,
            coefficients=self.coefficients,
            bias=bias,
            # Exported programs have the recursion in plain operators: they should run where Numba is not.
            backend="reference" if self.backend == "auto" and exporting() else self.backend,
            recompute=self.recompute,
        )

    def walk(
        self, edge_index: Tensor | RandomWalk, num_nodes: int, edge_weight: Tensor | None = None, batch: Tensor | None = None
    ) -> RandomWalk:
        """The walk this layer makes of a graph, before any attention. Build it once and hand it to all layers of a model."""
        if self._kept is not None and not isinstance(edge_index, RandomWalk):
            return as_walk(self._kept, num_nodes)
        walk = as_walk(edge_index, num_nodes, edge_weight, self_loops=self.self_loops, laziness=self.laziness, batch=batch)
        if self.cached and not isinstance(edge_index, RandomWalk):
            self._kept = walk
        return walk

    def transition(self, x: Tensor, walk: RandomWalk, edge_attr: Tensor | None = None) -> RandomWalk:
        """The walk that is walked, given attributes and a walk on the graph. The one method in which our layers differ."""
        raise NotImplementedError(f"{type(self).__name__} must say where its transition probabilities come from.")

    def penalty(self) -> Tensor:
        r""":math:`\sum_r \sum_m \|u^r_{M-m+1}\|^2 \cdots \|u^r_M\|^2`, the squared tensor norms of the functionals; add it, times
        :math:`\lambda`, to the loss."""
        if self.is_lazy:
            raise ValueError("a layer with in_channels=-1 has no functionals before its first batch; call the layer once.")
        return squared_tensor_norms(self.components, self._taken_up()).sum()

    def _norm(self, z: Tensor) -> Tensor:
        """Layer norm over the functionals of each degree; constant functionals give 0 and not NaN. Without the learned scale."""
        return layer_norm(z, (self.rank,), eps=self.norm_eps)

    def _lift(self) -> Tensor:
        """Where the learned coefficients of the lift start: (M,), common to all functionals, or (M, R), one set for each."""
        return lift_coefficients(self.degree)

    def _taken_up(self) -> list[int]:
        """The component that each degree m = 1, .., M adds to those of degree m - 1: degree m consists of the last m components."""
        return list(range(self.degree))[::-1]

    def _check_attributes(self, x: Tensor) -> None:
        if not isinstance(x, Tensor):
            bipartite = " A walk needs one kind of nodes: turn heterogeneous data into one graph with data.to_homogeneous()."
            raise TypeError(
                f"`x` must be a tensor of shape (nodes, in_channels) (got {type(x).__name__})."
                + bipartite * isinstance(x, (tuple, list, dict))
            )
        if self.is_lazy and x.dim() == 2:
            self._materialize(x.size(1))
        if x.dim() != 2 or x.size(1) != self.in_channels:
            heads = x.dim() == 2 and x.size(1) > 1 and self.in_channels % x.size(1) == 0
            hint = " Did you mean concat=True in a G2TANConv before? Its `out_channels` are of all heads together otherwise."
            raise ValueError(f"`x` must have shape (nodes, in_channels={self.in_channels}) (got {tuple(x.shape)}).{hint * heads}")
        if x.dtype != self.components.dtype and not (x.is_floating_point() and torch.is_autocast_enabled(x.device.type)):
            kind = str(self.components.dtype).removeprefix("torch.")
            raise TypeError(
                f"`x` must have the type of the layer, {kind} (got {x.dtype}). Did you mean x.to(torch.{kind}), or layer.to(x.dtype)?"
            )

    @torch.no_grad()
    def _materialize(self, in_channels: int) -> None:
        self.in_channels = in_channels
        if isinstance(self.components, UninitializedParameter):
            self.components.materialize((self.degree, in_channels + self.time, self.rank))
            if isinstance(self.root, UninitializedParameter):
                self.root.materialize((in_channels, self.out_channels))
            self._draw_readers()

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        stored = state_dict.get(prefix + "components")
        if self.is_lazy and isinstance(stored, Tensor) and not isinstance(stored, UninitializedParameter):
            self._materialize(stored.size(1) - self.time)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __repr__(self) -> str:
        args = [f"{self.in_channels}, {self.out_channels}", f"degree={self.degree}", f"walk_length={self.walk_length}"]
        return f"{type(self).__name__}({', '.join(args + self._unusual())})"

    def _unusual(self) -> list[str]:
        expected_rank = _rank(None, self.out_channels, self.degree, self.mix)
        switches = ("increments", "zero_start", "learn_lift", "mix", "normalize")
        usual = dict.fromkeys(switches, True) | {"mix": "sum", "normalize": self.mix != "sum"}
        unusual = [f"rank={self.rank}"] if self.rank != expected_rank else []
        unusual += [f"{name}={getattr(self, name)!r}" for name in switches if getattr(self, name) != usual[name]]
        unusual += ["root_weight=False"] if self.root is None else []
        unusual += [f"{name}=True" for name in ("time", "self_loops") if getattr(self, name)]
        return unusual + ([f"laziness={self.laziness}"] if self.laziness else [])


def _rank(rank: int | None, out_channels: int, degree: int, mix: bool | str) -> int:
    """R, which without mixing is what the width of the output leaves it."""
    if mix:
        found = out_channels if rank is None else check_integer(rank, "rank", 1)
        if mix == "sum" and found % out_channels:
            raise ValueError(
                f"`rank` must be a multiple of out_channels={out_channels} with mix='sum', which averages blocks (got {found})."
            )
        return found
    if out_channels % degree or (rank is not None and rank * degree != out_channels):
        raise ValueError(
            f"`out_channels` must be degree * rank without mixing, whose output is {degree} blocks of functionals "
            f"(got out_channels={out_channels}, rank={rank})."
        )
    return out_channels // degree


def optional_parameter(wanted: bool, *shape: int) -> Parameter | None:
    return Parameter(torch.empty(shape)) if wanted else None
