"""Base64 is found in linear time, on one line and on many, and what stands around it stays."""

from __future__ import annotations

import base64
import random

import pytest
from timing import is_linear

from acc.text.lines import data_in, without_data

RAW = random.Random(7).randbytes(90_000)
DATA = base64.b64encode(RAW).decode()
LINES = base64.encodebytes(RAW).decode()
FORMS = {
    "one line": DATA,
    "urlsafe": base64.urlsafe_b64encode(RAW).decode(),
    "lines": LINES,
    "lines of Windows": LINES.replace("\n", "\r\n"),
    "indented": LINES.replace("\n", "\n    "),
    "lines in JSON": LINES.replace("\n", "\\n"),
    "hexadecimal": RAW.hex(),
}


@pytest.mark.parametrize("form", FORMS)
def test_data_is_left_out_and_the_words_around_it_stay(form: str) -> None:
    found = without_data(f'{{"page": "invoice 7", "picture": "{FORMS[form]}", "note": "paid"}}')
    assert found.startswith('{"page": "invoice 7", "picture": "[data] ')
    assert found.endswith('", "note": "paid"}')
    assert len(found) < 150


@pytest.mark.parametrize(
    "text", ["", DATA[:8_000], "never restart nginx " * 5_000, "a" * 59 + " ", f"{DATA[:50]}\n" * 900]
)  # fmt: skip
def test_words_and_short_data_are_none(text: str) -> None:
    assert list(data_in(text)) == []
    assert without_data(text) is text


PIECES = ["a", "a" * 59 + " ", "a" * 60 + " ", "a" * 60 + "\\", "a" * 8_000 + " ", "\\n", "+", "a-"]


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: f"{piece[-3:]!r} {len(piece)}")
def test_time_grows_with_the_text(piece: str) -> None:
    assert is_linear(lambda text: list(data_in(f"{text}.")), piece * (4_000_000 // len(piece)))
