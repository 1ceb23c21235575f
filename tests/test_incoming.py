"""`acc.incoming`: what a user pasted is theirs on no way in, whoever made the turn, and however."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from strategies import agent, document, hostile_texts, tool, user

from acc.background import BackgroundMemory
from acc.compressors.rules import RuleCompressor
from acc.controller import AsyncMemoryController, MemoryController, update_state
from acc.errors import InputError
from acc.incoming import PASTED, as_observations, taken_in
from acc.state import CompressedCognitiveState
from acc.stores.memory import MemoryArtifactStore
from acc.testing import FixedClock
from acc.turn import Channel, Observation, Turn

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
    return kind(MemoryArtifactStore(), read, clock=FixedClock())


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
    once = taken_in(Turn(observations=(user(text), tool(text), document(text))), "t")
    assert taken_in(once, "t") == once
    assert as_observations(once.observations) == once.observations
    kept = [o for o in once.observations if o.channel is not Channel.DOCUMENT]
    assert kept[-1] == tool(text)


def test_words_that_hold_no_paste_stay_to_the_letter() -> None:
    said = Observation(channel=Channel.USER, text="two  spaces,\n\n\tand a tab", name="Ana")
    turn = Turn(observations=(said,))
    assert taken_in(turn, "t") is turn


def test_a_turn_that_was_stored_is_not_looked_at_again() -> None:
    """Another process reads it back, and commits it under the claim that was made of its words."""
    stored = BY_HAND.numbered(3)
    assert taken_in(stored, "t") is stored


def test_who_spoke_stays_with_their_own_words() -> None:
    said = Observation(channel=Channel.USER, text=MESSAGE, name="Ana")
    *_, own = taken_in(Turn(observations=(said,)), "t").observations
    assert (own.name, own.channel) == ("Ana", Channel.USER)


@pytest.mark.parametrize("turn", [None, "Never restart it.", {"observations": ()}])
def test_what_is_no_turn_is_refused(turn: Any) -> None:
    with pytest.raises(InputError, match="make one: "):
        taken_in(turn, "t")
