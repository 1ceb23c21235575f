"""The trace of a turn, the topic, what comes next and what is open."""

from __future__ import annotations

from speaking import after, compress, proposed, turn

from acc.turn.observations import Channel, Evidence, Observation, user_observations
from acc.turn.turn import Turn


def test_the_turn_is_traced_in_a_line_for_each() -> None:
    at = turn("Please check the alerts on web-2.", "Two alerts are open on web-2.")
    assert [i.fields["text"] for i in proposed("episodic_trace", at)] == [
        "user: check the alerts on web-2",
        "agent: Two alerts are open on web-2",
    ]


def test_the_first_message_gives_the_topic_and_a_turn_elsewhere_another() -> None:
    state = after(turn("Hello! We need a venue for the reunion in June."))
    assert [g.text for g in state.semantic_gist] == ["We need a venue for the reunion in June"]
    at = turn("Moving on to the invoices of last month.", number=2)
    assert proposed("semantic_gist", at, state)
    assert proposed("semantic_gist", turn("Thanks, that helps a lot.", number=2), state) == []


def test_the_agents_next_step_is_a_cue() -> None:
    at = turn("Go on.", "The disk is full. Next I'll clear the cache.")
    assert [i.fields["text"] for i in proposed("predictive_cue", at)] == [
        "Next I'll clear the cache"
    ]


def test_what_is_open_is_a_gap_until_it_is_settled() -> None:
    state = after(turn("Hi there", "We're still waiting for the vendor's reply on the disk price."))
    (gap,) = state.uncertainty_signal
    at = turn("The vendor's reply on the disk price came: 40 euros.", number=2)
    assert gap.id in [r.id for r in compress(at, state, ()).retire]


def test_evidence_that_bears_on_the_question_is_traced_with_its_ref() -> None:
    evidence = [
        Evidence(channel=Channel.USER, text="The spare key is with Mrs Okafor.", ref="u3", turn=3),
        Evidence(channel=Channel.AGENT, text="The weather was fine.", ref="a4", turn=4),
        Evidence(channel=Channel.DOCUMENT, text="The spare key must be posted.", ref="d5", turn=5),
    ]
    at = turn("Who has the spare key?", number=9)
    lines = proposed("episodic_trace", at, evidence=evidence)
    assert (lines[-1].fields["text"], lines[-1].cites) == (
        "earlier (u3): The spare key is with Mrs Okafor.",
        ("u3",),
    )
    assert len(lines) == 2
    (reference,) = proposed("retrieved_artifacts", at, evidence=evidence)
    assert (reference.fields["label"], reference.cites) == ("user", ("u3",))  # told once


def test_long_tool_output_is_referred_to() -> None:
    at = turn("Show me the log", tool="first line\n" + "x = 1\n" * 900)
    (reference,) = proposed("retrieved_artifacts", at)
    assert reference.fields["label"] == "lookup: first line"
    assert reference.cites == ("t1",)


def test_pending_turns_are_read_too() -> None:
    pending = Observation(channel=Channel.USER, text="Never open the vault.", ref="u1")
    at = Turn(observations=user_observations("Thanks."), pending=(pending,)).numbered(2)
    assert [i.cites for i in proposed("constraints", at)] == [("u1",)]
