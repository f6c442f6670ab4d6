"""Hypo-elliptic diffusion on graphs: random walks that remember the order of what they saw."""

import importlib.metadata

from .algebra import TensorAlgebra as TensorAlgebra
from .walks import RandomWalk as RandomWalk
from .walks import enumerate_walks as enumerate_walks
from .walks import random_walk as random_walk
from .walks import sample_walks as sample_walks
from .subdivide import Subdivision as Subdivision
from .subdivide import subdivide as subdivide
from .sequences import sequence_features as sequence_features
from .operators import TensorMatrix as TensorMatrix
from .operators import hypoelliptic_laplacian as hypoelliptic_laplacian
from .operators import tensor_adjacency as tensor_adjacency
from .operators import tensor_transition as tensor_transition
from .diffusion import forward_features as forward_features
from .diffusion import graph_features as graph_features
from .diffusion import node_features as node_features
from .diffusion import sampled_node_features as sampled_node_features
from .low_rank import low_rank_features as low_rank_features
from . import nn as nn

__version__ = importlib.metadata.version("graph2tens")
