"""Imports and help are quick: nothing heavy is loaded before it is used, and everything public is found when it is."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import graph2tens as g2t
from graph2tens import training

HEAVY = {"torch", "torch_geometric", "numba", "sklearn", "scipy", "lightning_fabric", "pandas", "pyarrow", "numpy"}


def loaded_by(code: str) -> set[str]:
    """Top-level modules that a new interpreter has loaded after `code`."""
    script = f"{code}\nimport json, sys; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


HELP = """
from graph2tens.cli import app
try:
    app({arguments!r})
except SystemExit as end:
    assert end.code == 0
"""


@pytest.mark.parametrize(
    "code",
    [
        "import graph2tens",
        HELP.format(arguments=["--help"]),
        HELP.format(arguments=["train", "--help"]),
        "import graph2tens.training.records",  # to read records needs no PyTorch
    ],
    ids=["import", "help", "help of a command", "records"],
)
def test_nothing_heavy_is_loaded_before_it_is_used(code):
    assert not loaded_by(code) & HEAVY


@pytest.mark.parametrize("module", [g2t, training], ids=["graph2tens", "graph2tens.training"])
def test_what_type_checkers_see_is_what_is_imported_on_first_use(module):
    tree = ast.parse(Path(str(module.__file__)).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen <= set(dir(module))
    assert all(getattr(module, name) is not None for name in seen)
    (call,) = [node for node in ast.walk(block.orelse[0]) if isinstance(node, ast.Dict)]
    listed = {word.value for word in ast.walk(call) if isinstance(word, ast.Constant)}
    assert seen <= listed


def test_rooms_are_there_after_a_plain_import():
    code = "import graph2tens as g\nfor name in 'nn sklearn datasets training paper scale molecules'.split(): getattr(g, name).__name__"
    assert "torch" in loaded_by(code)


def test_a_name_that_does_not_exist_is_refused_as_ever():
    with pytest.raises(AttributeError, match="module 'graph2tens' has no attribute 'no_such_name'"):
        g2t.no_such_name  # noqa: B018
    assert not hasattr(training, "no_such_name")


def test_a_function_is_not_hidden_by_a_module_of_its_name():
    """Importing a module sets an attribute of its package, so no public name may be the name of a module."""
    modules = {path.stem for path in Path(str(g2t.__file__)).parent.glob("*.py")}
    assert callable(g2t.subdivide)
    assert not {name for name in dir(g2t) if callable(getattr(g2t, name, None))} & modules


def test_a_folder_of_the_librarys_name_beside_a_script_is_not_taken_for_it(tmp_path):
    """As a clone is for a script in the folder above it: an empty namespace package, which gives way to the package installed."""
    (tmp_path / "graph2tens" / "src").mkdir(parents=True)
    (tmp_path / "script.py").write_text("import graph2tens\nprint(graph2tens.__file__)")
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == Path(g2t.__file__)
    assert not (Path(__file__).parents[1] / "graph2tens").exists()  # the layout that makes it so, with a package in src


@pytest.mark.parametrize("package", ["graph2tens.datasets", "graph2tens.sklearn"])
def test_no_module_has_the_name_of_what_lies_in_it(package):
    """The module would take the place of the name as soon as somebody imports it."""
    room = importlib.import_module(package)
    modules = {path.stem for path in Path(str(room.__file__)).parent.glob("*.py")}
    assert not modules & {name for name in dir(room) if callable(getattr(room, name))}


def test_estimators_of_graphs_do_not_load_pyg():
    code = "import sys; from graph2tens.sklearn import GraphTensFeatures; sys.exit('torch_geometric' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
