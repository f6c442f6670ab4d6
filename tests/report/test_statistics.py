"""The report's statistics against SciPy and NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graph2tens.paper.published import Published
from graph2tens.report.statistics import Difference, Summary, beyond_by_chance, difference, paired_difference, summarise

accuracies = st.lists(st.floats(0, 100), min_size=2, max_size=30).filter(lambda xs: np.std(xs) > 1e-3)


@given(accuracies)
def test_summary_is_mean_and_sample_deviation(values):
    summary = summarise(values)
    assert summary.n == len(values)
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.std == pytest.approx(np.std(values, ddof=1))
    assert summary.standard_error == pytest.approx(stats.sem(values))


@given(accuracies, accuracies)
def test_difference_in_standard_errors_is_welchs_statistic(ours, theirs):
    gap = difference(summarise(ours), summarise(theirs))
    assert gap.in_standard_errors == pytest.approx(stats.ttest_ind(ours, theirs, equal_var=False).statistic, abs=1e-9)


@given(accuracies)
def test_paired_difference_is_the_paired_t_statistic(theirs):
    ours = [value + 0.5 + 0.3 * math.sin(index) for index, value in enumerate(theirs)]
    gap = paired_difference(dict(enumerate(ours)), dict(enumerate(theirs)))
    assert gap.pairs == len(ours)
    assert gap.in_standard_errors == pytest.approx(stats.ttest_rel(ours, theirs).statistic, rel=1e-6)


def test_pairing_takes_common_seeds_only_and_needs_two():
    assert paired_difference({0: 80.0, 1: 81.0, 7: 0.0}, {0: 79.0, 1: 79.0, 9: 99.0}) == Difference(1.5, 0.5, 2)
    assert paired_difference({0: 80.0, 1: 81.0}, {1: 80.0, 2: 80.0}) is None


def test_pairing_removes_what_the_split_decides():
    luck = [-8.0, -3.0, 0.0, 4.0, 7.0]
    ours, theirs = ({seed: mean + x for seed, x in enumerate(luck)} for mean in (81.0, 80.0))
    theirs[0] += 0.2  # so that the pairs have some spread
    assert difference(summarise(ours.values()), summarise(theirs.values())).agrees
    assert not paired_difference(ours, theirs).agrees


def test_unknown_deviations_give_no_difference():
    assert summarise([]) is None
    assert summarise([80.0]) == Summary(80.0, None, 1)
    assert difference(summarise([80.0]), Summary(80.0, 1.0, 10)) is None
    assert difference(None, Summary(80.0, 1.0, 10)) is None


@pytest.mark.parametrize(("points", "expected"), [(1.0, math.inf), (-1.0, -math.inf), (0.0, 0.0)])
def test_without_spread_any_difference_is_infinitely_many_standard_errors(points, expected):
    assert Difference(points, 0.0).in_standard_errors == expected


def test_two_standard_errors_still_agree():
    assert Difference(2.0, 1.0).agrees
    assert Difference(-2.0, 1.0).agrees
    assert not Difference(2.0001, 1.0).agrees


def test_printed_population_deviations_become_sample_ones():
    values = [79.1, 80.4, 82.2, 78.8, 81.0]
    printed = Published(1, "nci", "NCI1", "G2TN", float(np.mean(values)), float(np.std(values)), seeds=5)
    assert printed.sample_std == pytest.approx(np.std(values, ddof=1))


def test_expected_number_beyond_by_chance():
    assert beyond_by_chance(100) == pytest.approx(100 * 2 * stats.norm.sf(2))
