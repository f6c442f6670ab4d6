"""Models of molecules: fitted, kept, read again, and what they say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from everyday_molecules import FILE, PROPERTY, SMILES

from graph2tens.molecules import from_smiles
from graph2tens.molecules.answers import ranked, tabulate, write
from graph2tens.molecules.data import measured, read_molecules
from graph2tens.molecules.explain import shares
from graph2tens.molecules.model import MoleculeModel, cross_validate, molecule_features
from graph2tens.molecules.novelty import Familiarity
from graph2tens.molecules.tables import read_table

SMALL = {"n_layers": 3, "n_functionals": 16, "n_waves": 32}


def fitted(table, *targets, **options):
    data = measured(table, read_molecules(table), targets, **options)
    return MoleculeModel.fit(data, features=molecule_features(**SMALL)), data


@pytest.fixture(scope="module")
def samples():
    return read_table(FILE)


@pytest.fixture(scope="module")
def model(samples):
    return fitted(samples, PROPERTY)


def test_a_property_is_learnt_far_better_than_by_the_baselines(model):
    rows, values, deviations = cross_validate(*model)
    ours, forest, mean = rows
    assert ours.score < 0.5 * min(forest.score, mean.score)
    assert ours.coverage > 0.7
    assert values.shape == deviations.shape == (len(SMILES), 1)
    assert (deviations > 0).all()


def test_a_model_that_was_kept_says_the_same_bits(model, tmp_path):
    made, data = model
    made.save(tmp_path / "model")
    again = MoleculeModel.load(tmp_path / "model")
    one, other = (m.predict(data.graphs, data.smiles) for m in (made, again))
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.deviations, other.deviations)
    assert (one.nearest, one.unlike.tolist()) == (other.nearest, other.unlike.tolist())
    assert again.targets == [PROPERTY]
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"model.json", "model.safetensors"}


def test_shares_add_up_to_the_prediction(model):
    made, data = model
    for place in (0, 20, 75, 91):
        found = shares(made, data.graphs[place])
        predicted = made.predict(data.graphs[place : place + 1], data.smiles[place : place + 1]).values[0, 0]
        assert found.value == pytest.approx(predicted, rel=1e-3, abs=1e-2)
        assert found.atoms.sum() + found.bonds.sum() == pytest.approx(found.value - found.average, rel=1e-6, abs=1e-6)
        assert found.atoms.size == data.graphs[place].num_nodes
        assert found.bonds.size == data.graphs[place].num_edges / 2


def test_equal_atoms_have_equal_shares(model):
    made, data = model
    benzene = shares(made, data.graphs[list(SMILES).index("benzene")])
    np.testing.assert_allclose(benzene.atoms, benzene.atoms[0], rtol=1e-3)
    np.testing.assert_allclose(benzene.bonds, benzene.bonds[0], rtol=1e-3)


def test_polar_atoms_get_the_shares_of_a_polar_area(model):
    made, data = model
    found = shares(made, data.graphs[list(SMILES).index("hexanol")])
    assert found.atoms.argmax() == 6, "the oxygen"


def test_what_is_unlike_is_flagged(model):
    made, data = model
    known = made.predict(data.graphs[:3], data.smiles[:3])
    assert not known.unlike.any()
    assert known.nearest == data.smiles[:3]
    odd = "F[Si](F)(F)P(F)S(F)(F)F"
    from graph2tens.molecules import parse

    found = parse([odd])
    assert made.predict(found.graphs, found.smiles).unlike.tolist() == [True]


def test_every_row_of_a_file_comes_back(model, tmp_path):
    made, _ = model
    path = tmp_path / "new.csv"
    path.write_text(f"id,smiles,{PROPERTY} predicted\n1,CCO,9\n2,nonsense,9\n3,,9\n4,CCN\n5,[Na+].[Cl-],9\n")
    table = read_table(path)
    molecules = read_molecules(table)
    answer = tabulate(made, table, molecules, made.predict(molecules.graphs, molecules.smiles))
    write(tmp_path / "out.csv", table, answer)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert (
        lines[0]
        == f"line,id,smiles,{PROPERTY} predicted,{PROPERTY} deviation,{PROPERTY} low,{PROPERTY} high,unlike,similarity,nearest,problem"
    )
    assert [line.split(",")[1] for line in lines[1:]] == list("12345")
    assert lines[2].endswith("not a SMILES")
    assert lines[3].endswith("empty")
    assert lines[4].endswith("2 cells where the header has 3")
    assert float(lines[1].split(",")[3]) == pytest.approx(20.2, abs=5), "ethanol"


def test_the_next_to_measure_weigh_value_and_doubt(model):
    made, data = model
    found = made.predict(data.graphs, data.smiles)
    assert len(ranked(found, 0, 10, "high")) == 10
    high, low = found.values[ranked(found, 0, 10, "high"), 0].mean(), found.values[ranked(found, 0, 10, "low"), 0].mean()
    assert high > found.values.mean() > low
    assert found.deviations[ranked(found, 0, 1, "uncertain")[0], 0] == found.deviations.max()


def test_what_was_measured_or_is_listed_already_is_not_to_be_measured_next(model):
    made, data = model
    asked = from_smiles([data.smiles[0], "CCCCCCCCOC", "COCCCCCCCC", "CCCCCCCCNC"])
    names = [data.smiles[0], "CCCCCCCCOC", "CCCCCCCCOC", "CCCCCCCCNC"]
    found = made.predict(asked, names)
    chosen = ranked(found, 0, 10, "high", names)
    assert {names[place] for place in chosen} == {"CCCCCCCCOC", "CCCCCCCCNC"}
    assert len(chosen) == 2
    assert ranked(found, 0, 1, "high", names) == chosen[:1]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "model.json").unlink(), "is not a model"),
        (lambda folder: (folder / "model.safetensors").unlink(), "copied as a whole"),
        (lambda folder: (folder / "model.json").write_text("{"), "must be JSON"),
        (lambda folder: (folder / "model.json").write_text("[]"), "does not describe a model of molecules"),
        (lambda folder: change(folder, "format", 99), "has format 99"),
        (lambda folder: change(folder, "salts", "largest"), "changed after it was written"),
        (lambda folder: flip(folder / "model.safetensors"), "checksum differs"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b""), "checksum differs"),
    ],
)
def test_a_model_that_was_tampered_with_is_refused(model, tmp_path, spoil, said):
    model[0].save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(ValueError, match=said):
        MoleculeModel.load(tmp_path)


def change(folder, name, value):
    text = json.loads((folder / "model.json").read_text())
    text[name] = value
    (folder / "model.json").write_text(json.dumps(text))


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_no_class_of_a_file_is_made_unless_it_is_known(model, tmp_path, monkeypatch):
    model[0].save(tmp_path)
    text = json.loads((tmp_path / "model.json").read_text())
    text["state"] = {"class": "Popen", "fields": {"args": "true"}}
    monkeypatch.setattr("graph2tens.molecules.storage._checksum", lambda text: text.get("checksum"))
    (tmp_path / "model.json").write_text(json.dumps(text))
    with pytest.raises(ValueError, match="of the class 'Popen', which this version"):
        MoleculeModel.load(tmp_path)


def test_a_forged_model_fails_with_a_reason(model, tmp_path, monkeypatch):
    model[0].save(tmp_path)
    text = json.loads((tmp_path / "model.json").read_text())
    estimator = dict(text["state"]["dict"])["estimator"]
    estimator["fields"]["head_"]["fields"].pop("parts_")
    monkeypatch.setattr("graph2tens.molecules.storage._checksum", lambda text: text.get("checksum"))
    (tmp_path / "model.json").write_text(json.dumps(text))
    with pytest.raises(ValueError, match="is damaged: it cannot predict"):
        MoleculeModel.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "targets", "options", "said"),
    [
        ("smiles,y\n" + "CC,1.5\n" * 5, ["y"], {}, "at least 10 readable molecules"),
        ("smiles,y\n" + "CC,1\n" * 12, ["y"], {}, "two classes at least"),
        ("smiles,y,z\n" + "CC,1.5,0\nCCC,2.5,1\n" * 12, ["y", "z"], {}, "all numbers or all classes|must be numbers or all classes"),
        ("smiles,y\n" + "".join(f"CC,{k}.5\n" for k in range(40)), ["y"], {"task": "classification"}, "at most 30 classes"),
        ("smiles,y,z\n" + "C,a,0\nC,b,1\nC,c,0\n" * 5, ["y", "z"], {}, "each must have two classes"),
        ("smiles,y\nC,1\n", ["y", "y"], {}, "each once"),
        ("smiles,y\nC,1\n", ["y"], {"task": "ranking"}, "`task` must be one of"),
    ],
)
def test_targets_that_cannot_be_learnt_are_refused(tmp_path, text, targets, options, said):
    path = tmp_path / "a.csv"
    path.write_text(text)
    table = read_table(path)
    with pytest.raises(ValueError, match=said):
        measured(table, read_molecules(table), targets, **options)


def test_the_report_names_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\n" + "".join(f"{'C' * k},{k}.5\n" for k in range(1, 15)) + "OCC,1.5\nCCO,2.5\nbad,1\nCC,>5\nC.C,1\nCCCCO,\n")
    table = read_table(path)
    report = measured(table, read_molecules(table), ["y"]).report
    assert report[0] == "line 18: no molecule 'bad': not a SMILES."
    assert "1 molecules consist of several fragments" in report[1]
    assert report[2] == "line 19: y is not a number: '>5'; taken as unknown."
    assert "2 molecules have no known target" in report[3]
    assert "lines 16 and 17" in report[4]
    assert "by 1 on lines 16 and 17" in report[4]


def test_a_large_ring_is_not_taken_for_a_small_one():
    familiarity = Familiarity.fit(["O=C1CCCCC1", "CCO", "c1ccccc1"])
    similarity, nearest = familiarity.nearest(["O=C1CCCCCCCCCCCCCCC1", "O=C1CCCCC1"])
    assert nearest == ["O=C1CCCCC1"] * 2
    assert similarity[0] < 0.9
    assert similarity[1] == 1
