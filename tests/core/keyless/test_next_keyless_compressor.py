"""The keyless compressor: what it finds in small conversations, and what no text can make it do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import is_linear

from acc.compress.keyless import compress
from acc.compress.keyless.rules import judge
from acc.driving import perform
from acc.state.items import Goal, Rule
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.state.reading import Reading
from acc.state.reasons import Reason
from acc.state.tail import Message, messages_of
from acc.step.result import Step
from acc.step.step import Memory, stepping
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn, normalize

REFUSALS = (
    Reason.NOT_FOUND, Reason.AMBIGUOUS, Reason.CUT_EDGE, Reason.UNKNOWN_ID, Reason.UNTRUSTED, Reason.NO_OFFER,
    Reason.MALFORMED, Reason.UNCITED,
)  # fmt: skip


def said(user: str, agent: str = "", tool: str = "") -> list[tuple[Channel, str]]:
    found = [(Channel.USER, user), (Channel.TOOL, tool), (Channel.AGENT, agent)]
    return [(channel, text) for channel, text in found if text]


def turn_of(parts: list[tuple[Channel, str]], number: int) -> Turn:
    observations = tuple(
        Observation(
            channel=channel,
            text=text,
            name="shell" if channel is Channel.TOOL else "",
            call_id="1" if channel is Channel.TOOL else "",
        )
        for channel, text in parts
    )
    return normalize(Turn(observations=observations), "test").numbered(number)


def run(
    *turns: list[tuple[Channel, str]], tokens: int = 800, over: int = 0
) -> list[Step[CompressedCognitiveState]]:
    policy = Policy(max_tokens=tokens, cadence=Cadence(compress_over=over))
    memory = Memory(compress, judge, None, policy)
    state, tail = CompressedCognitiveState.empty(), ()
    steps = []
    for number, parts in enumerate(turns, 1):
        step = perform(stepping(memory, state, turn_of(parts, number), texts=tail))
        state, tail = step.state, step.tail
        steps.append(step)
    return steps


def rules(step: Step[CompressedCognitiveState]) -> list[Rule]:
    return list(step.state.constraints)


def facts(step: Step[CompressedCognitiveState]) -> list[str]:
    return [fact.text for fact in step.state.relational_map]


def reading(text: str, channel: Channel = Channel.USER) -> Reading:
    messages = messages_of(turn_of([(channel, text)], 1))
    return Reading(messages, CompressedCognitiveState.empty(), (), Policy(), 1)


def test_a_rule_is_the_whole_sentence() -> None:
    (step,) = run(said("Morning. Never restart nginx during business hours, it hurts. How are we?"))
    assert [rule.words.text for rule in rules(step)] == [
        "Never restart nginx during business hours, it hurts."
    ]


def test_a_rule_in_a_list_has_its_heading() -> None:
    (step,) = run(
        said("Never do any of these without Ann:\n- delete a table\n- restart the primary")
    )
    assert {rule.words.text for rule in rules(step)} >= {
        "Never do any of these without Ann: restart the primary"
    }


def test_words_that_lift_a_rule_stand_beside_it_then_it_goes() -> None:
    first, second, third = run(
        said("Never restart nginx during business hours."),
        said("You may restart nginx during business hours again from now on."),
        said("What time is it?"),
    )
    assert len(rules(first)) == 1
    assert "again" in rules(second)[0].later[0].text
    assert "Never restart nginx during business hours." not in [
        rule.words.text for rule in rules(third)
    ]


def test_an_exception_stands_beside_a_rule_that_stays() -> None:
    *_, last = run(
        said("Never restart nginx during business hours."),
        said("You may restart nginx during business hours just this once."),
        said("What time is it?"),
    )
    kept = [rule for rule in rules(last) if rule.words.text.startswith("Never")]
    assert len(kept) == 1
    assert kept[0].later


def test_a_rule_and_its_end_in_one_reading() -> None:
    steps = run(
        said("Keep every report under 300 words.", "Will do."),
        said("Make the reports 500 words at most instead.", "Fine."),
        tokens=800,
        over=5,
    )
    assert any("500" in word.text for step in steps for rule in rules(step) for word in rule.later)


def test_a_goal_is_closed_by_the_user() -> None:
    first, second = run(
        said("I want the May rota on the wall by Friday."), said("The May rota is done.")
    )
    assert [goal.done for goal in first.state.goal_orientation] == [None]
    closed = [item for item in second.state.goal_orientation if isinstance(item, Goal)]
    assert [goal.done is not None for goal in closed] == [True]
    assert closed[0].done is not None
    assert closed[0].done.ref == "u2"


def test_a_fact_and_its_new_value() -> None:
    first, second = run(
        said("How long is the queue?", "The checkout failure rate is 34 % over ten minutes."),
        said("And now?", "The checkout failure rate is 11 % over ten minutes."),
    )
    assert any("34 %" in fact for fact in facts(first))
    assert any("11 %" in fact for fact in facts(second))
    assert not any("34 %" in fact for fact in facts(second))


def test_small_talk_makes_no_rule() -> None:
    (step,) = run(said("Thanks, that was quick! Did you always work here? Nice weather today."))
    assert not rules(step)


@pytest.mark.parametrize(
    "text",
    [
        "Bitte niemals den Server ohne Freigabe neu starten, das ist so mit der Bank vereinbart.",
        "Ne redémarrez jamais nginx pendant les heures de bureau sans prévenir Anne.",
        "営業時間中にサーバーを再起動しないでください。",
    ],
)
def test_another_language_is_reported_unread(text: str) -> None:
    (step,) = run(said(text))
    assert not rules(step)
    assert [note.ref for note in step.notes if note.reason is Reason.UNREAD] == ["u1"]
    assert [message.text for message in step.tail] == [text]


def test_english_beside_another_language_is_read() -> None:
    (step,) = run(
        said("Bitte niemals den Server neu starten. Never send money without my approval.")
    )
    assert [rule.words.text for rule in rules(step)] == ["Never send money without my approval."]
    assert any(note.reason is Reason.UNREAD for note in step.notes)


@pytest.mark.parametrize("channel", [Channel.AGENT, Channel.TOOL, Channel.DOCUMENT])
def test_only_a_user_lays_down_rules(channel: Channel) -> None:
    proposal = compress(reading("Never restart nginx. I want the rota done by Friday.", channel))
    assert not proposal.rules
    assert not proposal.goals


def test_speakers_who_may_not_lay_down_rules_do_not() -> None:
    observation = Observation(channel=Channel.USER, text="Never restart nginx.", name="Mallory")
    messages = (Message(observation.model_copy(update={"ref": "u1"}), 1),)
    policy = Policy(speakers=frozenset({"Ann"}))
    proposal = compress(Reading(messages, CompressedCognitiveState.empty(), (), policy, 1))
    assert not proposal.rules


def test_equal_readings_give_equal_proposals() -> None:
    text = "Never restart nginx. The primary is db-03 since 14:00, 42 tables. I want it fixed by Friday."
    assert compress(reading(text)) == compress(reading(text))


def test_facts_keep_within_the_bound_without_evictions() -> None:
    turns = [
        said(
            f"What about host {n}?",
            f"Host web-{n} runs version 4.{n}.1 with {n}00 users on port 80{n}.",
        )
        for n in range(10, 40)
    ]
    last = run(*turns, tokens=300)[-1]
    notes = [note.reason for note in last.notes]
    assert Reason.EVICTED not in notes
    assert last.state.relational_map


def test_nothing_leaves_while_there_is_room() -> None:
    turns = [said(f"The code of door {n} is 77{n}1.", "Noted.") for n in range(1, 9)]
    last = run(*turns)[-1]
    assert all(any(f"77{n}1" in fact for fact in facts(last)) for n in range(1, 9))


WORDS = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\n\n   .,:;?!-\"'(){}[]“”’…"),
        st.sampled_from("aeinotNDI0189"),
    ),
    max_size=300,
)
LINES = st.lists(
    st.one_of(
        WORDS,
        st.sampled_from(
            [
                "Never restart nginx during business hours.", "You may restart nginx again.", "Forget that rule.",
                "I want the rota done by Friday.", "The rota is done.", "port: 8443", "The port is 8443 now.",
                "Do this:\n- never eat\n- never sleep", "Yes.", "Make that 300 words.",
            ]
        ),
    ),
    max_size=4,
).map(" ".join)  # fmt: skip
TURNS = st.lists(
    st.tuples(
        st.sampled_from([Channel.USER, Channel.AGENT, Channel.TOOL, Channel.DOCUMENT]), LINES
    ),
    min_size=1,
    max_size=5,
)


@given(st.lists(TURNS, min_size=1, max_size=3), st.sampled_from([0, 50]))
def test_no_text_makes_it_fail_or_propose_what_commit_refuses(
    turns: list[list[tuple[Channel, str]]], over: int
) -> None:
    for step in run(*turns, over=over):
        assert not step.failure
        assert [str(note) for note in step.notes if note.reason in REFUSALS] == []


@pytest.mark.parametrize(
    "piece",
    ["a", " ", "1", "1,", "(", '"', "Never ", "no. ", "x: ", "- a\n", "\u200b", "é", "$1 ", "A-1", ", and b c d "],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    assert is_linear(lambda text: compress(reading(text)), piece * 32_000)
