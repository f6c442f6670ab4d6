"""What must never happen: stale caches, machine code from a damaged file, a compiler that does not come to an end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

import graph2tens as g2t
from graph2tens.backends.compiling import Compiled

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def gradient(x: Tensor, components: Tensor, backend: str) -> Tensor:
    components = components.clone().requires_grad_()
    walk = g2t.random_walk(EDGES, num_nodes=3)
    out = g2t.low_rank_features(x, walk, components, length=2, increments=False, backend=backend)
    return torch.autograd.grad(out.square().sum(), components)[0]


@pytest.mark.parametrize("backend", ["torch", "numba"])
def test_a_sparse_x_changed_in_place_has_the_gradients_of_what_it_is_now(backend: str):
    x, components = torch.eye(3, dtype=torch.float64).to_sparse_csr(), torch.ones(2, 3, 4, dtype=torch.float64)
    gradient(x, components, backend)
    x.values().mul_(3)
    torch.testing.assert_close(gradient(x, components, backend), gradient(x.to_dense(), components, backend))


@pytest.mark.parametrize("of", ["x", "components"])
def test_vmap_goes_through_and_gives_the_same(of: str):
    torch.manual_seed(0)
    walk, x, components = g2t.random_walk(EDGES, num_nodes=3), torch.randn(5, 3, 2).double(), torch.randn(5, 2, 2, 4).double()

    def compute(x: Tensor, components: Tensor) -> Tensor:
        return g2t.low_rank_features(x, walk, components, length=2)

    dims = (0, None) if of == "x" else (None, 0)
    arguments = (x, components[0]) if of == "x" else (x[0], components)
    pairs = [(x[k], components[0]) if of == "x" else (x[0], components[k]) for k in range(5)]
    torch.testing.assert_close(torch.func.vmap(compute, in_dims=dims)(*arguments), torch.stack([compute(*pair) for pair in pairs]))


def test_vmap_over_a_layer_goes_through():
    layer = g2t.nn.G2TNConv(2, 4, walk_length=2)
    walk, x = g2t.random_walk(EDGES, num_nodes=3).to(torch.float32), torch.randn(5, 3, 2)
    want = torch.stack([layer(one, walk) for one in x])
    torch.testing.assert_close(torch.func.vmap(lambda x: layer(x, walk))(x), want, rtol=1e-4, atol=1e-4)


def test_vmap_over_a_compiled_backend_says_what_to_take():
    walk = g2t.random_walk(EDGES, num_nodes=3)
    with pytest.raises(NotImplementedError, match="use backend='reference' or 'auto'"):
        torch.func.vmap(lambda x: g2t.low_rank_features(x, walk, torch.ones(2, 2, 4), length=2, backend="numba"))(torch.ones(5, 3, 2))


def test_high_degrees_are_compiled_no_longer_than_low_ones():
    """The loops are the same for every degree."""
    x, walk, components = torch.ones(3, 2), g2t.random_walk(EDGES, num_nodes=3), torch.full((64, 2, 2), 0.1)
    want = g2t.low_rank_features(x, walk, components, length=2, backend="torch")
    torch.testing.assert_close(g2t.low_rank_features(x, walk, components, length=2, backend="numba"), want)


WORK = """
import numpy as np
from graph2tens.backends.fixed_order import Pattern, walk
pattern = Pattern(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]), np.zeros(0))
print(walk(pattern, np.ones((3, 1, 4)), np.zeros((1, 4)), np.ones((2, 4)), length=2, increments=False, offset=None).sum())
"""


def run(folder: Path, before: str = "") -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", before + WORK], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_damaged_files_of_the_cache_are_compiled_again(tmp_path: Path):
    want = run(tmp_path)
    files = sorted(tmp_path.rglob("*.nb?"))
    assert files
    for content in (b"", b"not what Numba wrote"):
        for file in files:
            file.write_bytes(content)
        assert run(tmp_path) == want
        assert all(file.stat().st_size > 100 for file in tmp_path.rglob("*.nb?"))


FULL_DISK = """
import errno, numba.core.caching as caching
def full(self, *_): raise OSError(errno.ENOSPC, "No space left on device")
caching.IndexDataCacheFile.save = full
"""


def test_a_full_disk_leaves_the_code_in_memory(tmp_path: Path):
    assert run(tmp_path, FULL_DISK) == run(tmp_path)


def test_an_error_of_the_function_itself_is_raised():
    def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        Compiled(fail)()
