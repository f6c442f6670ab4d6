"""Exact inference of a trained network on all nodes of a huge graph, layer by layer, from files to files.

Between layers every node's row is read and written once, in pieces; each layer is a walk whose functionals come in blocks (`features.py`).
No neighbour is left out, so nothing is estimated, and no sampler is needed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save as save_tensors
from torch import Tensor

from ...files import replacing, write_json
from ...nn import GraphTensNet, WalkConv
from ...nn.conv import G2TANConv
from ...training.provenance import cores
from ..engines import check_engine
from .features import FeaturesOnDisk, as_arrays, as_bytes, attributes_file, centre_and_digest, keep_or_choose, plan_walk, run_walk
from .graph import GraphOnDisk
from .job import CHUNK, open_attributes

NETWORK, OUTPUTS = "_network.json", "outputs.npy"


@torch.inference_mode()
def apply_network(
    network: GraphTensNet | WalkConv,
    x: Any,
    graph: GraphOnDisk | str | Path,
    out: str | Path,
    *,
    memory: int | str | None = None,
    engine: str = "local",
    workers: int | None = 1,
    address: str | None = None,
    threads: int | None = None,
    on_layer: Callable[[int, int], None] | None = None,
) -> NDArray[Any]:
    """Outputs (n, out_channels) of a network for all nodes, mapped from ``out/outputs.npy``; dropout is off.

    Killed at any time and called again, it goes on with the layer and the blocks that are missing.

    Args:
        network: a `G2TNConv`, a `G2TANConv`, or a `GraphTensNet` of such layers without pooling.
        x: attributes (n, d): a file ``.npy`` or an array.
        graph: built with the `self_loops` and `laziness` of the layers.
        out: folder of the outputs, and of what is between layers, which takes as much space as the attributes of all of them.
        memory, engine, workers, address, threads: as for :func:`graph2tens.scale.low_rank_features`.
        on_layer: is told the number of layers done, and of all.
    """
    check_engine(engine, address)
    graph = graph if isinstance(graph, GraphOnDisk) else GraphOnDisk(graph)
    folder, count = Path(out), workers or cores()
    convs = _walking_layers(network, graph)
    path = attributes_file(x, folder, graph.num_nodes)
    _check_same(folder, network, path, graph)
    network.eval()
    if not (folder / OUTPUTS).exists():
        before: Iterable[torch.nn.Module] = network.pre if isinstance(network, GraphTensNet) else []
        rows = folder / "rows-00.npy"
        _by_rows(rows, [open_attributes(path, graph.num_nodes)], lambda parts: _through(before, parts[0]), _dtype(network))
        made = []
        for number, layer in enumerate(convs):
            after, walks = folder / f"rows-{number + 1:02d}.npy", folder / f"walk-{number:02d}"
            if not after.exists():
                job = _job(layer, rows, graph)
                job = keep_or_choose(walks, job, as_bytes(memory), graph, count)
                z = run_walk(walks, job, engine=engine, workers=count, address=address, threads=threads)
                before_layer = open_attributes(rows, graph.num_nodes)
                _by_rows(after, [z, before_layer], lambda parts, layer=layer: layer.combine(*parts), _dtype(network))  # type: ignore[misc]
                del z
                shutil.rmtree(walks)
            made.append(after)
            rows = after
            if on_layer is not None:
                on_layer(number + 1, len(convs))
        if isinstance(network, GraphTensNet):
            kept = made if network.jk is not None else [rows]
            arrays = [open_attributes(file, graph.num_nodes) for file in kept]
            _by_rows(folder / OUTPUTS, arrays, lambda parts: _after_convs(network, parts), _dtype(network))
        else:
            rows.rename(folder / OUTPUTS)
        for file in folder.glob("rows-*.npy"):
            file.unlink()
    found: NDArray[Any] = np.load(folder / OUTPUTS, mmap_mode="r", allow_pickle=False)
    return found


def _walking_layers(network: Any, graph: GraphOnDisk) -> list[WalkConv]:
    layers = [network] if isinstance(network, WalkConv) else list(getattr(network, "convs", []))
    if not layers or not all(isinstance(layer, WalkConv) for layer in layers):
        raise TypeError(f"`network` must be a G2TNConv, a G2TANConv or a GraphTensNet of them (got {type(network).__name__}).")
    if getattr(network, "pool", None) is not None:
        raise ValueError("`network` must give outputs node by node (got one that pools the nodes of a graph).")
    for layer in layers:
        if type(layer).functionals is not WalkConv.functionals or getattr(layer, "edge_attention", None) is not None:
            raise ValueError(f"{layer!r} has functionals of its own or reads attributes of edges, which a graph on disk does not have.")
        for name in ("self_loops", "laziness"):
            if getattr(layer, name) != graph.facts[name]:
                raise ValueError(
                    f"the graph must be built with {name}={getattr(layer, name)}, as the network wants (got {graph.facts[name]})."
                )
    return layers


def _job(layer: WalkConv, rows: Path, graph: GraphOnDisk) -> Any:
    attention: dict[str, Any] = {}
    if isinstance(layer, G2TANConv):
        attention = {"attention": layer.attention.detach().cpu().numpy(), "negative_slope": layer.negative_slope}
    arrays = as_arrays(layer.components, layer.coefficients, getattr(layer, "projection_bias", None))
    return plan_walk(
        rows,
        graph,
        *arrays,
        length=layer.walk_length,
        increments=layer.increments,
        zero_start=layer.zero_start,
        time=layer.time,
        **attention,
    )


def _by_rows(
    path: Path, sources: Sequence[NDArray[Any] | FeaturesOnDisk], function: Callable[[list[Tensor]], Tensor], dtype: torch.dtype
) -> None:
    """Write the rows that a function makes of some rows of the sources, a piece at a time."""
    if path.exists():
        return
    n = len(sources[0])
    with replacing(path) as stream:
        for first in range(0, n, CHUNK):
            made = function([torch.from_numpy(np.array(source[first : first + CHUNK])).to(dtype) for source in sources]).numpy()
            if first == 0:
                header = {"descr": made.dtype.str, "fortran_order": False, "shape": (n, *made.shape[1:])}
                np.lib.format.write_array_header_2_0(stream, header)
            stream.write(np.ascontiguousarray(made).data)


def _through(blocks: Iterable[torch.nn.Module], x: Tensor) -> Tensor:
    for block in blocks:
        x = block(x)
    return x


def _after_convs(network: GraphTensNet, layers: list[Tensor]) -> Tensor:
    x = layers[0] if network.jk is None else network.jk(layers)
    outputs: Tensor = network.head(_through(network.post, x))
    return outputs


def _dtype(network: torch.nn.Module) -> torch.dtype:
    return next(network.parameters()).dtype


def _check_same(folder: Path, network: torch.nn.Module, x: Path, graph: GraphOnDisk) -> None:
    """Refuse a folder with layers of another network, other attributes or another graph."""
    weights = save_tensors({name: value.contiguous() for name, value in network.state_dict().items()})
    facts = {
        "network": hashlib.sha256(repr(network).encode() + weights).hexdigest(),
        "attributes": centre_and_digest(open_attributes(x, graph.num_nodes))[1],
        "graph": graph.digest,
    }
    if (folder / NETWORK).exists():
        known = json.loads((folder / NETWORK).read_bytes())
        for name, value in facts.items():
            if known.get(name) != value:
                raise ValueError(f"{folder} holds outputs for another {name}. Choose another folder.")
    else:
        write_json(folder / NETWORK, facts)
