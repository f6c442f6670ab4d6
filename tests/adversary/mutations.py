"""Files spoilt in the ways of disks, editors and strangers: bytes, lines, JSON, safetensors headers, pickles."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import os
import pickle
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

ABSURD: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**63,
    10**30,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "x",
    "3",
    "../../x",
    [],
    [1],
    {},
    {"a": 1},
]
ABSURD += [[[1]], [None], "<img src=x onerror=alert(1)>", "\ud800", "a\nb"]
TOKENS = ["", "nan", "inf", "-1", "0", "1e400", "99999999999999999999", "x", "1.5", "\0", "ü", "1,1,1", "#", "'", '"', "é\n", "3 4 5"]


class Payload:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


def spoil_bytes(content: bytes, rng: random.Random) -> bytes:
    """Cut, lengthen, repeat or flip something."""
    place = rng.randrange(len(content) + 1)
    kinds: list[Callable[[], bytes]] = [
        lambda: content[:place],
        lambda: b"",
        lambda: content + rng.randbytes(rng.randint(1, 20)),
        lambda: content[:place] + rng.randbytes(rng.randint(1, 8)) + content[place:],
        lambda: content[:place] + rng.randbytes(rng.randint(1, 8)) + content[place + 4 :],
        lambda: content[:place] + bytes([content[place - 1] ^ (1 << rng.randrange(8))]) + content[place + 1 :],
        lambda: content[place:] + content[:place],
        lambda: b"\xff\xfe" + content,
        lambda: rng.randbytes(200),
    ]
    return rng.choice(kinds)()


def spoil_text(content: bytes, rng: random.Random) -> bytes:
    """Lines lost, repeated or swapped, and values that are no values."""
    lines = content.split(b"\n")
    place = rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[rng.randrange(len(lines))])
    elif kind == 2:
        rng.shuffle(lines)
    else:
        words = lines[place].split(b",")
        words[rng.randrange(len(words))] = rng.choice(TOKENS).encode()
        lines[place] = b",".join(words)
    return b"\n".join(lines)


SMILES = [
    "",
    "C1CC",
    "[",
    "C(C)(C)(C)(C)C",
    "[999Xx]",
    "C" * 3000,
    "CCO.[Na+].[Cl-]",
    "*",
    "[H][H]",
    "c1ccccc",
    "\u0421CO",
    "C\tC",
    "N#N~N",
    "[Fe]",
]


def spoil_molecules(content: bytes, rng: random.Random) -> bytes:
    """A molecule or a value that is none, or an unusual one."""
    lines = content.decode().split("\n")
    place = rng.randrange(len(lines))
    cells = lines[place].rstrip("\r").split(",")
    cells[rng.randrange(len(cells))] = rng.choice(SMILES + TOKENS)
    lines[place] = ",".join(cells)
    return "\n".join(lines).encode("utf-8", errors="replace")


def spoil_table(content: bytes, rng: random.Random) -> bytes:
    """A Parquet file with another value in a row, or a column of another name or type."""
    table = pq.read_table(io.BytesIO(content))
    rows, kind, name = table.to_pylist(), rng.randrange(4), rng.choice(table.column_names)
    if kind == 0:
        table = table.drop_columns([name])
    elif kind == 1:
        table = table.rename_columns([rng.choice(["x", "weight", "edge_attr"]) if one == name else one for one in table.column_names])
    else:
        row, odd = rng.choice(rows), rng.choice([None, -1, 10**9, 0, [], [0], [-1, 10**6], [2**40] * 5, "x", 1.5])
        row[name] = odd if kind == 2 or not isinstance(row[name], list) else [*row[name][:-1], rng.choice([None, -1, 10**9])]
        with contextlib.suppress(pa.ArrowException):  # a column has one type; odd values of another are left out
            table = pa.Table.from_pylist(rows, schema=rng.choice([table.schema, None]))
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def spoil_value(value: Any, rng: random.Random) -> Any:
    """One place in a tree of dictionaries and lists changed, removed or added."""
    value = copy.deepcopy(value)
    outer, inner = None, value
    while isinstance(inner, (dict, list)) and inner and (outer is None or rng.random() < 0.8):
        key = rng.choice(list(inner)) if isinstance(inner, dict) else rng.randrange(len(inner))
        outer, inner = (inner, key), inner[key]
    if outer is None:
        return rng.choice(ABSURD)
    parent, key = outer
    kind = rng.randrange(6)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[rng.choice(["x", "__class__", str(key) + "s", ""])] = parent.pop(key)
    elif kind == 2 and isinstance(parent[key], list) and parent[key]:
        parent[key] = parent[key] * 3
    else:
        parent[key] = rng.choice(ABSURD)
    return value


def spoil_json(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.1:
        return rng.choice([b"[" * 100_000, b"{}", b"[]", b"null", b"3", b'"x"', b'{"a":' * 3000])
    return json.dumps(spoil_value(json.loads(content), rng)).encode("utf-8", errors="surrogatepass")


def spoil_json_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines()
    place = rng.randrange(len(lines))
    lines[place] = spoil_json(lines[place], rng)
    return b"\n".join(lines) + b"\n"


def spoil_safetensors(content: bytes, rng: random.Random) -> bytes:
    """The header's JSON changed, or its length."""
    (size,) = struct.unpack("<Q", content[:8])
    header = spoil_json(content[8 : 8 + size], rng)
    length = rng.choice([len(header)] * 8 + [0, 2**40, 2**63])
    return struct.pack("<Q", length) + header + content[8 + size :]


def spoil_description(content: bytes, rng: random.Random, key: str) -> bytes:
    """The JSON text that stands in the header of a safetensors file under a key, changed."""
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"][key] = spoil_json(header["__metadata__"][key].encode(), rng).decode("utf-8", errors="replace")
    text = json.dumps(header).encode("utf-8", errors="replace")
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


def spoil_numbers(content: bytes, rng: random.Random) -> bytes:
    """Arrays of a safetensors file with other numbers, sizes or types; the rest as it was."""
    (size,) = struct.unpack("<Q", content[:8])
    metadata = json.loads(content[8 : 8 + size]).get("__metadata__")
    arrays = {name: array.copy() for name, array in load_arrays(content).items()}
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    flat = array.reshape(-1)
    kinds: list[Callable[[], Any]] = [
        lambda: array[:0],
        lambda: np.zeros((0, *array.shape[1:]), array.dtype),
        lambda: np.concatenate([array, array]) if array.ndim else array[None],
        lambda: array.astype(rng.choice([np.int64, np.float64, np.float32, np.uint8, np.int8])),
        lambda: array.reshape(-1),
        lambda: array.T,
        lambda: array[None],
    ]
    if flat.size and rng.random() < 0.6:
        values = (
            [np.nan, np.inf, -np.inf, 1e300, -1, 0, 2**31 - 1, 1e38] if array.dtype.kind == "f" else [-1, 2**31 - 1, -(2**31), 0, 10**6]
        )
        with np.errstate(all="ignore"):
            flat[rng.randrange(flat.size)] = np.array(rng.choice(values)).astype(array.dtype)
    else:
        arrays[name] = np.ascontiguousarray(rng.choice(kinds)())
    return save_arrays(arrays, metadata)


def spoil_molecule_model(folder: Path, rng: random.Random) -> None:
    """A model of `fit` changed by someone who also writes the right checksums."""
    text = json.loads((folder / "model.json").read_bytes())
    if rng.random() < 0.5:
        content = spoil_numbers((folder / "model.safetensors").read_bytes(), rng)
        (folder / "model.safetensors").write_bytes(content)
        text["arrays"] = hashlib.sha256(content).hexdigest()
    else:
        text = spoil_value(text, rng) if rng.random() < 0.3 else {**text, "state": spoil_value(text["state"], rng)}
    if isinstance(text, dict):
        rest = {key: value for key, value in text.items() if key != "checksum"}
        with contextlib.suppress(ValueError):  # NaN has no checksum
            text["checksum"] = hashlib.sha256(json.dumps(rest, sort_keys=True, allow_nan=False).encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps(text), errors="replace")


def spoil_state(path: Path, rng: random.Random, mark: Path) -> None:
    """A checkpoint of other content, or a pickle that would run something."""
    if rng.random() < 0.15:
        path.write_bytes(pickle.dumps(Payload(mark)))
        return
    state = torch.load(path, weights_only=True)
    if rng.random() < 0.15:
        state[rng.choice(list(state))] = Payload(mark)
    elif rng.random() < 0.4:
        weights = state[rng.choice(["model", "best_weights"])]
        name = rng.choice(list(weights))
        weights[name] = rng.choice([weights[name][:0], weights[name].double() * torch.nan, weights[name].long(), torch.zeros(3, 3), "x"])
    else:
        state = spoil_value(state, rng)
    torch.save(state, path)
