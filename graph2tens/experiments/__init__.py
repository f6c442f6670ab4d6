"""Experiments as data: configurations, the paper's tables, training, finished runs on disk and their report."""
