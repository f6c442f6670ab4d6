"""The shape of the project: imports point one way, oracles stay independent, files stay small, public names exist."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path

import pytest

import graph2tens as g2t

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "graph2tens"
# In the order of the theory. A file imports what stands before it; whoever reads down to `diffusion` knows the definition.
ORDER = [
    "lazy",
    "files",
    "contents",
    "checks",
    "algebra",
    "walks",
    "sampling",
    "subdivision",
    "sequences",
    "operators",
    "diffusion",
    "backends",
    "low_rank",
    "nn",
    "datasets",
    "training",
    "sklearn",
    "molecules",
    "scale",
    "report",
    "paper",
    "cli",
    "demo",
]
ENTRANCES = {"__init__", "__main__"}


def part(path: Path) -> str:
    """The name in ORDER that a file of the package belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """The parts of the package that a file imports, wherever in the file it does so."""
    package = ["graph2tens", *path.relative_to(PACKAGE).parts[:-1]]
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{module}.{alias.name}" for alias in node.names]
    inside = [name.split(".")[1] for name in names if name.startswith("graph2tens.")]
    return {name for name in inside if name in ORDER}


FILES = sorted(PACKAGE.rglob("*.py"))
every_file = pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in FILES])


@every_file
def test_imports_point_one_way(path):
    name = part(path)
    if name in ENTRANCES:
        return
    assert name in ORDER, f"{path.name} has no place in the order of the theory"
    later = {other for other in imported_parts(path) if ORDER.index(other) > ORDER.index(name)}
    assert not later, f"{name} must not import {later}"


@every_file
def test_only_the_command_line_imports_the_paper(path):
    if part(path) not in {"paper", "cli", *ENTRANCES}:
        assert "paper" not in imported_parts(path)


def test_files_that_share_a_prefix_are_a_folder():
    prefixes = Counter((path.parent, path.stem.partition("_")[0]) for path in FILES if "_" in path.stem.strip("_"))
    assert {key: count for key, count in prefixes.items() if count >= 3} == {}


def test_the_import_test_sees_every_form_of_import(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    (tmp_path / "nn").mkdir()
    file = tmp_path / "nn" / "conv.py"
    file.write_text(
        "from ..cli import app\nimport graph2tens.walks\nfrom .. import sklearn\ndef f():\n    from graph2tens.low_rank import x\n"
    )
    assert imported_parts(file) == {"cli", "walks", "sklearn", "low_rank"}


def test_oracles_import_nothing_of_the_package():
    imported = set()
    for node in ast.walk(ast.parse((ROOT / "tests" / "oracles.py").read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).split(".")[0])
    assert imported <= {"__future__", "collections", "math", "numpy"}


@every_file
def test_files_are_short_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= 400
    assert path.stem not in {"utils", "helpers", "misc", "common"}


@every_file
def test_loops_are_written_in_python_with_few_arguments(path):
    """No instructions of LLVM's own by hand, and no call in which arguments are told apart by their place alone."""
    tree = ast.parse(path.read_text())
    imported = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "llvmlite" not in imported
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            required = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
            assert required <= 12, f"{node.name} has {required} arguments that must be given"


@every_file
def test_every_file_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())) or not path.read_text().strip()


@pytest.mark.parametrize(
    "name",
    [
        "TensorAlgebra",
        "RandomWalk",
        "random_walk",
        "sample_walks",
        "enumerate_walks",
        "subdivide",
        "sequence_features",
        "TensorMatrix",
        "tensor_adjacency",
        "tensor_transition",
        "hypoelliptic_laplacian",
        "node_features",
        "graph_features",
        "forward_features",
        "sampled_node_features",
        "low_rank_features",
    ],
)
def test_public_names_exist_and_explain_themselves(name):
    assert inspect.getdoc(getattr(g2t, name))


@pytest.mark.parametrize(
    ("package", "name"),
    [("", "random_walk"), (".sklearn", "GraphTensClassifier"), (".nn", "G2TNConv"), (".datasets", "load"), (".training", "train")],
)
def test_a_star_imports_the_public_names(package, name):
    """Names that are imported on first use are none that a star would find by itself."""
    found: dict[str, object] = {}
    exec(f"from graph2tens{package} import *", found)
    assert name in found
    assert not {"TYPE_CHECKING", "on_first_use"} & set(found)


def test_public_methods_of_the_algebra_explain_themselves():
    for name in ["size", "one", "exp", "lift", "mul", "log", "inverse", "inner", "norm", "levels"]:
        assert inspect.getdoc(getattr(g2t.TensorAlgebra, name))


def test_exact_functions_share_their_options():
    shared = {"length", "degree", "increments", "zero_start", "time", "coefficients"}
    for function in (g2t.node_features, g2t.graph_features, g2t.forward_features, g2t.sampled_node_features):
        parameters = inspect.signature(function).parameters
        assert shared <= parameters.keys()
        defaults = {name: parameters[name].default for name in ("increments", "zero_start", "time", "coefficients")}
        assert defaults == {"increments": True, "zero_start": True, "time": False, "coefficients": None}
