"""What learns from a table of features: each head is a scikit-learn estimator that chooses its own settings."""
