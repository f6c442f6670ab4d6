"""Runs of one's own data: averaged over seeds or folds, compared on equal test parts, beside the most frequent class."""
