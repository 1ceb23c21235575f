"""What was done stays, and courtesies take nothing's place."""

from __future__ import annotations

import pytest
from speaking import after, facts, turn

from acc.keyless.outcomes import outcomes_in
from acc.state.model import CompressedCognitiveState


def told(state: CompressedCognitiveState) -> list[str]:
    return [item.words for item in state.relational_map]


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("The stuck orders have been replayed.", ("stuck orders", "is", "replayed")),
        ("I've restarted nginx on web-3 at 10:05.", ("nginx on web-3", "is", "restarted at 10:05")),
        ("Lotte has signed the replay.", ("replay", "signed by", "Lotte")),
        ("We rolled back checkout 4.18.3.", ("checkout 4.18.3", "is", "rolled back")),
        ("Replay finished in five batches.", ("Replay", "is", "finished in five batches")),
    ],
)
def test_what_was_done_is_a_fact_with_what_it_was_done_to(
    said: str, outcome: tuple[str, str, str]
) -> None:
    assert outcome in facts(turn("How far are we?", said))


@pytest.mark.parametrize(
    "said",
    [
        "The orders have not been replayed.",
        "Once the invoice is paid, tell me.",
        "Any rollback must be approved by Jorge.",
        "The refund will be paid on Monday.",
        "It is done.",
        "Tell me when the backup has finished.",
    ],
)
def test_what_is_open_denied_or_names_nothing_is_no_outcome(said: str) -> None:
    assert list(outcomes_in(said)) == []


def test_the_topic_speaks_of_the_present() -> None:
    said = ("Invoice INV-2041 over 12,400.00 EUR is open.", "Any news from the bank?")
    state = after(*map(turn, (*said, "INV-2041 is paid.", "And the audit?")))
    assert [item.text for item in state.semantic_gist] == ["INV-2041 is paid"]
    assert not any("open" in item.words for _, item in state.items())
    hearsay = after(*map(turn, (*said, "Bob says INV-2041 is paid.")))
    assert "paid" not in hearsay.semantic_gist[0].text


COURTESIES = (
    "Thanks!",
    "You're a star.",
    "Good morning!",
    "Sounds good.",
    "Great job, sleep well!",
)


@pytest.mark.parametrize("said", COURTESIES)
def test_a_courtesy_takes_nothing_away(said: str) -> None:
    work = after(
        turn("Replay the stuck orders.", "The stuck orders have been replayed.", "batch 5/5 done")
    )
    state = after(
        turn("Replay the stuck orders.", "The stuck orders have been replayed.", "batch 5/5 done"),
        turn(said, "You're welcome."),
    )
    assert [e.text for e in state.episodic_trace] == [e.text for e in work.episodic_trace]
    assert told(state) == told(work)
    assert state.semantic_gist == work.semantic_gist


def test_outcomes_stay_when_tokens_are_short() -> None:
    done = turn(
        "Go.", "The stuck orders have been replayed. The duplicate captures have been refunded."
    )
    noise = [
        turn("And?", " ".join(f"Host web-{i}{j} listens on port {i}{j}80." for j in range(6)))
        for i in range(1, 8)
    ]
    state = after(done, *noise, turn("Thanks!", "Any time."))
    assert "stuck orders is replayed observed" in told(state)
    assert "duplicate captures is refunded observed" in told(state)
