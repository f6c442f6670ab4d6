"""Settings of all tests."""

from __future__ import annotations

import pytest
import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be limited)
import threadpoolctl
import torch
from hypothesis import HealthCheck, settings

# Deadlines would make slow machines fail; derandomised runs make a red test red for everybody.
settings.register_profile("graph2tens", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("graph2tens")

threadpoolctl.threadpool_limits(1)  # the suite runs one process a core: more threads of BLAS only wait for each other


@pytest.fixture(autouse=True)
def _one_thread():
    """The suite runs one process a core; and what a test changes, the next must not see: sums of two threads have other bits."""
    torch.set_num_threads(1)
