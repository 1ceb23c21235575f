"""Speech split into verbatim sentences and clauses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speaking import HOSTILE

from acc.keyless.sentences import LONGEST, clauses, fit, sentences, tidy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("At 18.5 units, e.g. for no. 7. Next", ["At 18.5 units, e.g. for no. 7.", "Next"]),
        ("The answer is no. We go on.", ["The answer is no.", "We go on."]),
        ("Dr. Weiss and Mr. Bean agree", ["Dr. Weiss and Mr. Bean agree"]),
        ("- first\n- second; third", ["first", "second;", "third"]),
        ("1. do this\n2) do that", ["do this", "do that"]),
        ("...\n!!", []),
    ],
)
def test_sentences_are_told_apart(text: str, expected: list[str]) -> None:
    assert [s.text for s in sentences(text, 99)] == expected


@given(HOSTILE)
def test_sentences_and_clauses_are_verbatim_pieces(text: str) -> None:
    for sentence in sentences(text, 99):
        assert sentence.text in text
        assert len(sentence.text) <= LONGEST
        assert all(clause in sentence.text for clause in clauses(sentence.text))


@given(HOSTILE, st.integers(min_value=5, max_value=60))
def test_shortening_never_cuts_a_token(text: str, limit: int) -> None:
    short = fit(text, limit)
    assert len(short) <= limit
    kept = short.removesuffix(" ...").split()
    words = text.split()
    assert [w.rstrip(" ,;:") for w in words[: len(kept)]] == [w.rstrip(" ,;:") for w in kept]


def test_tidying_takes_off_courtesies_alone() -> None:
    assert tidy("And please, keep it short, thanks :)") == "keep it short"
    assert tidy("Thanks!") == "Thanks!"
    for whole in ("Right of way stays free", "So long as it rains, stay in", "that's ok"):
        assert tidy(whole) == whole
