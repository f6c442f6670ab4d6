"""Which Parquet files a path stands for."""

from __future__ import annotations

from pathlib import Path


def parquet_files(path: Path) -> list[Path]:
    """The file itself, or those ``*.parquet`` of a folder and its subfolders; by a look at their first bytes, no CSV is among them."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                raise ValueError(
                    f"{file} must be a Parquet file; pandas.read_csv('table.csv').to_parquet('table.parquet') makes one of CSV."
                )
    return files
