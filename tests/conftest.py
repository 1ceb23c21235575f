"""Hypothesis profiles: ``fast`` for make test, ``thorough`` for make test-all.

    ACC_HYPOTHESIS=thorough pytest
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("fast", max_examples=40, derandomize=True, **_COMMON)
settings.register_profile("thorough", max_examples=600, stateful_step_count=60, **_COMMON)
settings.load_profile(os.environ.get("ACC_HYPOTHESIS", "fast"))
