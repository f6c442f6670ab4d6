"""Layers that read random walks, and the paper's model made of them; everything takes PyTorch Geometric's tensors."""

from .conv import G2TANConv as G2TANConv
from .conv import G2TNConv as G2TNConv
from .models import GraphTensNet as GraphTensNet
from .pooling import GatedPooling as GatedPooling
from .subdivide import Subdivide as Subdivide
from .transition import as_walk as as_walk
from .walk_conv import WalkConv as WalkConv
