"""Files spoilt in the ways of disks, editors and strangers: bytes, lines, JSON, safetensors headers, pickles."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

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
