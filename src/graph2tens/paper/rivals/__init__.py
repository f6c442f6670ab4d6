"""The other systems of the paper's tables, each as its own authors built and trained it, and a few cheap ones beside them.

``RIVALS`` has them by name. Networks for graphs are called with ``(x, edge_index, batch, num_graphs)``, those for nodes with
``(x, edge_index)``, where x may be sparse (CSR).
"""

from __future__ import annotations

from . import floors, gin, graphtrans, hgnet, lee, shchur, unet
from .rival import Rival as Rival

RIVALS: dict[str, Rival] = {
    name: rival for family in (lee, gin, hgnet, graphtrans, shchur, unet, floors) for name, rival in family.RIVALS.items()
}
