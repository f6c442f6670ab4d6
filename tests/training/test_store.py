"""Finished runs on disk: nothing lost, nothing doubled, nothing corrupt, whoever is killed whenever."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from graph2tens.training import store as store_module
from graph2tens.training.store import RunStore

KEY = ("dataset", "seed")

# The store needs the standard library alone, and processes that do not import the package start in no time.
LOAD = f"""
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("store", {store_module.__file__!r})
store_module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(store_module)
RunStore = store_module.RunStore
"""

# A process that goes through the plan as `reproduce` does. Its records are long, so that a kill can fall into a write.
WORKER = (
    LOAD
    + """
path, runs, padding = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with RunStore(path, ("dataset", "seed")) as store:
    print("ready", flush=True)
    for seed in range(runs):
        with store.claim(("tiny", seed)) as mine:
            if mine:
                time.sleep(0.0005)
                store.append({"dataset": "tiny", "seed": seed, "padding": "x" * padding})
"""
)


def start_worker(path, runs, padding=10):
    command = [sys.executable, "-c", WORKER, str(path), str(runs), str(padding)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def seeds(path):
    return [record["seed"] for record in RunStore(path, KEY).records()]


def test_records_come_back_in_the_order_they_were_written(tmp_path):
    store = RunStore(tmp_path / "new" / "runs.jsonl", KEY)
    assert store.records() == []
    for seed in (2, 0, 1):
        store.append({"dataset": "NCI1", "seed": seed, "test_accuracy": 0.1 + 0.2})
    assert seeds(store.path) == [2, 0, 1]
    assert store.keys() == {("NCI1", 0), ("NCI1", 1), ("NCI1", 2)}
    assert store.records()[0]["test_accuracy"] == 0.1 + 0.2


def test_a_run_is_claimed_once_and_again_after_the_claim_ended(tmp_path):
    path = tmp_path / "runs.jsonl"
    other = subprocess.Popen([sys.executable, "-c", CLAIM_AND_WAIT, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "claimed\n"
    with RunStore(path, KEY) as store:
        with store.claim(("NCI1", 0)) as mine:
            assert not mine
        with store.claim(("NCI1", 1)) as mine:
            assert mine
        other.communicate("end\n")
        with store.claim(("NCI1", 0)) as mine:
            assert mine
            store.append({"dataset": "NCI1", "seed": 0})
        with store.claim(("NCI1", 0)) as mine:
            assert not mine, "a recorded run must not be claimed again"


CLAIM_AND_WAIT = (
    LOAD
    + """
store = RunStore(sys.argv[1], ("dataset", "seed"))
with store.claim(("NCI1", 0)) as mine:
    print("claimed" if mine else "refused", flush=True)
    sys.stdin.readline()
"""
)


def test_a_killed_process_gives_up_its_claim(tmp_path):
    path = tmp_path / "runs.jsonl"
    other = subprocess.Popen([sys.executable, "-c", CLAIM_AND_WAIT, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "claimed\n"
    other.kill()
    other.wait()
    with RunStore(path, KEY) as store, store.claim(("NCI1", 0)) as mine:
        assert mine


def test_two_processes_lose_and_double_nothing_in_200_runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    workers = [start_worker(path, 200) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert sorted(seeds(path)) == list(range(200))


def test_kill_9_at_any_moment_loses_no_finished_run_and_corrupts_nothing(tmp_path):
    path, rng = tmp_path / "runs.jsonl", random.Random(0)
    seen = []
    for _ in range(8):
        worker = start_worker(path, 200, padding=50_000)
        assert worker.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        now = seeds(path)
        assert now[: len(seen)] == seen, "a finished run was lost"
        seen = now
    assert start_worker(path, 200).wait() == 0
    assert sorted(seeds(path)) == list(range(200))
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_last_line_is_ignored_by_readers_and_removed_by_the_next_append(tmp_path, cut):
    store = RunStore(tmp_path / "runs.jsonl", KEY)
    for seed in range(3):
        store.append({"dataset": "NCI1", "seed": seed})
    content = store.path.read_bytes()
    store.path.write_bytes(content[: -1 - cut])
    assert seeds(store.path) == [0, 1]
    store.append({"dataset": "NCI1", "seed": 2})
    assert store.path.read_bytes() == content


def test_a_whole_last_line_without_newline_is_kept(tmp_path):
    store = RunStore(tmp_path / "runs.jsonl", KEY)
    store.path.write_text('{"dataset":"NCI1","seed":0}')
    assert seeds(store.path) == [0]
    store.append({"dataset": "NCI1", "seed": 1})
    assert seeds(store.path) == [0, 1]


@pytest.mark.parametrize("line", ["{not json}", "[1, 2]"])
def test_a_corrupt_line_in_the_middle_is_named(tmp_path, line):
    path = tmp_path / "runs.jsonl"
    path.write_text(f'{{"dataset":"NCI1","seed":0}}\n{line}\n{{"dataset":"NCI1","seed":1}}\n')
    with pytest.raises(ValueError, match=r"runs\.jsonl, line 2"):
        RunStore(path, KEY).records()


def test_a_value_that_json_cannot_hold_is_refused_and_nothing_is_written(tmp_path):
    store = RunStore(tmp_path / "runs.jsonl", KEY)
    with pytest.raises(ValueError, match="JSON"):
        store.append({"dataset": "NCI1", "seed": 0, "test_accuracy": float("nan")})
    assert store.records() == []


def test_records_are_single_lines_of_plain_json(tmp_path):
    store = RunStore(tmp_path / "runs.jsonl", KEY)
    store.append({"dataset": "a\nb", "seed": 0})
    (line,) = store.path.read_text().splitlines()
    assert json.loads(line) == {"dataset": "a\nb", "seed": 0}
