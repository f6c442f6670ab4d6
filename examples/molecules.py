"""From a file of measured molecules to a decision: which to measure next?

    python examples/molecules.py --out molecules

The molecules are a few dozen everyday ones, and the property is one that RDKit computes, so that the answers can be checked: the polar
surface area. Two thirds of them are "measured"; the others are candidates. The script fits a model, prints the error of its predictions,
picks ten candidates by predicted value and uncertainty, and draws why the first was picked. With `--csv`, `--target` and `--candidates`
it does the same with files of your own.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

from graph2tens.molecules.answers import ranked
from graph2tens.molecules.data import measured, read_molecules
from graph2tens.molecules.drawing import explained_picture
from graph2tens.molecules.model import MoleculeModel, cross_validate, molecule_features
from graph2tens.molecules.tables import read_table

EVERYDAY = Path(__file__).with_name("everyday_molecules.csv")


def two_files(folder: Path) -> tuple[Path, Path]:
    """The everyday molecules as a file of measured ones and a file of candidates."""
    with EVERYDAY.open(newline="") as stream:
        header, *rows = csv.reader(stream)
    for name, chosen in (("measured.csv", [row for k, row in enumerate(rows) if k % 3]), ("candidates.csv", rows[::3])):
        with (folder / name).open("w", newline="") as stream:
            csv.writer(stream).writerows([header, *chosen])
    return folder / "measured.csv", folder / "candidates.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, help="measured molecules, by default the everyday ones")
    parser.add_argument("--target", default="polar_area")
    parser.add_argument("--candidates", type=Path)
    parser.add_argument("--out", type=Path, default=Path("molecules"))
    parser.add_argument("--layers", type=int, default=6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        known, candidates = (given.csv, given.candidates) if given.csv else two_files(Path(name))
        table, others = read_table(known), read_table(candidates)

    data = measured(table, read_molecules(table), [given.target])
    for sentence in data.report:  # what could not be read, by line; the rest goes on
        print(sentence)
    model = MoleculeModel.fit(data, features=molecule_features(n_layers=given.layers))
    for row in cross_validate(model, data)[0]:
        print(f"{row.method}: root mean squared error {row.score:.2f}")

    molecules = read_molecules(others)
    found = model.predict(molecules.graphs, molecules.smiles)
    assert found.deviations is not None
    print("To measure next, because the value may be high:")
    best = ranked(found, 0, 10, "high")
    for place in best:
        unlike = "  (unlike any measured molecule)" if found.unlike[place] else ""
        print(f"  {found.values[place, 0]:7.1f} ± {found.deviations[place, 0]:4.1f}  {molecules.smiles[place]}{unlike}")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "why.svg").write_text(explained_picture(model, molecules.smiles[best[0]], 0))
    model.save(given.out / "model")
    print(f"Written: {given.out / 'why.svg'} and {given.out / 'model'}")


if __name__ == "__main__":
    main()
