"""Files of molecules: every format, and files that are not quite what they should be."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from rdkit import Chem

from graph2tens.molecules.tables import read_table


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_remembers_lines_whatever_stands_between(tmp_path):
    text = '\ufeffsmiles,logS,note\nCCO,-0.5,"two\nlines"\n\nCC,1e-1,\nCCC,abc,x\nCCCC,,\nC,inf,\nCC,1\n'
    table = read_table(write(tmp_path, "a.csv", text))
    assert table.lines == [2, 5, 6, 7, 8, 9]
    assert table.columns["note"][0] == "two\nlines"
    values, problems = table.numbers("logS")
    np.testing.assert_array_equal(values, [-0.5, 0.1, np.nan, np.nan, np.nan, 1])
    assert problems == [(6, "logS is not a number: 'abc'"), (8, "logS is not finite: 'inf'")]
    assert table.problems == [(9, "2 cells where the header has 3")]


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_other_delimiters_and_gzip(tmp_path, delimiter):
    text = delimiter.join(["SMILES", "y"]) + "\n" + delimiter.join(["CCO", "1"]) + "\n"
    table = read_table(write(tmp_path, "a.csv.gz", gzip.compress(text.encode())))
    assert table.columns == {"SMILES": ["CCO"], "y": ["1"]}
    assert table.smiles_column(None) == "SMILES"


def test_parquet_sdf_and_smi_are_the_same_table(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"smiles": ["CCO", None], "y": [1.5, None]}), tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert table.columns["smiles"] == ["CCO", ""]
    np.testing.assert_array_equal(table.numbers("y")[0], [1.5, np.nan])
    molecule = Chem.MolFromSmiles("CCO")
    molecule.SetProp("y", "1.5")
    with Chem.SDWriter(str(tmp_path / "a.sdf")) as writer:
        writer.write(molecule)
        writer.write(Chem.MolFromSmiles("C"))
    broken = (tmp_path / "a.sdf").read_text() + "broken\n\n\n  x  y\nM  END\n$$$$\n"
    table = read_table(write(tmp_path, "b.sdf", broken))
    assert [molecule is None for molecule in table.molecules] == [False, False, True]
    np.testing.assert_array_equal(table.numbers("y")[0], [1.5, np.nan, np.nan])
    assert table.smiles_column(None) is None
    table = read_table(write(tmp_path, "a.smi", "CCO ethanol\n\nC\n"))
    assert table.columns == {"smiles": ["CCO", "C"], "name": ["ethanol", ""]}
    assert table.lines == [1, 3]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "", "at least one molecule"),
        ("a.csv", "smiles,y\n", "at least one molecule"),
        ("a.csv", "smiles,smiles\nC,C\n", "'smiles' more than once"),
        ("a.csv", b"smiles\n\xff\n", "UTF-8"),
        ("a.csv", b"smiles\n\0\n", "zero byte"),
        ("a.csv.gz", "smiles\nC\n", "gzip"),
        ("a.xlsx", "x", "must end in one of"),
        ("a.parquet", "x", "cannot be read as Parquet"),
    ],
)
def test_files_that_are_no_tables_are_refused_with_a_reason(tmp_path, name, text, said):
    with pytest.raises(ValueError, match=said):
        read_table(write(tmp_path, name, text))


def test_a_column_that_does_not_exist_is_named_with_those_that_do(tmp_path):
    table = read_table(write(tmp_path, "a.csv", "smiles,logS\nC,1\n"))
    with pytest.raises(ValueError, match=r"one of 'smiles', 'logS' \(got 'logs'\)\. Did you mean 'logS'\?"):
        table.numbers("logs")
    other = read_table(write(tmp_path, "b.csv", "a,b\nC,1\n"))
    with pytest.raises(ValueError, match="name the column with --smiles"):
        other.smiles_column(None)
    with pytest.raises(ValueError, match="there is no file"):
        read_table(tmp_path / "no.csv")
