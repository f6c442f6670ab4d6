"""Parquet files of graphs -> Parquet files of features: bits, errors, resuming, refusals."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import textwrap
from collections import namedtuple
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_graphs import contents, fitted, molecules, write_files

from graph2tens.scale import apply_features, check_features, plan_features, read_features, rows_of_graphs, save_features
from graph2tens.scale.many import task


@pytest.fixture(scope="module")
def graphs():
    return molecules(60)


@pytest.fixture(scope="module")
def features(graphs):
    return fitted(graphs[:20])


@pytest.fixture
def inputs(tmp_path, graphs):
    return write_files(tmp_path / "in", graphs, 25)


def table(folder, **options):
    parts = list(read_features(folder, **options))
    return (np.concatenate([part[place] for part in parts]) for place in range(3))


@pytest.mark.parametrize("rows_per_file", [7, 2000])
@pytest.mark.parametrize("group", [16, 10**6], ids=["small groups", "one group"])
def test_features_are_those_of_one_process(tmp_path, graphs, features, inputs, rows_per_file, group, monkeypatch):
    monkeypatch.setattr(task, "GROUP_BYTES", group)
    summary = apply_features(features, inputs, tmp_path / "out", workers=1, rows_per_file=rows_per_file)
    ids, X, y = table(tmp_path / "out", rows=8)
    np.testing.assert_array_equal(X, features.transform(graphs))
    assert ids.tolist() == [f"g{place}" for place in range(60)]
    assert y.tolist() == [graph.num_nodes % 2 for graph in graphs]
    assert (summary.graphs, summary.errors, summary.found) == (60, 0, 0)
    check = check_features(tmp_path / "out", inputs)
    assert (check.graphs, check.errors, check.problems) == (60, 0, ())
    assert check.columns == features.n_features_out_


def test_pieces_can_be_mixed_and_columns_chosen(tmp_path, graphs, features, inputs):
    apply_features(features, inputs, tmp_path / "out", workers=1)
    expected = features.transform(graphs)
    (ids, X, _), (again, _, _) = (table(tmp_path / "out", rows=10, columns=[3, 1], random_state=5) for _ in range(2))
    assert ids.tolist() == again.tolist() != [f"g{place}" for place in range(60)]
    places = [int(name[1:]) for name in ids]
    assert sorted(places) == list(range(60))
    np.testing.assert_array_equal(X, expected[places][:, [3, 1]])


def test_a_table_without_targets_has_none(tmp_path, graphs, features):
    pq.write_table(rows_of_graphs(graphs[:3]), tmp_path / "one.parquet")
    apply_features(features, tmp_path / "one.parquet", tmp_path / "out", workers=1)
    ((ids, X, y),) = read_features(tmp_path / "out")
    assert (ids.tolist(), X.shape[0], y) == ([0, 1, 2], 3, None)


def test_rows_that_are_no_graphs_go_to_the_table_of_errors(tmp_path, graphs, features):
    rows = rows_of_graphs(graphs[:5]).to_pylist()
    rows[1]["dst"][0] = 99
    rows[3]["num_nodes"] = None
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / "some.parquet")
    summary = apply_features(features, tmp_path / "in", tmp_path / "out", workers=1)
    assert (summary.graphs, summary.errors) == (3, 2)
    errors = pq.read_table(tmp_path / "out" / "_errors" / "some.parquet").to_pylist()
    assert [(error["file"], error["row"], error["id"]) for error in errors] == [("some.parquet", 1, "1"), ("some.parquet", 3, "3")]
    assert "between its nodes" in errors[0]["message"]
    _, X, _ = next(iter(read_features(tmp_path / "out")))
    np.testing.assert_array_equal(X, features.transform([graphs[0], graphs[2], graphs[4]]))
    assert check_features(tmp_path / "out", tmp_path / "in").problems == ()
    with pytest.raises(ValueError, match=r"some.parquet, row 1 \(id 1\): the graph must have edges between its nodes"):
        apply_features(features, tmp_path / "in", tmp_path / "strict", workers=1, strict=True)
    assert not list((tmp_path / "strict").glob("**/*some*"))
    with pytest.raises(ValueError, match="2 failed rows, which strict refuses"):
        apply_features(features, tmp_path / "in", tmp_path / "out", workers=1, strict=True)


def test_a_second_call_makes_only_what_is_missing(tmp_path, features, inputs):
    out = tmp_path / "out"
    apply_features(features, inputs, out, workers=1)
    whole = contents(out)
    (out / "part00025.parquet").unlink()
    (out / ".part00025.parquet.abcdefgh.unfinished").write_bytes(b"what a killed writer left")
    (out / "._features.safetensors.abcdefgh.unfinished").write_bytes(b"what another one left")
    assert any("killed writer" in problem for problem in check_features(out).problems)
    summary = apply_features(features, inputs, out, workers=1)
    assert (summary.files, summary.found) == (3, 2)
    assert contents(out) == whole


def test_a_task_that_fails_leaves_nothing(tmp_path, features, inputs, monkeypatch):
    calls = []

    def fail_at_the_fourth(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise OSError("No space left on device")
        return original(*arguments)

    original = task.transform_rows
    monkeypatch.setattr(task, "GROUP_BYTES", 16)
    monkeypatch.setattr(task, "transform_rows", fail_at_the_fourth)
    with pytest.raises(OSError, match="No space left"):
        apply_features(features, inputs, tmp_path / "out", workers=1)
    assert sorted(contents(tmp_path / "out")) == ["_features.safetensors", "part00000.parquet"]


def other_features(job):
    return {"features": fitted(molecules(20), random_state=1)}


def other_type(job):
    return {"dtype": "float16"}


def other_parts(job):
    return {"rows_per_file": 5}


def other_input(job):
    shutil.copy(job / "in" / "part00025.parquet", job / "in" / "part00000.parquet")
    return {}


def foreign_file(job):
    pq.write_table(pa.table({"a": [1]}), job / "out" / "part00050.parquet")
    return {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_features, "part00000.parquet was made with another fitted estimator"),
        (other_type, "part00000.parquet was made with another dtype"),
        (other_parts, "is none of the files that this job writes"),
        (other_input, "was made with other content of the input file"),
        (foreign_file, "is not a file of features that graph2tens wrote"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_folder_of_another_job_is_refused(tmp_path, features, inputs, change, message):
    apply_features(features, inputs, tmp_path / "out", workers=1)
    options = {"features": features, **change(tmp_path)}
    with pytest.raises(ValueError, match=message):
        apply_features(inputs=inputs, out=tmp_path / "out", workers=1, **options)


def test_a_mixture_is_not_read(tmp_path, graphs, features, inputs):
    apply_features(features, inputs, tmp_path / "out", workers=1)
    apply_features(fitted(graphs, random_state=1), inputs, tmp_path / "other", workers=1)
    shutil.copy(tmp_path / "other" / "part00025.parquet", tmp_path / "out" / "part00025.parquet")
    with pytest.raises(ValueError, match="must be made with the same features"):
        next(read_features(tmp_path / "out"))


def test_a_changed_number_is_found(tmp_path, features, inputs):
    apply_features(features, inputs, tmp_path / "out", workers=1)
    path = tmp_path / "out" / "part00025.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    assert [problem for problem in check_features(tmp_path / "out", inputs).problems if "part00025" in problem]


def test_what_is_missing_is_counted(tmp_path, features, inputs):
    apply_features(features, inputs, tmp_path / "out", workers=1)
    (tmp_path / "out" / "part00025.parquet").unlink()
    assert check_features(tmp_path / "out", inputs).problems == ("part00025.parquet: 0 of its 25 graphs are done.",)


def test_size_and_time_are_known_before_and_a_full_disk_is_refused(tmp_path, features, inputs, monkeypatch):
    job = plan_features(features, inputs, tmp_path / "out")
    assert job.graphs == 60
    assert job.bytes == 60 * 4 * features.n_features_out_
    assert 0 < job.seconds(workers=2) == job.seconds_per_graph * 30
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: namedtuple("Usage", "total used free")(100, 99, 1))
    with pytest.raises(OSError, match=r"there are 0\.0 GB free"):
        job.run(workers=1)
    assert not (tmp_path / "out").exists()
    told = []
    job.run(workers=1, even_if_full=True, on_progress=told.append)
    assert [progress.graphs for progress in told] == [25, 50, 60]
    assert told[-1].seconds_left == 0 < told[-1].rate
    assert job.bytes == 0


def test_bad_inputs_are_named(tmp_path, features, inputs):
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        plan_features(features, tmp_path / "nothing", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="at least one file"):
        plan_features(features, tmp_path / "empty", tmp_path / "out")
    with pytest.raises(ValueError, match="another folder than the input"):
        plan_features(features, inputs, inputs)
    with pytest.raises(ValueError, match="names of input files must differ"):
        plan_features(features, [inputs, inputs / "part00000.parquet"], tmp_path / "out")
    (inputs / "broken.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(ValueError, match=r"broken\.parquet"):
        plan_features(features, inputs, tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="holds no features"):
        next(read_features(tmp_path / "empty"))


DRIVERS = """
    import os, signal, sys, threading, time
    from graph2tens.scale import apply_features
    from graph2tens.scale.many import task

    features, inputs, undisturbed, out, *pauses = sys.argv[1:]
    task.GROUP_BYTES = 16
    apply_features(features, inputs, undisturbed, workers=1, rows_per_file=5)
    original = task.transform_rows

    def drive(pause):
        def slowly(*arguments):
            time.sleep(0.01)
            return original(*arguments)

        task.transform_rows = slowly
        threading.Timer(pause, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        apply_features(features, inputs, out, workers=1, rows_per_file=5)

    for pause in map(float, pauses):
        driver = os.fork()  # starts at once: a new process would be busy loading modules when it is killed
        if not driver:
            drive(pause)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(driver, 0)[1]), flush=True)
    apply_features(features, inputs, out, workers=1, rows_per_file=5)
"""


def kill_drivers(tmp_path: Path, features, inputs: Path, pauses) -> int:
    """Kill one driver after the other, so many seconds after its start; how many were killed. The last is left alone."""
    save_features(features, tmp_path / "features")
    folders = [tmp_path / name for name in ("features", "in", "undisturbed", "out")]
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(DRIVERS), *map(str, [*folders, *pauses])]
    codes = [int(line) for line in subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()]
    assert set(codes) <= {0, -signal.SIGKILL}
    assert contents(tmp_path / "out") == contents(tmp_path / "undisturbed")
    assert check_features(tmp_path / "out", inputs).problems == ()
    return codes.count(-signal.SIGKILL)


def test_a_killed_driver_goes_on_where_it_was(tmp_path, features, inputs):
    assert kill_drivers(tmp_path, features, inputs, [0.15]) == 1
    assert (tmp_path / "out" / "_features.safetensors").exists()


@pytest.mark.slow
def test_twenty_killed_drivers_change_nothing(tmp_path, features):
    inputs = write_files(tmp_path / "in", molecules(1500, seed=4), 100)
    assert kill_drivers(tmp_path, features, inputs, np.random.default_rng(0).uniform(0, 0.8, 20)) == 20
