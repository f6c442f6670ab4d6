"""The training loop: deterministic, resumable to the bit, and the objective that the protocols ask for."""

import math
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from lightning_fabric import Fabric
from small_data import write_tu_folder

from graph2tens.datasets import load
from graph2tens.training import Cell, Run, Training
from graph2tens.training.checkpoint import load_state, save_state
from graph2tens.training.loop import fit, make_optimizer
from graph2tens.training.objectives import Classification
from graph2tens.training.run import perform, prepare
from graph2tens.training.state import DivergedError
from graph2tens.training.tasks import Batch

NETWORK = {"conv": "G2TN", "hidden_channels": 4, "num_layers": 2, "walk_length": 2, "post_channels": 8, "dropout": 0.3}


def small_run(dataset, **training):
    return Run(Cell("test", dataset, "G2TN"), 1, NETWORK, training=Training(**{"epochs": 6, "batch_size": 8, **training}))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(write_tu_folder(tmp_path_factory.mktemp("data") / "rings"))


@pytest.fixture
def run(data):
    return small_run(data.name)


def metrics(outcome):
    """Everything a run measured that is not time or memory."""
    history = [(e.epoch, e.train_loss, e.train_score, e.validation_loss, e.validation_score) for e in outcome.state.history]
    return history, {part: (result.loss, result.score) for part, result in outcome.evaluations.items()}


def test_the_same_run_twice_gives_the_same_bits(data, run):
    first, second = (perform(prepare(run, data)) for _ in range(2))
    assert metrics(first) == metrics(second)


def test_another_seed_gives_another_run(data, run):
    assert metrics(perform(prepare(run, data))) != metrics(perform(prepare(replace(run, seed=2), data)))


def test_a_run_stopped_after_any_epoch_and_resumed_ends_with_the_same_bits(data, run, tmp_path):
    whole = perform(prepare(run, data))
    for stop in (0, 1, 4):
        path = tmp_path / f"{stop}.pt"

        def interrupt(epoch, state, stop=stop):
            if epoch.epoch == stop + 1:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            perform(prepare(run, data), state_path=path, save_every=0.0, on_epoch=interrupt)
        assert load_state(path).epoch == stop + 1
        torch.rand(7)  # whatever else drew numbers in between
        assert metrics(perform(prepare(run, data), state_path=path, resume=True)) == metrics(whole)


def test_the_seconds_of_a_resumed_run_are_those_of_all_its_sessions(data, run, tmp_path):
    path = tmp_path / "state.pt"

    def interrupt(epoch, state):
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perform(prepare(run, data), state_path=path, save_every=0.0, on_epoch=interrupt)
    state = load_state(path)
    epochs = sum(epoch["seconds"] for epoch in state.history)
    assert state.seconds > epochs
    save_state(path, {**vars(state), "seconds": 5000.0})  # as if it had taken that long
    assert perform(prepare(run, data), state_path=path, resume=True).record.seconds > 5000
    assert load_state(path).seconds > 5000


TRAIN_UNTIL_KILLED = """
import sys
from pathlib import Path
import torch
from graph2tens.datasets import load
from graph2tens.training.run import perform, prepare
from test_loop import small_run

def tell(epoch, state):
    print(epoch.epoch, flush=True)
    if epoch.epoch == 30:
        sys.stdin.read()  # nothing comes: here it waits to be killed, if that did not happen before

torch.set_num_threads(1)
data = load(Path(sys.argv[1]))
perform(prepare(small_run(data.name, epochs=40), data), state_path=Path(sys.argv[2]), save_every=0.0, on_epoch=tell)
"""


def test_a_run_killed_with_signal_9_at_a_random_step_and_resumed_ends_with_the_same_bits(data, tmp_path):
    folder, path = write_tu_folder(tmp_path / "rings"), tmp_path / "state.pt"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", TRAIN_UNTIL_KILLED, str(folder), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    seen = random.randint(3, 20)
    assert [process.stdout.readline() for _ in range(seen)] == [f"{epoch}\n" for epoch in range(1, seen + 1)]
    os.kill(process.pid, signal.SIGKILL)  # in whatever step of a later epoch it is by now
    assert process.wait() == -signal.SIGKILL
    run = small_run(data.name, epochs=40)
    assert seen <= load_state(path).epoch <= 30
    resumed = perform(prepare(run, data), state_path=path, resume=True)
    assert metrics(resumed) == metrics(perform(prepare(run, data)))


def test_early_stopping_ends_after_the_patience_and_brings_the_best_weights_back(data):
    run = small_run(data.name, epochs=200, patience=3, learning_rate=0.05, schedule="constant")
    prepared = prepare(run, data)
    outcome = perform(prepared)
    losses = [epoch.validation_loss for epoch in outcome.state.history]
    best = min(range(len(losses)), key=losses.__getitem__)
    assert len(losses) < 200
    assert len(losses) - 1 - best == 3
    assert outcome.record.best_epoch == best + 1
    assert outcome.evaluations["validation"].loss == pytest.approx(losses[best], rel=1e-6)


def test_without_patience_the_last_weights_are_judged(data, run):
    outcome = perform(prepare(run, data))
    assert outcome.evaluations["validation"].loss == pytest.approx(outcome.state.history[-1].validation_loss, rel=1e-6)
    assert outcome.record.best_epoch == outcome.record.epochs == 6


def test_the_rate_falls_along_a_cosine_over_all_steps():
    training = Training(epochs=2, learning_rate=0.1, schedule="cosine")
    assert [training.rate(step, 2) for step in range(5)] == pytest.approx([0.1, 0.1 * (2 + 2**0.5) / 4, 0.05, 0.1 * (2 - 2**0.5) / 4, 0.0])
    assert Training(learning_rate=0.1, schedule="constant").rate(3, 4) == 0.1


def test_the_rate_is_halved_every_fifty_epochs_or_as_one_likes():
    training = Training(learning_rate=0.1, schedule="step")
    assert [training.rate(10 * epoch, 10) for epoch in (0, 49, 50, 99, 100)] == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025])
    assert Training(learning_rate=1.0, schedule="step", gamma=0.1, step_epochs=1).rate(7, 3) == pytest.approx(0.01)


class Linear(torch.nn.Module):
    """One weight, so that a step can be computed by hand."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([0.5]))

    def forward(self, x):
        return torch.stack([x * self.weight, torch.zeros_like(x)], dim=1)

    def penalty(self):
        return self.weight.square().sum()


class OneBatch:
    steps_per_epoch = 1
    objective = Classification()
    x, y = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([0, 1, 1])

    def training_batches(self, generator, rank=0, world_size=1):
        return [Batch((self.x,), self.y)]

    def batches(self, part):
        return [Batch((self.x,), self.y)]


@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_the_objective_is_cross_entropy_plus_l2_times_the_penalty(loss, monkeypatch):
    seen = []
    fabric = Fabric(accelerator="cpu", devices=1)
    monkeypatch.setattr(fabric, "backward", lambda value: (seen.append(value.item()), value.backward()))
    fit(fabric, Linear(), OneBatch(), Training(epochs=1, l2=0.3, loss=loss))
    terms = [math.log1p(math.exp(-x * 0.5 if y == 0 else x * 0.5)) for x, y in ((1, 0), (2, 1), (-1, 1))]
    cross_entropy = sum(terms) / (3 if loss == "mean" else 1)
    assert seen == [pytest.approx(cross_entropy + 0.3 * 0.25, rel=1e-6)]


def test_the_watched_loss_contains_the_penalty_where_it_should():
    plain, watched = (
        fit(Fabric(accelerator="cpu", devices=1), Linear(), OneBatch(), Training(epochs=1, l2=0.3, patience=5, watch_penalty=watch))
        for watch in (False, True)
    )
    assert plain.best == pytest.approx(plain.history[0].validation_loss)
    assert watched.best > plain.best


def test_every_graph_is_seen_once_an_epoch_in_an_order_that_changes(data, run):
    task, generator = prepare(run, data).task, torch.Generator().manual_seed(0)
    epochs = [[batch.y for batch in task.training_batches(generator)] for _ in range(2)]
    assert [len(y) for y in epochs[0]] == [8, 8, 8, 8]
    assert task.steps_per_epoch == 4
    first, second = (torch.cat(ys).tolist() for ys in epochs)
    assert first != second
    assert sorted(first) == sorted(second)


def test_processes_share_every_batch(data, run):
    task = prepare(replace(run, training=replace(run.training, batch_size=7)), data).task
    alone = list(task.training_batches(torch.Generator().manual_seed(0)))
    shares = [list(task.training_batches(torch.Generator().manual_seed(0), rank, 3)) for rank in range(3)]
    assert len(alone) == 5
    for whole, *parts in zip(alone, *shares, strict=True):
        shared = torch.cat([part.y for part in parts if part.weight > 0])
        assert sorted(shared.tolist()) == sorted(whole.y.tolist())
        # the average over processes of weight times mean is the mean over the batch
        mean = sum(part.weight * part.y.double().mean() for part in parts) / 3
        assert mean == pytest.approx(whole.y.double().mean())


def test_processes_get_shares_that_take_equally_long(data, run):
    task = prepare(replace(run, training=replace(run.training, batch_size=32)), data).task
    shares = [list(task.training_batches(torch.Generator().manual_seed(0), rank, 2)) for rank in range(2)]
    for parts in zip(*shares, strict=True):
        work = [part.inputs[0].size(0) + part.inputs[1].num_edges for part in parts]
        sizes = torch.cat([torch.bincount(part.inputs[2]) + torch.bincount(part.inputs[2][part.inputs[1].row]) for part in parts])
        assert len(set(map(len, (part.y for part in parts)))) == 1
        assert abs(work[0] - work[1]) <= sizes.max() - sizes.min()


@pytest.mark.parametrize(
    "bad",
    [
        {"epochs": 0},
        {"batch_size": -1},
        {"learning_rate": 0.0},
        {"l2": -1.0},
        {"loss": "median"},
        {"schedule": "steps"},
        {"patience": 0},
        {"watch": "test"},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_wrong_settings_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=rf"`{next(iter(bad))}`.*got"):
        Training(**bad)


def test_a_broken_state_is_refused_in_words(tmp_path):
    with pytest.raises(ValueError, match="nothing to resume"):
        load_state(tmp_path / "state.pt")
    save_state(tmp_path / "state.pt", {"epoch": 1})
    content = (tmp_path / "state.pt").read_bytes()
    (tmp_path / "state.pt").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="not a training state"):
        load_state(tmp_path / "state.pt")


# --- other networks, other ways to fit ----------------------------------------------------------------------------------------------------


class Plain(torch.nn.Module):
    """A network that knows nothing of walks and penalties: the mean of a linear map over the nodes of each graph."""

    def __init__(self, in_channels, out_channels, width=4):
        super().__init__()
        self.first, self.last = torch.nn.Linear(in_channels, width), torch.nn.Linear(width, out_channels)

    def forward(self, x, edge_index, batch, batch_size=None):
        assert edge_index.shape[0] == 2
        h = self.last(self.first(x).relu())
        return h.new_zeros(batch_size, h.size(1)).index_add(0, batch, h) / torch.bincount(batch, minlength=batch_size).unsqueeze(1)


class Decaying(Plain):
    def parameter_groups(self, weight_decay):
        return [{"params": self.first.parameters()}, {"params": self.last.parameters(), "weight_decay": 0.0}]


@pytest.mark.parametrize("optimiser", ["adam", "adamw"])
def test_any_network_of_nodes_edges_and_batch_is_trained(data, optimiser):
    training = {"optimiser": optimiser, "weight_decay": 0.01, "l2": 0.5, "learning_rate": 0.01, "epochs": 15}
    run = replace(small_run(data.name, **training), builder="plain", network={"width": 6})
    outcome = perform(prepare(run, data, networks={"plain": Plain}))
    assert outcome.state.history[-1].train_loss < outcome.state.history[0].train_loss
    assert outcome.network.first.out_features == 6
    with pytest.raises(ValueError, match="`builder` must be one of GraphTensNet"):
        prepare(run, data)


def test_a_network_decides_which_of_its_parameters_decay(data):
    run = replace(
        small_run(data.name, optimiser="adamw", weight_decay=1.0, learning_rate=1e-9, schedule="constant"), builder="n", network={}
    )
    prepared = prepare(run, data, networks={"n": Decaying})
    assert [group["weight_decay"] for group in make_optimizer(prepared.network, run.training).param_groups] == [1.0, 0.0]


@pytest.mark.parametrize("watch", ["loss", "score"])
def test_all_epochs_are_made_and_the_best_one_is_kept(data, watch):
    run = small_run(data.name, epochs=12, keep_best=True, watch=watch, learning_rate=0.05, schedule="constant")
    outcome = perform(prepare(run, data))
    assert outcome.record.epochs == 12
    watched = [epoch.validation_loss if watch == "loss" else -epoch.validation_score for epoch in outcome.state.history]
    assert outcome.record.best_epoch == min(range(12), key=watched.__getitem__) + 1  # of equal ones the first
    found = outcome.evaluations["validation"]
    assert (found.loss if watch == "loss" else -found.score) == pytest.approx(min(watched), rel=1e-6)


# --- training that diverges ---------------------------------------------------------------------------------------------------------------


class Exploding(Linear):
    """Fine for two epochs of one step, then not a number."""

    calls = 0

    def forward(self, x):
        self.calls += self.training
        return super().forward(x) * (float("nan") if self.calls > 2 else 1.0)


def test_a_diverged_training_says_so_and_keeps_the_best_weights(tmp_path):
    model, path = Exploding(), tmp_path / "state.pt"
    training = Training(epochs=9, learning_rate=0.1, l2=0.0)
    with pytest.raises(
        DivergedError, match=r"training diverged at epoch 3 \(the training loss is not finite, learning rate 0\.1\)"
    ) as error:
        fit(Fabric(accelerator="cpu", devices=1), model, OneBatch(), training, state_path=path)
    assert "The best weights, of epoch 2, are kept" in str(error.value)
    assert model.weight.isfinite().all()
    assert load_state(path).model["weight"] == error.value.state.best_weights["weight"]
    with pytest.raises(DivergedError, match="at epoch 3"):  # and resuming it does not bring it back
        fit(Fabric(accelerator="cpu", devices=1), Exploding(), OneBatch(), training, state_path=path, resume=True)


def test_a_learning_rate_out_of_all_bounds_is_a_diverged_training_and_no_fault_of_the_data(data):
    with pytest.raises(DivergedError, match=r"diverged at epoch 1 .*learning rate 1e\+30.*lower learning rate"):
        perform(prepare(small_run(data.name, learning_rate=1e30, schedule="constant"), data))
