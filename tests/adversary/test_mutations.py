"""Every file that a command reads, spoilt: the command says which file it is and what to do, or does without it; it never runs it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import mutations
import pytest
from sandbox import TRAIN

SPOILERS = {
    ".json": mutations.spoil_json,
    ".jsonl": mutations.spoil_json_lines,
    ".safetensors": mutations.spoil_safetensors,
    ".txt": mutations.spoil_text,
    ".csv": mutations.spoil_text,
    ".md": mutations.spoil_text,
}
FEATURES = ("--layers", 1, "--functionals", 2, "--waves", 2, "--jobs", 1)


def spoil(path, rng, mark):
    """Most often in the file's own language, sometimes its bytes, sometimes the whole file goes."""
    if rng.random() < 0.05:
        path.unlink()
    elif path.suffix == ".pt" and rng.random() < 0.7:
        mutations.spoil_state(path, rng, mark)
    elif path.suffix in SPOILERS and rng.random() < 0.7:
        path.write_bytes(SPOILERS[path.suffix](path.read_bytes(), rng))
    else:
        path.write_bytes(mutations.spoil_bytes(path.read_bytes(), rng))


def citation(sandbox, rng, mark):
    """Pickles in the place of Cora's files."""
    folder = sandbox.work / "Cora"
    folder.mkdir()
    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
        (folder / f"ind.cora.{part}").write_bytes(mutations.pickle.dumps(mutations.Payload(mark)))
    spoil(rng.choice(sorted(folder.iterdir())), rng, mark)
    return ("train", "Cora", "--data-root", sandbox.work, "--out", "m", *TRAIN), "Cora"


def graphs(sandbox, rng, mark):
    """A folder in TU format, to train with or to make features of."""
    folder = shutil.copytree(sandbox.rings, sandbox.work / "rings")
    spoil(rng.choice(sorted(folder.iterdir())), rng, mark)
    if rng.random() < 0.3:
        return ("train", folder, "--out", "m", *TRAIN, "--no-report"), None
    return ("features", folder, "--out", "x.npz", *FEATURES), None


def model(sandbox, rng, mark):
    """What `predict` reads."""
    folder = shutil.copytree(sandbox.model, sandbox.work / "model")
    spoil(folder / rng.choice(["model.json", "model.json", "last.safetensors"]), rng, mark)
    return ("predict", rng.choice([folder, folder / "last.safetensors"]), "--data", sandbox.rings, "--threads", 1), str(sandbox.work.parent)


def checkpoint(sandbox, rng, mark):
    """What `train --resume` reads."""
    folder = shutil.copytree(sandbox.model, sandbox.work / "model")
    spoil(folder / rng.choice(["state.pt", "state.pt", "model.json", "record.json"]), rng, mark)
    return ("train", sandbox.rings, "--out", folder, *TRAIN, "--resume", "--no-report"), str(folder)


def records(sandbox, rng, mark):
    """What `report` reads."""
    folder = shutil.copytree(sandbox.records, sandbox.work / "records")
    shutil.copy(sandbox.authors, sandbox.work / "authors.csv")
    shutil.copy(sandbox.model / "record.json", sandbox.work / "speed.json")
    spoil(rng.choice([folder / "nci.jsonl"] * 3 + [sandbox.work / name for name in ("authors.csv", "speed.json", "README.md")]), rng, mark)
    options = ("--authors-runs", "authors.csv", "--benchmarks", "speed.json", "--readme", "README.md", "--markdown", "all.md")
    return ("report", folder, "--out", "page.html", *options), None


def recorded_runs(sandbox, rng, mark):
    """What `classify` continues."""
    (sandbox.work / "results").mkdir()
    shutil.copy(sandbox.records / "nci.jsonl", sandbox.work / "results" / "features.jsonl")
    spoil(sandbox.work / "results" / "features.jsonl", rng, mark)
    return ("classify", sandbox.rings, "--seeds", 0, *FEATURES), None


def molecules(sandbox, rng, mark, inputs):
    """Files of molecules, for `fit`, `predict` and `explain`."""
    file = Path(shutil.copy(rng.choice(inputs.molecule_files), sandbox.work))
    if rng.random() < 0.5 and file.suffix in (".csv", ".smi"):
        file.write_bytes(mutations.spoil_molecules(file.read_bytes(), rng))
    else:
        spoil(file, rng, mark)
    kind = rng.random()
    if kind < 0.3:
        options = ("--no-estimate", *rng.choice([(), ("--task", "classification"), ("--task", "regression"), ("--salts", "largest")]))
        return ("fit", file, "--target", "logS", "--out", "f", "--jobs", 1, *options), None
    if kind < 0.85:
        return ("predict", inputs.molecule_model, file, "--out", "p.csv", "--threads", 1), None
    return ("explain", inputs.molecule_model, file, "--out", "p.html", "--most", 2), None


def molecule_model(sandbox, rng, mark, inputs):
    """What `fit` wrote, for `predict` and `explain`."""
    folder = shutil.copytree(inputs.molecule_model, sandbox.work / "model")
    if rng.random() < 0.7:
        mutations.spoil_molecule_model(folder, rng)
    else:
        spoil(folder / rng.choice(["model.json", "model.safetensors"]), rng, mark)
    if rng.random() < 0.7:
        return ("predict", folder, sandbox.molecules, "--out", "p.csv", "--threads", 1), None
    return ("explain", folder, "CCO", "--out", "p.svg"), None


def fitted_features(sandbox, rng, mark, inputs):
    """What `scale fit` wrote, for `scale apply`."""
    file = sandbox.work / "f.safetensors"
    content, kind = inputs.features.read_bytes(), rng.random()
    if kind < 0.4:
        file.write_bytes(mutations.spoil_description(content, rng, "graph2tens"))
    elif kind < 0.7:
        file.write_bytes(mutations.spoil_numbers(content, rng))
    else:
        file.write_bytes(content)
        spoil(file, rng, mark)
    return ("scale", "apply", file, inputs.graphs, "--out", "t", "--workers", 1), None


def graph_tables(sandbox, rng, mark, inputs):
    """Parquet files of graphs for `scale fit` and `apply`, edges for `scale graph`, and tables that `scale apply` goes on with."""
    kind = rng.random()
    if kind < 0.25:
        file = Path(shutil.copy(inputs.edges, sandbox.work / "edges.npy"))
        spoil(file, rng, mark)
        return ("scale", "graph", file, "--out", "g", "--num-nodes", 500), None
    folder = shutil.copytree(inputs.graphs, sandbox.work / "graphs")
    if kind < 0.7:
        file = folder / "part1.parquet"
        file.write_bytes(mutations.spoil_table(file.read_bytes(), rng)) if rng.random() < 0.6 else spoil(file, rng, mark)
        if rng.random() < 0.4:
            return ("scale", "fit", folder, "--out", "f.safetensors", "--set", "n_layers=1", "--set", "n_waves=2"), None
        return ("scale", "apply", inputs.features, folder, "--out", "t", "--workers", 1), None
    made = shutil.copytree(inputs.tables, sandbox.work / "t")
    spoil(made / rng.choice(["part0.parquet", "part1.parquet", "_features.safetensors"]), rng, mark)
    if rng.random() < 0.5:
        return ("scale", "check", made, "--in", inputs.graphs), None
    return ("scale", "apply", inputs.features, inputs.graphs, "--out", made, "--workers", 1), None


OF_NETWORKS = (citation, graphs, model, checkpoint, records, recorded_runs)
OF_OTHERS = (molecules, molecule_model, fitted_features, graph_tables)
READERS = {reader.__name__: reader for reader in (*OF_NETWORKS, *OF_OTHERS)}
every_reader = pytest.mark.parametrize("reader", READERS)


def try_mutations(reader, sandbox, inputs, tmp_path, seeds):
    mark = tmp_path / "code was run"
    for seed in seeds:
        rng = random.Random(f"{reader} {seed}")
        sandbox.fresh()
        more = (inputs,) if READERS[reader] in OF_OTHERS else ()
        arguments, named = READERS[reader](sandbox, rng, mark, *more)
        try:
            sandbox.run(*arguments, names=named)
            assert not mark.exists(), "code was run"
        except AssertionError as error:
            error.add_note(f"{reader}, seed {seed}")
            raise


@every_reader
def test_no_spoilt_file_ends_in_a_traceback(reader, sandbox, inputs, tmp_path):
    try_mutations(reader, sandbox, inputs, tmp_path, range(40))


@pytest.mark.slow
@every_reader
def test_no_spoilt_file_ends_in_a_traceback_however_many_are_tried(reader, sandbox, inputs, tmp_path):
    try_mutations(reader, sandbox, inputs, tmp_path, range(1000, 1340))


@pytest.mark.parametrize("name", ["model.json", "state.pt", "report.html", "record.json"])
def test_predict_says_which_file_it_wants(name, sandbox):
    sandbox.fresh()
    assert sandbox.run("predict", sandbox.model / name, "--data", sandbox.rings, names="last.safetensors") == 1
