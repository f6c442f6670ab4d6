"""What the estimators of docs/estimators.md are worth: ``python -m benchmarks.estimators nodes intervals labels landmarks curve``."""
