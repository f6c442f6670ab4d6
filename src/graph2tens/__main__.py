"""``python -m graph2tens`` is the command ``graph2tens``."""

from .cli import app

app(prog_name="graph2tens")
