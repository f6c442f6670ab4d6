"""The study's numbers as plain values, for scripts."""

from __future__ import annotations

import math
from typing import Any

from ...report.statistics import Difference
from .data import Study


def as_data(study: Study) -> dict[str, Any]:
    """The study's numbers as plain values, for scripts."""
    return {
        "date": study.date,
        "runs": len(study.runs),
        "trials": len(study.trials),
        "remarks": list(study.remarks),
        "cells": [
            {
                **result.cell._asdict(),
                "verdict": result.verdict.value,
                "seeds": sorted(result.by_seed),
                "mean": result.ours.mean if result.ours else None,
                "std": result.ours.std if result.ours else None,
                "paper_mean": result.published.mean if result.published else None,
                "paper_std": result.published.std if result.published else None,
                "paper_seeds": result.published.seeds if result.published else None,
                "difference": _difference(result.difference),
                "same_seeds": _difference(result.same_seed),
            }
            for result in study.cells
        ],
    }


def _difference(gap: Difference | None) -> dict[str, float | int | None] | None:
    if gap is None:
        return None
    ratio = gap.in_standard_errors
    return {
        "points": gap.points,
        "standard_error": gap.standard_error,
        "in_standard_errors": ratio if math.isfinite(ratio) else None,  # JSON has no infinity
        "pairs": gap.pairs,
    }
