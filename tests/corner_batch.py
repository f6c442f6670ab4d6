"""All corner graphs as PyG data and as one batch, with random attributes and two classes by turns."""

from __future__ import annotations

import torch
from strategies import CORNER_GRAPHS
from torch_geometric.data import Batch, Data


def graphs(channels: int = 3) -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    return [
        Data(
            x=torch.randn(n, channels, generator=generator),
            edge_index=torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T.contiguous(),
            y=torch.tensor([i % 2]),
        )
        for i, (n, edges) in enumerate(CORNER_GRAPHS.values())
    ]


BATCH = Batch.from_data_list(graphs())
