"""The compiled loops of the features: at home on any disk, and each compiled for one type of arguments alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from graph_lists import rings_and_paths

import graph2tens as g2t
from graph2tens.backends import fixed_order
from graph2tens.backends.loops import areas, chain, sparse
from graph2tens.sklearn import GraphTensFeatures, GraphTensKernel, feature_loops

WITHOUT_A_CACHE = """
import numba.core.caching as caching
# A user who is root may write everywhere, so the disk is made to refuse.
def refuse(self): raise PermissionError("read-only")
for locator in caching._CacheImpl._locator_classes if hasattr(caching, "_CacheImpl") else caching.CacheImpl._locator_classes:
    locator.ensure_cache_path = refuse
"""
WORK = """
import networkx as nx, numpy as np, graph2tens
from graph2tens.sklearn import GraphTensFeatures, GraphTensKernel
graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3)]
features = GraphTensFeatures(2, 2, 2, 8, 8, time=True, random_state=0).fit_transform(graphs)
kernel = GraphTensKernel(walk_length=2).fit_transform(graphs)
print(graph2tens.__file__, np.asarray(features).tobytes().hex(), np.asarray(kernel).tobytes().hex())
"""


def run_python(code: str, folder: Path, **environment: str) -> list[str]:
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_features_where_nothing_can_be_written_have_the_same_bits(tmp_path: Path):
    """A read-only installation and a read-only home: loops are then compiled in memory."""
    package = tmp_path / "graph2tens"
    shutil.copytree(Path(g2t.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    place, *found = run_python(WITHOUT_A_CACHE + WORK, tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert place == str(package / "__init__.py")
    assert not list(package.rglob("*.nb?"))
    assert found == run_python(WORK, Path(g2t.__file__).parent.parent)[1:]


@pytest.mark.parametrize("options", [{"walk_length": 2}, {"time": True}, {"increments": 0, "walk_length": np.int32(2)}], ids=str)
def test_loops_are_compiled_for_one_type_whatever_they_are_given(options):
    """Numba's cache may mix up versions of one function, so there must be only one."""
    graphs, _ = rings_and_paths(6)
    features = GraphTensFeatures(n_layers=2, n_functionals=8, n_waves=8, random_state=0, **options).fit(graphs)
    expected = features.transform(graphs)
    for layer in features.layers_:  # as if loaded with `joblib.load(.., mmap_mode="r")`
        for array in (layer.components, layer.frequencies, layer.phases):
            array.flags.writeable = False
    np.testing.assert_array_equal(features.transform(graphs[:2]), expected[:2])
    GraphTensFeatures(functionals="exact").fit_transform(graphs)
    GraphTensKernel(walk_length=2).fit_transform(graphs)
    chains = [chain.chain_at_sources, chain.step_along_edges if options.get("increments", True) else sparse.average]
    used = [areas.start, sparse.average] if options == {"walk_length": 2} else chains
    recursion = [fixed_order._compiled(loop, "fixed float32 int64 float32 2") for loop in used]
    loops = [*feature_loops.VERSIONS.values(), *recursion, feature_loops.normalise, feature_loops.wave, feature_loops.pool]
    assert [len(loop.dispatcher.signatures) for loop in loops] == [1] * 7
