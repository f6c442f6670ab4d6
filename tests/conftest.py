"""Settings of all tests."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings

# Deadlines would make slow machines fail; derandomised runs make a red test red for everybody.
settings.register_profile("graph2tens", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("graph2tens")


@pytest.fixture(autouse=True)
def _one_thread():
    """The suite runs one process a core; and what a test changes, the next must not see: sums of two threads have other bits."""
    torch.set_num_threads(1)
