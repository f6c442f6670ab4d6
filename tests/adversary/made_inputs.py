"""What the commands for molecules, many graphs and the paper's tables read, made once."""

from __future__ import annotations

import gzip
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sandbox import Sandbox
from small_data import write_tu_folder
from typer.testing import CliRunner

from graph2tens.cli import app


class Inputs:
    """Files in the sandbox that most tests do not need."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    @cached_property
    def root(self) -> Path:
        """A root of data sets in which NCI1 is small."""
        return write_tu_folder(self.sandbox.inputs / "root" / "NCI1", graphs=20).parent

    @cached_property
    def other_rings(self) -> Path:
        return write_tu_folder(self.sandbox.inputs / "others", graphs=12, seed=1)

    @cached_property
    def other_molecules(self) -> Path:
        path = self.sandbox.inputs / "others.csv"
        path.write_text("smiles,name\nCCN,a\nCCCN,b\nc1ccccc1,benzene\n")
        return path

    @cached_property
    def molecule_model(self) -> Path:
        return self._made("molecule-model", "fit", self.sandbox.molecules, "--target", "logS", "--no-estimate", "--jobs", 1)

    @cached_property
    def molecule_files(self) -> list[Path]:
        """The same molecules in every kind of file."""
        from rdkit import Chem

        csv = self.sandbox.molecules
        rows = [line.split(",") for line in csv.read_text().split()[1:]]
        files = {name: self.sandbox.inputs / f"molecules{name}" for name in (".smi", ".sdf", ".csv.gz", ".parquet")}
        files[".smi"].write_text("".join(f"{smiles} {value}\n" for smiles, value in rows))
        files[".csv.gz"].write_bytes(gzip.compress(csv.read_bytes()))
        pq.write_table(pa.table({"smiles": [smiles for smiles, _ in rows], "logS": [float(value) for _, value in rows]}), files[".parquet"])
        with Chem.SDWriter(str(files[".sdf"])) as writer:
            for smiles, value in rows:
                molecule = Chem.MolFromSmiles(smiles)
                molecule.SetProp("logS", value)
                writer.write(molecule)
        return [csv, csv, *files.values()]

    @cached_property
    def tables(self) -> Path:
        """What `scale apply` made."""
        return self._made("tables", "scale", "apply", self.features, self.graphs, "--workers", 1)

    @cached_property
    def graphs(self) -> Path:
        """A folder of Parquet files of paths and rings."""
        folder = self.sandbox.inputs / "graphs"
        folder.mkdir()
        for part in range(3):
            rows = []
            for n in range(3 + part, 9 + part):
                steps = [(i, (i + 1) % n) for i in range(n - part % 2)]
                ends = [pair for step in steps for pair in (step, step[::-1])]
                labels = ["C" if node % 3 else "N" for node in range(n)]
                rows.append(
                    {"id": f"{part}-{n}", "num_nodes": n, "src": [a for a, _ in ends], "dst": [b for _, b in ends], "label": labels}
                )
            pq.write_table(pa.Table.from_pylist(rows), folder / f"part{part}.parquet")
        return folder

    @cached_property
    def broken_graphs(self) -> Path:
        """A Parquet file with a row that is no graph."""
        rows = pq.read_table(self.graphs / "part0.parquet").to_pylist()
        rows[2]["src"] = None
        path = self.sandbox.inputs / "broken.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path

    @cached_property
    def features(self) -> Path:
        small = ("--set", "n_layers=1", "--set", "n_functionals=4", "--set", "n_waves=4")
        return self._made("features.safetensors", "scale", "fit", self.graphs, *small)

    @cached_property
    def edges(self) -> Path:
        path = self.sandbox.inputs / "edges.npy"
        np.save(path, np.random.default_rng(0).integers(0, 500, (2, 3000)))
        return path

    def _made(self, name: str, *command: object) -> Path:
        path = self.sandbox.inputs / name
        done = CliRunner().invoke(app, [str(part) for part in (*command, "--out", path)])
        assert done.exit_code == 0, done.output
        return path
