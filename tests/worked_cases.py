"""Loads the worked cases of tests/cases: small graphs with every output, computed independently of the package.

Use it so::

    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_...(case):
        got = g2t.node_features(case.x, case.walk, **case.options, degree=case.degree)
        assert_close(got, case.expected_features("phi"))
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import graph2tens as g2t

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True, eq=False)
class Case:
    """One worked case; `data` is the file as it is."""

    data: dict[str, Any]

    def __str__(self) -> str:
        return str(self.data["id"])

    @property
    def description(self) -> str:
        return str(self.data["description"])

    @property
    def n(self) -> int:
        return int(self.data["graph"]["n"])

    @property
    def degree(self) -> int:
        return int(self.data["M"])

    @property
    def length(self) -> int:
        return int(self.data["k"])

    @cached_property
    def x(self) -> Tensor:
        """(n, d) attributes."""
        return torch.tensor(self.data["attributes"], dtype=torch.float64)

    @cached_property
    def _both(self) -> tuple[Tensor, Tensor | None]:
        """Undirected edges are listed once in the file; here in both directions, a self-loop once."""
        graph = self.data["graph"]
        edges = [(i, j) for i, j in graph["edges"]]
        weights = graph["weights"]
        if not graph["directed"]:
            turned = [e for e, (i, j) in enumerate(edges) if i != j]
            weights = None if weights is None else weights + [weights[e] for e in turned]
            edges = edges + [(edges[e][1], edges[e][0]) for e in turned]
        index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous()
        return index, None if weights is None else torch.tensor(weights, dtype=torch.float64)

    @property
    def edge_index(self) -> Tensor:
        """(2, E), both directions of undirected edges."""
        return self._both[0]

    @property
    def edge_weight(self) -> Tensor | None:
        return self._both[1]

    @property
    def attention(self) -> dict[str, Any] | None:
        """None or {w_s, w_t, slope}."""
        attention: dict[str, Any] | None = self.data["graph"]["attention"]
        return attention

    @cached_property
    def walk(self) -> g2t.RandomWalk:
        """The walk; with attention, P is the softmax over out-neighbours of LeakyReLU(<w_s, f(i)> + <w_t, f(j)>)."""
        walk = g2t.random_walk(self.edge_index, num_nodes=self.n, edge_weight=self.edge_weight, laziness=self.data["graph"]["lazy"])
        if self.attention is None:
            return walk
        w_s, w_t = (torch.tensor(self.attention[name], dtype=torch.float64) for name in ("w_s", "w_t"))
        score = torch.nn.functional.leaky_relu((self.x @ w_s)[walk.row] + (self.x @ w_t)[walk.col], self.attention["slope"])
        probabilities = torch.empty_like(score)
        for i in range(self.n):
            out = walk.row == i
            probabilities[out] = torch.softmax(score[out], dim=0)
        return walk.with_probabilities(probabilities, stochastic=True)

    @cached_property
    def coefficients(self) -> Tensor | None:
        """(M,) c_1..c_M, or None."""
        c = self.data["options"]["c"]
        return None if c is None else torch.tensor(c[1:], dtype=torch.float64)

    @property
    def variant(self) -> dict[str, bool]:
        """increments, zero_start and time."""
        options = self.data["options"]
        return {"increments": options["diff"], "zero_start": options["zero_start"], "time": options["time"]}

    @property
    def options(self) -> dict[str, Any]:
        """All keyword arguments that exact and low-rank functions share; exact ones want `degree` on top."""
        return {"length": self.length, "coefficients": self.coefficients, **self.variant}

    @cached_property
    def components(self) -> Tensor:
        """(M, dim, R)."""
        return torch.tensor(self.data["U"], dtype=torch.float64).permute(1, 2, 0).contiguous()

    @cached_property
    def mix(self) -> Tensor:
        """(R, M)."""
        return torch.tensor(self.data["mix"], dtype=torch.float64)

    def expected(self, name: str) -> Tensor:
        """An output of the file as a tensor, in the file's own layout."""
        return torch.tensor(self.data["expected"][name], dtype=torch.float64)

    def expected_features(self, name: str) -> Tensor:
        """`phi` or `forward` as (n, size), `graph_phi` as (1, size): levels one after the other."""
        levels = [torch.tensor(level, dtype=torch.float64) for level in self.data["expected"][name]]
        return torch.cat([level.reshape(1 if name == "graph_phi" else self.n, -1) for level in levels], dim=1)

    def expected_low_rank(self, name: str = "lowrank") -> Tensor:
        """`lowrank`, `lowrank_hat`, `lowrank_forward` or `lowrank_forward_prefix` as (n, M, R)."""
        return self.expected(name).permute(2, 1, 0).contiguous()


def assert_close(got: Tensor, want: Tensor) -> None:
    """The tolerance of the worked cases: |got - want| <= 1e-9 (1 + |want|)."""
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)


CASES = [Case(json.loads(path.read_text())) for path in sorted(FOLDER.glob("*.json"))]
