"""Graphs for scikit-learn: features, kernels, classifiers and regressors that take lists of PyG, networkx, NumPy or SciPy graphs.

Files, in reading order: ``inputs`` and ``targets`` read graphs and what is to be learnt; ``encoding``, ``edge_nodes`` and ``structure``
describe nodes by numbers; ``random_features`` makes layers of features of them with the compiled ``feature_loops``, ``pooling`` sums them
over a graph, and ``features`` is the estimator of all that. ``heads/`` learn from tables; ``with_features`` joins features and head for
``classifier`` and ``regressor``. ``kernel``, ``nodes``, ``network_estimators`` and ``weisfeiler_lehman`` are further estimators;
``evaluate`` measures accuracy.
"""

from typing import TYPE_CHECKING

from ..lazy import on_first_use

if TYPE_CHECKING:  # what type checkers and editors see; the same names are imported on first use, below
    from .classifier import GraphTensClassifier as GraphTensClassifier
    from .features import GraphTensFeatures as GraphTensFeatures
    from .heads.landmark_gp import LandmarkGP as LandmarkGP
    from .heads.least_squares import LeastSquaresClassifier as LeastSquaresClassifier
    from .heads.validated_gp import ValidatedGP as ValidatedGP
    from .heads.validated_svc import ValidatedSVC as ValidatedSVC
    from .inputs import read_networkx as read_networkx
    from .kernel import GraphTensKernel as GraphTensKernel
    from .network_estimators import G2TNClassifier as G2TNClassifier
    from .network_estimators import G2TNRegressor as G2TNRegressor
    from .nodes import GraphTensNodeClassifier as GraphTensNodeClassifier
    from .nodes import GraphTensNodeRegressor as GraphTensNodeRegressor
    from .regressor import GraphTensRegressor as GraphTensRegressor
    from .tu_writer import write_tu as write_tu
    from .weisfeiler_lehman import WeisfeilerLehman as WeisfeilerLehman
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "classifier": ["GraphTensClassifier"],
            "features": ["GraphTensFeatures"],
            "heads.landmark_gp": ["LandmarkGP"],
            "heads.least_squares": ["LeastSquaresClassifier"],
            "heads.validated_gp": ["ValidatedGP"],
            "heads.validated_svc": ["ValidatedSVC"],
            "inputs": ["read_networkx"],
            "kernel": ["GraphTensKernel"],
            "network_estimators": ["G2TNClassifier", "G2TNRegressor"],
            "nodes": ["GraphTensNodeClassifier", "GraphTensNodeRegressor"],
            "regressor": ["GraphTensRegressor"],
            "weisfeiler_lehman": ["WeisfeilerLehman"],
            "tu_writer": ["write_tu"],
        },
    )
