"""Without the extras: what needs one says what to install, in one line; the rest works."""

from __future__ import annotations

import subprocess
import sys
import textwrap

SCRIPT = """
    import sys
    from importlib.machinery import PathFinder

    class AllButExtras(PathFinder):
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name not in ("pyarrow", "pandas", "distributed", "dask", "ray", "rdkit"):
                return PathFinder.find_spec(name, path, target)

    sys.meta_path[sys.meta_path.index(PathFinder)] = AllButExtras

    import numpy as np
    from typer.testing import CliRunner
    from graph2tens.cli import app
    from graph2tens.scale import GraphOnDisk, low_rank_features

    def told(*arguments):
        result = CliRunner().invoke(app, ["scale", *arguments])
        assert result.exit_code == 1, result.output
        print(result.stderr.strip())

    told("fit", "in", "--out", "features")
    told("apply", "features", "in", "--out", "out")
    told("check", "out")
    told("graph", "edges.parquet", "--out", "graph", "--num-nodes", "3")

    np.save("edges.npy", np.array([[0, 1, 2], [1, 2, 0]]))
    assert CliRunner().invoke(app, ["scale", "graph", "edges.npy", "--out", "graph", "--num-nodes", "3"]).exit_code == 0
    options = {"length": 2, "out": "z"}
    for engine in ("dask", "ray"):
        try:
            low_rank_features(np.eye(3, dtype=np.float32), "graph", np.ones((2, 3, 4), np.float32), engine=engine, **options)
        except ImportError as error:
            print(error)
    print(low_rank_features(np.eye(3, dtype=np.float32), "graph", np.ones((2, 3, 4), np.float32), **options).shape)
"""


def test_commands_and_engines_say_what_to_install(tmp_path):
    (tmp_path / "edges.parquet").write_bytes(b"PAR1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(SCRIPT)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Error: fit_features reads and writes tables with pyarrow: pip install 'graph2tens[data]'.",
        "Error: plan_features reads and writes tables with pyarrow: pip install 'graph2tens[data]'.",
        "Error: check_features reads and writes tables with pyarrow: pip install 'graph2tens[data]'.",
        "Error: Parquet files need pyarrow: pip install 'graph2tens[data]', or give a file .npy.",
        "engine='dask' needs the package distributed: pip install 'graph2tens[dask]'.",
        "engine='ray' needs the package ray: pip install 'graph2tens[ray]'.",
        "(3, 2, 4)",
    ]
