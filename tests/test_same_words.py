"""Whether two rules are one: only where nothing but inflection, order and politeness differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.commit.commit import commit
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, ProposedItem
from acc.state.reasons import Reason
from acc.text.same_words import same_words, sets_figure
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

SAME = [
    ("Never deploy on Fridays.", "never deploy on a Friday"),
    ("Don't deploy to production on Fridays", "Please never deploy on Fridays to production!"),
    ("On Fridays, never deploy", "Never deploy on Fridays"),
    ("As I said, never deploy on Fridays.", "Never deploy on Fridays"),
    ("Payments above 10,000 EUR need approval", "A payment above 10000 EUR needs approval"),
    ("Could you always cc Ruth?", "Always cc Ruth"),
    ("Reply in German, please", "please reply in German"),
]
DIFFERENT = [
    ("Never copy files from staging to production", "Never copy files from production to staging"),
    ("Send A to B, and send C to D", "Send A to D, and send C to B"),
    ("Jorge approves for Mara", "Mara approves for Jorge"),
    ("Always round up", "Always round down"),
    ("I approve refunds", "You approve refunds"),
    ("Deploy during the audit", "Deploy after the audit"),
    ("Never talk about the police", "Never talk about the policy"),
    ("Never move the plan", "Never move the plane"),
    ("Pay in $ only", "Pay in € only"),
    ("Discounts of 5 %", "Discounts of 5"),
    ("Never touch db-1", "Never touch db-2"),
    ("Deploy on Fridays", "Never deploy on Fridays"),
    ("Nunca reinicies el nodo", "Nunca reinicies el servidor"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_inflection_order_and_politeness_make_no_other_rule(one: str, other: str) -> None:
    assert same_words(one, other)
    assert same_words(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_whatever_else_differs_makes_another_rule(one: str, other: str) -> None:
    assert not same_words(one, other)
    assert not same_words(other, one)


CONTENT = (
    *("checkout", "ledger", "primary", "replica", "Munich", "Lisbon", "sales", "finance", "north"),
    *("south", "db-1", "db-2", "Monday", "Friday", "staging", "production", "Jorge", "Mara", "12"),
    *("500", "5,000", "€500", "customer", "supplier", "up", "down", "before", "after", "I", "you"),
    *("police", "policy", "plan", "plane", "号", "сервер", "café", "12:30", "12%", "a@b.c"),
)
FRAMES = (
    "Never deploy {} on the day of the audit",
    "Keep {} away from the newsletter, always",
    "{} needs a second signature for the report of {}",
)


def _rule(text: str) -> ProposedItem:
    fields = {"text": text, "kind": "requirement", "quote": text}
    return ProposedItem(slot="constraints", fields=fields, cites=("u1",))


@given(
    st.sampled_from(FRAMES),
    st.permutations(CONTENT),
    st.lists(st.sampled_from(CONTENT), max_size=2),
)
def test_commit_never_merges_two_rules_that_differ_in_a_word(
    frame: str, words: list[str], more: list[str]
) -> None:
    one, other = (" ".join([frame.replace("{}", word), *more]) for word in words[:2])
    said = Observation(channel=Channel.USER, text=f"{one}.\n{other}.")
    turn = Turn(observations=(said,)).numbered(1)
    done = commit(
        CompressedCognitiveState.empty(), Proposal(items=(_rule(one), _rule(other))), turn
    )
    assert [item.text for item in done.state.constraints] == [one, other]


@given(st.sampled_from(FRAMES), st.sampled_from(CONTENT))
def test_commit_says_that_a_rule_was_said_before(frame: str, word: str) -> None:
    text = frame.replace("{}", word)
    said = Observation(channel=Channel.USER, text=f"{text}. Please: {text}!")
    turn = Turn(observations=(said,)).numbered(1)
    done = commit(CompressedCognitiveState.empty(), Proposal(items=(_rule(text),) * 2), turn)
    assert [item.text for item in done.state.constraints] == [text]
    assert Reason.DUPLICATE in [note.reason for note in done.notes]
    assert "duplicate constraints c1" in done.explain()


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_texts_are_compared_and_a_text_is_itself(one: str, other: str) -> None:
    assert same_words(one, one)
    assert same_words(one, other) == same_words(other, one)


@pytest.mark.parametrize(
    ("text", "quote", "is_set"),
    [
        ("Differences below a hundred pounds", "Make that a hundred instead", True),
        ("Differences below 100 pounds", "Make that 100 instead", False),
        ("Differences below a hundred pounds", "Make that eighty instead", False),
    ],
)
def test_a_number_in_words_replaces_a_number_in_words(text: str, quote: str, is_set: bool) -> None:
    assert sets_figure(text, "Differences below fifty pounds", quote) is is_set
