"""SMILES to graphs: what is said of atoms and bonds, whatever the order in which a molecule is written."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Crippen
from torch_geometric.utils import from_smiles as peer

from graph2tens.molecules import ATOM_COLUMNS, BOND_COLUMNS, from_smiles, parse
from graph2tens.molecules.attributes import ELEMENTS, HYBRIDISATIONS

ODD = {
    "single atom": "[He]",
    "methane": "C",
    "macrocycle": "C1CCCCCCCCCCCCCCC(=O)1",
    "ferrocene": "[Fe+2].[cH-]1cccc1.[cH-]1cccc1",
    "complex": "O=C1O[Al]23(OC1=O)(OC(=O)C(=O)O2)OC(=O)C(=O)O3",
    "salt": "CC(=O)[O-].[Na+]",
    "stereo": r"C[C@H](O)/C=C\C(=O)N[C@@H](C)C(=O)O",
    "isotope": "[2H]OC([13CH3])=O",
    "radical": "[CH3]",
    "hypervalent": "O=S(=O)(O)c1ccc(cc1)P(=O)(O)O",
    "boron": "OB(O)c1ccccc1",
}


def described(graph) -> tuple[Counter, Counter]:
    """Rows of atoms, and of bonds with both ends, as multisets: what does not depend on the order of atoms."""
    rows = [tuple(row) for row in graph.x.mul(1000).round().int().tolist()]  # charges are sums in another order
    bonds = [(rows[i], tuple(e), rows[j]) for (i, j), e in zip(graph.edge_index.T.tolist(), graph.edge_attr.int().tolist(), strict=True)]
    return Counter(rows), Counter(bonds)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(ODD)), st.integers(0, 2**31 - 1))
def test_the_order_of_atoms_makes_no_difference(name, seed):
    [graph] = from_smiles([ODD[name]])
    molecule = Chem.MolFromSmiles(ODD[name])
    if molecule is None:  # the complex, which RDKit alone refuses
        return
    order = np.random.default_rng(seed).permutation(molecule.GetNumAtoms()).tolist()
    [other] = from_smiles([Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False)])
    assert described(graph) == described(other)


@pytest.mark.parametrize("name", sorted(ODD))
def test_every_atom_has_one_element_one_charge_and_so_on(name):
    [graph] = from_smiles([ODD[name]])
    assert graph.x.shape[1] == len(ATOM_COLUMNS)
    assert graph.edge_attr.shape[1] == len(BOND_COLUMNS)
    for group in ("element", "neighbours", "charge", "hydrogens", "hybridisation"):
        columns = [place for place, column in enumerate(ATOM_COLUMNS) if column.startswith(f"{group}=")]
        assert (graph.x[:, columns].sum(dim=1) == 1).all()
    orders = [place for place, column in enumerate(BOND_COLUMNS) if column.startswith("order=")]
    assert (graph.edge_attr[:, orders].sum(dim=1) == 1).all()
    assert torch.equal(graph.edge_index[:, ::2], graph.edge_index[:, 1::2].flip(0))


@pytest.mark.parametrize("name", [name for name in sorted(ODD) if name != "complex"])
def test_pyg_reads_the_same_atoms_and_bonds(name):
    [graph] = from_smiles([ODD[name]])
    other = peer(ODD[name])
    assert {tuple(edge) for edge in graph.edge_index.T.tolist()} == {tuple(edge) for edge in other.edge_index.T.tolist()}
    symbols = [Chem.GetPeriodicTable().GetElementSymbol(int(number)) for number in other.x[:, 0]]
    for row, symbol in zip(graph.x, symbols, strict=True):
        if symbol in ELEMENTS:
            assert row[ATOM_COLUMNS.index(f"element={symbol}")] == 1
    hydrogens = graph.x[:, [place for place, column in enumerate(ATOM_COLUMNS) if column.startswith("hydrogens=")]].argmax(dim=1)
    assert torch.equal(hydrogens, other.x[:, 4].clamp(max=4))


def value(graph, atom, column):
    return float(graph.x[atom, ATOM_COLUMNS.index(column)])


def test_columns_say_what_a_chemist_expects():
    [graph] = from_smiles([r"C[C@H](O)/C=C\C"])
    chirality = Chem.MolFromSmiles(r"C[C@H](O)/C=C\C").GetAtomWithIdx(1).GetProp("_CIPCode")
    assert value(graph, 1, f"chirality={chirality}") == 1
    assert float(graph.edge_attr[:, BOND_COLUMNS.index("stereo=Z")].sum()) == 2, "one bond, both directions"
    [ring] = from_smiles(["C1CC12CCCC2"])
    assert value(ring, 2, "ring=3") == value(ring, 2, "ring=5") == 1, "the atom that two rings share"
    [metal] = from_smiles(["[Fe+2]"])
    assert value(metal, 0, "element=metal") == value(metal, 0, "charge=other") == 1
    assert "other" in HYBRIDISATIONS


def test_shares_of_logp_add_up_and_charges_are_those_of_rdkit():
    smiles = "CC(=O)Nc1ccc(O)cc1"
    [graph] = from_smiles([smiles])
    molecule = Chem.MolFromSmiles(smiles)
    total = float(graph.x[:, ATOM_COLUMNS.index("share of logP")].sum())
    assert total == pytest.approx(Crippen.MolLogP(molecule, includeHs=False), abs=1e-4)
    charges = graph.x[:, [ATOM_COLUMNS.index("partial charge"), ATOM_COLUMNS.index("partial charge of hydrogens")]]
    assert float(charges.sum()) == pytest.approx(0, abs=1e-3)
    assert graph.x[:, ATOM_COLUMNS.index("donor")].nonzero().reshape(-1).tolist() == [3, 8]
    [metal] = from_smiles(["[Fe+2]"])
    assert bool(torch.isfinite(metal.x).all())


def test_what_cannot_be_read_is_told_with_its_place_and_the_rest_goes_on():
    given_smiles = ["CCO", "OCC", "not a molecule", "C(C)(C)(C)(C)C", "", None, float("nan"), 7, "[Na+].CC(=O)[O-]"]
    found = parse(given_smiles)
    assert found.rows == [0, 1, 8]
    assert [place for place, _, _ in found.problems] == [2, 3, 4, 5, 6, 7]
    assert "valence" in found.problems[1][2]
    assert [why for _, _, why in found.problems[2:5]] == ["empty"] * 3
    assert found.salts == [8]
    assert found.duplicates == [[0, 1]], "places among those that were read"
    with pytest.raises(ValueError, match=r"2: 'not a molecule', not a SMILES.* and 1 more"):
        from_smiles(given_smiles)
    assert len(from_smiles(given_smiles, errors="skip")) == 3


def test_the_largest_fragment_is_the_one_with_carbon():
    [kept] = parse(["F[P-](F)(F)(F)(F)F.CC[NH3+]"], salts="largest").smiles
    assert kept == "CC[NH3+]"
    [both] = parse(["F[P-](F)(F)(F)(F)F.CC[NH3+]"]).graphs
    assert both.num_nodes == 10


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: from_smiles("CCO"), TypeError, "Did you mean \\['CCO'\\]"),
        (lambda: from_smiles(["C"], salts="remove"), ValueError, "`salts` must be one of"),
        (lambda: from_smiles(["C"], errors="ignore"), ValueError, "`errors` must be"),
        (lambda: from_smiles(["C"], n_jobs=0), ValueError, "`n_jobs` must be at least 1"),
    ],
)
def test_wrong_arguments_are_named(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_processes_give_what_one_process_gives(monkeypatch):
    monkeypatch.setattr("graph2tens.molecules.parsing.FEW", 2)
    monkeypatch.setattr("graph2tens.molecules.parsing.CHUNK", 3)
    smiles, done = [*ODD.values(), "no"], []
    one, two = parse(smiles), parse(smiles, n_jobs=2, progress=done.append)
    assert one.smiles == two.smiles
    assert one.problems == two.problems
    assert all(torch.equal(a.x, b.x) for a, b in zip(one.graphs, two.graphs, strict=True))
    assert sum(done) == len(smiles)
