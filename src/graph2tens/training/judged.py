"""What a score was measured on: sizes of the parts, the most frequent class as a floor, and the confusion matrix."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ..datasets import GraphDataset, Split
from ..datasets.dataset import Integers
from .records import PARTS

MOST_CLASSES = 50  # beyond, a confusion matrix is neither read nor small


def judged_on(dataset: GraphDataset, parts: Split, answers: Integers | None = None) -> dict[str, Any]:
    """Facts for a record, plain JSON.

    ``fingerprint`` tells the data, as they were read, apart from other data of their name, ``test_part`` the test part from others of the
    data, so that runs judged on the same examples can be paired. With `answers`, the classes given to the test part: ``majority``, the
    accuracy of always naming the most frequent class of the training part, and ``confusion``, rows for the truth and columns for the
    answers.
    """
    marks = hashlib.sha256(np.sort(parts.test).astype(np.int64).tobytes()).hexdigest()[:12]
    facts: dict[str, Any] = {"fingerprint": dataset.origin or dataset.fingerprint(), "test_part": marks}
    facts["sizes"] = {part: int(getattr(parts, part).size) for part in PARTS}
    if answers is None:
        return facts
    labels, classes = dataset.labels, dataset.num_classes
    truth = labels[parts.test]
    facts["majority"] = float((truth == np.bincount(labels[parts.train], minlength=classes).argmax()).mean())
    if classes <= MOST_CLASSES:
        facts["class_names"] = [dataset.class_name(label) for label in range(classes)]
        facts["confusion"] = np.bincount(truth * classes + answers, minlength=classes**2).reshape(classes, classes).tolist()
    return facts
