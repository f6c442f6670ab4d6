"""Tables as strangers have them: what is guessed of their columns, what is told, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from everyday_molecules import SMILES

from graph2tens.molecules.data import measured, read_molecules
from graph2tens.molecules.estimate import auroc, auroc_of_folds, forest
from graph2tens.molecules.model import MoleculeModel
from graph2tens.molecules.tables import read_table

MOLECULES = list(SMILES.values())[:40]


def table(folder, values, smiles=MOLECULES, heading="smiles", mark=","):
    path = folder / "table.csv"
    path.write_text(f"{heading}{mark}y\n" + "".join(f"{one}{mark}{value}\n" for one, value in zip(smiles, values, strict=False)))
    return read_table(path)


def read(known):
    return measured(known, read_molecules(known), ["y"])


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([-1, 1], ["-1", "1"]),
        ([1, 2], ["1", "2"]),
        (["1", "1.0", "0.0"], ["0", "1"]),
        (["1.0", "-1.0", "1"], ["-1", "1"]),
        (["Active", "inactive"], ["Active", "inactive"]),
    ],
)
def test_two_values_that_name_classes_are_classes(tmp_path, values, classes):
    data = read(table(tmp_path, values * 20))
    assert data.task == "classification"
    assert data.classes == [classes]


def test_upper_and_lower_case_make_no_classes(tmp_path):
    data = read(table(tmp_path, ["Yes", "no", "yes", "yes"] * 10))
    assert data.classes == [["no", "yes"]]
    assert "y: 'Yes' and 'yes' are taken as one class." in data.report
    assert data.y[:4, 0].tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("values", [[1, 2, 3], [0.5, 1], [0, 2], [-1, 0, 1]])
def test_other_numbers_are_numbers(tmp_path, values):
    assert read(table(tmp_path, values * 20)).task == "regression"


def test_a_column_whose_name_speaks_of_smiles_is_found(tmp_path):
    assert len(read_molecules(table(tmp_path, range(40), heading="Drug_SMILES_string"))) == 40


def test_a_number_far_from_all_others_is_told_with_its_line(tmp_path):
    values = [0.1 * number for number in range(40)]
    assert not any("far" in sentence for sentence in read(table(tmp_path, values)).report)
    [said] = [sentence for sentence in read(table(tmp_path, [*values[:3], 1e12, *values[4:]])).report if "far" in sentence]
    assert "1e+12 on line 5" in said


def test_an_empty_column_is_told_in_one_line(tmp_path, recwarn):
    """NumPy warned of the median of nothing."""
    known = table(tmp_path, [""] * 40)
    with pytest.raises(ValueError, match=r"y must be known for at least 10 readable molecules to learn from \(got 0\)"):
        MoleculeModel.fit(read(known))
    assert not recwarn.list


@pytest.mark.parametrize(
    ("pattern", "repair"),
    [
        ("{} mg", "Write the unit into the heading: '0 mg' is no number"),
        ("x{}", "Is it a number"),
        ('"{},5"', "Write numbers with a point"),
    ],
)
def test_a_column_in_which_hardly_any_text_occurs_twice_holds_no_classes(tmp_path, pattern, repair):
    known = table(tmp_path, [pattern.format(number) for number in range(20)])
    with pytest.raises(ValueError, match=f"at most 30 classes, of two molecules or more .got 20 of 20.. {repair}"):
        read(known)


def test_a_number_that_never_changes_is_told(tmp_path):
    assert any("nothing to learn" in sentence for sentence in read(table(tmp_path, [3.25] * 40)).report)


def test_a_class_with_one_molecule_is_told_by_its_name_and_not_twice(tmp_path, recwarn):
    data = read(table(tmp_path, ["toxic"] + ["safe"] * 39))
    assert [sentence for sentence in data.report if "'toxic'" in sentence]
    MoleculeModel.fit(data)
    assert not [warning for warning in recwarn if "known of fewer" in str(warning.message)]


@pytest.mark.parametrize(
    ("smiles", "values", "said"),
    [
        (["CCO", "OCC"] * 20, range(40), "different molecules"),
        ([f"[{atom}]" for atom in ["C", "N", "O", "F", "P", "S", "B", "Cl", "Br", "I", "Si", "Se", "Na", "K"]], range(14), "bonds"),
        (MOLECULES, [f"{number},5" for number in range(40)], "Write numbers with a point"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_with_a_reason(tmp_path, smiles, values, said):
    with pytest.raises(ValueError, match=said):
        read(table(tmp_path, values, smiles, mark=";"))


def test_auroc_compares_within_folds():
    """Scores of a fold that are lower as a whole say nothing about its order."""
    y, fold = np.array([[1.0], [0], [0], [1], [0], [0]]), np.array([0, 0, 0, 1, 1, 1])
    scores = np.array([[0.2], [0.1], [0.0], [0.9], [0.8], [0.7]])
    assert auroc(y, scores) < 1
    assert auroc_of_folds(y, scores, fold) == 1
    assert np.isnan(auroc_of_folds(y[:, :1] * 0, scores, fold))


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_one_forest_serves_all_targets_with_the_same_known_rows(task):
    rows = np.arange(40)
    oxygens = np.array([float("O" in one) for one in MOLECULES])
    y = np.stack([oxygens, 1 - oxygens, oxygens, np.zeros(40)], axis=1)
    y[5:9, 2] = np.nan
    found = forest(MOLECULES, y, task)(rows, rows)
    assert found.shape == y.shape
    np.testing.assert_allclose(found[:, 3], 0)
    for label in range(3):
        assert auroc(np.nan_to_num(y[:, [label]]), found[:, [label]]) > 0.9


def test_two_classes_are_explained_without_naming_one(tmp_path):
    data = read(table(tmp_path, ["yes" if "O" in one else "no" for one in MOLECULES]))
    model = MoleculeModel(None, None, data.task, data.targets, data.classes)
    assert model.target(None) == model.target("y=yes") == 1
