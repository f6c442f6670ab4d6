"""Past one machine: many small graphs, one huge graph, and batches of a huge graph to train on.

Nothing here is a scheduler. Work is cut into tasks from file to file, which this machine's processes, Dask or Ray run; results are the
same bits wherever they ran, and a job that was killed goes on where it was.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .huge.features import FeaturesOnDisk as FeaturesOnDisk
    from .huge.features import low_rank_features as low_rank_features
    from .huge.features import open_features as open_features
    from .huge.graph import GraphOnDisk as GraphOnDisk
    from .huge.layers import apply_network as apply_network
    from .huge.sampler import WalkSampler as WalkSampler
    from .many.arrow import transform_arrow as transform_arrow
    from .many.fitted import load_features as load_features
    from .many.fitted import save_features as save_features
    from .many.job import Job as Job
    from .many.job import Progress as Progress
    from .many.job import Summary as Summary
    from .many.job import apply_features as apply_features
    from .many.job import plan_features as plan_features
    from .many.rows import rows_of_graphs as rows_of_graphs
    from .many.sample import fit_features as fit_features
    from .many.table import check_features as check_features
    from .many.table import read_features as read_features

# Names are loaded on first use: tables want pyarrow, which features of one huge graph can do without.
_HOMES = {
    "huge.features": ("FeaturesOnDisk", "low_rank_features", "open_features"),
    "huge.graph": ("GraphOnDisk",),
    "huge.layers": ("apply_network",),
    "huge.sampler": ("WalkSampler",),
    "many.arrow": ("transform_arrow",),
    "many.fitted": ("load_features", "save_features"),
    "many.job": ("Job", "Progress", "Summary", "apply_features", "plan_features"),
    "many.rows": ("rows_of_graphs",),
    "many.sample": ("fit_features",),
    "many.table": ("check_features", "read_features"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            try:
                return getattr(importlib.import_module(f".{home}", __name__), name)
            except ModuleNotFoundError as error:
                if error.name != "pyarrow":
                    raise
                raise ImportError(f"{name} reads and writes tables with pyarrow: pip install 'graph2tens[data]'.") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
