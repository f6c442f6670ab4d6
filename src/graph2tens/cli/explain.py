"""`graph2tens explain`: the share of each atom and bond in a prediction, drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .molecules import needing_rdkit


def explain(
    model: Annotated[Path, typer.Argument(help="Folder that `graph2tens fit` wrote.")],
    molecules: Annotated[list[str], typer.Argument(help="SMILES, or a file of molecules.")],
    out: Annotated[Path, typer.Option(help="Write an .svg (of one molecule) or an .html page here.")],
    target: Annotated[str | None, typer.Option(help="Which target (or class), if the model has several.")] = None,
    smiles: Annotated[str | None, typer.Option(help="The column of SMILES, for a file.")] = None,
    most: Annotated[int, typer.Option(min=1, help="Of a file, only the first molecules, at most this many.")] = 50,
) -> None:
    """Show why: colour each atom and bond by what it adds to the prediction.

    The shares of a molecule add up to the difference between its prediction and that of the average training molecule (of the log odds,
    for classes).

    Examples:

      graph2tens explain model 'CC(=O)Oc1ccccc1C(=O)O' --out aspirin.svg

      graph2tens explain model new.csv --out page.html
    """
    with needing_rdkit():
        from ..molecules.data import read_molecules
        from ..molecules.drawing import explained_page, explained_picture
        from ..molecules.model import MoleculeModel
        from ..molecules.parsing import parse
        from ..molecules.tables import read_table
    from ..files import write_text

    fitted = MoleculeModel.load(model)
    if len(molecules) == 1 and Path(molecules[0]).is_file():
        found = read_molecules(read_table(molecules[0]), smiles, salts=fitted.salts)
    else:
        found = parse(molecules, salts=fitted.salts)
    for place, text, why in found.problems:
        print(f"{place + 1}: no molecule {text!r}: {why}.")
    if not len(found):
        raise ValueError("there is no readable molecule to explain.")
    number = fitted.target(target)
    if out.suffix.lower() == ".svg":
        if len(found) > 1:
            raise ValueError(f"an .svg shows one molecule (got {len(found)}). Did you mean an .html page?")
        write_text(out, explained_picture(fitted, found.smiles[0], number))
    elif out.suffix.lower() in (".html", ".htm"):
        write_text(out, explained_page(fitted, found.smiles[:most], number))
    else:
        raise ValueError(f"--out must end in .svg or .html (got {out.name!r}).")
    print(f"Written: {out}")
