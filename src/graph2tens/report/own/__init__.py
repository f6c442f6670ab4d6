"""The user's own runs: averaged over seeds or folds, compared on equal test parts, beside the most frequent class."""
