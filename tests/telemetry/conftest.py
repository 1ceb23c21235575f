"""What the tests of telemetry share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers_telemetry import Exported, Lines, listening


@pytest.fixture
def exported() -> Iterator[Exported]:
    found = Exported()
    yield found
    found.tracers.shutdown()
    found.meters.shutdown()


@pytest.fixture
def lines() -> Iterator[Lines]:
    with listening() as found:
        yield found
