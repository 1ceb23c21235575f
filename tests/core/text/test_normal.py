"""acc.text.normal: one form for what a reader takes for the same words."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from timing import is_linear

from acc.text.normal import Normal, normalised

ANY = st.text(
    st.characters(), max_size=40
)  # hypothesis leaves surrogates out unless they are named
AWKWARD = st.text(
    st.sampled_from("aA ǅßİſ\u0345\u0301\u0327\u1100\u1161\u11a8\uffc2\uffa1ﷺﬁ\u00ad\u200b\u200d\ufe0f’\"«–−‑…"
        "\ud800\udfff\u09c7\u09be\u0958ﾊﾟ\r\n\t\x85\u2028\u3000\x00´½①㍿🎉"),
    max_size=24,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Don’t  STOP", "don't stop"),
        ("“Never”\n\ton\u00a0Friday", "'never' on friday"),
        ("re–use", "re-use"),
        ("no\u00adthing\u200b here\ufe0f", "nothing here"),
        ("ｆｕｌｌ ﬁne ①", "full fine 1"),
        ("Cafe\u0301", "café"),
        ("straße", "strasse"),
        ("  \x00 a \x1c b  ", "a b"),
        ("a\ud800b", "a\ud800b"),
        ("", ""),
        ("\u200b", ""),
    ],
)
def test_one_form(text: str, same: str) -> None:
    assert normalised(text) == same
    assert Normal.of(text).text == same


@given(ANY | AWKWARD | st.text("\ud800\udc00 a\u0301", max_size=10))
@example("ﷺ")
@example("a\u0327\u0301" * 40)
@example("\u0301a\r\u0301\n")
def test_is_idempotent_and_knows_its_places(text: str) -> None:
    normal = Normal.of(text)
    assert normalised(text) == normal.text
    assert normalised(normal.text) == normal.text
    assert len(normal.starts) == len(normal.ends) == len(normal.text)
    assert all(0 <= a < b <= len(text) for a, b in zip(normal.starts, normal.ends, strict=True))
    assert all(a <= b for a, b in zip(normal.starts, normal.starts[1:], strict=False))


def originals(text: str, needle: str) -> list[str]:
    """What stands in ``text`` where its normalised form has ``needle``."""
    normal = Normal.of(text)
    places = (found.span() for found in re.finditer(re.escape(needle), normal.text))
    return [text[slice(*normal.original(*place))] for place in places]


@given(AWKWARD, AWKWARD)
def test_finds_what_stands_between_two_other_words(before: str, after: str) -> None:
    text = f"{before} Never–Ever {after}"
    assert "Never–Ever" in originals(text, "never-ever")


def test_gives_ranges_of_the_text_as_given() -> None:
    text = "Use  “ﬁve\u200b\n words” of Ｆｉｖｅ words"
    assert originals(text, "five words") == ["ﬁve\u200b\n words", "Ｆｉｖｅ words"]


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        " ",
        "é",
        "e\u0301",
        "a\u0301\u0327",
        "\u0301\u0327",
        "ﷺ",
        "🎉\u200d",
        "東 ",
        "\ud800",
        "\r\n",
    ],
)
def test_takes_time_in_proportion_to_the_length(unit: str) -> None:
    assert is_linear(lambda text: Normal.of(text), unit * (48_000 // len(unit)))


def test_a_megabyte_is_normalised_as_quickly_as_an_eighth_of_it() -> None:
    text = "Never restart the database without Ann.\n" * 25_000
    assert is_linear(lambda text: (normalised(text), Normal.of(text)), text)
