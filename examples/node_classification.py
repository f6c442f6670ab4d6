"""Replace GATConv in a PyG node classifier: `python examples/node_classification.py`

A community graph whose nodes know little about themselves: 4 groups, most edges inside a group, and attributes that point to the group of
a node only weakly. A classifier has to read a neighbourhood. The model below is PyG's own tutorial; the two lines that change are marked.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GATConv
from torch_geometric.utils import stochastic_blockmodel_graph

from graph2tens.nn import G2TANConv, G2TNConv

# Few labels and noisy attributes: products of what two steps saw (degree 2, the default) would be products of noise, and a node's own
# attributes say little. See docs/swapping.md.
SETTING = {"degree": 1, "root_weight": False, "add_self_loops": True}


class Classifier(torch.nn.Module):
    """Two convs with dropout, as in PyG's introduction by example."""

    def __init__(self, kind: str, in_channels: int, classes: int, hidden: int = 32) -> None:
        super().__init__()
        if kind == "GAT":
            self.conv1 = GATConv(in_channels, hidden // 8, heads=8)
            self.conv2 = GATConv(hidden, classes)
        elif kind == "G2TAN":
            # The same call, and attention again: 8 heads, each with an eighth of the functionals. One layer walks 3 steps.
            self.conv1 = G2TANConv(in_channels, hidden, walk_length=3, heads=8, **SETTING)  # <- changed
            # `rank` is the number of functionals behind the outputs, by default as many as there are outputs; eight are averaged here.
            self.conv2 = G2TANConv(hidden, classes, walk_length=1, rank=hidden, **SETTING)  # <- changed
        else:
            # Without attention the walker goes to all neighbours alike.
            self.conv1 = G2TNConv(in_channels, hidden, walk_length=3, **SETTING)
            self.conv2 = G2TNConv(hidden, classes, walk_length=1, rank=hidden, **SETTING)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        # Our convs take whatever PyG's take. To save time, build the walk once and hand it to all of them:
        #   walk = self.conv1.walk(edge_index, x.size(0))
        x = torch.nn.functional.elu(self.conv1(x, edge_index))
        x = torch.nn.functional.dropout(x, 0.5, self.training)
        return self.conv2(x, edge_index)


def community_graph(nodes: int = 400, classes: int = 4, attributes: int = 16, noise: float = 2.0, seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    y = torch.arange(nodes) * classes // nodes
    probabilities = torch.full((classes, classes), 2.0 / nodes) + torch.eye(classes) * 20.0 / nodes
    edge_index = stochastic_blockmodel_graph([nodes // classes] * classes, probabilities)
    centres = torch.randn(classes, attributes, generator=generator)
    x = centres[y] + noise * torch.randn(nodes, attributes, generator=generator)
    order = torch.randperm(nodes, generator=generator)
    train_mask = torch.zeros(nodes, dtype=torch.bool)
    train_mask[order[: nodes // 10]] = True
    return Data(x=x, edge_index=edge_index, y=y, train_mask=train_mask)


def main(epochs: int = 60, nodes: int = 400) -> dict[str, float]:
    data = community_graph(nodes)
    results = {}
    for kind in ("GAT", "G2TAN", "G2TN"):
        torch.manual_seed(0)
        model = Classifier(kind, data.num_features, int(data.y.max()) + 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        for _ in range(epochs):
            model.train()
            optimizer.zero_grad()
            out = model(data.x, data.edge_index)
            loss = torch.nn.functional.cross_entropy(out[data.train_mask], data.y[data.train_mask])
            # L2 by the norms of the tensors that the functionals stand for; weight_decay would look at their factors one by one.
            loss = loss + 1e-4 * sum(m.penalty() for m in model.modules() if isinstance(m, (G2TNConv, G2TANConv)))
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(data.x, data.edge_index).argmax(dim=1) == data.y
        results[kind] = right[~data.train_mask].float().mean().item()
        print(f"{kind:<6} test accuracy {results[kind]:.1%}   {model.conv1}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Node classification with GATConv, G2TANConv and G2TNConv.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--nodes", type=int, default=400)
    main(**vars(parser.parse_args()))
