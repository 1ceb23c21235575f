"""Text that may not name a patient by number: the plainest identifiers are refused.

No de-identification: names, addresses and free text pass. It keeps numbers that are recognisable for certain out of the
slots that use it; the turn itself stands whole in the journal, which has to be protected as such.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from acc.state.items import Name, Text

_DIRECT = {
    "a medical record number": re.compile(r"\bMRN\b\W{0,3}[A-Z]?\d{4,}", re.IGNORECASE),
    "a social security number": re.compile(r"\b\d{3}-\d{2}-\d{4}\b"),
    "a date of birth": re.compile(r"\bDOB\b\W{0,3}\d", re.IGNORECASE),
}


def _without_identifier(text: str) -> str:
    for what, pattern in _DIRECT.items():
        if pattern.search(text):
            raise ValueError(f"names a patient by {what}")
    return text


UnidentifiedName = Annotated[Name, AfterValidator(_without_identifier)]
"""A `Name` without a direct identifier of a patient."""

UnidentifiedText = Annotated[Text, AfterValidator(_without_identifier)]
"""A `Text` without a direct identifier of a patient."""
