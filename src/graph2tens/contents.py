"""What is read from files is checked against a type before anything uses it; an error names the file, the field and the repair.

The types are the dataclasses that the files were written from, so what a file must hold is said in one place. Values are never coerced in
JSON ("3" is not a number), unknown fields are refused, and sizes are for the caller to compare with what it knows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


def read_json(kind: type[T], path: Path, repair: str) -> T:
    """The content of a JSON file as a `kind`, a dataclass.

    Raises:
        ValueError: one line with the path, the field, what was expected and found, and `repair`.
        FileNotFoundError: to be answered by the caller, who knows what the file is for.
    """
    content = path.read_bytes()
    try:
        return TypeAdapter(kind).validate_json(content, strict=True)
    except ValidationError as error:
        raise _told(error, path, repair) from None


def checked(kind: type[T], value: Any, path: Path, repair: str) -> T:
    """Plain values that were read from `path` by other means, as a `kind`."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise _told(error, path, repair) from None


def _told(error: ValidationError, path: Path, repair: str) -> ValueError:
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    complaint = first["msg"].removeprefix("Value error, ").rstrip(".")
    if first["type"] == "json_invalid":
        return ValueError(f"{path} is not JSON ({complaint.removeprefix('Invalid JSON: ')}). {repair}")
    if first["type"] == "missing":
        return ValueError(f"{path} has no field `{place}`. {repair}")
    got = repr(first["input"])
    shown = "" if first["type"] == "value_error" else f" (got {got if len(got) <= 60 else got[:60] + '...'})"
    field = f"field `{place}`: " if place else ""
    return ValueError(f"{path}, {field}{complaint[:1].lower()}{complaint[1:]}{shown}. {repair}")
