"""Shared surroundings beside walks: likeness against a peer, coordinates, shares, and the choice between the views."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from everyday_molecules import FILE, PROPERTY
from rdkit import Chem

from graph2tens.molecules import from_smiles
from graph2tens.molecules.data import measured, read_molecules
from graph2tens.molecules.environments import Likeness, counts, min_max, surroundings
from graph2tens.molecules.explain import shares
from graph2tens.molecules.model import MoleculeModel, molecule_features
from graph2tens.molecules.tables import read_table
from graph2tens.molecules.two_views import TwoViews, best_two
from graph2tens.sklearn.inputs import as_graphs

SMALL = {"n_layers": 3, "n_functionals": 16, "n_waves": 32}
SMILES = ["CCO", "CCCO", "C", "[Na+].CC(=O)[O-]", "c1ccccc1C(=O)N", "CCCCCCCC", "C1CCCCCCCCCCCCC1", "[Fe+2].[cH-]1cccc1.[cH-]1cccc1"]


@pytest.fixture(scope="module")
def data():
    table = read_table(FILE)
    return measured(table, read_molecules(table), [PROPERTY])


def test_likeness_is_the_min_max_ratio_of_counts():
    table = counts(as_graphs(from_smiles(SMILES)))
    dense = table.toarray()
    expected = np.array([[np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in dense] for a in dense])
    np.testing.assert_allclose(min_max(table, table), expected, atol=1e-12)
    assert dense.sum(axis=1).tolist() == [3 * graph.num_nodes for graph in from_smiles(SMILES)]


def test_surroundings_do_not_depend_on_the_order_of_atoms_and_differ_where_the_molecule_does():
    molecule = Chem.MolFromSmiles("CC(=O)Nc1ccc(O)cc1")
    order = np.random.default_rng(0).permutation(molecule.GetNumAtoms()).tolist()
    other = Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)
    one, same, longer = (
        np.sort(surroundings(as_graphs(from_smiles([s])))[0], axis=0) for s in (Chem.MolToSmiles(molecule), other, "CCCCC")
    )
    np.testing.assert_array_equal(one, same)
    # of pentane, by symmetry, two kinds of atoms at radius 0 (CH3, CH2) and three at radius 2
    assert [np.unique(longer[:, radius]).size for radius in range(3)] == [2, 3, 3]


def test_distances_of_coordinates_are_those_of_likeness():
    graphs = as_graphs(from_smiles([*SMILES, "CCO", "CCN", "OCC1CC1"]))  # a molecule twice, two that are no landmarks
    likeness = Likeness.fit(graphs[:-2])
    table = likeness.transform(graphs)
    expected = 2 - 2 * min_max(counts(graphs), counts(graphs[:-2]))
    found = np.square(table[:, None] - table[None, :-2]).sum(axis=2)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    for graph, row in zip(graphs, table, strict=True):
        np.testing.assert_allclose(likeness.shares(graph).sum(axis=0), row, atol=1e-9)


def test_a_model_of_two_views_adds_up_and_says_the_same_bits_again(data, tmp_path):
    # a property of whole pieces: whether the molecule has any that ten of them share
    rows = np.asarray(counts(as_graphs(data.graphs)).toarray()) > 0
    common = rows[:, np.abs(rows.mean(axis=0) - 0.5).argmin()]
    made = MoleculeModel.fit(replace(data, y=10.0 * common[:, None] + 0.01 * data.y), features=molecule_features(**SMALL))
    assert isinstance(made.estimator.features_, TwoViews)
    made.save(tmp_path / "model")
    again = MoleculeModel.load(tmp_path / "model")
    one, other = (model.predict(data.graphs, data.smiles) for model in (made, again))
    np.testing.assert_array_equal(one.values, other.values)
    found = shares(made, data.graphs[3])
    assert found.value == pytest.approx(float(one.values[3, 0]), abs=1e-3)
    assert found.atoms.sum() + found.bonds.sum() == pytest.approx(found.value - found.average, abs=1e-2)


def test_many_molecules_choose_by_some(data, monkeypatch):
    monkeypatch.setattr("graph2tens.molecules.two_views.ENOUGH", 40)
    made = MoleculeModel.fit(data, features=molecule_features(**SMALL))
    assert len(made.estimator.head_.gamma) == 2
    assert len(made.estimator.head_.table_) == len(data.graphs)


def test_the_width_and_the_better_one_next_to_it():
    assert best_two({0.1: 1.0, 0.3: 3.0, 1.0: 2.0, 3.0: 2.5}) == [0.3, 1.0]
    assert best_two({0.1: 4.0, 0.3: 3.0}) == [0.1, 0.3]
    assert best_two({0.1: 4.0}) == [0.1]
