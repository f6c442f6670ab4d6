"""Training: what a run is, the loop, checkpoints, finished runs on disk, export and prediction.

    run = Run(Cell("mine", "MUTAG", "G2TN"), network={"conv": "G2TN", "hidden_channels": 64}, training=Training(epochs=50))
    outcome = train(run, load("MUTAG"), folder="runs/mutag")         # outcome.network, outcome.record, outcome.evaluations["test"]
    model = load_model("runs/mutag")                                 # model.probabilities(other_data)

How something new plugs in:

- **A network** is a function or class of ``(in_channels, out_channels, **keywords)`` that returns a module. It is called with
  ``(x, edge_index, batch, batch_size=graphs)`` for graphs and ``(x, edge_index)`` for nodes, and returns a row of outputs for each. Give
  it a name in a mapping, say it to all functions here as ``networks={**NETWORKS, "GIN": GIN}``, and set ``Run.builder="GIN"``;
  ``Run.network`` holds its keywords, plain JSON. It may have
  ``penalty()`` (what ``Training.l2`` weighs), ``parameter_groups(weight_decay)`` (groups for the optimiser, as PyTorch wants them) and
  ``walk_options`` (it then gets random walks in the place of edges), ``raw_attributes = True`` (on one graph; attributes are not scaled
  for it, and are CSR where they are sparse) and ``remember(y, nodes, num_nodes)`` (it is told the labels of the training nodes).
- **A task** other than classification is an objective with a loss and a score (:mod:`graph2tens.training.objectives`), given as
  ``objective=``. Other ways to make batches are a class with the methods of :class:`graph2tens.training.tasks.Task`, for
  :func:`graph2tens.training.loop.fit`.
- **Another way to fit** (optimiser, schedule, what is watched, which weights are kept) is a field of :class:`Training`.

Files: ``config`` what a run is, ``records`` and ``store`` finished runs, ``objectives`` and ``tasks`` what the loop is given, ``loop`` the
loop itself, ``state`` how far it has come, ``fabric`` devices and processes, ``checkpoint`` and ``saved`` what is in a folder, ``run`` from
description to record, ``session`` the function :func:`train`.
"""

from typing import TYPE_CHECKING

from ..lazy import on_first_use

if TYPE_CHECKING:  # the same names are imported on first use, below: reading records needs no PyTorch
    from .config import Cell as Cell
    from .config import Run as Run
    from .config import Training as Training
    from .records import Record as Record
    from .run import NETWORKS as NETWORKS
    from .run import Outcome as Outcome
    from .saved import load_model as load_model
    from .session import train as train
    from .state import DivergedError as DivergedError
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "config": ["Cell", "Run", "Training"],
            "records": ["Record"],
            "run": ["NETWORKS", "Outcome"],
            "saved": ["load_model"],
            "session": ["train"],
            "state": ["DivergedError"],
        },
    )
