"""Markdown tables and the marked sections of README and docs."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import record, study_records

from graph2tens.paper.report import sentences
from graph2tens.paper.report.data import Study, collect
from graph2tens.paper.report.markdown.pages import updated_sections
from graph2tens.paper.report.markdown.sections import SECTIONS, all_tables, parts
from graph2tens.paper.report.markdown.tables import escape
from graph2tens.report import words
from graph2tens.training import config

Cell = partial(config.Cell, protocol="authors")

README = "# Title\r\n\r\nProse with trailing spaces  \n<!-- results:begin -->\nold\n<!-- results:end -->\nMore: é.\n"


def update_sections(path: Path, study: Study) -> list[str]:
    text, found = updated_sections(path, study)
    path.write_bytes(text.encode())
    return found


@pytest.fixture
def readme(tmp_path):
    path = tmp_path / "README.md"
    path.write_bytes(README.encode())
    return path


def test_only_the_marked_section_changes(readme):
    assert update_sections(readme, collect(study_records())) == ["results"]
    text = readme.read_bytes().decode()
    head, tail = README.split("\nold\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert "old" not in text
    assert "526 runs, 1 to 20 seeds per cell, run from 2026-03-01 to 2026-03-07, on Sample Processor 1, 2 cores, cpu" in text
    assert "| Cora | G2TN | ≈ agrees |" in text


def test_updating_twice_changes_nothing(readme):
    study = collect(study_records())
    update_sections(readme, study)
    once = readme.read_bytes()
    update_sections(readme, study)
    assert readme.read_bytes() == once


def test_new_records_replace_old_results(readme):
    update_sections(readme, collect(study_records()))
    update_sections(readme, collect([]))
    assert "No runs recorded yet." in readme.read_text()
    assert "Sample Processor" not in readme.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "<!-- results:begin -->",
        "<!-- results:end -->",
        "<!-- results:end --><!-- results:begin -->",
        "<!-- results:begin --><!-- results:end --><!-- results:begin --><!-- results:end -->",
    ],
)
def test_broken_markers_are_refused_and_nothing_is_written(readme, text):
    readme.write_text(text)
    with pytest.raises(ValueError, match="repair the markers"):
        update_sections(readme, collect([]))
    assert readme.read_text() == text


def test_a_file_without_markers_is_refused(readme):
    readme.write_text("nothing")
    with pytest.raises(ValueError, match="has no marked section"):
        update_sections(readme, collect([]))


def test_every_section_of_a_page_is_written(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("\n".join(f"<!-- {name}:begin -->\n<!-- {name}:end -->" for name in SECTIONS))
    assert update_sections(path, collect(study_records())) == list(SECTIONS)
    text = path.read_text()
    assert "- not run yet: G2TAN on NCI109, the code's settings" in text
    assert "- one seed only: G2TN on NCI109, the code's settings" in text
    assert "(NoZeroStart, NoAlgOpt, NoSkip, NoNorm), the code's settings (shown to run: NoSkip)" in text
    assert "- worth of a point: self-loops, G2TN on Cora, CiteSeer and PubMed" in text
    assert "of 32 comparisons, chance alone" in text.lower()


def test_the_pages_of_the_docs_have_every_section():
    root = Path(__file__).parents[2]
    text = "".join((root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/reproduction.md", "docs/features.md"))
    assert [name for name in SECTIONS if text.count(f"<!-- {name}:begin -->") != 1 or text.count(f"<!-- {name}:end -->") != 1] == []


def test_ablations_beyond_two_standard_errors_are_counted():
    assert "Farther than two standard errors from the full model: 3 of 28 of the paper's." in SECTIONS["ablation"](collect([]))


def test_cells_that_differ_stand_under_disagreement_farthest_first():
    records = [
        record(seed, mean + 0.005 * (-1) ** seed, dataset=name) for name, mean in (("NCI1", 0.75), ("NCI109", 0.60)) for seed in range(4)
    ]
    rows = [line for line in SECTIONS["disagreement"](collect(records)).splitlines() if line.startswith("| NCI")]
    assert [row.split(" | ")[0] for row in rows] == ["| NCI109", "| NCI1"]
    assert SECTIONS["agreement"](collect(records)) == "Nothing agrees so far.\n"


def test_numbers_of_a_row_are_right():
    records = [record(seed, value) for seed, value in enumerate([0.80, 0.82, 0.84])]
    (row,) = [line for line in all_tables(collect(records)).splitlines() if line.startswith("| NCI1 | G2TN | code")]
    # 82.0 - 80.7 = 1.3; sqrt(2^2 / 3 + (2.5^2 * 10 / 9) / 10) = 1.424; 1.3 / 1.424 = 0.9
    assert row == "| NCI1 | G2TN | code | ≈ agrees | 82.0 ± 2.0 | 3 | 80.7 ± 2.5 | +1.3 ± 2.8 | +0.9 |"


def test_tables_have_as_many_cells_in_every_row():
    block: list[int] = []
    for line in [*all_tables(collect(study_records())).splitlines(), ""]:
        if line.startswith("|"):
            block.append(line.count(" | "))
        elif block:
            assert len(set(block)) == 1
            block = []


@given(st.text())
def test_text_of_records_stays_text(text):
    escaped = escape(text)
    assert "\n" not in escaped
    assert "\r" not in escaped
    for position, character in enumerate(escaped):
        if character in "|<[`*_":
            assert escaped[position - 1] == "\\"


def test_a_hostile_name_does_not_break_the_table():
    text = all_tables(collect([record(0, 0.8, dataset="a|b\n<!-- results:end -->", table="train")]))
    assert r"a\|b \<!-- results:end --\>" in text


def test_features_without_training_are_compared_on_equal_splits(tmp_path):
    accuracies = {
        ("GraphTensFeatures+SVM", "base"): (80, 82, 84),
        ("GraphTensFeatures+SVM", "degree=1"): (79, 81, 83),
        ("WL+SVM", "base"): (81, 83),
    }
    common = {
        "table": "features",
        "dataset": "NCI1",
        "protocol": "authors",
        "khop": 0,
        "epochs": 0,
        "finished": "2026-03-01T00:00:00+00:00",
    }
    records = [
        {**common, "model": model, "variant": variant, "seed": seed, "test_accuracy": value / 100}
        for (model, variant), values in accuracies.items()
        for seed, value in enumerate(values)
    ]
    path = tmp_path / "page.md"
    path.write_text("<!-- features:begin -->\n<!-- features:end -->")
    update_sections(path, collect(records))
    rows = [line for line in path.read_text().splitlines() if line.startswith("| NCI1")]
    best = "82.6 ± 1.2 (GraphTrans (large))"
    assert [row.split(" | ")[2:] for row in rows] == [
        ["all defaults", "82.0 ± 2.0", "3", "", f"{best} |"],
        ["all defaults", "82.0 ± 1.4", "2", "+1.0 ± 0.0", f"{best} |"],
        ["degree=1", "81.0 ± 2.0", "3", f"{words.signed(-1.0)} ± 0.0", f"{best} |"],
    ]


def test_the_parts_of_a_split_are_laid_beside_the_authors_seed_by_seed():
    base = Cell("nci", "NCI1", "G2TN")
    ours = [record(seed, 0.80, validation_accuracy=0.84) for seed in (0, 1)] + [record(2, 0.5)]
    written = parts(collect(ours, authors_runs={base: {0: 84.5, 1: 83.5, 7: 10.0}}))
    assert "| NCI1 | G2TN | 0 | 84.5 | 80.0 | 84.0 |" in written
    assert "| 2 |" not in written
    assert "test accuracy: 4.0 points" in written  # the root of (4.5^2 + 3.5^2) / 2 = 4.03
    assert "validation accuracy: 0.5 points" in written
    assert parts(collect(ours)).startswith("Nothing to compare")


def test_lucky_seeds_are_correlated_with_both_parts():
    base = Cell("nci", "NCI1", "G2TN")
    ours = [record(0, 0.80, validation_accuracy=0.84), record(1, 0.80, validation_accuracy=0.84)]
    features = {"table": "features", "model": "GraphTensFeatures+SVM"}
    for seed, (test, validation) in enumerate([(0.80, 0.84), (0.82, 0.82), (0.84, 0.80)]):  # as one goes up, the other goes down
        ours.append(record(seed, test, validation_accuracy=validation, **features))
    written = parts(collect(ours, authors_runs={base: {0: 84.0, 1: 82.0, 2: 80.0}}))
    assert f"| NCI1 | 3 | {words.signed(-1.0, 2)} | +1.00 |" in written
    assert "nearer to the latter in 1 of 2 runs" in written


def test_what_needs_the_authors_runs_is_not_lost_without_them(readme):
    study = collect(study_records(), authors_runs={Cell("citation", "Cora", "G2TN"): {0: 82.0, 1: 83.0}})
    update_sections(readme, study)
    before = readme.read_bytes()
    with pytest.raises(ValueError, match="--authors-runs"):
        update_sections(readme, collect(study_records()))
    assert readme.read_bytes() == before
    update_sections(readme, study)
    readme.write_text("<!-- features:begin -->\n<!-- features:end -->")  # shows nothing of theirs
    update_sections(readme, study)
    assert update_sections(readme, collect(study_records())) == ["features"]


def test_the_head_says_how_it_came_out_what_is_thin_and_what_is_missing():
    text = sentences.headline(collect(study_records()))
    assert text.startswith(
        "With the settings of the authors' code the printed numbers are reproduced (24 of 26 agree); with the settings as"
    )
    assert "What is said of NCI1 rests on 5 seeds." in text
    few = sentences.headline(collect([record(seed, 0.8 + seed / 100) for seed in range(3)]))
    assert "Not run: the ablation, articles and articles far apart." in few


def test_seed_by_seed_beside_the_authors_is_a_sentence_of_its_own():
    records = [record(seed, 0.80 + 0.001 * seed, model=model) for seed in range(4) for model in ("G2TN", "G2TAN")]
    base = Cell("nci", "NCI1", "G2TN")
    runs = {base: {seed: 80.0 + 0.1 * seed + 0.01 * (-1) ** seed for seed in range(4)}}
    runs[base._replace(model="G2TAN")] = {seed: 79.0 + 0.1 * seed + 0.01 * (-1) ** seed for seed in range(4)}
    text = sentences.outcome(collect(records, authors_runs=runs), "authors")
    assert "1 of 2 agree; these do not: G2TAN on NCI1 (+1.00 ± 0.01 points)." in text


def test_nothing_of_a_record_acts_as_markup(tmp_path):
    """Names of a record that carry HTML, a table's bars, or the end marker of the very section they are written to."""
    bad = "<img src=x onerror=alert(1)> | **b** <!-- results:end --> \n# heading"
    fields = ("protocol", "model", "variant", "dataset", "table", "commit")
    records = [record(seed, **{name: bad}) for name in fields for seed in (0, 1)] + [
        record(seed, protocol=bad, table="nci") for seed in (0, 1)
    ]
    study = collect(records)
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name}:begin -->\n<!-- {name}:end -->\n" for name in SECTIONS))
    text, _ = updated_sections(page, study)
    for content in (text, all_tables(study)):
        content = content.replace("<details><summary>All cells that agree</summary>", "").replace("</details>", "")  # our own
        assert not re.search(r"(?<!\\)<(?!!-- [a-z-]+:(begin|end) -->|!-- written by)", content)
        assert "\n# heading" not in content
    assert [text.count(f"<!-- {name}:end -->") for name in SECTIONS] == [1] * len(SECTIONS)
