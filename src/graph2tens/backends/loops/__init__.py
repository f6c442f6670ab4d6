"""The compiled loops of the CPU backend: read `vectors`, `chain`, `steps`, `shear`, `units`. `pieces` cuts a graph for them."""
