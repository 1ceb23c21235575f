"""Text on one line: what the fields of items are made of."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, StringConstraints

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]+"
)


def one_line(text: str) -> str:
    """``text`` on one line: control, bidirectional and invisible characters become spaces."""
    return " ".join(_UNSEEN.sub(" ", text).split())


def _as_line(value: Any) -> Any:
    return one_line(value) if isinstance(value, str) else value


Line = Annotated[str, BeforeValidator(_as_line), StringConstraints(min_length=1, max_length=320)]
"""One line of text, 1 to 320 characters."""

Name = Annotated[str, BeforeValidator(_as_line), StringConstraints(min_length=1, max_length=120)]
"""A name or short phrase, 1 to 120 characters."""

Quote = Annotated[str, BeforeValidator(_as_line), StringConstraints(min_length=1, max_length=480)]
"""The source's own words, or a rule in them, on one line, 1 to 480 characters."""

LONGEST_REFERENT = 60
Referent = Annotated[str, BeforeValidator(_as_line), StringConstraints(max_length=LONGEST_REFERENT)]
"""What a pronoun refers to, in up to 60 characters, or nothing."""

OptionalLine = Annotated[str, BeforeValidator(_as_line), StringConstraints(max_length=320)]
"""One line of text, or none where it is not known. Give it the default ``""``."""

OptionalName = Annotated[str, BeforeValidator(_as_line), StringConstraints(max_length=120)]
"""A name or short phrase, or none where it is not known. Give it the default ``""``."""
