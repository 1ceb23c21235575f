"""`acc.text.wording`: what asks, and what tells nobody anything who says the same."""

from __future__ import annotations

import pytest

from acc.text.wording import asks, only_repeats

QUESTION = "Which cost centre do payments to Harrow Ltd above 5,000 EUR go to?"
CLAIM = "Payments to Harrow Ltd above 5,000 EUR go to cost centre CC-4711."


@pytest.mark.parametrize(
    "text",
    [QUESTION, "Is it so?!", "where is the ledger", "And who approves it", '"Ready?"', "So, why now"],
)  # fmt: skip
def test_what_asks(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize("text", [CLAIM, "Somewhat late.", "Ask Mara? No.", "Whichever comes first.", ""])  # fmt: skip
def test_what_does_not(text: str) -> None:
    assert not asks(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [(QUESTION, QUESTION), ("Which cost centre do Harrow payments go to again?", QUESTION),
     ("which cost centre for harrow", QUESTION), (CLAIM, CLAIM), (QUESTION.upper(), QUESTION)],
)  # fmt: skip
def test_nothing_but_the_words_of_the_turn(text: str, said: str) -> None:
    assert only_repeats(text, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLAIM, QUESTION),  # an answer
        (CLAIM, "Is it true that payments to Harrow Ltd above 5,000 EUR go to cost centre CC-4711?"),
        (CLAIM, CLAIM.replace("go", "do not go")),  # the contrary
        (CLAIM, f"Please confirm: {CLAIM}"),
        ("Which cost centre do payments to Brook go to?", QUESTION),
        (QUESTION, "Which cost centre?"),
        ("", QUESTION), ("of the", QUESTION), (QUESTION, ""),
    ],
)  # fmt: skip
def test_whatever_else_is_no_repetition(text: str, said: str) -> None:
    assert not only_repeats(text, said)
