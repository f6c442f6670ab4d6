"""Engines: every task once, lost workers replaced, errors told, and features of equal bits."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import psutil
import pytest
from engine_tasks import double, refuse
from made_graphs import contents, fitted, molecules, write_files

from graph2tens.scale import apply_features, check_features, engines, save_features
from graph2tens.scale.engines import WorkersLostError, run_tasks


def engine(name):
    """A test of an engine that need not be installed."""
    module = {"local": "joblib", "dask": "distributed", "ray": "ray"}[name]
    return pytest.param(name, marks=pytest.mark.skipif(not _installed(module), reason=f"{module} is not installed"))


def _installed(module):
    from importlib.util import find_spec

    return find_spec(module) is not None


EVERY = pytest.mark.parametrize("name", [engine("local"), engine("dask"), engine("ray")])


@EVERY
def test_bits_are_equal_and_lost_workers_are_replaced(name, tmp_path):
    graphs = molecules(30)
    features, inputs = fitted(graphs), write_files(tmp_path / "in", graphs, 5)
    apply_features(features, inputs, tmp_path / "one", workers=1)
    with _cluster(name):
        tasks = [(number, str(tmp_path / "fatal") if number == 3 else None) for number in range(8)]
        assert sorted(run_tasks(double, tasks, engine=name, workers=2)) == [(number, 2 * number) for number in range(8)]
        with pytest.raises(ValueError, match="number 1 is not wanted"):
            list(run_tasks(refuse, [(1,)], engine=name, workers=2))
        summary = apply_features(features, inputs, tmp_path / "two", engine=name, workers=2)
    assert summary.graphs == 30
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@contextmanager
def _cluster(name):
    """One cluster for all jobs of a test: they use what is running."""
    if name == "dask":
        from distributed import Client

        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None), pytest.warns(UserWarning, match="give memory back"):
            yield
    elif name == "ray":
        import ray

        found = {"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}  # where workers find the tasks of these tests
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=found)
        yield
        ray.shutdown()
    else:
        yield


def test_workers_of_dasks_own_cluster_keep_freed_memory():
    distributed = pytest.importorskip("distributed")
    with engines._dask_cluster(1) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(1)
        assert list(client.run(engines._allocator).values()) == [engines.ALLOCATOR]


def test_one_worker_is_this_process():
    assert list(run_tasks(double, [(1,), (2,)], workers=1)) == [(0, 2), (1, 4)]


def test_workers_that_die_without_finishing_anything_end_the_job(monkeypatch):
    started = []

    def dying(function, tasks, workers, address):
        started.append(len(tasks))
        if len(started) in (1, 3):
            yield 0, function(*tasks[0])
        raise engines._LostError("killed")

    monkeypatch.setattr(engines, "_local", dying)
    results = run_tasks(double, [(number,) for number in range(5)], workers=2)
    assert [next(results), next(results)] == [(0, 0), (1, 2)]
    with pytest.raises(WorkersLostError, match=r"lost 3 times without finishing a task .killed."):
        next(results)
    assert started == [5, 4, 4, 3, 3]  # what is done is not done again; a finished task shows that it is worth going on


def test_unknown_engines_and_addresses_are_refused():
    with pytest.raises(ValueError, match=r"`engine` must be one of 'local', 'dask', 'ray' .got 'spark'."):
        list(run_tasks(double, [(1,)], engine="spark"))
    with pytest.raises(ValueError, match="`address` is for engine='dask' and 'ray'"):
        list(run_tasks(double, [(1,)], address="tcp://somewhere"))


@pytest.mark.parametrize(("name", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_an_engine_that_is_not_installed_says_what_to_install(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"needs the package {module}: pip install 'graph2tens\[{name}\]'"):
        list(run_tasks(double, [(1,)], engine=name))


@pytest.mark.slow
@EVERY
def test_killed_workers_change_nothing(name, tmp_path):
    """25 random kills of each engine's workers."""
    graphs = molecules(4000, seed=7)
    features = fitted(graphs[:100], n_layers=6, n_functionals=64, n_waves=256)
    inputs = write_files(tmp_path / "in", graphs, 50)
    save_features(features, tmp_path / "features")
    apply_features(features, inputs, tmp_path / "undisturbed", workers=1)
    rng, stop, killed = np.random.default_rng(1), threading.Event(), []

    def kill_now_and_then():
        while not stop.wait(rng.uniform(0.3, 4.0)) and len(killed) < 25:
            workers = [child for child in psutil.Process().children(recursive=True) if _is_worker(child)]
            if workers:
                chosen = workers[int(rng.integers(len(workers)))]
                chosen.kill()
                killed.append(chosen.pid)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    out = tmp_path / "out"
    try:
        for _ in range(50):  # a job that gave up goes on with the same command
            try:
                apply_features(features, inputs, out, engine=name, workers=2)
            except WorkersLostError:
                continue
            if len(killed) >= 25:
                break
            time.sleep(0.1)
            for path in list(out.glob("*.parquet"))[::2]:
                path.unlink()
    finally:
        stop.set()
        killer.join()
    assert len(killed) >= 25
    assert contents(out) == contents(tmp_path / "undisturbed")
    assert check_features(out, inputs).problems == ()


def _is_worker(process: psutil.Process) -> bool:
    try:
        command = " ".join(process.cmdline())
    except psutil.Error:
        return False
    ray = "ray::" in command and "Agent" not in command  # without its agents the node itself would end
    return ("loky" in command and "resource_tracker" not in command) or ray or "spawn_main" in command
