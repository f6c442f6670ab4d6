"""The example for local processes, Dask and Ray."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "many_graphs.py"


def run(folder, *options):
    command = [sys.executable, "-W", "ignore", str(EXAMPLE), "--folder", str(folder), "--files", "2", "--per-file", "60", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_in_one_process(tmp_path):
    assert "120 graphs, 0 errors, 0 of 2 files were there already" in run(tmp_path, "--workers", "1")
    assert "rings told from trees: 100.0%" in run(tmp_path, "--workers", "1")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
def test_the_example_on_an_engine(engine, tmp_path):
    if find_spec({"local": "joblib", "dask": "distributed", "ray": "ray"}[engine]) is None:
        pytest.skip(f"{engine} is not installed")
    assert "120 graphs, 0 errors" in run(tmp_path, "--engine", engine)
