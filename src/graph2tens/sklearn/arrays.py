"""Attributes in whatever holds them -> NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray


def array(values: Any, where: str, name: str) -> NDArray[Any]:
    """Whatever is rectangular; `where` and `name` begin the message about what is not."""
    if isinstance(values, torch.Tensor):
        return as_numpy(values)
    if scipy.sparse.issparse(values):
        return values.toarray()
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{where} must have rows of one length in `{name}` ({error}).") from None


def numbers(values: Any) -> NDArray[np.float64]:
    """Numbers in double precision."""
    return np.asarray(as_numpy(values) if isinstance(values, torch.Tensor) else values, dtype=np.float64)


def as_numpy(tensor: torch.Tensor) -> NDArray[Any]:
    """NumPy has neither bfloat16 nor the floating numbers of 8 bits; float32 holds them exactly."""
    tensor = tensor.detach().cpu().to_dense()
    known = not tensor.is_floating_point() or tensor.dtype in (torch.float16, torch.float32, torch.float64)
    return (tensor if known else tensor.float()).numpy()
