"""The paper's tables as data: every row, what it changes, and that it trains."""

import json
from dataclasses import replace

import pytest
from small_data import write_tu_folder

from graph2tens.datasets import load
from graph2tens.paper.authors import NETWORKS
from graph2tens.paper.protocols import base_run
from graph2tens.paper.reproduce import record_path
from graph2tens.paper.splits import split_of
from graph2tens.paper.tables import TABLES, plan
from graph2tens.paper.variants import ABLATIONS
from graph2tens.training.config import Cell
from graph2tens.training.run import perform, prepare

PLANS = [(table, protocol) for table in TABLES for protocol in ("paper", "authors") if (table, protocol) != ("differences", "paper")]


def settings(dataset, model="G2TN", protocol="paper", khop=0, seed=0):
    """The run of a cell that is no variant."""
    return base_run(Cell("test", dataset, model, khop=khop, protocol=protocol), seed)


def test_the_tables_have_every_row_of_both_models():
    sizes = {name: len(table.cells) for name, table in TABLES.items() if name not in ("differences", "choices")}
    assert sizes == {"nci": 2 * 2, "ablation": 7 * 2 * 2, "citation": 3 * 2, "khop": 2 * 3 * 2}
    for table in TABLES.values():
        assert len(set(table.cells)) == len(table.cells)


@pytest.mark.parametrize(("table", "protocol"), PLANS)
def test_every_row_builds_its_network(table, protocol):
    for run in plan(table, seeds=[0], protocol=protocol):
        network = NETWORKS[run.builder](5, 3, **run.network)
        assert sum(parameter.numel() for parameter in network.parameters()) > 0


@pytest.mark.parametrize("table", TABLES)
def test_all_runs_of_a_table_have_different_keys_and_settings(table):
    runs = plan(table, seeds=range(3), protocol="authors")
    assert len({run.key for run in runs}) == len(runs)
    described = {json.dumps([run.cell.dataset, run.cell.khop, run.seed, run.builder, run.options()], sort_keys=True) for run in runs}
    assert len(described) == len(runs), "two rows would do the same"


def test_an_ablation_changes_one_thing():
    for protocol in ("paper", "authors"):
        for run in plan("ablation", seeds=[0], protocol=protocol):
            base = base_run(run.cell._replace(variant="base"))
            assert run.training == base.training
            changed = {name for name in {**base.network, **run.network} if base.network.get(name, ...) != run.network.get(name, ...)}
            assert len(changed) == 1, (run, changed)
    assert {cell.variant for cell in TABLES["ablation"].cells} == set(ABLATIONS)


def test_a_difference_turns_one_point_of_the_code_to_the_text():
    for run in plan("differences", seeds=[0], protocol="authors"):
        base = base_run(run.cell._replace(variant="base"))
        assert (run.training != base.training) == (run.cell.variant == "L2Mean")
        assert (run.split != base.split) == (run.cell.variant == "BalancedSplit")
        assert (run.network != base.network) == (run.cell.variant not in ("L2Mean", "BalancedSplit"))


def test_settings_of_the_paper():
    graph, node = settings("NCI1").training, settings("Cora").training
    assert (graph.epochs, graph.batch_size, graph.learning_rate, graph.schedule, graph.l2) == (200, 128, 1e-3, "cosine", 1e-4)
    assert (node.epochs, node.patience, node.learning_rate, node.schedule, node.l2) == (1000, 50, 0.01, "constant", 0.01)
    assert graph.patience is None
    assert (graph.loss, settings("NCI1", protocol="authors").training.loss) == ("mean", "sum")
    assert settings("Cora", protocol="authors").training.loss == "mean"
    network = settings("Cora", "G2TAN").network
    assert (network["hidden_channels"], network["num_layers"], network["dropout"], network["heads"]) == (64, 1, 0.9, 8)
    assert network["attention_dropout"] == 0.3
    assert not network["increments"]
    assert not network["learn_lift"]


def test_a_plan_grows_seed_by_seed_and_filters_rows():
    runs = plan("khop", seeds=[4, 2], datasets=["Cora"], models=["G2TAN"], khops=[2])
    assert [(run.cell.dataset, run.cell.model, run.cell.khop, run.seed) for run in runs] == [
        ("Cora", "G2TAN", 2, 4),
        ("Cora", "G2TAN", 2, 2),
    ]
    with pytest.raises(ValueError, match="table khop has no dataset 'NCI1'; there is CiteSeer, Cora, PubMed"):
        plan("khop", seeds=[0], datasets=["NCI1"])
    with pytest.raises(ValueError, match="`table` must be one of"):
        plan("table7", seeds=[0])
    with pytest.raises(ValueError, match=r"table differences .* needs protocol authors"):
        plan("differences", seeds=[0])


def test_a_trial_never_passes_for_a_full_run(tmp_path):
    full, trial = (plan("nci", seeds=[0], epochs=epochs)[0] for epochs in (None, 1))
    assert full.key != trial.key
    assert trial.training.epochs == 1
    assert record_path(tmp_path, "nci") != record_path(tmp_path, "nci", trial=True)


@pytest.mark.parametrize("bad", [{"model": "GCNII"}, {"protocol": "mine"}, {"seed": -1}, {"khop": -1}, {"seed": True}], ids=str)
def test_a_wrong_run_is_refused_by_name(bad):
    with pytest.raises(ValueError, match=rf"`{next(iter(bad))}` must be.*got"):
        settings("NCI1", **bad)


@pytest.mark.parametrize(("table", "protocol"), [plan for plan in PLANS if plan[0] in ("nci", "ablation", "differences")])
def test_every_row_trains_an_epoch(table, protocol, tmp_path):
    data = load(write_tu_folder(tmp_path / "rings", graphs=12))
    for run in plan(table, seeds=[0], protocol=protocol, datasets=["NCI1"], epochs=1):
        network = {**run.network, "hidden_channels": 8, "num_layers": 2, "post_channels": 8, "backend": "reference"}
        record = perform(prepare(replace(run, network=network), data, split_of(run, data), networks=NETWORKS)).record
        assert (record.epochs, record.epochs_limit, record.cell.variant) == (1, 1, run.cell.variant)
        assert record.curve["train_loss"][0] is not None, f"{run}: the loss is not finite"
