"""Graphs for scikit-learn: features, kernels and classifiers that take lists of PyG, networkx, NumPy or SciPy graphs."""

from .classifier import GraphTensClassifier as GraphTensClassifier
from .features import GraphTensFeatures as GraphTensFeatures
from .kernel import GraphTensKernel as GraphTensKernel
from .network import G2TNClassifier as G2TNClassifier
from .validated_svc import ValidatedSVC as ValidatedSVC
from .wl import WeisfeilerLehman as WeisfeilerLehman
