"""Records, the paper's numbers, and the cells they make together."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import around, authors_table, record

from graph2tens.paper.published import PUBLISHED
from graph2tens.paper.report.authors_runs import read_authors_runs
from graph2tens.paper.report.data import Verdict, collect
from graph2tens.paper.report.departures import sums
from graph2tens.paper.report.markdown.sections import departures
from graph2tens.paper.tables import TABLES
from graph2tens.paper.variants import ABLATIONS, DEPARTURES, MEANINGS
from graph2tens.training import config
from graph2tens.training.records import Record, read_records

Cell = partial(config.Cell, protocol="authors")

NCI1 = Cell("nci", "NCI1", "G2TN")
BASE = next(p for p in PUBLISHED if p.proposed and (p.dataset, p.model, p.variant) == ("NCI1", "G2TN", "base"))


def _published(table, dataset, khop=0):
    return {p.model: p.mean for p in PUBLISHED if (p.table, p.dataset, p.khop, p.variant) == (table, dataset, khop, "base")}


# The paper's text says things about its tables; numbers that were copied wrongly would contradict it.


def test_the_tables_have_the_papers_sizes():
    sizes = {number: sum(p.number == number for p in PUBLISHED) for number in range(1, 6)}
    assert sizes == {1: 13 + 8, 2: 14, 3: 14, 4: 18, 5: 42}
    assert {p.seeds for p in PUBLISHED if p.proposed and p.table == "nci"} == {10}
    assert {p.seeds for p in PUBLISHED if p.table == "ablation"} == {5}
    assert {p.seeds for p in PUBLISHED if p.proposed and p.table in ("citation", "khop")} == {100}


def test_lead_over_local_models_is_as_the_paper_says():
    for dataset, lead in (("NCI1", 1.9), ("NCI109", 4.8)):
        local = max(p.mean for p in PUBLISHED if p.group == "local" and p.dataset == dataset)
        assert max(p.mean for p in PUBLISHED if p.table == "nci" and p.proposed and p.dataset == dataset) - local == pytest.approx(lead)


def test_only_graphtrans_large_beats_g2tan_on_nci1():
    means = _published("nci", "NCI1")
    assert [model for model, mean in means.items() if mean > means["G2TAN"]] == ["GraphTrans (large)"]
    assert means["GraphTrans (large)"] - means["G2TAN"] == pytest.approx(0.7)


@pytest.mark.parametrize("khop", [1, 2])
@pytest.mark.parametrize("dataset", ["Cora", "CiteSeer", "PubMed"])
def test_both_models_lead_every_sanitised_table(dataset, khop):
    means = _published("khop", dataset, khop)
    ours = {means.pop("G2TN"), means.pop("G2TAN")}
    assert min(ours) > max(means.values())


def test_g2tn_always_leads_g2tan_on_citations_and_has_less_variance_than_baselines():
    for dataset in ("Cora", "CiteSeer", "PubMed"):
        means = _published("citation", dataset)
        assert means["G2TN"] > means["G2TAN"]
        rows = [p for p in PUBLISHED if p.table == "citation" and p.dataset == dataset]
        assert max(p.std for p in rows if p.proposed) <= min(p.std for p in rows if not p.proposed)


def test_no_norm_improves_g2tan_on_nci109():
    ablated = {p.variant: p.mean for p in PUBLISHED if (p.table, p.model, p.dataset) == ("ablation", "G2TAN", "NCI109")}
    assert max(ablated, key=ablated.get) == "NoNorm"
    assert ablated["NoNorm"] > _published("nci", "NCI109")["G2TAN"]


def test_every_variant_has_a_meaning_in_words():
    assert {*ABLATIONS, *DEPARTURES} <= MEANINGS.keys()


def test_what_can_be_run_is_what_the_paper_printed():
    for name in ("nci", "ablation", "citation", "khop"):
        cells = {(row.dataset, row.model, row.variant, row.khop) for row in TABLES[name].cells}
        printed = [p for p in PUBLISHED if p.table == name and p.proposed]
        assert cells == {(p.dataset, p.model, p.variant, p.khop) for p in printed}


def test_every_departure_can_be_run_and_every_such_run_is_explained():
    explained = {(variant, model) for variant, departure in DEPARTURES.items() for model in departure.models}
    assert {(row.variant, row.model) for row in TABLES["differences"].cells} == explained


# Aggregation.


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_cells_do_not_depend_on_the_order_of_records(values, rng):
    records = [record(seed, value) for seed, value in enumerate(values)]
    shuffled = list(records)
    rng.shuffle(shuffled)
    first, second = (collect(rows).result(NCI1) for rows in (records, shuffled))
    assert first == second
    assert first.ours.n == len(values)
    assert first.ours.mean == pytest.approx(100 * np.mean(values))
    if len(values) > 1:
        assert first.ours.std == pytest.approx(100 * np.std(values, ddof=1), abs=1e-9)


@given(
    st.lists(
        st.tuples(st.sampled_from(["NCI1", "Cora", "<b>"]), st.sampled_from(["G2TN", "G2TAN"]), st.integers(0, 2), st.integers(0, 3)),
        max_size=30,
    )
)
def test_every_run_lands_in_exactly_one_cell(keys):
    records = [record(seed, 0.5, dataset=dataset, model=model, khop=khop) for dataset, model, khop, seed in keys]
    study = collect(records)
    assert len(study.runs) == len(set(keys))
    for result in study.cells:
        assert all(run.cell == result.cell for run in result.runs)
    assert len({result.cell for result in study.cells}) == len(study.cells)


def test_settings_are_kept_apart():
    study = collect([record(0, 0.8), record(1, 0.82), record(0, 0.5, protocol="paper"), record(1, 0.52, protocol="paper")])
    assert study.result(NCI1).ours.mean == pytest.approx(81)
    assert study.result(NCI1._replace(protocol="paper")).ours.mean == pytest.approx(51)


def test_a_repeated_run_replaces_the_older_one():
    old, new = record(0, 0.7, finished="2026-03-01T00:00:00Z"), record(0, 0.9, finished="2026-03-02T00:00:00Z")
    for rows in ([old, new], [new, old]):
        assert [run.test for run in collect(rows).result(NCI1).runs] == [pytest.approx(90)]


def test_trial_runs_never_enter_a_mean():
    study = collect([record(0, 0.8), record(1, 0.8), record(2, 0.1, epochs=1, epochs_limit=1)])
    assert study.result(NCI1).ours.mean == pytest.approx(80)
    assert [run.seed for run in study.trials] == [2]


def test_every_cell_of_the_paper_is_listed_and_missing_ones_say_so():
    study = collect([record()])
    assert sum(result.published is not None for result in study.cells) == sum(p.proposed for p in PUBLISHED)
    assert study.result(Cell("khop", "PubMed", "G2TAN", khop=2)).verdict is Verdict.NOT_RUN
    assert study.result(NCI1).verdict is Verdict.ONE_SEED


def test_cells_of_the_second_protocol_are_missing_once_its_table_was_begun():
    study = collect([record(protocol="paper")])
    assert study.result(Cell("nci", "NCI109", "G2TN", protocol="paper")).verdict is Verdict.NOT_RUN
    assert study.result(Cell("khop", "Cora", "G2TN", khop=1, protocol="paper")) is None


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0, Verdict.AGREES), (0.06, Verdict.HIGHER), (-0.06, Verdict.LOWER)], ids=["same", "above", "below"]
)
def test_verdicts(shift, verdict):
    records = [record(seed, 0.807 + shift + 0.01 * (-1) ** seed) for seed in range(6)]
    assert collect(records).result(NCI1).verdict is verdict


def test_own_data_has_no_reference():
    study = collect([record(dataset="digits", table="train")])
    assert [result.verdict for result in study.cells] == [Verdict.NO_REFERENCE]


def test_ablation_effects_are_taken_seed_by_seed_against_the_base_model():
    base = {0: 0.80, 1: 0.84, 2: 0.78}
    change = {0: 0.01, 1: 0.03, 2: 0.02}
    records = [record(seed, value) for seed, value in base.items()] + [
        record(seed, base[seed] + change[seed], table="ablation", variant="NoJK") for seed in base
    ]
    effect = next(e for e in collect(records).ablations() if e.cell == Cell("ablation", "NCI1", "G2TN", "NoJK"))
    assert effect.ours.points == pytest.approx(2.0)
    assert effect.ours.standard_error == pytest.approx(1 / np.sqrt(3))
    assert effect.paper.points == pytest.approx(79.4 - 80.7)


def test_worth_of_a_departure_needs_its_base_runs():
    variant = [record(seed, 0.8 + seed / 100, table="differences", variant="NoSelfLoops") for seed in range(3)]
    assert collect(variant).departures()[0].ours is None
    measured = collect(variant + [record(seed, 0.79 + seed / 99) for seed in range(3)]).departures()
    assert measured[0].ours.pairs == 3


def test_points_are_added_up_seed_by_seed_beside_what_they_change_together():
    base = {0: 0.80, 1: 0.84, 2: 0.78}
    loops, mixing = {0: 0.01, 1: 0.03, 2: 0.02}, {0: -0.02, 1: -0.04, 2: -0.03}
    records = [record(seed, value) for seed, value in base.items()]
    records += [record(seed, value + 0.05, protocol="paper") for seed, value in base.items()]
    assert sums(collect(records)) == []
    records += [record(seed, base[seed] + loops[seed], table="differences", variant="NoSelfLoops") for seed in base]
    records += [record(seed, base[seed] + mixing[seed], table="differences", variant="Mixing") for seed in base]
    (found,) = sums(collect(records))
    assert found.cell == NCI1._replace(protocol="paper")
    assert found.sum.points == pytest.approx(-1.0)
    assert found.sum.standard_error == pytest.approx(0.0, abs=1e-9)  # the two go up and down together, and their sum not at all
    assert found.together.points == pytest.approx(5.0)
    assert found.together.standard_error == pytest.approx(0.0, abs=1e-9)
    assert found.rest.points == pytest.approx(6.0)
    page = departures(collect(records)).replace("\N{MINUS SIGN}", "-")
    for row in (
        "self-loops | G2TN | **+2.00 ± 1.15**",
        "mixing the degrees | G2TN | **-3.00 ± 1.15**",
        "measured points added up | G2TN | **-1.00 ± 0.00**",
        "all of the text's settings | G2TN | **+5.00 ± 0.00**",
        "the latter minus the sum | G2TN | **+6.00 ± 0.00**",
        "scale of the L2 penalty | G2TN | not run yet",
        "split of citation graphs | G2TN | \N{EN DASH} | not run yet",
    ):
        assert f"| {row} |" in page


# Reading.


def _write(path, records):
    path.write_text("".join(json.dumps(row) + "\n" for row in records))
    return path


def test_records_of_a_folder(tmp_path):
    _write(tmp_path / "nci.jsonl", [record(0), record(1)])
    _write(tmp_path / "citation.jsonl", [record(0, dataset="Cora", table="citation")])
    (tmp_path / "nci.jsonl.lock").touch()
    (tmp_path / "trials").mkdir()
    _write(tmp_path / "trials" / "nci.jsonl", [record(7, epochs=1, epochs_limit=1)])
    records, remarks = read_records(tmp_path)
    assert len(records) == 4
    assert [run.seed for run in collect(records).trials] == [7]
    assert not remarks


@given(st.data())
def test_a_line_torn_at_any_byte_costs_that_run_only(tmp_path_factory, data):
    rows = [record(seed, 0.5 + seed / 100, curve={}, machine={"processor": "é"}) for seed in range(3)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    start = text[:-1].rfind(b"\n") + 1
    cut = data.draw(st.integers(start, len(text) - 2))
    path = tmp_path_factory.mktemp("torn") / "nci.jsonl"
    path.write_bytes(text[:cut])
    records, remarks = read_records(path)
    assert [row["seed"] for row in records] == [0, 1]
    assert remarks == ([f"{path.name}, line 3: torn line skipped"] if cut > start else [])


def test_the_folder_of_a_training_run(tmp_path):
    (tmp_path / "config.json").write_text('{"dataset": "digits"}')
    (tmp_path / "record.json").write_text(json.dumps(record(dataset="digits", table="train"), indent=1))
    records, _ = read_records(tmp_path)
    assert [row["dataset"] for row in records] == ["digits"]


def test_the_folder_of_an_unfinished_run_is_refused(tmp_path):
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(ValueError, match="holds no finished run yet"):
        read_records(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere.*does not exist"):
        read_records(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"test_accuracy": None}, "needs test_accuracy"),
        ({"test_accuracy": float("nan")}, "from 0 to 1"),
        ({"test_accuracy": 81.2}, "from 0 to 1"),
        ({"test_accuracy": "0.8"}, "from 0 to 1"),
        ({"seed": "one"}, "`seed` must be an integer"),
        ({"dataset": None, "model": None}, "needs dataset, model"),
    ],
)
def test_a_broken_record_is_set_aside_with_a_remark(broken, message):
    with pytest.raises(ValueError, match=message):
        Record.parse({**record(), **broken})
    study = collect([{**record(5), **broken}, record(1), record(2)])
    assert len(study.runs) == 2
    assert len(study.remarks) == 1


def test_a_record_needs_little():
    run = Record.parse({"dataset": "digits", "model": "G2TN", "seed": 0, "test_accuracy": 1})
    assert run.test == 100
    assert run.seconds is None
    assert run.curve == {}


def test_dataset_names_are_recognised_in_any_case():
    assert {run.cell.dataset for run in collect([record(dataset="citeseer"), record(dataset="Mutag")]).runs} == {"CiteSeer", "Mutag"}


def test_authors_runs_find_their_cells(tmp_path):
    runs = read_authors_runs(authors_table(tmp_path / "runs.csv"))
    assert {(cell.table, cell.dataset, cell.model, cell.variant, cell.khop) for cell in runs} == {
        (p.table, p.dataset, p.model, p.variant, p.khop) for p in PUBLISHED if p.proposed
    }
    study = collect(around(BASE, 5), authors_runs=runs)
    result = study.result(NCI1)
    expected = np.array([result.by_seed[seed] - runs[NCI1][seed] for seed in range(5)])
    assert result.same_seed.points == pytest.approx(expected.mean())
    assert result.same_seed.standard_error == pytest.approx(expected.std(ddof=1) / np.sqrt(5))


def test_authors_runs_in_percent_are_refused(tmp_path):
    (tmp_path / "runs.csv").write_text("dataset,model,variant,khop,seed,test_acc\nNCI1,G2TN,base,0,0,80.5\n")
    with pytest.raises(ValueError, match="line 2: test_acc must be a share from 0 to 1"):
        read_authors_runs(tmp_path / "runs.csv")


def test_authors_runs_of_something_else_are_remarked_on():
    study = collect([record(0)], authors_runs={NCI1._replace(dataset="Mutag"): {0: 80.0}})
    assert any("no cell that is compared" in remark for remark in study.remarks)


@pytest.mark.parametrize(("text", "message"), [("a,b\n1,2\n", "missing: dataset"), ("", "missing: dataset")])
def test_a_wrong_table_of_authors_runs_is_refused(tmp_path, text, message):
    (tmp_path / "runs.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_authors_runs(tmp_path / "runs.csv")


def test_a_wrong_line_of_authors_runs_is_named(tmp_path):
    (tmp_path / "runs.csv").write_text("dataset,model,variant,khop,seed,test_acc\nCora,G2TN,base,0,0,0.8\nCora,G2TN,base,0,1,high\n")
    with pytest.raises(ValueError, match="line 3"):
        read_authors_runs(tmp_path / "runs.csv")


@pytest.mark.parametrize(
    ("dataset", "protocol", "comparable"), [("Cora", "authors", True), ("Cora", "paper", False), ("NCI1", "paper", True)]
)
def test_seeds_are_compared_only_where_they_give_equal_splits(dataset, protocol, comparable):
    table = "nci" if dataset == "NCI1" else "citation"
    ours = [record(seed, 0.8, table=table, dataset=dataset, protocol=protocol) for seed in (0, 1)]
    result = collect(ours, authors_runs={Cell(table, dataset, "G2TN"): {0: 80.0, 1: 81.0}}).result(
        Cell(table, dataset, "G2TN", protocol=protocol)
    )
    assert (result.same_seed is not None) == comparable
