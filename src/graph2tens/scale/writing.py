"""Files that are there whole or not at all: written beside their name, brought to the disk, renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` to write to; at the end of the block it takes the name. After an error, nothing is left of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(file)
    unfinished = Path(name)
    try:
        yield unfinished
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        unfinished.chmod(0o644)  # mkstemp gives the file to its owner alone
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Replace `path` by `content`."""
    with replacing(path) as unfinished:
        unfinished.write_bytes(content)


def remove_unfinished(folder: Path, name: str) -> None:
    """Delete what killed writers of ``folder / name`` left."""
    for unfinished in folder.glob(f".{name}.????????"):
        unfinished.unlink(missing_ok=True)
