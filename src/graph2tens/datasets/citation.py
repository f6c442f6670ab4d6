"""Cora, CiteSeer and PubMed from the Planetoid files, which are pickles: only bytes whose hash is known are unpickled."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from .citation_hashes import SHA256
from .dataset import DataError, Encoding, GraphDataset

NAMES = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed"}
PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
URL = "https://github.com/kimiyoung/planetoid/raw/master/data"


def file_names(name: str) -> list[str]:
    return [f"ind.{name.lower()}.{part}" for part in PARTS]


def read_citation(folder: Path, name: str) -> GraphDataset:
    """One undirected graph: x words (binary, or TF-IDF for PubMed), y classes. The files are not written to.

    As in PyG's Planetoid, duplicate edges and self-loops are dropped, and the 15 nodes of CiteSeer that the files leave out have x = 0
    and class 0. They are no isolated nodes: each has one edge or two, and ten of them lie in the largest component. (48 other nodes of
    CiteSeer have words but no edge.)
    """
    name = NAMES[name.lower()]
    parts = {part: checked_bytes(folder / file) for part, file in zip(PARTS, file_names(name), strict=True)}
    test = np.array(parts.pop("test.index").split(), dtype=np.int64)
    objects = {part: _unpickle(content) for part, content in parts.items()}
    n = int(test.max()) + 1
    x = _place(objects["allx"], objects["tx"], test, n)
    y = _place(objects["ally"], objects["ty"], test, n)
    edge_index = torch.from_numpy(_edge_index(objects["graph"], n))
    data = Data(x=torch.from_numpy(x), edge_index=edge_index, y=torch.from_numpy(y.argmax(axis=1).astype(np.int64)))
    num_classes = y.shape[1]
    names = tuple(map(str, range(num_classes)))
    encoding = Encoding(num_attributes=x.shape[1], classes=tuple(range(num_classes)))
    return GraphDataset(name, [data], num_classes, x.shape[1], "node", names, encoding, str(folder))


def checked_bytes(path: Path) -> bytes:
    """The bytes of a file if their hash is the pinned one. They are read once, so what was checked is what is unpickled."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[path.name]:
        raise DataError(
            f"{path}: SHA-256 is {digest}, not {SHA256[path.name]}; the file is a pickle and could run anything, so it is not opened "
            f"(take it from {URL}/{path.name})"
        )
    return content


class _CSR:
    """Receives the state of a pickled SciPy matrix, whose attributes differ between SciPy versions."""

    def dense(self) -> NDArray[Any]:
        state: dict[str, Any] = self.__dict__
        dense = np.zeros(state.get("_shape") or state["shape"], dtype=np.float32)
        dense[np.repeat(np.arange(len(dense)), np.diff(state["indptr"])), state["indices"]] = state["data"]
        return dense


# All that the pinned files refer to. The hash is the lock; this is the second one.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): np.zeros(0).__reduce__()[0],  # its home differs between NumPy 1 and 2
    ("scipy.sparse.csr", "csr_matrix"): _CSR,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} has no business in a citation file") from None


def _unpickle(content: bytes) -> Any:
    loaded = _Unpickler(io.BytesIO(content), encoding="latin1").load()
    return loaded.dense() if isinstance(loaded, _CSR) else loaded


def _place(known: NDArray[Any], test_rows: NDArray[Any], test: NDArray[np.int64], n: int) -> NDArray[np.float32]:
    """Rows 0.. from the first matrix; row i of the second belongs to node ``test[i]``; nodes in neither have zeros."""
    rows = np.zeros((n, known.shape[1]), dtype=np.float32)
    rows[: len(known)] = known
    rows[test] = test_rows
    return rows


def _edge_index(neighbours: dict[int, list[int]], n: int) -> NDArray[np.int64]:
    counts = [len(ends) for ends in neighbours.values()]
    row = np.repeat(np.fromiter(neighbours, dtype=np.int64), counts)
    col = np.concatenate([np.asarray(ends, dtype=np.int64) for ends in neighbours.values()])
    key = np.unique(np.concatenate([row * n + col, col * n + row]))
    row, col = key // n, key % n
    return np.stack([row[row != col], col[row != col]])
