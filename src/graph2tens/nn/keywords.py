"""Keywords of PyG's convs that a walk has no use for: what to write instead, for scripts in which only the name of a conv was changed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

INSTEAD = {
    "aggr": "a walk always takes the mean over its steps",
    "eps": "a walk takes means and no sums; root_weight=True adds the node's own attributes",
    "fill_value": "added self-loops have edge_attr 0",
    "flow": "flip edge_index instead",
    "improved": "weigh a node more by laziness=, the probability that the walker stays",
    "nn": "it has no network inside: write in_channels, out_channels, and put an MLP behind it",
    "num_layers": "one layer walks walk_length= steps",
    "residual": "root_weight=True adds the node's own attributes",
    "share_weights": "both ends of an edge have their own vector of attention",
    "train_eps": "a walk takes means and no sums; root_weight=True adds the node's own attributes",
}


def unknown_keyword(conv: str, name: str, known: Iterable[str]) -> str:
    """What to say of a keyword that a conv of ours does not have."""
    similar = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    hint = INSTEAD.get(name) or (f"did you mean `{similar[0]}`?" if similar else "docs/swapping.md has the settings next to PyG's convs.")
    return f"{conv} has no keyword `{name}`: {hint}"
