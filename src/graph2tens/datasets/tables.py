"""Numbers from text files, with errors that name the file and the line."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .dataset import DataError, Integers


@dataclass(frozen=True, eq=False)
class Table:
    """A text file of numbers: one row for each line that is not blank.

    Attributes:
        path: the file.
        values: (rows, columns) float64.
        text: the file's content, kept to find the line of a row when there is something to complain about.
    """

    path: Path
    values: NDArray[np.float64]
    text: str

    def __len__(self) -> int:
        return len(self.values)

    def line(self, row: int) -> int:
        """Line number, from 1, of a row."""
        return [number for number, line in enumerate(self.text.split("\n"), 1) if line.strip()][row]

    def error(self, row: int, complaint: str) -> DataError:
        return DataError(f"{self.path}:{self.line(row)}: {complaint}")

    def integers(self) -> Integers:
        """The values, which must be whole numbers; "1.0" is one."""
        self.finite()
        wrong = np.argwhere((np.floor(self.values) != self.values) | (np.abs(self.values) > 2**53))
        if wrong.size:
            row, column = map(int, wrong[0])
            hint = "; numbers to predict are for graph2tens.sklearn.GraphTensRegressor" * self.path.name.endswith("_graph_labels.txt")
            raise self.error(row, f"{self.values[row, column]} where a whole number is expected{hint}")
        return self.values.astype(np.int64)

    def finite(self) -> NDArray[np.float64]:
        """The values, none of which may be NaN or infinite, in single precision too."""
        with np.errstate(over="ignore"):
            wrong = np.argwhere(~np.isfinite(self.values.astype(np.float32)))
        if wrong.size:
            row, column = map(int, wrong[0])
            raise self.error(row, f"value {column + 1} is {self.values[row, column]}, not a finite number")
        return self.values


def read_table(path: Path, columns: int | None = None) -> Table:
    """Read numbers separated by commas or blanks, `columns` in each line (by default as many as in the first).

    Blank lines are skipped; Windows line ends and a byte-order mark are no hindrance.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(",", " ")
    if not text.strip():
        return Table(path, np.zeros((0, columns or 1)), text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values = np.loadtxt(io.StringIO(text), dtype=np.float64, comments=None, ndmin=2)
    except (ValueError, Warning) as error:
        raise _first_bad_line(path, text, columns) or DataError(f"{path}: {str(error).splitlines()[0]}") from None
    if columns is not None and values.shape[1] != columns:
        raise _first_bad_line(path, text, columns) or DataError(f"{path}: {columns} values per line expected (got {values.shape[1]})")
    return Table(path, values, text)


def _first_bad_line(path: Path, text: str, columns: int | None) -> DataError | None:
    """Slow and exact; runs only when the fast parser refused the file."""
    for number, line in enumerate(text.split("\n"), 1):
        tokens = line.split()
        for token in tokens:
            try:
                float(token)
            except ValueError:
                hint = "; labels are numbers in this format, and graph2tens.sklearn.write_tu gives them to words"
                hint = "; numbers are separated by commas or blanks" if ";" in token else hint * path.name.endswith("_labels.txt")
                return DataError(f"{path}:{number}: {token[:40]!r} is not a number{hint}")
        if tokens and columns is None:
            columns = len(tokens)
        if tokens and len(tokens) != columns:
            return DataError(f"{path}:{number}: {columns} values expected (got {len(tokens)}); is the file truncated?")
    return None
