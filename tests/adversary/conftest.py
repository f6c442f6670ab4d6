"""One sandbox for all tests of this folder that run in a process; nothing is downloaded, and no data set of the machine is found."""

from __future__ import annotations

import os

import pytest
from made_inputs import Inputs
from sandbox import Sandbox


def no_network(*_: object) -> None:
    raise OSError("there is no network in the tests")


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory):
    before = os.getcwd()
    made = Sandbox(tmp_path_factory.mktemp("sandbox"))
    yield made
    os.chdir(before)


@pytest.fixture(scope="session")
def inputs(sandbox):
    return Inputs(sandbox)


@pytest.fixture(autouse=True)
def _isolated(monkeypatch, sandbox):
    monkeypatch.setenv("GRAPH2TENS_DATA", str(sandbox.inputs / "no-data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(sandbox.work / "cache"))
    monkeypatch.setattr("graph2tens.datasets.roots._download", no_network)
    before = os.getcwd()
    yield
    os.chdir(before)
