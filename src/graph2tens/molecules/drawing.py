"""Pictures of shares: a molecule whose atoms and bonds are coloured by what they add to a prediction, and pages of them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from .attributes import from_molecule
from .explain import Shares, shares
from .model import MoleculeModel
from .one_smiles import explained

RAISES, LOWERS = (0.84, 0.37, 0.05), (0.13, 0.44, 0.71)  # orange and blue, which colour-blind people tell apart
WIDTH, HEIGHT = 360, 300
STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); gap: 1em }
figure { margin: 0; border: 1px solid #ddd; border-radius: 6px; padding: .6em }
svg { width: 100%; height: auto }
figcaption { overflow-wrap: anywhere }
"""


def draw(molecule: Any, found: Shares, largest: float | None = None) -> str:
    """An SVG: orange atoms and bonds raise the prediction, blue ones lower it, by as much as the colour is strong.

    `largest` is the share that gets the full colour, by default the largest here.
    """
    everything = np.concatenate([found.atoms, found.bonds])
    top = largest or float(np.abs(everything).max()) or 1.0
    rdDepictor.Compute2DCoords(molecule)
    drawer = rdMolDraw2D.MolDraw2DSVG(WIDTH, HEIGHT)
    options: Any = drawer.drawOptions()
    options.clearBackground = False
    options.useBWAtomPalette()
    options.fillHighlights = True
    rdMolDraw2D.PrepareAndDrawMolecule(
        drawer,
        molecule,
        highlightAtoms=list(range(molecule.GetNumAtoms())),
        highlightAtomColors={place: colour(share / top) for place, share in enumerate(found.atoms)},
        highlightBonds=list(range(molecule.GetNumBonds())),
        highlightBondColors={place: colour(share / top) for place, share in enumerate(found.bonds)},
    )
    drawer.FinishDrawing()
    return drawer.GetDrawingText()


def explained_picture(model: MoleculeModel, smiles: str, target: int) -> str:
    """The SVG of one molecule."""
    molecule, _ = explained(smiles)
    return draw(molecule, shares(model, from_molecule(molecule), target))


def explained_page(model: MoleculeModel, smiles: Sequence[str], target: int) -> str:
    """A page of molecules in colours of one scale, so that they can be compared."""
    molecules = [explained(text)[0] for text in smiles]
    graphs = [from_molecule(molecule) for molecule in molecules]
    found = [shares(model, graph, target) for graph in graphs]
    predicted = model.predict(graphs, smiles)
    largest = max(float(np.abs(np.concatenate([one.atoms, one.bonds])).max()) for one in found)
    entries = []
    for place, (molecule, one) in enumerate(zip(molecules, found, strict=True)):
        value = predicted.values[place, target]
        bar = "" if predicted.deviations is None else f" ± {predicted.deviations[place, target]:.2g}"
        unlike = ", unlike any training molecule" if predicted.unlike[place] else ""
        entries.append((draw(molecule, one, largest), f"{value:.3g}{bar}{unlike}", smiles[place]))
    return page(entries, f"Why: {model.target_names[target]}")


def colour(strength: float) -> tuple[float, float, float]:
    """White at 0, orange at 1, blue at -1."""
    full, part = (RAISES if strength > 0 else LOWERS), min(abs(strength), 1.0)
    return tuple(1 - part * (1 - channel) for channel in full)  # type: ignore[return-value]


def page(entries: Sequence[tuple[str, str, str]], title: str) -> str:
    """A page of (SVG, heading, line below it)."""
    cards = "\n".join(
        f"<figure>{svg[svg.index('<svg') :]}<figcaption><b>{html.escape(head)}</b><br>{html.escape(line)}</figcaption></figure>"
        for svg, head, line in entries
    )
    words = (
        "Orange atoms and bonds raise the prediction above that of the average training molecule, blue ones lower it; "
        "the shares of a molecule add up to the difference."
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
        f"<h1>{html.escape(title)}</h1><p>{words}</p><main>{cards}</main></html>\n"
    )
