"""The laws of a board, for any turns, with compressors that lie."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext, suppress
from typing import Any
from unittest.mock import patch

from helpers_board import board_texts, everything_on, is_clean, rules, said
from hypothesis import given
from hypothesis import strategies as st

from acc.board.board import Board, BoardOverflow
from acc.board.delivery import SAID_TO_ALL
from acc.board.listening import Heard, Marked
from acc.board.memory import BoardMemory
from acc.controller.controller import MemoryController
from acc.journal import Journal, ThreadKey
from acc.state.items import Pinned
from acc.state.proposal import Proposal, ProposedDone, ProposedLater, ProposedPin
from acc.state.reading import Reading
from acc.turn.observations import Channel

AGENTS = tuple(ThreadKey("t", user="u", agent=name) for name in ("one", "two"))
PRIVATE = tuple(f"Never mention the secret{n} to anybody." for n in range(4))
OPEN = tuple(f"Never restart machine{n} without me." for n in range(4))
OPERATORS = ("Always answer in English.",)
OTHERS = ("The secret5 of the agent is out.", "The secret6 stands in a document.")

turns = st.tuples(
    st.sampled_from(AGENTS),
    st.booleans(),
    st.lists(
        st.one_of(
            st.tuples(st.just("private"), st.sampled_from(PRIVATE)),
            st.tuples(st.just("operator"), st.sampled_from(OPERATORS)),
            st.tuples(st.sampled_from(["agent", "tool", "document"]), st.sampled_from(OTHERS)),
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(OPEN),
    st.integers(0, 2**32),
)


def liar(seed: int) -> Any:
    """Return a compressor that calls any message a rule, a goal, later words or an end."""

    def compressor(reading: Reading) -> Proposal:
        texts = [(m.text, m.ref) for m in reading.messages]
        held = [item.id for _, item in reading.state.items() if isinstance(item, Pinned)]
        pick = seed
        pins: list[ProposedPin] = []
        goals: list[ProposedPin] = []
        later: list[ProposedLater] = []
        for text, ref in texts:
            pick, what = divmod(pick, 5)
            other = texts[pick % len(texts)][0]
            pin = ProposedPin(
                text,
                ref,
                about=other if what == 1 else "",
                scope=other,
                offer=other if what == 2 else "",
            )
            (goals if what == 3 else pins).append(pin)
            if held and what == 4:
                later.append(ProposedLater(held[pick % len(held)], text, ref, ends=bool(pick % 2)))
        done = tuple(ProposedDone(each, texts[0][1]) for each in held[:1] if seed % 3 == 0)
        return Proposal(tuple(pins), tuple(goals), tuple(later), done)

    return compressor


def lying_listener(compressor: Any) -> Any:
    """Return a listener that lies as ``compressor`` does, and says of each message that it is said to all."""

    def listener(reading: Reading) -> Heard:
        lie: Proposal = compressor(reading)
        texts = [m.text for m in reading.messages]
        pairs = zip(reading.messages, [*texts[1:], "everybody"], strict=True)
        marks = tuple(Marked(m.text, m.ref, other) for m, other in pairs if other != m.text)
        return Heard(later=lie.later, to_all=marks)

    return listener


@given(st.lists(turns, min_size=1, max_size=4))
def test_no_private_text_comes_to_the_board(asked: list[Any]) -> None:
    """Whatever compressor and listener say: on the board stands what somebody said to all, verbatim and whole.

    The judge tells the truth: nothing is ended.
    """
    lies = [0]
    lie = lambda reading: liar(lies[0])(reading)  # noqa: E731
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, store="none", model=lie, judge=lambda _: ()) as memory,
    ):
        shared = BoardMemory(memory, Board("b"), listener=lying_listener(lie))
        lawful = {SAID_TO_ALL}
        for key, to_all, parts, open_text, seed in asked:
            lies[0] = seed
            spoken = [("user" if who == "private" else who, text) for who, text in parts]
            turn = said(
                *(s for s in spoken if not to_all or s[1] not in PRIVATE), ("user", open_text)
            )
            lawful |= {text for who, text in spoken if who == "operator"}
            lawful |= {open_text} if to_all else set()
            with suppress(BoardOverflow):
                shared.step(None, turn, thread=key, to="all" if to_all else "")
        texts = set(board_texts(shared, AGENTS[0]))
        assert texts <= lawful
        assert "secret" not in everything_on(shared, AGENTS[0])
        state = shared.head(AGENTS[0]).state
        for _, item in state.items() if state is not None else ():
            if isinstance(item, Pinned):
                assert item.words.text in lawful
                assert item.words.channel in (Channel.USER, Channel.OPERATOR)
        assert is_clean(memory, shared.board)


class Killed(Exception):
    """The process dies here."""


def _killed(where: str) -> Any:
    """Let the process die before the board is told, or before the rule leaves the agent's own state."""
    whole = Journal.append_and_commit

    def die(*args: Any, **_: Any) -> Any:
        if where == "before it leaves" or args[1].agent == "board":
            raise Killed
        return whole(*args, **_)

    if where == "before it leaves":
        return patch("acc.board.memory.retire", die)
    return patch.object(Journal, "append_and_commit", die)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(AGENTS),
            st.sampled_from(OPEN),
            st.sampled_from(["", "", "before the board", "before it leaves"]),
        ),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_what_was_said_to_all_stands_once_and_for_all(asked: list[Any]) -> None:
    """No order of agents and of deaths loses or doubles a rule."""
    board = Board("b")
    with tempfile.TemporaryDirectory() as folder, _opened(folder) as memory:
        shared = BoardMemory(memory, board)
        for key, text, where in asked:
            with _killed(where) if where else nullcontext(), suppress(Killed):
                shared.step(None, said(("operator", text)), thread=key)
            shared = BoardMemory(memory, board) if where else shared
        expected = sorted(
            {m.message.text for key in AGENTS for m in memory.journal.messages(key)}
        )  # a process that died while it told the board of the turn before has not taken its own
        for key in AGENTS:
            step = shared.step(None, said(("user", "Go on.")), thread=key)
            assert not step.state.constraints
        assert sorted(rules(shared, AGENTS[0])) == expected
        assert is_clean(memory, board)


def _opened(folder: str) -> MemoryController[Any]:
    return MemoryController.open(folder, store="none")
