"""Hypothesis profiles: ``fast`` for make test and test-all, ``thorough`` for make test-thorough.

    ACC_HYPOTHESIS=thorough pytest

The fast one tries the same examples every time and does not shrink them: what it finds, the
thorough one finds too, and makes small.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings

_COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile(
    "fast",
    max_examples=20,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    **_COMMON,
)
settings.register_profile("thorough", max_examples=100, **_COMMON)
settings.load_profile(os.environ.get("ACC_HYPOTHESIS", "fast"))
