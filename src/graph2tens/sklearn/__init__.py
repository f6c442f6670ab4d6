"""Graphs for scikit-learn: features, kernels, classifiers and regressors that take lists of PyG, networkx, NumPy or SciPy graphs."""

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
from .wl import WeisfeilerLehman as WeisfeilerLehman
from .write_tu import write_tu as write_tu
