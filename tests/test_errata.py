"""The errors in the paper's print that docs/errata.md lists for Theorem 3: each printed formula fails where the right one holds."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import oracles
import pytest
import torch
from strategies import corner

import graph2tens as g2t

ROOT = Path(__file__).parent.parent
GRAPH, DEGREE, LENGTH = corner("dangling"), 3, 3
RNG = np.random.default_rng(0)
X, COMPONENTS = RNG.normal(size=(GRAPH.n, 2)), RNG.normal(size=(DEGREE, 2))
P = oracles.transition_matrix(GRAPH.n, GRAPH.edges)


def recursion(length: int, level_zero: float = 1.0, last: int | None = None) -> list[np.ndarray]:
    """f_{k,m} of Theorem 3 for m = 0..M in dense matrices; `last` makes every product run up to u_last, as one line prints it."""
    C = [X @ u - (X @ u)[:, None] for u in COMPONENTS]  # C[s - 1][i, j] = <u_s, f(j) - f(i)>
    f = [np.full(GRAPH.n, level_zero)] + [np.zeros(GRAPH.n)] * DEGREE
    for _ in range(length):
        new = [np.full(GRAPH.n, level_zero)]
        for m in range(1, DEGREE + 1):
            total = P @ f[m]
            for r in range(1, m + 1):
                upper = DEGREE - m + r if last is None else last
                product = np.prod([C[s - 1] for s in range(DEGREE - m + 1, upper + 1)], axis=0)
                total = total + (P * product) @ f[m - r] / math.factorial(r)
            new.append(total)
        f = new
    return f


def truth(length: int, zero_start: bool) -> np.ndarray:
    """(n, M), by enumeration."""
    return oracles.low_rank_features(X, P, COMPONENTS[:, :, None], length, zero_start=zero_start)[:, :, 0]


def test_right_recursion_is_the_one_of_the_package():
    walk = g2t.random_walk(torch.tensor(GRAPH.edges.T), num_nodes=GRAPH.n)
    got = g2t.low_rank_features(torch.tensor(X), walk, torch.tensor(COMPONENTS[:, :, None]), length=LENGTH, zero_start=False)
    np.testing.assert_allclose(np.stack(recursion(LENGTH)[1:], axis=1), truth(LENGTH, zero_start=False))
    np.testing.assert_allclose(got[:, :, 0].numpy(), truth(LENGTH, zero_start=False))


def test_recursion_needs_level_zero():
    without = np.stack(recursion(LENGTH, level_zero=0.0)[1:], axis=1)
    assert not np.allclose(without, truth(LENGTH, zero_start=False))


def test_one_step_uses_the_last_components():
    for m in range(1, DEGREE + 1):
        increments = X - X[:, None]  # [i, j] = f(j) - f(i)
        right = np.prod([increments @ u for u in COMPONENTS[DEGREE - m :]], axis=0) / math.factorial(m)
        np.testing.assert_allclose((P * right).sum(1), truth(1, zero_start=False)[:, m - 1])
        printed = (increments @ COMPONENTS[m - 1]) ** (DEGREE - m + 1) / math.factorial(DEGREE)  # prod_{r=m}^{M} <u_m, .>, 1/M!
        assert not np.allclose((P * printed).sum(1), truth(1, zero_start=False)[:, m - 1])


def test_recursion_stops_its_product_early():
    printed = np.stack(recursion(LENGTH, last=DEGREE)[1:], axis=1)
    assert not np.allclose(printed, truth(LENGTH, zero_start=False))


def test_start_factor_acts_on_every_degree():
    f, F = recursion(LENGTH), [X @ u for u in COMPONENTS]

    def start(m: int, factorial_of) -> np.ndarray:
        first = DEGREE - m  # F[first] belongs to u_{M-m+1}
        return sum(np.prod(F[first : first + r], axis=0) * f[m - r] / math.factorial(factorial_of(r)) for r in range(m + 1))

    for m in range(1, DEGREE + 1):
        np.testing.assert_allclose(start(m, lambda r: r), truth(LENGTH, zero_start=True)[:, m - 1])
        assert not np.allclose(f[m], truth(LENGTH, zero_start=True)[:, m - 1])  # no start factor below degree M, as printed
    assert not np.allclose(start(DEGREE, lambda r: DEGREE), truth(LENGTH, zero_start=True)[:, -1])  # 1/m! for 1/r!


@pytest.mark.parametrize("reference", re.findall(r"`(test_\w+\.py)::(\w+)`", (ROOT / "docs" / "errata.md").read_text()), ids="::".join)
def test_every_test_that_the_errata_name_exists(reference):
    file, name = reference
    assert f"def {name}(" in (ROOT / "tests" / file).read_text()
