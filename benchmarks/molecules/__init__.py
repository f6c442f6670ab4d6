"""Molecules: graph2tens against chemprop, random forests and Tanimoto Gaussian processes on identical splits."""
