"""The demonstration prints exact and sampled features that agree."""

from __future__ import annotations

import re

from graph2tens import demo


def test_exact_and_sampled_features_stand_side_by_side(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    demo.main()
    printed = capsys.readouterr().out
    rows = re.findall(r"│ ([CO]\d+) +│ +(\S+) │ +(\S+) ± (\S+) │ +(\S+) │ +(\S+) ± (\S+) │", printed)
    assert [row[0] for row in rows] == [f"{atom}{i}" for i, atom in enumerate(demo.ATOMS)]
    for _, *numbers in rows:
        first, second = map(float, numbers[:3]), map(float, numbers[3:])
        for exact, sampled, error in (first, second):
            assert abs(exact - sampled) < 5 * error
    farthest = re.search(r"Farthest from the exact value.*?([\d.]+) standard errors", printed, re.DOTALL)
    assert farthest is not None
    assert 0 < float(farthest[1]) < 5


def test_the_molecule_is_vanillin():
    assert demo.ATOMS.count("C") == 8
    assert demo.ATOMS.count("O") == 3
    assert len(demo.BONDS) == 11
    assert {i for bond in demo.BONDS for i in bond} == set(range(len(demo.ATOMS)))
