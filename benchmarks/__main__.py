"""`python -m benchmarks`: speed, memory and scaling of the engine, and what training costs, written to README.md and results.json."""

import subprocess
import sys

from graph2tens.datasets import load

SCRIPTS = ["engine", "memory_and_scaling", "training_step --keep --conv G2TN", "training_step --keep --conv G2TAN"]
try:
    load("NCI1")
    SCRIPTS.append("epoch --keep")
except Exception as error:  # not there, and no network
    print(f"NCI1 is not at hand ({type(error).__name__}), so no epoch of it is timed")
for script in SCRIPTS:
    subprocess.run([sys.executable, "-W", "ignore", "-m", *f"benchmarks.{script}".split()], check=True)
