"""The compiled loops of the CPU backend, read in this order: `chain`, `steps`, `diffusion`, `units`."""
