"""Each test meets its endpoints for the first time."""

from __future__ import annotations

import pytest

from acc.compress.openai_calls import forget


@pytest.fixture(autouse=True)
def new_process() -> None:
    forget()
