"""What the tests of telemetry share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from exporting import Exported


@pytest.fixture
def exported() -> Iterator[Exported]:
    found = Exported()
    yield found
    found.tracers.shutdown()
    found.meters.shutdown()
