"""Where data sets are looked for: the given root, else GRAPH2TENS_DATA, then the user's cache folder, the only one ever written to."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import platformdirs

from .dataset import DataError

VARIABLE = "GRAPH2TENS_DATA"


def cache_root() -> Path:
    """The user's cache folder for data sets; downloads go there."""
    return Path(platformdirs.user_cache_dir("graph2tens", appauthor=False)) / "datasets"


def data_roots(root: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders that are searched, in order: `root`, else the variable GRAPH2TENS_DATA if it is set; then the cache folder."""
    given = root if root is not None else os.environ.get(VARIABLE) or None
    first = [] if given is None else [Path(given).expanduser()]
    return [*first, cache_root()]


def find_raw(name: str, roots: Iterable[Path], is_there: Callable[[Path], bool]) -> Path | None:
    """The first of ROOT/NAME/raw, ROOT/NAME and ROOT itself that holds the data set; upper and lower case of NAME do not matter."""
    for root in roots:
        if not root.is_dir():
            continue
        homes = [root / name] + [path for path in sorted(root.iterdir()) if path.name != name and path.name.lower() == name.lower()]
        for folder in [place for home in homes for place in (home / "raw", home)] + [root]:
            if folder.is_dir() and is_there(folder):
                return folder
    return None


def fetch(
    name: str,
    files: list[str],
    urls: list[str],
    roots: list[Path],
    check: Callable[[Path], object] = lambda file: None,
    hint: str = "",
) -> Path:
    """Download `urls` (zip files are unpacked) into the cache folder and return the folder with the files.

    Everything goes to a folder of its own first, which is renamed at the end, after `check` had a look at each file: an interrupted
    or spoilt download leaves no half data set, and of two processes that download at once one wins. `hint` names further files.
    """
    target = cache_root() / name / "raw"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-", ignore_cleanup_errors=True) as partial:
            _download(urls, Path(partial))
            missing = [file for file in files if not list(Path(partial).rglob(file))]
            if missing:
                raise OSError(f"{missing[0]} is not among the downloaded files")
            home = next(Path(partial).rglob(files[0])).parent
            for file in files:
                check(home / file)
            if not all((target / file).is_file() for file in files):
                home.rename(target)
    except Exception as error:  # PyG downloads through fsspec and aiohttp, whose errors have no common class below this one
        with contextlib.suppress(OSError):  # leave no empty folders; full ones refuse to go
            target.parent.rmdir()
            cache_root().rmdir()
        searched = " and ".join(str(root) for root in roots)
        reason = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
        raise DataError(
            f"data set {name!r} was found neither in {searched}, nor could it be downloaded ({reason[:200]}); "
            f"put the files {', '.join(files)} into {roots[0] / name / 'raw'}{hint}"
        ) from error
    return target


def _download(urls: list[str], folder: Path) -> None:
    from torch_geometric.data import download_url, extract_zip  # on use: PyG's downloader imports aiohttp

    for url in urls:
        path = download_url(url, str(folder), log=False)
        if str(path).endswith(".zip"):
            extract_zip(path, str(folder), log=False)
            os.unlink(path)
