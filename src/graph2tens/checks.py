"""What arguments must be: every check names the argument, what was expected, what was got, and the likely repair."""

from __future__ import annotations

import math
import numbers
import operator
import os

import torch
from torch import Tensor

_DEFAULT_MEMORY = 16 * 2**30  # assumed where the operating system does not tell
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def physical_memory() -> int:
    """Bytes of memory this machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no sysconf on this platform
        return _DEFAULT_MEMORY


def check_fits(count: int, what: str, repair: str, itemsize: int = 8) -> None:
    """Refuse, before allocating, an object of `count` numbers that cannot fit into this machine's memory."""
    if count * itemsize > physical_memory():
        written = f"{count:,} numbers ({count * itemsize / 2**30:,.0f} GiB)" if count < 10**18 else f"over 10^{len(str(count)) - 1} numbers"
        raise ValueError(f"{what} would take {written}, more than the {physical_memory() / 2**30:,.0f} GiB of memory here. {repair}")


def check_integer(value: object, name: str, minimum: int, meaning: str = "") -> int:
    """`value` as an int of at least `minimum`; bool, float and the rest are refused."""
    try:
        integer = operator.index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        integer = None
    if integer is None or isinstance(value, bool):
        raise TypeError(f"`{name}` must be an integer{meaning} (got {value!r} of type {type(value).__name__}).")
    if integer < minimum:
        raise ValueError(f"`{name}` must be at least {minimum}{meaning} (got {integer}).")
    return integer


def check_laziness(laziness: float) -> float:
    """The probability to stay put, as a float in [0, 1)."""
    if isinstance(laziness, bool) or not isinstance(laziness, numbers.Real):
        raise TypeError(f"`laziness` must be a number in [0, 1) (got {laziness!r} of type {type(laziness).__name__}).")
    if not 0 <= laziness < 1:
        raise ValueError(f"`laziness` must lie in [0, 1), the probability to stay put (got {laziness}).")
    return float(laziness)


def check_tensor(value: object, name: str, meaning: str) -> Tensor:
    """`value`, after it was found to be a dense tensor; `meaning` describes it, for example " of shape (2, E)"."""
    if not isinstance(value, Tensor):
        repair = f" Did you mean torch.as_tensor({name})?" if hasattr(value, "__len__") and not isinstance(value, str) else ""
        raise TypeError(f"`{name}` must be a torch.Tensor{meaning} (got {type(value).__name__}).{repair}")
    if value.layout != torch.strided:
        raise TypeError(f"`{name}` must be a dense torch.Tensor{meaning} (got {value.layout}). Did you mean {name}.to_dense()?")
    return value


def check_floating(value: object, name: str, meaning: str) -> Tensor:
    """`value`, after it was found to be a dense tensor of a floating type."""
    tensor = check_tensor(value, name, meaning)
    if not tensor.is_floating_point():
        raise TypeError(f"`{name}` must be of a floating type (got {tensor.dtype}). Did you mean {name}.float() or {name}.double()?")
    return tensor


def transformed() -> bool:
    """Whether we are inside a transform of ``torch.func`` (grad, jvp, vmap, ...) or forward-mode differentiation.

    Compiled operators know neither; forward mode would even silently use 0 as their derivative. PyTorch has no public way to ask.
    """
    if torch.compiler.is_compiling():
        return False
    return torch._C._functorch.peek_interpreter_stack() is not None or torch.autograd.forward_ad._current_level >= 0


def check_finite(value: Tensor, name: str, where: str) -> None:
    """Refuse NaN and infinity, and tensors without data; `where` says what the first axis counts."""
    if torch.compiler.is_compiling() or transformed():  # the values are not known yet, or not ours to look at
        return
    if value.is_meta:
        raise ValueError(f"`{name}` must hold data (got a tensor on the device 'meta').")
    # NaN and infinity survive a sum, so one number usually tells; only a sum that is not finite gets the closer look.
    if value.is_floating_point() and bool(torch.isfinite(value.detach().sum())):
        return
    finite = torch.isfinite(value.detach())
    if not bool(finite.all()):
        first = int((~finite).nonzero()[0, 0])
        raise ValueError(f"`{name}` must be finite (got NaN or infinity at {where} {first}).")


def check_attribute_values(x: Tensor) -> None:
    """Attributes must be finite, and so must be the difference of any two of them, which is what a walk sees.

    Beyond half of the range of their type, steps overflow in some backends and not in others, depending on what they subtract first.
    """
    if torch.compiler.is_compiling() or transformed() or x.is_meta or not x.numel() or x.dtype == torch.float16:
        check_finite(x, "x", "node")  # halves are computed in float32, whose range is far wider
        return
    limit = torch.finfo(x.dtype).max / 2
    low, high = torch.aminmax(x.detach())
    if bool(torch.maximum(-low, high) <= limit):
        return
    check_finite(x, "x", "node")
    first = int((x.detach().abs() > limit).nonzero()[0, 0])
    wider = " Did you mean x.double()?" if x.dtype != torch.float64 else ""
    raise ValueError(
        f"`x` must lie between -{limit:.2g} and {limit:.2g}, so that differences of attributes are finite in {x.dtype} "
        f"(got {float(x.detach()[first].abs().max()):.2g} at node {first}). Scale the attributes.{wider}"
    )


def check_coefficients(coefficients: Tensor | None, degree: int, like: Tensor, ranks: int | None = None) -> Tensor:
    r"""The lift's coefficients :math:`c_1..c_M` as a tensor like `like`; ``None`` is :math:`c_m = 1/m!`, the tensor exponential.

    The shape is (M,), or (M, R) where `ranks` = R functionals may each own theirs.
    """
    if coefficients is None:
        return torch.tensor([1 / math.factorial(m) for m in range(1, degree + 1)], dtype=like.dtype, device=like.device)
    try:
        given = torch.as_tensor(coefficients, device=like.device)
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        raise TypeError(f"`coefficients` must be a tensor of c_1, ..., c_M on {like.device} (got {coefficients!r}).") from error
    if given.is_complex() or given.dtype == torch.bool:
        raise TypeError(f"`coefficients` must be real numbers (got {given.dtype}).")
    allowed = [(degree,)] if ranks is None else [(degree,), (degree, ranks)]
    if tuple(given.shape) not in allowed:
        expected = " or ".join(map(str, allowed))
        raise ValueError(
            f"`coefficients` must hold c_1, ..., c_M, shape {expected} for degree {degree} (got {tuple(given.shape)}). "
            "c_0 is always 1 and is not passed."
        )
    if not given.is_meta:
        check_finite(given, "coefficients", "degree index")
    return given.to(like.dtype)


def check_edges(edge_index: Tensor, num_nodes: int | None) -> int:
    """The number of nodes, after `edge_index` was found to be integers (2, E) inside it."""
    check_tensor(edge_index, "edge_index", " of shape (2, E)")
    if edge_index.numel() and edge_index.dtype not in _INTEGERS:
        raise TypeError(f"`edge_index` must hold integers (got {edge_index.dtype}). Did you mean edge_index.long()?")
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        slip = " Did you pass (E, 2)? Then give edge_index.T." if edge_index.dim() == 2 and edge_index.size(1) == 2 else ""
        raise ValueError(f"`edge_index` must have shape (2, E), one column for each edge (got {tuple(edge_index.shape)}).{slip}")
    check_finite(edge_index, "edge_index", "row")
    highest = int(edge_index.max()) if edge_index.numel() else -1
    n = highest + 1 if num_nodes is None else check_integer(num_nodes, "num_nodes", 0)
    if highest >= n or (edge_index.numel() and int(edge_index.min()) < 0):
        wrong = highest if highest >= n else int(edge_index.min())
        slip = " Are the nodes numbered from 1?" if wrong == n else ""
        raise ValueError(f"`edge_index` must hold nodes in [0, {n}) for num_nodes={n} (got node {wrong}).{slip}")
    check_fits(12 * n, f"the walk on {n:,} nodes", "Is `num_nodes`, or an entry of `edge_index`, a slip?")
    return n


def check_weight(edge_weight: Tensor | None, edge_index: Tensor, signed: bool = False) -> Tensor:
    """The weights, (E,) floats; float64 ones where none are given. Only `signed` weights may be negative."""
    edges = edge_index.size(1)
    if edge_weight is None:
        return torch.ones(edges, dtype=torch.float64, device=edge_index.device)
    check_tensor(edge_weight, "edge_weight", " of shape (E,)")
    if tuple(edge_weight.shape) != (edges,):
        slip = " Did you mean edge_weight.squeeze(1)?" if tuple(edge_weight.shape) == (edges, 1) else ""
        raise ValueError(
            f"`edge_weight` must have one weight for each of the {edges} edges, shape ({edges},) (got {tuple(edge_weight.shape)}).{slip}"
        )
    if edge_weight.is_complex():
        raise TypeError(f"`edge_weight` must be real (got {edge_weight.dtype}).")
    if edge_weight.device != edge_index.device:
        raise ValueError(f"`edge_weight` must be on the device of `edge_index` (got {edge_weight.device} and {edge_index.device}).")
    weight = edge_weight if edge_weight.is_floating_point() else edge_weight.double()
    weight = weight.float() if weight.dtype in (torch.float16, torch.bfloat16) else weight
    check_finite(weight, "edge_weight", "edge")
    if not signed and bool((weight < 0).any()):
        first = int((weight < 0).nonzero()[0])
        raise ValueError(f"`edge_weight` must not be negative (got {float(weight[first])} at edge {first}).")
    return weight


def check_batch(batch: Tensor, n: int) -> Tensor:
    """The graph of each of n nodes, (n,) integers, not negative."""
    check_tensor(batch, "batch", f" of shape ({n},)")
    if batch.numel() and batch.dtype not in _INTEGERS:
        raise TypeError(f"`batch` must hold integers, the graph of each node (got {batch.dtype}).")
    if tuple(batch.shape) != (n,):
        raise ValueError(f"`batch` must hold the graph of each of the {n} nodes, shape ({n},) (got {tuple(batch.shape)}).")
    check_finite(batch, "batch", "node")
    if batch.numel() and int(batch.min()) < 0:
        raise ValueError(f"`batch` must not be negative (got {int(batch.min())}).")
    return batch.long()


def check_walk(n: int, row_ptr: Tensor, col: Tensor, probabilities: Tensor, edge_position: Tensor, batch: Tensor | None) -> None:
    """The arrays of a `RandomWalk`: compiled code trusts their shapes and indices, so what is wrong would be read out of bounds."""
    check_integer(n, "num_nodes", 0)
    for tensor, name in ((row_ptr, "row_ptr"), (col, "col"), (edge_position, "edge_position"), (batch, "batch")):
        if tensor is not None and (not isinstance(tensor, Tensor) or tensor.dtype != torch.int64 or tensor.dim() != 1):
            kind = f"{tensor.dtype}, {tuple(tensor.shape)}" if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ValueError(f"`{name}` of a RandomWalk must be a vector of 64-bit integers (got {kind}).")
    edges = col.numel()
    if row_ptr.numel() != n + 1 or (batch is not None and batch.numel() != n):
        raise ValueError(f"`row_ptr` and `batch` of a RandomWalk on {n} nodes must have {n + 1} and {n} entries (got {row_ptr.numel()}"
                         f" and {'none' if batch is None else batch.numel()}).")  # fmt: skip
    if not probabilities.is_floating_point() or probabilities.dim() not in (1, 2) or probabilities.size(0) != edges:
        raise ValueError(f"`probabilities` of a RandomWalk must be floats, one row for each of its {edges} steps (got "
                         f"{probabilities.dtype}, {tuple(probabilities.shape)}).")  # fmt: skip
    if any(tensor.is_meta for tensor in (row_ptr, col)):
        return
    if int(row_ptr[0]) != 0 or int(row_ptr[-1]) != edges or bool((row_ptr.diff() < 0).any()):
        raise ValueError(f"`row_ptr` of a RandomWalk must rise from 0 to its {edges} steps.")
    for tensor, name, limit in ((col, "col", n), (edge_position, "edge_position", edges), (batch, "batch", max(n, 2**62))):
        if tensor is not None and tensor.numel():
            low, high = map(int, torch.aminmax(tensor))
            if low < 0 or high >= limit:
                wrong = low if low < 0 else high
                raise ValueError(f"`{name}` of a RandomWalk must hold numbers in [0, {limit}) (got {wrong}). Is a file damaged?")
    if batch is not None and batch.numel():
        check_fits(int(batch.max()), f"a batch of {int(batch.max()):,} graphs", "Is an entry of `batch` a slip?")
