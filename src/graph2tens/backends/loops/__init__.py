"""The compiled loops: plain Python for Numba, in the order `dialect`, `sparse`, `chain`, `steps`, `areas`, `units`."""
