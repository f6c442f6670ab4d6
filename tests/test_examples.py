"""The examples run, with tiny settings, and the order task shows what it claims."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch_geometric.data import Batch, Data

import graph2tens as g2t

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def example(monkeypatch):
    """Import an example by name."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load(name: str) -> ModuleType:
        return __import__(name)

    return load


def test_exact_features_runs_and_its_roads_agree(capsys):
    default = torch.get_default_dtype()
    try:
        runpy.run_path(str(EXAMPLES / "exact_features.py"))
    finally:
        torch.set_default_dtype(default)
    printed = capsys.readouterr().out
    errors = [float(line.split()[-1]) for line in printed.splitlines() if "differ" in line]
    assert len(errors) == 3
    assert max(errors) < 1e-12
    assert "level 1 agrees: True" in printed
    assert "level 2 agrees: False" in printed


def test_node_classification_trains_all_three(example):
    results = example("node_classification").main(epochs=15, nodes=80)
    assert set(results) == {"GAT", "G2TAN", "G2TN"}
    assert min(results.values()) > 0.4, "four classes of equal size: chance is 0.25"


def test_graph_classification_runs_from_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["graph_classification.py", "--epochs", "1", "--pairs", "4"])
    runpy.run_path(str(EXAMPLES / "graph_classification.py"), run_name="__main__")
    assert capsys.readouterr().out.count("test accuracy") == 2


class TestOrderTask:
    """Two classes that differ in nothing but the order of what a walk sees."""

    def test_marginals_of_the_two_classes_are_equal(self, example):
        """From a random start, what the walker finds after t steps has one law in a ring and in its reversal, for every t."""
        graphs = example("graph_classification").order_task(5)
        for forwards, backwards in zip(graphs[::2], graphs[1::2], strict=True):
            for t in range(8):
                laws = [marginal(graph, t) for graph in (forwards, backwards)]
                torch.testing.assert_close(*laws)

    def test_ordered_features_of_the_two_classes_differ(self, example):
        """Level 1 counts colours, level 2 counts which came before which: red before blue, or blue before red."""
        task = example("graph_classification")
        graphs = task.order_task(5)
        for forwards, backwards in zip(graphs[::2], graphs[1::2], strict=True):
            (_, first, second), (_, other_first, other_second) = (
                g2t.TensorAlgebra(3, 2).levels(exact_features(graph)) for graph in (forwards, backwards)
            )
            torch.testing.assert_close(first, other_first)
            before, after = second.reshape(3, 3), other_second.reshape(3, 3)
            assert before[task.RED, task.BLUE] > 0.05
            assert before[task.BLUE, task.RED] == 0
            torch.testing.assert_close(before, after.T)

    def test_no_gcn_tells_a_ring_from_its_reversal(self, example):
        """The theorem in the example's head, for random weights."""
        task = example("graph_classification")
        batch = Batch.from_data_list(task.order_task(10))
        for seed in range(5):
            torch.manual_seed(seed)
            logits = task.model("GCN").eval()(batch.x, batch.edge_index, batch.batch)
            torch.testing.assert_close(logits[::2], logits[1::2], atol=1e-5, rtol=1e-4)

    def test_g2tn_learns_it_and_gcn_of_the_same_reach_stays_at_chance(self, example):
        task = example("graph_classification")
        training, testing = task.order_task(64, seed=0), task.order_task(64, seed=1)
        accuracy = {}
        for conv in ("G2TN", "GCN"):
            torch.manual_seed(0)
            net = task.model(conv)
            task.train(net, training, epochs=20)
            accuracy[conv] = task.accuracy(net, testing)
        assert accuracy["G2TN"] > 0.95
        assert 0.4 < accuracy["GCN"] < 0.6


def marginal(graph: Data, steps: int) -> torch.Tensor:
    """The law of the colour after so many steps from a uniform start."""
    P = g2t.random_walk(graph.edge_index, num_nodes=graph.num_nodes).matrix().to_dense()
    return torch.linalg.matrix_power(P, steps).mean(0) @ graph.x.double()


def exact_features(graph: Data) -> torch.Tensor:
    walk = g2t.random_walk(graph.edge_index, num_nodes=graph.num_nodes)
    return g2t.graph_features(graph.x.double(), walk, length=5, degree=2, increments=False)
