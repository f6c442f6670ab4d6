"""Splits: disjoint, covering, stratified, reproducible. Those of the paper are tested in tests/paper/."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_data import assert_disjoint, node_dataset
from sklearn.model_selection import train_test_split

from graph2tens.datasets import DataError, graph_split, load, node_split, split


class TestGraphs:
    @given(st.lists(st.integers(0, 2), min_size=40, max_size=120), st.integers(0, 5))
    def test_parts_are_disjoint_cover_everything_and_keep_the_shares(self, labels, seed):
        labels = np.array([*labels, *[0, 1, 2] * 3])
        parts = graph_split(labels, seed)
        assert_disjoint(parts, range(labels.size))
        size = -(-labels.size // 10)
        assert parts.sizes() == (labels.size - 2 * size, size, size)
        for part in (parts.train, parts.validation, parts.test):
            expected = np.bincount(labels) * len(part) / labels.size
            assert np.abs(np.bincount(labels[part], minlength=3) - expected).max() <= 2

    def test_it_is_scikit_learn_s_draw_first_validation_then_test(self):
        labels = np.array([0, 1, 1] * 50)
        rest, validation = train_test_split(np.arange(150), test_size=0.1, stratify=labels, random_state=7)
        train, test = train_test_split(rest, test_size=1 / 9, stratify=labels[rest], random_state=7)
        parts = graph_split(labels, 7)
        assert parts.train.tolist() == train.tolist()
        assert parts.validation.tolist() == validation.tolist()
        assert parts.test.tolist() == test.tolist()

    def test_seeds_are_reproducible_and_differ(self):
        dataset = load("digits")
        one, other, third = split(dataset, 0), split(dataset, 0), split(dataset, 1)
        assert one.test.tolist() == other.test.tolist() != third.test.tolist()
        assert repr(one) == "Split(train=1437, validation=180, test=180)"

    def test_small_sets_get_one_of_each_class_if_they_can(self):
        labels = np.repeat([0, 1, 2], 4)
        parts = graph_split(labels, 0)
        assert parts.sizes() == (6, 3, 3)
        assert sorted(labels[parts.test]) == [0, 1, 2]

    @pytest.mark.parametrize(
        ("labels", "complaint"),
        [
            pytest.param([0] * 20, "toy: at least two classes are needed to learn one from another .all are of class 'no'", id="one_class"),
            pytest.param([0] * 20 + [1], "toy: class 'yes' has 1 graph; the three parts need at least 3", id="one_graph"),
            pytest.param([0] * 20 + [1] * 2, "toy: class 'yes' has 2 graphs; the three parts need at least 3", id="small_class"),
            pytest.param([], "toy: at least two classes .*nothing is labelled", id="empty"),
        ],
    )
    def test_what_cannot_be_split_is_refused_by_name(self, labels, complaint):
        with pytest.raises(DataError, match=complaint):
            graph_split(np.array(labels, dtype=np.int64), 0, class_names=("no", "yes"), name="toy")


class TestNodes:
    @pytest.mark.parametrize("seed", range(3))
    def test_equally_many_of_each_class_and_the_rest_to_test(self, seed):
        labels = node_dataset().labels
        parts = split(node_dataset(), seed)
        assert_disjoint(parts, range(600))
        assert np.bincount(labels[parts.train]).tolist() == [20] * 3
        assert np.bincount(labels[parts.validation]).tolist() == [30] * 3
        assert parts.train.tolist() == node_split(labels, seed).train.tolist() != node_split(labels, seed + 1).train.tolist()

    def test_sizes_and_candidates_are_the_users(self):
        labels, odd = node_dataset().labels, np.arange(1, 600, 2)
        parts = node_split(labels, 0, train_per_class=5, validation_per_class=7, candidates=odd)
        assert_disjoint(parts, odd)
        assert np.bincount(labels[parts.train]).tolist() == [5] * 3

    def test_a_class_that_is_too_small_is_named(self):
        with pytest.raises(DataError, match=r"random: class 'c' has \d+ nodes in the graph; 20 for training"):
            split(node_dataset(shares=(0.6, 0.35, 0.05)))
