"""`python -m benchmarks`: the engine's speed, memory and scaling, written to README.md and results.json."""

import subprocess
import sys

for script in ("benchmarks.engine", "benchmarks.memory_and_scaling"):
    subprocess.run([sys.executable, "-W", "ignore", "-m", script], check=True)
