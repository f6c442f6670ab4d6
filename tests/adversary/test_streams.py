"""Output that nobody reads, that cannot be written, or that a terminal cannot show: no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = f"{sys.executable} -W ignore -m graph2tens"


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        (f"{PROGRAM} info --json | true", {0}),
        (f"{PROGRAM} info --json >&-", {0}),
        (f"{PROGRAM} train --help | head -c 10 > /dev/null", {0, 1}),
        (f"PYTHONIOENCODING=ascii {PROGRAM} train --help > /dev/null", {0}),
        pytest.param(f"{PROGRAM} --version > /dev/full", {1}, marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")),
    ],
    ids=["no reader", "closed", "reader leaves", "ascii", "full"],
)
def test_output_that_goes_nowhere_is_no_traceback(line, codes):
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True)
    assert done.returncode in codes, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
