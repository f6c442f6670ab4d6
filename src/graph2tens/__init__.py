"""Hypo-elliptic diffusion on graphs: random walks that remember the order of what they saw."""

import importlib.metadata
from typing import TYPE_CHECKING

from .lazy import on_first_use

if TYPE_CHECKING:  # what type checkers and editors see; the same names are imported on first use, below
    from .algebra import TensorAlgebra as TensorAlgebra
    from .walks import RandomWalk as RandomWalk
    from .walks import random_walk as random_walk
    from .sampling import enumerate_walks as enumerate_walks
    from .sampling import sample_walks as sample_walks
    from .subdivision import Subdivision as Subdivision
    from .subdivision import subdivide as subdivide
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
    from . import datasets as datasets
    from . import molecules as molecules
    from . import nn as nn
    from . import paper as paper
    from . import scale as scale
    from . import sklearn as sklearn
    from . import training as training
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "algebra": ["TensorAlgebra"],
            "walks": ["RandomWalk", "random_walk"],
            "sampling": ["enumerate_walks", "sample_walks"],
            "subdivision": ["Subdivision", "subdivide"],
            "sequences": ["sequence_features"],
            "operators": ["TensorMatrix", "hypoelliptic_laplacian", "tensor_adjacency", "tensor_transition"],
            "diffusion": ["forward_features", "graph_features", "node_features", "sampled_node_features"],
            "low_rank": ["low_rank_features"],
            **dict.fromkeys(["datasets", "molecules", "nn", "paper", "scale", "sklearn", "training"], ()),
        },
    )

__version__ = importlib.metadata.version("graph2tens")
