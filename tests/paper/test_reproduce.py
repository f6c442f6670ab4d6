"""Many processes working off a plan."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from small_data import write_tu_folder

from graph2tens.paper.reproduce import Event, reproduce, work_through
from graph2tens.training.config import KEY, Cell, Run, Training
from graph2tens.training.store import RunStore


def tiny_plan(folder, runs):
    """Runs of a few milliseconds."""
    network = {"conv": "G2TN", "hidden_channels": 2, "num_layers": 1, "walk_length": 1, "post_channels": 2, "backend": "reference"}
    run = Run(Cell("tiny", str(folder), "G2TN", protocol="paper"), network=network, training=Training(epochs=1, batch_size=64))
    return [replace(run, seed=seed) for seed in range(runs)]


REPRODUCE = """
import sys
from pathlib import Path
from graph2tens.paper.reproduce import reproduce
from test_reproduce import tiny_plan

def tell(event):
    if event.kind == "finished":
        print(event.run.seed, flush=True)

reproduce(tiny_plan(sys.argv[1], int(sys.argv[3])), Path(sys.argv[2]), threads=1, on_event=tell)
"""


def start(folder, path, runs):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
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
    claim = f"""
import sys
from graph2tens.training.store import RunStore
with RunStore({str(store.path)!r}, {KEY!r}).claim({run.key!r}) as mine:
    print(mine, flush=True)
    sys.stdin.readline()
"""
    other = subprocess.Popen([sys.executable, "-c", claim], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "True\n"
    events = list(work_through([run], store, lambda run: pytest.fail("it is not ours")))
    other.communicate("\n")
    assert [event.kind for event in events] == ["claimed"]
