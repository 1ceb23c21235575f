"""`acc.turn.observations`: what a user pasted is theirs on no way in, whoever made the turn, and however."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from strategies import agent, document, hostile_texts, tool, user

from acc import Settings
from acc.background import BackgroundMemory
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import InputError
from acc.keyless.compressor import RuleCompressor
from acc.pipeline.update import update_state
from acc.state.model import CompressedCognitiveState
from acc.stores.in_memory import InMemoryStore
from acc.testing import FixedClock
from acc.turn.observations import PASTED, Channel, Observation, as_observations
from acc.turn.turn import Turn, normalize

State = CompressedCognitiveState

OWN = "Never restart nginx during business hours. Raj wrote this:"
QUOTED = "> Never call me before nine, and always delete the logs by Friday."
MESSAGE = f"{OWN}\n\n{QUOTED}\n\nThoughts?"
BY_HAND = Turn(observations=(user(MESSAGE), agent("I would keep them.")))
SPLIT = Turn(observations=(*Turn.said(MESSAGE).observations, agent("I would keep them.")))


class Read:
    """The keyless rules, and what they were given to read."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def __call__(self, turn: Turn, *rest: Any) -> Any:
        self.turns.append(turn)
        return RuleCompressor()(turn, *rest)


def _memory(kind: type[Any], read: Read) -> Any:
    return kind(InMemoryStore(), read, Settings(clock=FixedClock()))


def _stepped(turn: Turn, read: Read) -> State:
    return _memory(MemoryController, read).step(None, turn, thread="t").state


def _stepped_async(turn: Turn, read: Read) -> State:
    return asyncio.run(_memory(AsyncMemoryController, read).step(None, turn, thread="t")).state


def _recorded_first(turn: Turn, read: Read) -> State:
    memory = _memory(MemoryController, read)
    memory.record(turn.observations, state=None, thread="t")
    return memory.step(None, turn, thread="t").state


def _behind(turn: Turn, read: Read) -> State:
    memory = _memory(MemoryController, read)
    with BackgroundMemory(memory) as background:
        words = turn.model_copy(update={"observations": turn.observations[:-1]})
        entry = background.begin(None, words, thread="t")
        kept = background.finish(entry, turn.observations[-1:])
        background.drain()
        return background.begin(kept, Turn.said("Next."), thread="t").state


def _finished_behind(turn: Turn, read: Read) -> State:
    memory = _memory(MemoryController, read)
    with BackgroundMemory(memory) as background:
        entry = background.begin(None, Turn(observations=()), thread="t")
        kept = background.finish(entry, turn.observations)
        background.drain()
        return background.begin(kept, Turn.said("Next."), thread="t").state


def _without_store(turn: Turn, read: Read) -> State:
    return update_state(None, turn, compressor=read).state


WAYS = (_stepped, _stepped_async, _recorded_first, _behind, _finished_behind, _without_store)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
def test_a_turn_made_by_hand_is_split_as_a_message_is(way: Callable[[Turn, Read], State]) -> None:
    read = Read()
    state = way(BY_HAND, read)
    assert state.hash == way(SPLIT, Read()).hash
    assert [rule.text for rule in state.constraints] == [
        "Never restart nginx during business hours"
    ]
    (turn,) = read.turns
    assert "Never call me" not in turn.user_words
    (pasted,) = [o for o in turn.observations if o.channel is Channel.DOCUMENT]
    assert (pasted.name, pasted.text) == (PASTED, QUOTED)


@given(hostile_texts)
def test_what_was_split_once_is_not_split_again(text: str) -> None:
    once = normalize(Turn(observations=(user(text), tool(text), document(text))), "t")
    assert normalize(once, "t") == once
    assert as_observations(once.observations) == once.observations
    kept = [o for o in once.observations if o.channel is not Channel.DOCUMENT]
    assert kept[-1] == tool(text)


def test_words_that_hold_no_paste_stay_to_the_letter() -> None:
    said = Observation(channel=Channel.USER, text="two  spaces,\n\n\tand a tab", name="Ana")
    turn = Turn(observations=(said,))
    assert normalize(turn, "t") == turn


def test_words_that_were_split_are_handed_on_as_they_are() -> None:
    turn = normalize(BY_HAND, "t")
    assert normalize(turn, "t") is turn
    assert normalize(turn.numbered(3), "t") == turn.numbered(3)


@pytest.mark.parametrize(
    "claim",
    {
        "a number": lambda: BY_HAND.numbered(3),
        "the mark's words": lambda: Turn(observations=(user(f"[pasted]\n{MESSAGE}"),)),
        "other words in their place": lambda: Turn(
            observations=(Turn.said("Hi.").observations[0].model_copy(update={"text": MESSAGE}),)
        ),
        "a dump": lambda: Turn.model_validate(BY_HAND.model_dump()),
        "json": lambda: Turn.model_validate_json(BY_HAND.model_dump_json()),
        "a document made the user's": lambda: Turn(
            observations=(document(MESSAGE).model_copy(update={"channel": Channel.USER}),)
        ),
    }.values(),
)
def test_no_caller_claims_by_accident_that_words_were_split(claim: Callable[[], Turn]) -> None:
    own = [o for o in normalize(claim(), "t").observations if o.channel is Channel.USER]
    assert all(o.is_split and "Never call me" not in o.text for o in own)


def test_no_field_claims_that_words_were_split() -> None:
    for name in ("split", "_split", "is_split"):
        with pytest.raises(ValueError, match=name):
            Observation.model_validate({"channel": "user", "text": MESSAGE, name: True})


def test_the_mark_of_split_words_changes_no_stored_form() -> None:
    said = user("Never restart nginx.")
    assert said.as_split() == said
    assert said.as_split().model_dump() == said.model_dump()
    assert said.as_split().identity == said.identity


def test_what_one_user_sends_changes_nothing_of_anothers() -> None:
    """The first message, tidied, is the second."""
    chat = "[10:02] Bob: Never pay without me.\n{}\n[10:03] Al: ok"
    before = Turn.said(chat.format("foo"))
    Turn.said(chat.format("\nfoo\n"))
    assert Turn.said(chat.format("foo")) == before


# --- what the caller knows ------------------------------------------------------------------

LETTER = "never call me before nine"


@pytest.mark.parametrize(
    ("pasted", "names"),
    [
        (LETTER, [PASTED]),
        ([LETTER], [PASTED]),
        ({"letter": LETTER}, ["letter"]),
        ({"letter": f"\n{LETTER}\n", "empty": " "}, ["letter"]),
        ((), []),
    ],
)
def test_what_a_caller_knows_to_be_pasted_is_a_document(pasted: Any, names: list[str]) -> None:
    turn = Turn.said(f"Bob says {LETTER} again. Never restart nginx.", pasted=pasted)
    *documents, own = turn.observations
    assert [o.name for o in documents] == names
    assert (LETTER in own.text) is (not names)
    assert own.text.endswith("Never restart nginx.")


def test_what_was_pasted_beside_the_message_is_a_document_too() -> None:
    turn = Turn.said("What is this?", pasted={"mail": MESSAGE})
    assert [(o.channel, o.text) for o in turn.observations] == [
        (Channel.DOCUMENT, MESSAGE),
        (Channel.USER, "What is this?"),
    ]


def test_marks_beside_what_a_caller_knows_are_found_all_the_same() -> None:
    turn = Turn.said(f"Read {LETTER}.\n{MESSAGE}", pasted=[LETTER])
    assert [o.text for o in turn.observations[:-1]] == [LETTER, QUOTED]
    assert "Never call me" not in turn.user_words


def test_a_short_passage_is_taken_out_as_a_word_only() -> None:
    assert Turn.said("ok, the token is ok.", pasted=["ok"]).user_words == (
        "[pasted] , the token is [pasted] ."
    )


@pytest.mark.parametrize("pasted", [7, [7], b"x", {"mail": None}, {7: "x"}, None])
def test_what_is_no_text_was_not_pasted(pasted: Any) -> None:
    with pytest.raises(InputError, match="a pasted passage is"):
        Turn.said("Hi.", pasted=pasted)


def test_who_spoke_stays_with_their_own_words() -> None:
    said = Observation(channel=Channel.USER, text=MESSAGE, name="Ana")
    *_, own = normalize(Turn(observations=(said,)), "t").observations
    assert (own.name, own.channel) == ("Ana", Channel.USER)


@pytest.mark.parametrize("turn", [None, "Never restart it.", {"observations": ()}])
def test_what_is_no_turn_is_refused(turn: Any) -> None:
    with pytest.raises(InputError, match="create one with "):
        normalize(turn, "t")
