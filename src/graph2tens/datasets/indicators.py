"""Labels and degrees as columns of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .dataset import EXACT_DEGREES, OCTAVES, Integers

Floats = NDArray[np.float32]


def degree_attributes(degree: Integers) -> Floats:
    """Indicator columns of node degrees, for graphs without labels and attributes: a normalised walk cannot see degrees itself.

    Degrees 0..31 have a column each, then there is one for each octave 32..63, 64..127, ..., the last for 1024 and above. The
    width does not depend on the data, so that a trained model fits other graphs.

    Shapes:
        - **output:** (nodes, 38)
    """
    octave = np.floor(np.log2(np.maximum(degree, 1) / EXACT_DEGREES)).astype(np.int64)
    column = np.where(degree < EXACT_DEGREES, degree, EXACT_DEGREES + np.clip(octave, 0, OCTAVES - 1))
    return indicators(column, range(EXACT_DEGREES + OCTAVES))


def indicators(label: Integers, values: Sequence[int]) -> Floats:
    """One column for each value; a label that is not among them has a row of zeros."""
    return (label[:, None] == np.asarray(values, dtype=np.int64)[None, :]).astype(np.float32)
