"""Graphs for scikit-learn: features, kernels and classifiers that take lists of PyG, networkx, NumPy or SciPy graphs."""

from .features import GraphTensFeatures as GraphTensFeatures
