"""Graph U-Net (g-U-net) with the settings of HGNet's authors: a row of table 5."""

from __future__ import annotations

import itertools

from torch import Tensor, nn
from torch_geometric.nn import GraphUNet
from torch_geometric.utils import dropout_edge

from .hgnet import NODES
from .rival import Rival
from .sparse import WordReader, Words

KEPT = (2000, 1000, 500, 200)  # nodes after each pooling


class UNet(WordReader):
    """PyG's ``GraphUNet``, which keeps the 2000, 1000, 500 and 200 best nodes on its way down; words and edges are dropped before."""

    def __init__(self, in_channels: int, out_channels: int, width: int = 32, dropout: float = 0.92, edge_dropout: float = 0.2) -> None:
        super().__init__()
        self.in_channels, self.dropout, self.edge_dropout = in_channels, dropout, edge_dropout
        ratios = [1.0] + [after / before for before, after in itertools.pairwise(KEPT)]
        self.unet = GraphUNet(in_channels, width, out_channels, depth=len(KEPT), pool_ratios=ratios, act="leaky_relu")
        first = self.unet.down_convs[0]
        self.words = nn.Parameter(first.lin.weight.data.t().contiguous())
        first.lin = nn.Identity()  # its weight is multiplied with the words, which may be sparse

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        # A ratio of 1 or more would count nodes, so graphs of up to 2000 nodes lose the last one in a thousand instead of none.
        self.unet.pools[0].select.ratio = min(KEPT[0] / x.size(0), 0.999)
        edge_index, _ = dropout_edge(edge_index, self.edge_dropout, force_undirected=True, training=self.training)
        logits: Tensor = self.unet(Words.read(x, "rows").dropout(self.dropout, self.training).times(self.words), edge_index)
        return logits


RIVALS = {
    "g-U-net": Rival(
        UNet,
        NODES,
        "node",
        "Gao & Ji (2019), settings of Rampášek & Wolf (2021)",
        printed={"khop": "g-U-net"},
    )
}
