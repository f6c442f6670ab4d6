"""Models of classes: two, several, several labels with holes."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from everyday_molecules import SMILES
from scipy.special import logit
from typer.testing import CliRunner

from graph2tens.cli import app
from graph2tens.molecules import model as models
from graph2tens.molecules.answers import columns, tabulate
from graph2tens.molecules.classes import for_rare
from graph2tens.molecules.data import measured, read_molecules
from graph2tens.molecules.estimate import auroc, forest
from graph2tens.molecules.explain import shares
from graph2tens.molecules.model import MoleculeModel, cross_validate, encoded, molecule_features
from graph2tens.molecules.tables import read_table

SMALL = {"n_layers": 3, "n_functionals": 16, "n_waves": 32}
CLASSIFIED = "smiles,acid,kind,aromatic\n" + "".join(
    f"{smiles},{int('C(=O)O' in smiles)},{'ring' if '1' in smiles else 'chain' if len(smiles) > 4 else 'small'},"
    f"{'' if place % 5 == 0 else int('c1' in smiles)}\n"
    for place, smiles in enumerate(SMILES.values())
)


@pytest.fixture(scope="module")
def classified(tmp_path_factory):
    path = tmp_path_factory.mktemp("molecules") / "classes.csv"
    path.write_text(CLASSIFIED)
    return read_table(path)


def test_classes_and_several_labels_with_holes(classified, tmp_path):
    several, data = fitted(classified, "acid", "aromatic")
    assert (several.task, data.task) == ("classification", "classification")
    rows, _, deviations = cross_validate(several, data)
    assert rows[0].score > 0.9
    assert deviations is None
    kinds, kind_data = fitted(classified, "kind")
    assert kinds.classes == [["chain", "ring", "small"]]
    assert cross_validate(kinds, kind_data)[0][0].score > 0.9
    for made, given in ((several, data), (kinds, kind_data)):
        made.save(tmp_path / made.targets[0])
        again = MoleculeModel.load(tmp_path / made.targets[0])
        one, other = (m.predict(given.graphs, given.smiles).values for m in (made, again))
        np.testing.assert_array_equal(one, other)
        assert ((one >= 0) & (one <= 1)).all()
    table, molecules = classified, read_molecules(classified)
    answer = tabulate(kinds, table, molecules, kinds.predict(molecules.graphs, molecules.smiles))
    assert answer.names[:4] == ["kind predicted", "probability of chain", "probability of ring", "probability of small"]
    assert sum(map(float, answer.cells[0][1:4])) == pytest.approx(1, abs=1e-5)
    assert columns(several)[:4] == ["acid predicted", "acid probability of 1", "aromatic predicted", "aromatic probability of 1"]
    found = shares(several, data.graphs[0], several.target("aromatic"))
    assert found.atoms.sum() + found.bonds.sum() == pytest.approx(found.value - found.average, abs=1e-6)
    odds = logit(several.predict(data.graphs[:1], data.smiles[:1]).values[0, several.target("aromatic")])
    assert found.value == pytest.approx(float(odds), abs=1e-3)  # features are of single precision


def test_labels_of_many_molecules_share_their_noise_and_rare_ones_weigh_more(classified, monkeypatch):
    for name, value in (("EXACT", 20), ("LANDMARKS", 30)):
        monkeypatch.setattr(models, name, value)
    text = CLASSIFIED.splitlines()
    wide = classified.path.with_name("wide.csv")
    wide.write_text("\n".join([f"{text[0]},long", *(f"{line},{int(len(line) > 25)}" for line in text[1:])]))
    made, data = fitted(read_table(wide), "acid", "aromatic", "long")
    gp = made.estimator.head_.gp_
    assert len(gp.landmarks_) == 30
    assert np.unique(gp.noise_).size == 1
    found = made.predict(data.graphs, data.smiles).values
    assert auroc(data.y, found) > 0.9
    explained = shares(made, data.graphs[5], 2)  # of walks and pieces
    assert explained.atoms.sum() + explained.bonds.sum() == pytest.approx(explained.value - explained.average, abs=1e-3)
    assert explained.value == pytest.approx(float(logit(found[5, 2])), abs=1e-3)
    for truth, weights, column in zip(data.y.T, for_rare(data.y), found.T, strict=True):
        share = np.nanmean(truth)
        assert weights[1] / weights[0] == pytest.approx(np.sqrt((1 - share) / share))
        assert column[~np.isnan(truth)].mean() == pytest.approx(share, abs=0.1)  # weights move no probability


def test_two_classes_of_many_molecules_share_their_sums(classified, monkeypatch):
    for name, value in (("EXACT", 20), ("LANDMARKS", 30)):
        monkeypatch.setattr(models, name, value)
    made, data = fitted(classified, "acid")
    assert len(made.estimator.head_.gp_.sums_.gram) == 1
    np.testing.assert_allclose(made.predict(data.graphs, data.smiles).values.sum(axis=1), 1, atol=1e-3)


def test_the_forest_learns_from_some_of_many_molecules(classified):
    _, data = fitted(classified, "acid")
    y, rows = encoded(data), np.arange(len(data.graphs))
    chosen = np.random.default_rng(0).permutation(rows)[:40]
    few = forest(data.smiles, y, "classification", most=40)
    np.testing.assert_array_equal(few(rows, rows), few(chosen, rows))
    assert (few(rows, rows) != forest(data.smiles, y, "classification")(rows, rows)).any()


def fitted(table, *targets):
    data = measured(table, read_molecules(table), targets)
    return MoleculeModel.fit(data, features=molecule_features(**SMALL)), data


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_scaffold_split_and_classes(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "molecule_features", lambda: molecule_features(**SMALL))
    folder, lines = tmp_path, [f"x,{smiles}" for smiles in SMILES.values()]
    (folder / "classes.csv").write_text("smiles,acid\n" + "".join(f"{line.split(',')[1]},{int('C(=O)O' in line)}\n" for line in lines))
    result = call("fit", folder / "classes.csv", "--target", "acid", "--split", "scaffold", "--out", folder / "acids")
    assert result.exit_code == 0, result.output
    assert "AUROC" in result.output
    assert "scaffold split" in result.output
    call("predict", folder / "acids", folder / "classes.csv", "--out", folder / "acids.csv")
    found = rows(folder / "acids.csv")
    assert sum(row["acid predicted"] == row["acid"] for row in found) >= 85
