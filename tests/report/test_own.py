"""The user's own runs: averaged, paired on equal test parts, beside the most frequent class, without the paper's words."""

from __future__ import annotations

import numpy as np
import pytest
from report_samples import own_records, record
from scipy import stats

from graph2tens.report.own import sentences
from graph2tens.report.own.data import collect_own, wilson
from graph2tens.report.own.page import render_own
from graph2tens.report.own.write import as_own_data, headings, markdown, write_own_report


@pytest.fixture(scope="module")
def study():
    return collect_own(own_records())


def test_methods_are_averaged_and_paired_on_equal_test_parts(study):
    (result,) = study.data
    assert (study.title, [method.name for method in result.methods]) == ("compounds", ["G2TN", "G2TAN", "WL+SVM"])
    best, other, folds = result.methods
    assert best.summary.mean == pytest.approx(81.0)
    gap = other.against(best)
    assert gap.pairs == 3  # the seeds that both have
    assert gap.points == pytest.approx(np.mean([70 - 80, 73 - 82, 68 - 79]))
    assert folds.against(best) is None  # no test part in common
    assert best.against_majority.points == pytest.approx(81.0 - 55.0)
    assert best.confusion == (("no", "yes"), [[40, 5], [10, 45]])


def test_intervals_are_those_of_scipy(study):
    best = study.data[0].best
    values = list(best.by_part.values())
    assert best.interval == pytest.approx(stats.t.interval(0.95, 4, np.mean(values), stats.sem(values)))
    expected = stats.binomtest(17, 20).proportion_ci(method="wilson")
    assert wilson(0.85, 20) == pytest.approx((100 * expected.low, 100 * expected.high), abs=0.01)


def test_options_that_differ_name_the_methods_and_repetitions_count_once():
    one, other = record(0, 0.8, table="train"), record(0, 0.9, table="train", options={"network": {"layers": 2}, "training": {}})
    names = {method.name for method in collect_own([one, one, other]).data[0].methods}
    assert names == {"G2TN, layers 4, degree 2, epochs 200, l2 0.0001", "G2TN, layers 2"}
    newer = record(0, 0.7, table="train", finished="2027-01-01")
    assert [len(method.runs) for method in collect_own([newer, one]).data[0].methods] == [1]
    assert collect_own([newer, one]).data[0].best.summary.mean == pytest.approx(70)


def test_the_page_speaks_of_the_data_and_not_of_the_paper(study):
    page = render_own(study)
    assert "<h1>compounds</h1>" in page
    for word in ("the paper", "text's settings", "code's settings", "authors", "Not run"):
        assert word not in page.partition("</style>")[2].partition("<script>")[0], word
    for word in ("majority class", "Confusion matrix", "95 % interval", "20"):
        assert word in page
    assert "Learning curves" not in render_own(collect_own([record(0, 0.8, table="train", curve={})]))  # nothing to show takes no room


def test_seeds_and_folds_side_by_side_have_their_own_test_sizes(study):
    (result,) = study.data
    assert sentences.test_sizes(result) == "20 test examples per seed, 20 per fold"
    assert headings(result)[-1] == "runs"
    alone = collect_own(own_records()[:5]).data[0]
    assert (sentences.test_sizes(alone), headings(alone)[-1]) == ("20 test examples per seed", "seeds")


def test_a_run_that_says_little_still_makes_a_page(tmp_path):
    bare = {"dataset": "digits", "model": "G2TN", "seed": 0, "test_accuracy": 0.9}
    assert "90.0 %" in write_own_report([bare], tmp_path / "deep" / "run.html").read_text()
    odd = {**bare, "judged": {"confusion": [[1]], "class_names": "x", "sizes": 3, "majority": "much"}}
    assert "90.0 %" in write_own_report([odd], tmp_path / "odd.html").read_text()
    with pytest.raises(ValueError, match="no finished run"):
        collect_own([])


def test_numbers_for_scripts_and_markdown(study):
    data = as_own_data(study)["data"][0]
    assert data["majority"] == pytest.approx(55)
    assert [method["method"] for method in data["methods"]] == ["G2TN", "G2TAN", "WL+SVM"]
    assert "| G2TN | 81.0 ± 1.4 |" in markdown(study)
    assert "| majority class | 55.0 ± 0.0 |" in markdown(study)
