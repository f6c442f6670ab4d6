"""`load`: the name of a data set or a folder in, a :class:`GraphDataset` out."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from . import citation, tu
from .crossed_wires import long_range
from .dataset import DataError, Encoding, GraphDataset
from .digits import digits
from .roots import data_roots, fetch, find_raw

BUILT_IN = ("digits", "long-range")
TU_URL = "https://www.chrsmrrs.com/graphkerneldatasets"
TU_SPELLINGS = {name.lower(): name for name in ("NCI1", "NCI109", "MUTAG", "PROTEINS", "ENZYMES", "DD", "Mutagenicity")}


def load(name: str | os.PathLike[str], root: str | os.PathLike[str] | None = None, *, encoding: Encoding | None = None) -> GraphDataset:
    """Load a data set.

    Args:
        name: ``digits`` or ``long-range`` (built in), ``Cora``, ``CiteSeer``, ``PubMed``, the name of any TU data set (``NCI1``), or the
            path of a folder with files in the TU format (see :mod:`graph2tens.datasets.tu`). ``long-range:24`` asks for a distance of 24.
        root: folder with data sets, as ``ROOT/NAME/raw/`` or ``ROOT/NAME/``; by default the environment variable
            ``GRAPH2TENS_DATA``. What is found is used in place and never written to; what is not is looked for in the user's cache
            folder and downloaded to there.
        encoding: of the data a model was trained on, to encode other TU files the same way; see
            :func:`~graph2tens.datasets.tu.read_tu_folder`.

    Raises:
        DataError: one line that says what is wrong with which file, or which files are missing.
    """
    try:
        return _load(os.fspath(name), root, encoding)
    except OSError as error:  # a folder that may not be listed, a disk that fails
        raise DataError(f"{error.filename or name}: cannot be read ({error.strerror or error})") from error


def _load(text: str, root: str | os.PathLike[str] | None, encoding: Encoding | None) -> GraphDataset:
    lower = text.lower().replace("_", "-")
    if lower == "digits":
        return digits()
    if match := re.fullmatch(r"long-range(?::(\d+))?", lower):
        return long_range(distance=int(match[1])) if match[1] else long_range()
    roots = data_roots(root)
    if lower in citation.NAMES:
        canonical = citation.NAMES[lower]
        files = citation.file_names(canonical)
        folder = find_raw(canonical, roots, lambda place: any((place / file).is_file() for file in files))
        if folder is None:
            folder = fetch(canonical, files, [f"{citation.URL}/{file}" for file in files], roots, citation.checked_bytes)
        return citation.read_citation(folder, canonical)
    if not re.fullmatch(r"\w[\w.-]*", text):
        return _load_folder(Path(text).expanduser(), encoding)
    return _load_tu(TU_SPELLINGS.get(lower, text), roots, encoding)


def _load_folder(folder: Path, encoding: Encoding | None) -> GraphDataset:
    if folder.is_file():
        raise DataError(
            f"{folder}: is a file, where a data set is a name or a folder in the TU format. Did you mean the folder {folder.parent}? "
            "A table of molecules is for `graph2tens fit`."
        )
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    for place in (folder, folder / "raw"):
        if place.is_dir() and tu.find_prefix(place) is not None:
            return tu.read_tu_folder(place, encoding=encoding)
    needed = ", ".join(f"{folder.name}_{kind}.txt" for kind in tu.REQUIRED)
    raise DataError(f"{folder}: holds no data in the TU format; put {needed} there{_also(folder.name)}")


def _also(name: str) -> str:
    """Optional files, for those who have them: without them, what they say about nodes and edges is lost."""
    return f", and if the data has them {', '.join(f'{name}_{kind}.txt' for kind in tu.OPTIONAL)}"


def _did_you_mean(name: str, roots: list[Path]) -> str:
    """A data set of a similar name: built in, well known, or in one of the folders."""
    there = [home.name for root in roots if root.is_dir() for home in root.iterdir() if home.is_dir()]
    known = {each.lower(): each for each in (*BUILT_IN, *citation.NAMES.values(), *TU_SPELLINGS.values(), *there)}
    similar = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.7)
    return f". Did you mean {known[similar[0]]!r}?" if similar else ""


def _load_tu(name: str, roots: list[Path], encoding: Encoding | None) -> GraphDataset:
    kinds = (*tu.REQUIRED, *tu.OPTIONAL)
    spelling: dict[Path, str] = {}

    def is_there(folder: Path) -> bool:
        for path in folder.iterdir():
            for kind in kinds:
                if path.name.lower() == f"{name}_{kind}.txt".lower():
                    spelling[folder] = path.name[: len(name)]
                    return True
        return False

    folder = find_raw(name, roots, is_there)
    if folder is None and Path(name).exists():  # a folder (or a file by mistake) of the working directory, given without a slash
        return _load_folder(Path(name), encoding)
    if folder is None:
        files = [f"{name}_{kind}.txt" for kind in tu.REQUIRED]
        folder = fetch(name, files, [f"{TU_URL}/{name}.zip"], roots, hint=_also(name) + _did_you_mean(name, roots))
    return tu.read_tu_folder(folder, spelling.get(folder, name), encoding)
