"""The example runs, with tiny settings, and picks candidates."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "molecules.py"


def test_the_example_goes_from_a_file_to_a_decision(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["molecules.py", "--out", str(tmp_path / "out"), "--layers", "1"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    said = capsys.readouterr().out
    assert said.count(" ± ") == 10
    assert "sucrose" not in said
    assert "OCC1OC(O" in said, "sugars have the largest polar area of the candidates"
    assert (tmp_path / "out" / "why.svg").stat().st_size > 1000
    assert (tmp_path / "out" / "model" / "model.json").exists()
