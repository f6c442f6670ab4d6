"""The paper's tables as data, and many processes working them off."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from small_data import write_tu_folder
from test_store import LOAD

from graph2tens.datasets import load
from graph2tens.nn import GraphTensNet
from graph2tens.paper.reproduce import Event, record_path, reproduce, work_through
from graph2tens.paper.tables import ABLATIONS, TABLES, base_run, plan
from graph2tens.training.config import KEY, Run, Training
from graph2tens.training.run import perform, prepare
from graph2tens.training.store import RunStore


def tiny_plan(folder, runs):
    """Runs of a few milliseconds."""
    network = {"conv": "G2TN", "hidden_channels": 2, "num_layers": 1, "walk_length": 1, "post_channels": 2, "backend": "reference"}
    run = Run(str(folder), network=network, training=Training(epochs=1, batch_size=64), table="tiny")
    return [replace(run, seed=seed) for seed in range(runs)]


# --- the tables ---------------------------------------------------------------------------------------------------------------------------


def test_the_tables_have_every_row_of_both_models():
    sizes = {table: len(rows) for table, rows in TABLES.items() if table != "differences"}
    assert sizes == {"nci": 2 * 2, "ablation": 7 * 2 * 2, "citation": 3 * 2, "khop": 2 * 3 * 2}
    for rows in TABLES.values():
        assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("protocol", ["paper", "authors"])
@pytest.mark.parametrize("table", TABLES)
def test_every_row_builds_its_network(table, protocol):
    for run in plan(table, seeds=[0], protocol=protocol):
        network = GraphTensNet(5, 3, **run.network)
        assert sum(parameter.numel() for parameter in network.parameters()) > 0


@pytest.mark.parametrize("table", TABLES)
def test_all_runs_of_a_table_have_different_keys_and_settings(table):
    runs = plan(table, seeds=range(3), protocol="authors")
    assert len({run.key for run in runs}) == len(runs)
    described = {json.dumps([run.dataset, run.khop, run.seed, run.options()], sort_keys=True) for run in runs}
    assert len(described) == len(runs), "two rows would do the same"


def test_an_ablation_changes_one_thing():
    for protocol in ("paper", "authors"):
        for run in plan("ablation", seeds=[0], protocol=protocol):
            base = base_run(run.dataset, run.model, protocol)
            assert run.training == base.training
            changed = {name for name in {**base.network, **run.network} if base.network.get(name, ...) != run.network.get(name, ...)}
            assert len(changed) == 1, (run, changed)
    assert {row.variant for row in TABLES["ablation"]} == set(ABLATIONS)


def test_a_difference_turns_one_point_of_the_code_to_the_text():
    for run in plan("differences", seeds=[0], protocol="authors"):
        base = base_run(run.dataset, run.model, "authors", khop=run.khop)
        assert (run.training != base.training) == (run.variant == "L2Mean")
        assert (run.split != base.split) == (run.variant == "BalancedSplit")
        assert (run.network != base.network) == (run.variant not in ("L2Mean", "BalancedSplit"))


def test_settings_of_the_paper():
    graph, node = base_run("NCI1").training, base_run("Cora").training
    assert (graph.epochs, graph.batch_size, graph.learning_rate, graph.schedule, graph.l2) == (200, 128, 1e-3, "cosine", 1e-4)
    assert (node.epochs, node.patience, node.learning_rate, node.schedule, node.l2) == (1000, 50, 0.01, "constant", 0.01)
    assert graph.patience is None
    assert (graph.loss, base_run("NCI1", protocol="authors").training.loss) == ("mean", "sum")
    assert base_run("Cora", protocol="authors").training.loss == "mean"
    network = base_run("Cora", "G2TAN").network
    assert (network["hidden_channels"], network["num_layers"], network["dropout"], network["heads"]) == (64, 1, 0.9, 8)
    assert network["attention_dropout"] == 0.3
    assert not network["increments"]
    assert not network["learn_lift"]


def test_a_plan_grows_seed_by_seed_and_filters_rows():
    runs = plan("khop", seeds=[4, 2], datasets=["Cora"], models=["G2TAN"], khops=[2])
    assert [(run.dataset, run.model, run.khop, run.seed) for run in runs] == [("Cora", "G2TAN", 2, 4), ("Cora", "G2TAN", 2, 2)]
    with pytest.raises(ValueError, match="table khop has no dataset 'NCI1'; there is CiteSeer, Cora, PubMed"):
        plan("khop", seeds=[0], datasets=["NCI1"])
    with pytest.raises(ValueError, match="`table` must be one of"):
        plan("table7", seeds=[0])


def test_a_trial_never_passes_for_a_full_run(tmp_path):
    full, trial = (plan("nci", seeds=[0], epochs=epochs)[0] for epochs in (None, 1))
    assert full.key != trial.key
    assert trial.training.epochs == 1
    assert record_path(tmp_path, "nci") != record_path(tmp_path, "nci", trial=True)


@pytest.mark.parametrize("bad", [{"model": "GCN"}, {"protocol": "mine"}, {"seed": -1}, {"khop": -1}, {"seed": True}], ids=str)
def test_a_wrong_run_is_refused_by_name(bad):
    with pytest.raises(ValueError, match=rf"`{next(iter(bad))}` must be.*got"):
        Run("NCI1", **bad)


@pytest.mark.parametrize("protocol", ["paper", "authors"])
@pytest.mark.parametrize("table", ["nci", "ablation", "differences"])
def test_every_row_trains_an_epoch(table, protocol, tmp_path):
    data = load(write_tu_folder(tmp_path / "rings", graphs=12))
    for run in plan(table, seeds=[0], protocol=protocol, datasets=["NCI1"], epochs=1):
        network = {**run.network, "hidden_channels": 8, "num_layers": 2, "post_channels": 8, "backend": "reference"}
        record = perform(prepare(replace(run, network=network), data)).record
        assert (record["epochs"], record["epochs_limit"], record["variant"]) == (1, 1, run.variant)
        assert record["curve"]["train_loss"][0] is not None, f"{run}: the loss is not finite"


# --- working them off ---------------------------------------------------------------------------------------------------------------------

REPRODUCE = """
import sys
from pathlib import Path
from graph2tens.paper.reproduce import reproduce
from test_experiments import tiny_plan

def tell(event):
    if event.kind == "finished":
        print(event.run.seed, flush=True)

reproduce(tiny_plan(sys.argv[1], int(sys.argv[3])), Path(sys.argv[2]), threads=1, on_event=tell)
"""


def start(folder, path, runs):
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    command = [sys.executable, "-W", "ignore", "-c", REPRODUCE, str(folder), str(path), str(runs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def seeds(path):
    return [record["seed"] for record in RunStore(path, KEY).records()]


def test_two_reproduce_processes_lose_and_double_nothing_in_200_runs_though_one_is_killed(tmp_path):
    folder, path = write_tu_folder(tmp_path / "rings", graphs=12), tmp_path / "tiny.jsonl"
    first, second = start(folder, path, 200), start(folder, path, 200)
    for _ in range(10):
        assert first.stdout.readline()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    third = start(folder, path, 200)
    assert (second.wait(), third.wait()) == (0, 0)
    assert len(seeds(path)) == len(set(seeds(path)))
    # The run that the kill interrupted may have been claimed when both others passed it; it is left for the next start.
    assert len(seeds(path)) >= 199
    reproduce(tiny_plan(folder, 200), path, threads=1)
    assert sorted(seeds(path)) == list(range(200))


def test_recorded_runs_are_skipped(tmp_path):
    folder, path = write_tu_folder(tmp_path / "rings", graphs=12), tmp_path / "tiny.jsonl"
    events: list[Event] = []
    for count in (2, 3):
        reproduce(tiny_plan(folder, count), path, threads=1, on_event=events.append)
    kinds = [(event.kind, event.run.seed) for event in events if event.kind != "epoch"]
    assert kinds == [("finished", 0), ("finished", 1), ("recorded", 0), ("recorded", 1), ("finished", 2)]


@pytest.mark.slow
def test_an_error_in_a_worker_reaches_the_user(tmp_path):
    with pytest.raises(ValueError, match="nowhere"):
        reproduce(tiny_plan(tmp_path / "nowhere", 2), tmp_path / "tiny.jsonl", jobs=2, threads=1)
    assert not (tmp_path / "tiny.jsonl").exists()


def test_workers_of_one_command_share_the_work_and_end_when_it_is_killed(tmp_path):
    folder, path = write_tu_folder(tmp_path / "rings", graphs=12), tmp_path / "tiny.jsonl"
    script = REPRODUCE.replace("threads=1", "threads=1, jobs=2").replace("reproduce(tiny", "if __name__ == '__main__': reproduce(tiny")
    (tmp_path / "main.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    command = [sys.executable, "-W", "ignore", str(tmp_path / "main.py"), str(folder), str(path), "3000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    finished = [int(process.stdout.readline()) for _ in range(20)]
    assert len(set(finished)) == 20
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.read()  # ends when the last worker has closed its output
    recorded = seeds(path)
    assert set(finished) <= set(recorded)
    assert len(recorded) == len(set(recorded))
    time.sleep(0.3)
    assert seeds(path) == recorded


def test_a_record_says_everything(tmp_path):
    folder, path = write_tu_folder(tmp_path / "rings"), tmp_path / "tiny.jsonl"
    (run,) = tiny_plan(folder, 1)
    reproduce([replace(run, training=replace(run.training, epochs=60))], path, threads=1)
    (record,) = RunStore(path, KEY).records()
    assert {name: record[name] for name in ("table", "model", "variant", "khop", "protocol", "seed")} == {
        "table": "tiny",
        "model": "G2TN",
        "variant": "base",
        "khop": 0,
        "protocol": "paper",
        "seed": 0,
    }
    for name in ("train_accuracy", "validation_accuracy", "test_accuracy", "test_auroc"):
        assert 0 <= record[name] <= 1
    assert record["epochs"] == record["best_epoch"] == 60
    assert record["seconds"] > 60 * record["seconds_per_epoch"] * 0.5 > 0
    assert record["peak_memory_mib"] > 1
    curve = record["curve"]
    assert [len(values) for values in curve.values()] == [50] * 4
    assert (curve["epoch"][0], curve["epoch"][-1]) == (1, 60)
    assert record["options"]["training"]["epochs"] == 60
    assert record["options"]["network"]["hidden_channels"] == 2
    assert set(record["versions"]) >= {"python", "torch", "graph2tens"}
    assert set(record["machine"]) >= {"processor", "cores", "device"}
    assert record["finished"].endswith("+00:00")
    assert record["commit"]


def test_a_claimed_run_is_left_to_its_owner(tmp_path):
    store = RunStore(tmp_path / "tiny.jsonl", KEY)
    run = tiny_plan("rings", 1)[0]
    claim = (
        LOAD
        + f"""
with RunStore({str(store.path)!r}, {KEY!r}).claim({run.key!r}) as mine:
    print(mine, flush=True)
    sys.stdin.readline()
"""
    )
    other = subprocess.Popen([sys.executable, "-c", claim], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "True\n"
    events = list(work_through([run], store, lambda run: pytest.fail("it is not ours")))
    other.communicate("\n")
    assert [event.kind for event in events] == ["claimed"]
