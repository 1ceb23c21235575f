"""Time: what depends on the day is dated, and a rule ends by its own words alone, and never in silence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from acc import CompressedCognitiveState, MemoryController, Proposal, Settings, Turn
from acc.commit.commit import Commit, commit
from acc.state.reasons import Reason
from acc.stores.in_memory import InMemoryStore
from acc.testing import FixedClock, ScriptedCompressor
from acc.text.times import end_of, has_ended, relative_words
from acc.turn.observations import Channel, Observation
from acc.turn.turn import UNDATED

WEDNESDAY = "2026-03-04T10:12:00+01:00"
LATER = "2026-03-06T18:00:01+01:00"
FREEZE = "No deploys until Friday 18:00"


def said(text: str, at: str = WEDNESDAY, number: int = 1) -> Turn:
    return Turn.said(text, at=at).numbered(number)


def rule(text: str, quote: str = "", ref: str = "u1", **more: Any) -> dict[str, Any]:
    wanted = {"text": text, "kind": "prohibition", "quote": quote or text}
    return {"constraints": [{**wanted, "cites": [ref], "id": "", **more}]}


def done(state: Any, turn: Turn, wire: dict[str, Any], mode: Any = "revise") -> Commit:
    state = state or CompressedCognitiveState.empty()
    proposal = Proposal.from_wire(wire, type(state), mode=mode, author="test")
    return commit(state, proposal, turn)


def frozen() -> CompressedCognitiveState:
    return done(None, said(f"{FREEZE}."), rule(FREEZE)).state


def reasons(made: Commit) -> list[str]:
    return [note.reason.value for note in made.notes]


# --- what is read ---


@pytest.mark.parametrize(
    ("text", "until"),
    [
        (FREEZE, "2026-03-06T18:00:00+01:00"),
        ("Until Friday 18:00, no deploys", "2026-03-06T18:00:00+01:00"),
        ("The freeze is in force until Friday 18:00", "2026-03-06T18:00:00+01:00"),
        ("Do not restart anything for the next two hours", "2026-03-04T12:12:00+01:00"),
        ("Hold all mails until tomorrow noon", "2026-03-05T12:00:00+01:00"),
        ("No deploys until 2026-03-09 at 6pm", "2026-03-09T18:00:00+01:00"),
        ("No deploys until end of the month", "2026-03-31T23:59:59+01:00"),
        ("No deploys until March 1st", "2027-03-01T23:59:59+01:00"),
        ("No deploys until Wednesday", "2026-03-11T23:59:59+01:00"),  # of two readings the later
        ("No deploys until next Friday", "2026-03-13T23:59:59+01:00"),
    ],
)
def test_an_end_that_the_words_name_is_read(text: str, until: str) -> None:
    for source in (f"Hello. {text}. Thanks!", f"New rule: {text}", f"Please, {text}, please."):
        assert end_of(text, source, datetime.fromisoformat(WEDNESDAY)) == until


@pytest.mark.parametrize(
    "text",
    [
        "Guests may check in until 22:00",
        "Never deploy on Fridays until 18:00",
        "No calls until 9:00",
        "Accept coupons only until 31 December",
        "If a test fails, wait until Friday",
        "Every week no deploys until Friday",
        "No deploys until Friday unless Anna agrees",
        "Never deploy to prod, hold mails until Friday",
        "Never deploy to prod and hold mails until Friday",
        "Never delete the ledger - hold mails until Friday",
        "Never delete the ledger — hold mails until Friday",
        "Never delete the ledger & hold mails until Friday",
        "Never delete the ledger while mails are held until Friday",
        "Refunds are allowed until 31 December",
        "Guests are permitted to cancel until 31 March",
        "No deploys until the release is out",
        "No deploys until 31 February",
        "Never deploy on Friday",
    ],
)
def test_a_time_that_is_a_part_of_what_the_rule_says_ends_nothing(text: str) -> None:
    assert end_of(text, text, datetime.fromisoformat(WEDNESDAY)) == ""


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("Never deploy until Friday", "Never deploy, and hold mails until Friday."),
        ("No deploys until Friday", "No deploys until Friday's report is out."),
        ("No deploys until Friday", "No deploys until Friday, unless Anna agrees."),
        ("No deploys until Friday", "Nobody said no deploys until Friday."),
        ("No deploys until Friday", "Every week: no deploys until Friday."),
        ("No deploys until Friday", "If the tests fail: no deploys until Friday."),
    ],
)
def test_words_that_do_not_stand_alone_in_the_source_end_nothing(rule: str, source: str) -> None:
    assert end_of(rule, source, datetime.fromisoformat(WEDNESDAY)) is None


def test_without_the_users_zone_a_rule_ends_when_its_time_has_passed_everywhere() -> None:
    until = end_of(FREEZE, FREEZE, datetime(2026, 3, 4, 9, 12, tzinfo=UTC))
    assert until == "2026-03-06T18:00:00"
    assert not has_ended(until, datetime(2026, 3, 8, 5, 59, tzinfo=UTC))
    assert has_ended(until, datetime(2026, 3, 8, 6, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Anna arrives tomorrow", "tomorrow"), ("due by end of day", "end of day"),
        ("the call is on Friday", "on Friday"), ("it failed two hours ago", "two hours ago"),
        ("Anna arrives tomorrow (2026-03-05)", ""), ("closed on Fridays", ""),
        ("the next step", ""),
    ],
)  # fmt: skip
def test_words_that_depend_on_the_day_are_found(text: str, words: str) -> None:
    assert relative_words(text) == words


# --- what the state does ---


def test_a_rule_binds_until_its_time_and_is_then_shown_as_expired() -> None:
    state = frozen()
    (item,) = state.constraints
    assert "until Fri 2026-03-06 18:00" in state.render()
    assert item.is_open
    before = done(state, said("Hi.", "2026-03-06T18:00:00+01:00", 2), {})
    assert before.state.constraints[0].is_open
    after = done(state, said("Hi.", LATER, 2), {})
    (item,) = after.state.constraints
    assert (item.text, item.is_open, item.is_expired) == (FREEZE, False, True)
    assert Reason.EXPIRED.value in reasons(after)
    assert "expired Fri 2026-03-06 18:00" in after.state.render()
    assert "expired(Fri 2026-03-06 18:00)" in after.state.render("predicates")
    for mode in ("revise", "rewrite"):
        fact = {"gap": "why", "cites": ["u3"], "id": ""}
        kept = done(after.state, said("Why?", LATER, 3), {"uncertainty_signal": [fact]}, mode)
        left = [note.reason for note in kept.notes if note.item == item.id]
        assert bool(kept.state.constraints) != bool(left)  # it is there, or a reason says why not
        assert bool(kept.state.constraints) == (mode == "revise")


def test_a_failed_compression_marks_an_expired_rule_too() -> None:
    state = frozen()
    turn = said("Hi.", LATER, 2)
    assert commit(state, None, turn).state.constraints[0].is_expired


def test_an_expired_rule_takes_no_pinned_room_and_leaves_with_a_reason() -> None:
    state = done(frozen(), said("Hi.", LATER, 2), {}).state
    item = state.constraints[0].id
    gone = done(state, said("Hi.", LATER, 3), {"retire": [{"id": item}]})
    assert not gone.state.constraints
    assert [(note.item, note.reason) for note in gone.notes] == [(item, Reason.MADE_ROOM)]


def test_a_rule_that_the_user_says_again_binds_again() -> None:
    state = done(frozen(), said("Hi.", LATER, 2), {}).state
    again = done(state, said(f"{FREEZE}!", "2026-03-09T09:00:00+01:00", 3), rule(FREEZE, ref="u3"))
    assert [item.is_open for item in again.state.constraints] == [False, True]


def test_a_model_ends_no_rule_by_leaving_words_out() -> None:
    words = "Never deploy to prod until Anna is back, and hold the mails until Friday."
    text = "Never deploy to prod until Friday"
    made = done(None, said(words), rule(text, words))
    assert all(not (item.dated and item.dated.until) for item in made.state.constraints)
    late = done(made.state, said("Hi.", "2027-01-01T00:00:00+01:00", 2), {})
    assert all(item.is_open for item in late.state.constraints)


def test_an_end_cut_out_of_a_longer_sentence_is_refused_with_a_reason() -> None:
    made = done(None, said("No deploys until Friday or Saturday."), rule("No deploys until Friday"))
    (item,) = made.state.constraints
    assert reasons(made) == [Reason.ADDED, Reason.EXPIRY_DOUBTED]
    assert str(item.dated) == "said Wed 2026-03-04"


def test_a_fact_with_a_word_for_a_day_carries_the_day_on_which_it_was_said() -> None:
    fact = {"subject": "Anna", "predicate": "arrives", "object": "tomorrow", "status": "stated",
            "cites": ["u1"], "id": ""}  # fmt: skip
    plain = {**fact, "subject": "Bob", "object": "by train"}
    made = done(
        None, said("Anna arrives tomorrow, Bob by train."), {"relational_map": [fact, plain]}
    )
    anna, bob = made.state.relational_map
    assert (str(anna.dated), bob.dated) == ("said Wed 2026-03-04", None)
    kept = done(made.state, said("Ok.", LATER, 2), {"relational_map": [{**fact, "id": anna.id}]})
    assert str(kept.state.relational_map[0].dated) == "said Wed 2026-03-04"


def test_a_turn_whose_time_nobody_knows_dates_and_ends_nothing() -> None:
    made = done(None, said(f"{FREEZE}.", UNDATED), rule(FREEZE))
    assert made.state.constraints[0].dated is None
    assert done(frozen(), said("Hi.", UNDATED, 2), {}).state.constraints[0].is_open


def test_a_state_without_times_has_the_form_of_earlier_releases() -> None:
    made = done(None, said("Never deploy."), rule("Never deploy"))
    assert "dated" not in made.state.canonical()["constraints"][0]
    assert "time" not in made.state.render()


# --- the controller ---


def test_the_clock_dates_a_turn_and_ends_a_rule() -> None:
    clock = FixedClock(datetime(2026, 3, 4, 9, 12, tzinfo=UTC))
    text = "Do not deploy for the next two hours"
    script = ScriptedCompressor([rule(text), {"retire": []}])
    memory = MemoryController(InMemoryStore(), script, Settings(clock=clock))
    first = memory.step(None, Turn.said(f"{text}."), thread="t")
    assert first.turn.at == "2026-03-04T09:12:00.000Z"
    clock.set(datetime(2026, 3, 4, 11, 13, tzinfo=UTC))
    second = memory.step(first.state, Turn.said("Go on."), thread="t")
    assert second.state.constraints[0].is_expired


def test_what_was_recorded_before_does_not_date_the_users_words() -> None:
    clock = FixedClock()
    memory = MemoryController(InMemoryStore(), settings=Settings(clock=clock))
    state = memory.step(None, Turn.said("Hello."), thread="t").state
    memory.record([Observation(channel=Channel.AGENT, text="Hi.")], state=state, thread="t")
    clock.advance(timedelta(days=3))
    at = clock.now()
    words = Turn.said("No deploys until tomorrow noon.")
    first = memory.step(state, words, thread="t")
    clock.advance(timedelta(days=3))
    again = memory.step(state, words, thread="t")
    assert datetime.fromisoformat(first.turn.at) == at
    assert again.state == first.state


def test_the_users_message_dates_the_turn() -> None:
    messages = [
        {"role": "user", "content": "Hi.", "timestamp": WEDNESDAY},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": f"{FREEZE}.", "createdAt": 1_772_615_520_000},
    ]
    script = ScriptedCompressor([rule(FREEZE)])
    memory = MemoryController(InMemoryStore(), script, Settings(clock=FixedClock()))
    step = memory.step(None, Turn.from_messages(messages), thread="t")
    assert step.turn.at == "2026-03-04T09:12:00+00:00"


def test_what_failed_to_be_read_keeps_its_day() -> None:
    clock = FixedClock(datetime(2026, 3, 4, 9, 12, tzinfo=UTC))
    fact = {"subject": "Anna", "predicate": "arrives", "object": "tomorrow", "status": "stated",
            "cites": ["u1"], "id": ""}  # fmt: skip
    script = ScriptedCompressor([ValueError("no"), {"relational_map": [fact]}])
    memory = MemoryController(InMemoryStore(), script, Settings(clock=clock))
    first = memory.step(None, Turn.said("Anna arrives tomorrow."), thread="t")
    assert [o.ref for o in first.state.pending] == ["u1"]
    assert "at" not in first.state.canonical()["pending"][0]
    clock.set(datetime(2026, 3, 6, 9, 12, tzinfo=UTC))
    second = memory.step(first.state, Turn.said("Hi."), thread="t")
    assert str(second.state.relational_map[0].dated) == "said Wed 2026-03-04"


def test_the_time_of_an_observation_is_no_part_of_what_it_is() -> None:
    one = Observation(channel=Channel.USER, text="Hi.")
    assert one.identity == one.model_copy(update={"at": WEDNESDAY}).identity
    assert "at" not in one.model_dump()
