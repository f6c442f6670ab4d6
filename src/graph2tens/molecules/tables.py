"""Files of molecules: CSV, TSV, SMI, Parquet and SDF, read into one table that keeps the line of every row."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset({"", "na", "n/a", "nan", "none", "null", "-", "?"})
SMILES_NAMES = ("smiles", "canonical_smiles", "smile", "structure", "mol")
KINDS = ".csv, .tsv, .txt, .smi (also .gz), .parquet, .sdf"


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a file.

    Attributes:
        path: where it was read.
        columns: names of columns -> text of each row ("" where there is none).
        lines: the line each row starts on (CSV), or the number of the record from 1 (Parquet, SDF).
        unit: "line" or "record".
        molecules: of an SDF, RDKit molecules or None; None for other files.
        problems: (line, what is wrong) of rows that do not fit the header.
    """

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]
    unit: str
    molecules: list[Any] | None
    problems: list[tuple[int, str]]

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str, option: str) -> list[str]:
        """One column, or an error that says which there are."""
        if name in self.columns:
            return self.columns[name]
        close = difflib.get_close_matches(name.lower(), [known.lower() for known in self.columns], n=1, cutoff=0.5)
        slip = next((f" Did you mean {known!r}?" for known in self.columns if close and known.lower() == close[0]), "")
        raise ValueError(
            f"{option} must name a column of {self.path.name}, one of {', '.join(map(repr, self.columns))} (got {name!r}).{slip}"
        )

    def smiles_column(self, name: str | None) -> str | None:
        """The column of SMILES: as named, or the one whose name says so; None for an SDF, which holds molecules itself."""
        if name is not None:
            self.column(name, "--smiles")
            return name
        if self.molecules is not None:
            return None
        for wanted in SMILES_NAMES:
            for known in self.columns:
                if known.strip().lower() == wanted:
                    return known
        like = [known for known in self.columns if "smiles" in known.lower()]
        if len(like) == 1:
            return like[0]
        raise ValueError(
            f"{self.path.name} has no column named 'smiles'; name the column with --smiles, one of {', '.join(map(repr, self.columns))}."
        )

    def numbers(self, name: str) -> tuple[NDArray[np.float64], list[tuple[int, str]]]:
        """A column as numbers, NaN where it is empty, and the (line, what is wrong) of entries that are neither."""
        values, problems = np.full(len(self), np.nan), []
        for place, text in enumerate(self.column(name, "--target")):
            if text.strip().lower() in MISSING:
                continue
            try:
                number = float(text)
            except ValueError:
                problems.append((self.lines[place], f"{name} is not a number: {text!r}"))
                continue
            if np.isfinite(number):
                values[place] = number
            else:
                problems.append((self.lines[place], f"{name} is not finite: {text!r}"))
        return values, problems


def read_table(path: Path | str) -> Table:
    """Read a file by the ending of its name."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r}." + (" It is a folder." if path.is_dir() else ""))
    name = path.name.lower()
    if name.endswith((".parquet", ".pq")):
        table = _parquet(path)
    elif name.endswith((".sdf", ".sdf.gz", ".sd")):
        table = _sdf(path)
    elif name.endswith((".csv", ".tsv", ".txt", ".smi", ".csv.gz", ".tsv.gz", ".txt.gz", ".smi.gz")):
        table = _text(path)
    else:
        raise ValueError(f"{path.name} must end in one of {KINDS}.")
    if not len(table):
        raise ValueError(f"{path.name} must hold at least one molecule (got none).")
    return table


def _bytes(path: Path) -> bytes:
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if path.name.lower().endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} must be a gzip file, as its name says ({error}).") from None


def _text(path: Path) -> Table:
    try:
        content = _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name} must be text in UTF-8 (got byte {error.object[error.start]:#04x} at {error.start}). Excel: save as 'CSV UTF-8'."
        ) from None
    if "\0" in content:
        raise ValueError(f"{path.name} must be text (got a zero byte). Is it a spreadsheet or an archive?")
    if ".smi" in path.name.lower():
        return _smi(path, content)
    first = content.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count) if any(mark in first for mark in ",;\t") else ","
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)
    header: list[str] | None = None
    rows: list[list[str]] = []
    lines: list[int] = []
    problems: list[tuple[int, str]] = []
    before = 0
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in row):
                continue
            if header is None:
                header = _names(row, path)
                continue
            if len(row) != len(header):
                problems.append((line, f"{len(row)} cells where the header has {len(header)}"))
                row = (row + [""] * len(header))[: len(header)]
            rows.append(row)
            lines.append(line)
    except csv.Error as error:
        raise ValueError(f"{path.name} cannot be read as a table at line {reader.line_num}: {error}.") from None
    columns = {name: [row[place] for row in rows] for place, name in enumerate(header or [])}
    return Table(path, columns, lines, "line", None, problems)


def _names(row: Sequence[str], path: Path) -> list[str]:
    names = [cell.strip() for cell in row]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path.name} must have a name of its own for each column (got {twice[0]!r} more than once).")
    return names


def _smi(path: Path, content: str) -> Table:
    """SMILES, and a name after a space or tab; no header."""
    entries = [(number, line.split(None, 1)) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    smiles = [parts[0] for _, parts in entries]
    names = [parts[1].strip() if len(parts) > 1 else "" for _, parts in entries]
    return Table(path, {"smiles": smiles, "name": names}, [number for number, _ in entries], "line", None, [])


def _parquet(path: Path) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install 'graph2tens[data]'.") from None
    try:
        table = parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path.name} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    columns = {name: ["" if value is None else str(value) for value in table[name].to_pylist()] for name in table.column_names}
    return Table(path, columns, list(range(1, table.num_rows + 1)), "record", None, [])


def _sdf(path: Path) -> Table:
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecules = list(Chem.ForwardSDMolSupplier(io.BytesIO(_bytes(path))))
    records = [{} if molecule is None else molecule.GetPropsAsDict(includePrivate=False) for molecule in molecules]
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [str(record.get(name, "")) for record in records] for name in names}
    return Table(path, columns, list(range(1, len(molecules) + 1)), "record", molecules, [])
