"""PyG's ordinary scripts with its convs and with ours: `python -m benchmarks.swap gcn|gat|gin --data-root FOLDER --seeds 5`

``gcn`` and ``gat`` are PyG's `examples/gcn.py` and `examples/gat.py`, on the public split: two convs, dropout, Adam with weight decay,
200 epochs, test accuracy at the epoch of the best validation accuracy. ``gin`` is its `examples/mutag_gin.py`: five convs, a sum over the
nodes, 100 epochs of Adam, no validation, the last ten epochs averaged; here on graphs drawn from a TU data set, ten folds. Nothing but the
conv is changed. docs/swapping.md shows what came out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.datasets import Planetoid
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MLP, GATConv, GCNConv, GINConv, global_add_pool
from torch_geometric.transforms import NormalizeFeatures, OneHotDegree

from graph2tens.datasets import load
from graph2tens.nn import G2TANConv, G2TNConv

SWAP: dict[str, Any] = {"root_weight": False, "add_self_loops": True}
Make = Callable[[int, int, bool], nn.Module]  # of widths, and whether it is the last layer


def g2tn(**options: Any) -> Make:
    return lambda i, o, last: G2TNConv(i, o, **options)


def g2tan(dropout: float, **options: Any) -> Make:
    def make(i: int, o: int, last: bool) -> nn.Module:
        heads, width = (1, o) if last else (8, o // 8)
        return G2TANConv(i, width, heads=heads, concat=not last, dropout=dropout, **options)

    return make


def gat(i: int, o: int, last: bool) -> nn.Module:
    return GATConv(i, o, heads=1, concat=False, dropout=0.6) if last else GATConv(i, o // 8, heads=8, dropout=0.6)


CONVS: dict[str, dict[str, Make]] = {
    "gcn": {
        "GCN": lambda i, o, last: GCNConv(i, o),
        "G2TN, defaults": g2tn(),
        "G2TN, lazy": g2tn(laziness=0.5),
        "G2TN, degree 1": g2tn(walk_length=2, degree=1, **SWAP),
        "G2TN, degree 2": g2tn(walk_length=2, **SWAP),
        "G2TN, 3 steps": g2tn(walk_length=3, **SWAP),
    },
    "gat": {
        "GAT": gat,
        "G2TAN, defaults": g2tan(0.6),
        "G2TAN, degree 1": g2tan(0.6, walk_length=2, degree=1, **SWAP),
        "G2TAN, degree 2": g2tan(0.6, walk_length=2, **SWAP),
        "G2TAN, 3 steps": g2tan(0.6, walk_length=3, **SWAP),
    },
    "gin": {
        "GIN": lambda i, o, last: GINConv(MLP([i, o, o]), train_eps=False),
        "G2TN, defaults": g2tn(),
        "G2TN, degree 1": g2tn(walk_length=2, degree=1, **SWAP),
        "G2TN, degree 2": g2tn(walk_length=2, **SWAP),
        "G2TN, lazy": g2tn(laziness=0.5),
        "G2TN, with MLP": lambda i, o, last: WithMLP(i, o),
    },
}


class WithMLP(nn.Module):
    """A conv and the MLP that GINConv has behind its sum."""

    def __init__(self, i: int, o: int) -> None:
        super().__init__()
        self.conv, self.mlp = G2TNConv(i, o, walk_length=2, **SWAP), MLP([o, o, o])

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.mlp(self.conv(x, edge_index))


class Nodes(nn.Module):
    """Two convs, as PyG's scripts for Cora have them."""

    def __init__(self, make: Make, widths: tuple[int, int, int], dropout: float, act: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv1, self.conv2 = make(widths[0], widths[1], False), make(widths[1], widths[2], True)
        self.dropout, self.act = dropout, act

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = functional.dropout(x, self.dropout, self.training)
        x = functional.dropout(self.act(self.conv1(x, edge_index)), self.dropout, self.training)
        return self.conv2(x, edge_index)


class Graphs(nn.Module):
    """Five convs, a sum over the nodes, an MLP."""

    def __init__(self, make: Make, in_channels: int, classes: int, width: int = 32) -> None:
        super().__init__()
        self.convs = nn.ModuleList(make(width if number else in_channels, width, False) for number in range(5))
        self.mlp = MLP([width, width, classes], norm=None, dropout=0.5)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.mlp(global_add_pool(x, batch, batch_size))


def split_anew(data: Any, seed: int) -> Any:
    """The public split for seed 0; for others one drawn like it: 20 nodes of each class, 500 to validate, 1,000 to test."""
    if seed == 0:
        return data
    data, y = data.clone(), data.y.numpy()
    order = np.random.default_rng(seed).permutation(len(y))
    train = np.concatenate([order[y[order] == label][:20] for label in range(int(y.max()) + 1)])
    rest = order[~np.isin(order, train)]
    for part, index in (("train", train), ("val", rest[:500]), ("test", rest[500:1500])):
        mask = torch.zeros(len(y), dtype=torch.bool)
        mask[index] = True
        data[f"{part}_mask"] = mask
    return data


def nodes(script: str, make: Make, data: Any, seed: int) -> tuple[float, float]:
    """Best validation accuracy, and test accuracy at that epoch."""
    torch.manual_seed(seed)
    classes = int(data.y.max()) + 1
    if script == "gcn":
        model = Nodes(make, (data.num_features, 16, classes), 0.5, functional.relu)
        groups = [{"params": model.conv1.parameters(), "weight_decay": 5e-4}, {"params": model.conv2.parameters(), "weight_decay": 0}]
        optimizer = torch.optim.Adam(groups, lr=0.01)
    else:
        model = Nodes(make, (data.num_features, 64, classes), 0.6, functional.elu)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    best, test = 0.0, 0.0
    for _ in range(200):
        model.train()
        optimizer.zero_grad()
        functional.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = (model(data.x, data.edge_index).argmax(1) == data.y).float()
        if float(right[data.val_mask].mean()) > best:
            best, test = float(right[data.val_mask].mean()), float(right[data.test_mask].mean())
    return best, test


def graphs(make: Make, train: list[Any], test: list[Any], seed: int) -> float:
    """Mean test accuracy of the last ten epochs."""
    torch.manual_seed(seed)
    model = Graphs(make, train[0].x.size(1), 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader, held_out = DataLoader(train, 128, shuffle=True), next(iter(DataLoader(test, len(test))))
    found = []
    for epoch in range(100):
        model.train()
        for batch in loader:
            optimizer.zero_grad()
            functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch, batch.num_graphs), batch.y).backward()
            optimizer.step()
        if epoch >= 90:
            model.eval()
            with torch.no_grad():
                said = model(held_out.x, held_out.edge_index, held_out.batch, held_out.num_graphs).argmax(1)
            found.append(float((said == held_out.y).float().mean()))
    return float(np.mean(found))


def some_graphs(name: str, root: Path, count: int) -> tuple[list[Any], np.ndarray]:
    """Graphs drawn from a TU data set, with their degrees as attributes, which the sums of GIN see and a walk does not."""
    data = load(name, root)
    drawn = np.random.default_rng(0).permutation(len(data.graphs))[:count]
    return [OneHotDegree(6, cat=True)(data.graphs[place].clone()) for place in drawn], data.labels[drawn]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script", choices=CONVS)
    parser.add_argument("--data", help="Cora and the like for gcn and gat, NCI1 and the like for gin")
    parser.add_argument("--data-root", type=Path, required=True, help="PyG writes its processed files there")
    parser.add_argument("--seeds", type=int, default=5, help="or folds, for gin")
    parser.add_argument("--splits", choices=["public", "drawn"], default="public", help="drawn: seeds from 1 on have splits of their own")
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--only", default="", help="convs whose name contains this")
    options = parser.parse_args()
    name = options.data or ("NCI1" if options.script == "gin" else "Cora")
    for conv, make in CONVS[options.script].items():
        if options.only not in conv:
            continue
        started = time.perf_counter()
        if options.script == "gin":
            drawn, y = some_graphs(name, options.data_root, options.graphs)
            folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))[: options.seeds]
            tests = [graphs(make, [drawn[i] for i in a], [drawn[i] for i in b], seed) for seed, (a, b) in enumerate(folds)]
            text = ""
        else:
            data = Planetoid(str(options.data_root), name, transform=NormalizeFeatures())[0]
            drawn_too = options.splits == "drawn"
            pairs = [nodes(options.script, make, split_anew(data, seed * drawn_too), seed) for seed in range(options.seeds)]
            tests = [test for _, test in pairs]
            text = f"validation {100 * np.mean([best for best, _ in pairs]):5.1f}   "
        error = 100 * np.std(tests, ddof=1) / len(tests) ** 0.5 if len(tests) > 1 else float("nan")
        seconds = (time.perf_counter() - started) / len(tests)
        print(f"{name} {options.script}  {conv:<16} {text}test {100 * np.mean(tests):5.1f} ± {error:.1f}   {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
