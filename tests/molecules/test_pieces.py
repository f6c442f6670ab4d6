"""Pieces beside walks: their table against counting, their weights against dense algebra, shares, and batches."""

from __future__ import annotations

import numpy as np
import pytest
from everyday_molecules import SMILES

from graph2tens.molecules import from_smiles
from graph2tens.molecules.classes import MoleculeClassifier
from graph2tens.molecules.environments import PLAIN, surroundings
from graph2tens.molecules.model import molecule_features
from graph2tens.molecules.pieces import BUCKETS, MOST, RIDGE, Pieces, left_out, pieces
from graph2tens.sklearn.inputs import as_graphs

SMALL = {"n_layers": 2, "n_functionals": 8, "n_waves": 16}


@pytest.fixture(scope="module")
def graphs():
    return as_graphs(from_smiles([*list(SMILES.values())[:60], "C", "CCCCCCCCCCCC"]))


@pytest.fixture(scope="module")
def labels(graphs):
    y = np.array([[graph.num_nodes > 9, graph.num_nodes % 2] for graph in graphs], dtype=float)
    y[::7, 1] = np.nan
    return y


def test_a_row_says_which_pieces_a_molecule_has_at_least_k_times_and_has_length_1(graphs):
    table = pieces(graphs).toarray()
    for graph, row in zip(graphs, table, strict=True):
        found = (surroundings([graph], PLAIN)[0] % np.uint64(BUCKETS)).astype(int).reshape(-1)
        counts = np.bincount(found, minlength=BUCKETS)
        expected = np.concatenate([counts >= k for k in range(1, MOST + 1)]).astype(float)
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected))
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), 1)


def test_weights_are_those_of_dense_weighted_least_squares(graphs, labels):
    table, weights = pieces(graphs), np.where(labels > 0, 2.0, 1.0)
    found = Pieces.fit(table, 2 * labels - 1, weights)
    for label in range(2):
        known = ~np.isnan(labels[:, label])
        X, y, w = table.toarray()[known], 2 * labels[known, label] - 1, weights[known, label] / weights[known, label].mean()
        Z, mean = X - w @ X / w.sum(), w @ y / w.sum()
        dual = np.linalg.solve(Z @ Z.T + RIDGE * np.diag(1 / w), y - mean)  # the same minimum, with as many unknowns as rows
        np.testing.assert_allclose(found.predict(table)[known, label], Z @ (Z.T @ dual) + mean, atol=2e-3)
    np.testing.assert_allclose(found.middle, found.predict(table).mean(axis=0))


def test_shares_of_pieces_add_up(graphs, labels):
    found = Pieces.fit(pieces(graphs), 2 * labels - 1, np.ones_like(labels))
    for graph in graphs:
        np.testing.assert_allclose(found.shares(graph).sum(axis=0) + found.offset, found.predict(pieces([graph]))[0], atol=1e-12)
    assert np.ptp(found.shares(as_graphs(from_smiles(["c1ccccc1"]))[0]), axis=0).max() < 1e-12  # atoms that are alike share alike


def test_what_is_left_out_is_predicted_by_the_others(graphs, labels):
    table, signs, weights = pieces(graphs), 2 * labels - 1, np.ones_like(labels)
    fold = np.arange(len(graphs)) % 3
    found = left_out(table, signs, weights, fold)
    one = np.flatnonzero(fold == 1)
    rest = np.flatnonzero(fold != 1)
    np.testing.assert_array_equal(found[one], Pieces.fit(table[rest], signs[rest], weights[rest]).predict(table[one]))


@pytest.mark.parametrize("landmarks", [None, 20])
def test_batches_do_not_matter_and_features_may_be_known(graphs, labels, landmarks):
    made = MoleculeClassifier(molecule_features(**SMALL), landmarks=landmarks, rare=landmarks is not None, random_state=0)
    whole = made.fit(graphs, labels).predict_proba(graphs)
    np.testing.assert_allclose(np.concatenate([made.predict_proba([graph]) for graph in graphs]), whole, rtol=1e-9)
    inside, linear = pieces(graphs), made.pieces_  # bit for bit; the matrix product of the Gaussian process rounds by the number of rows
    np.testing.assert_array_equal(
        np.concatenate([linear.predict(pieces([graph])) for graph in graphs]),
        linear.predict(inside),
    )
    table = made.features_.transform(graphs)
    np.testing.assert_array_equal(made.again(graphs, labels, table).predict_proba(graphs, table), whole)
