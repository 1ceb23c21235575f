"""Hypothesis profiles: ``fast`` for make test, ``full`` for test-all and .ci/run, ``thorough`` for test-thorough.

    ACC_HYPOTHESIS=thorough pytest

The first two try the same examples every time and do not shrink them: what they find, the
thorough one finds too, and makes small.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

_COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
for _name, _examples in {"fast": 6, "full": 20}.items():
    settings.register_profile(
        _name,
        max_examples=_examples,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        **_COMMON,
    )
settings.register_profile("thorough", max_examples=100, **_COMMON)
settings.load_profile(os.environ.get("ACC_HYPOTHESIS", "fast"))

# No test talks to a host outside: a client that is made reads no store of certificates, which takes it 25 ms.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.path.dirname(__file__)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Half a million objects come with the modules and stay: the garbage collector is not to read them again.

    It also looks less often: by itself it would do so every 700 objects.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()
