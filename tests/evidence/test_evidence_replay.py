"""Replay: with a model and its price, with boards, beside other workers, and for whatever was said."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers_evidence import Scripted, check_gone, evidence_of, left_of, opened, pin, talk
from hypothesis import given
from hypothesis import strategies as st

from acc.board.board import Board
from acc.board.memory import BoardMemory
from acc.controller.controller import AsyncMemoryController
from acc.errors import CompressionError, ConflictError, StateError
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.journal import ThreadKey
from acc.models.protocol import Completion, PromptMessage, Usage
from acc.state.policy import Cadence, Policy
from acc.state.proposal import Proposal
from acc.turn.turn import Turn

SECRET = "Huntington"
MESSAGE = f"My brother Karl has had {SECRET} since last spring."
RULE = "Never call him before noon."


class Model:
    """A model that answers with a fact of each word that it reads and knows; it may fail, or something happens."""

    name = "scripted"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails, self.meanwhile = False, list[Callable[[], object]]()

    def complete(
        self, messages: Sequence[PromptMessage], schema: Mapping[str, Any] | None
    ) -> Completion:
        if self.fails:
            raise CompressionError("away", outcome="raised")
        while self.meanwhile:
            self.meanwhile.pop()()
        text = "\n".join(message.content for message in messages)
        self.asked.append(text)
        facts = [{"text": f"Karl: {SECRET}", "refs": ["u2"]}] if SECRET in text else []
        return Completion(json.dumps({"facts": facts}), Usage(1, 100, 10), "scripted")

    async def acomplete(self, messages: Any, schema: Any) -> Completion:
        return self.complete(messages, schema)


def test_a_model_is_asked_again_from_where_it_read_the_words_and_the_price_is_told(
    tmp_path: Path,
) -> None:
    model = Model()
    with opened(tmp_path, model=model, policy=Policy(cadence=Cadence(compress_over=0))) as memory:
        talk(memory, RULE, MESSAGE, "And the gate?")
        assert SECRET in memory.last_state("t").model_dump_json()
        asked = len(model.asked)
        plan = evidence_of(memory).plan_erasure(Target(thread="t", refs=("u2",)))
        assert (plan.requests, plan.tokens) == (2, 220)
        assert [leaving.text for leaving in plan.leaving] == [f"Karl: {SECRET}"]
        model.fails = True
        with pytest.raises(CompressionError, match="nothing was erased"):
            plan.apply()
        assert left_of(memory, SECRET)
        model.fails = False
        receipt = plan.apply()
        assert receipt.proved
        assert receipt.requests <= 2
        assert SECRET not in "".join(model.asked[asked:])
        check_gone(memory, SECRET)


def test_a_model_is_not_asked_where_it_never_read_the_words(tmp_path: Path) -> None:
    model = Model()
    with opened(tmp_path, model=model, policy=Policy(cadence=Cadence(compress_over=500))) as memory:
        talk(memory, RULE)
        memory.flush("t")
        talk(memory, MESSAGE, "And the gate?")
        plan = evidence_of(memory).plan_erasure(Target(thread="t", refs=("u2",)))
        assert plan.requests == 0
        assert plan.apply().proved
        assert left_of(memory, SECRET) == []
        assert "And the gate?" in memory.step(None, Turn.said("Go on."), thread="t").text()


def test_what_a_board_holds_of_it_goes(tmp_path: Path) -> None:
    board = ThreadKey("ops", agent="board")
    with opened(tmp_path) as memory:
        talk(memory, RULE, MESSAGE)
        talk(memory, RULE, MESSAGE, "Something else.", thread=board)  # type: ignore[arg-type]
        plan = evidence_of(memory).plan_erasure(Target(thread="t", refs=("u2",)))
        assert {(gone.thread.agent, gone.is_echo) for gone in plan.messages} == {
            ("", False),
            ("board", True),
        }
        assert plan.apply().proved
        assert left_of(memory, SECRET) == []
        assert memory.last_state(board).constraints
        evidence_of(memory).erase(Target(thread="t"))
        assert not memory.last_state(board).constraints


def test_what_reached_a_board_goes_by_its_origin(tmp_path: Path) -> None:
    """The board holds a sentence of the message, which goes whole."""
    compressor = Scripted(
        [Proposal(rules=(pin(RULE, "u1"),)), Proposal(rules=(pin(SECRET, "u2"),))]
    )
    with opened(tmp_path, model=compressor) as memory:
        board = Board("ops")
        shared = BoardMemory(memory, board, listener=False)
        for each in (RULE, MESSAGE):
            shared.step(None, Turn.said(each), thread="t", to="all")
        key = board.key_of("t")
        said = [each.message.text for each in memory.journal.messages(key)]
        assert any(SECRET in text for text in said)
        assert evidence_of(memory).erase(Target(thread="t", refs=("u2",))).proved
        assert any(RULE in each.message.text for each in memory.journal.messages(key))
        check_gone(memory, SECRET, policies=[board.policy])
        latest = memory.journal.latest(key, schema=board.policy.schema)
        assert [rule.words.text for rule in latest.state.constraints] == [RULE]  # type: ignore[union-attr]
        kept = list(memory.journal.messages(key))
        evidence_of(memory).erase(Target(thread="t", refs=("u2",)))  # takes nothing more
        assert list(memory.journal.messages(key)) == kept


def test_a_worker_that_began_before_is_told(tmp_path: Path) -> None:
    model = Model()
    with opened(tmp_path, model=model, policy=Policy(cadence=Cadence(compress_over=0))) as memory:
        talk(memory, RULE, MESSAGE)
        with opened(
            tmp_path, model=Model(), policy=Policy(cadence=Cadence(compress_over=0))
        ) as other:
            evidence = evidence_of(other)
            model.meanwhile.append(lambda: evidence.erase(Target(thread="t", refs=("u2",))))
            with pytest.raises((ConflictError, StateError)):
                memory.step(None, Turn.said("And the gate?"), thread="t")
        assert left_of(memory, SECRET) == []
        assert SECRET not in memory.step(None, Turn.said("And the gate?"), thread="t").text()
        assert memory.journal.verify([memory.policy]).is_clean


def test_a_fork_from_the_words_meanwhile_stops_it(tmp_path: Path) -> None:
    model = Model()
    with opened(tmp_path, model=model, policy=Policy(cadence=Cadence(compress_over=0))) as memory:
        secret = talk(memory, RULE, MESSAGE).state
        talk(memory, "And the gate?")
        plan = evidence_of(memory).plan_erasure(Target(thread="t", refs=("u2",)))
        model.meanwhile.append(lambda: memory.journal.fork("t", secret.hash, "late"))
        with pytest.raises(ConflictError, match="forked"):
            plan.apply()
        assert evidence_of(memory).erase(Target(thread="t", refs=("u2",))).proved
        assert left_of(memory, SECRET) == []


async def _asynchronously(folder: Path) -> None:
    async with AsyncMemoryController.open(folder, store="none") as memory:
        for each in (RULE, MESSAGE):
            await memory.step(None, Turn.said(each), thread="t")
        evidence = Evidence(memory)
        receipt = await memory.beside(evidence.erase, Target(thread="t", refs=("u2",)))
        assert receipt.proved
        assert (await memory.step(None, Turn.said("Go on."), thread="t")).state.turn == 3


def test_it_runs_beside_an_event_loop(tmp_path: Path) -> None:
    asyncio.run(_asynchronously(tmp_path))


def test_another_process_recalls_nothing_of_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, opened(tmp_path) as other:
        talk(memory, "Hello.", MESSAGE, *(f"Talk number {n} of other things." for n in range(8)))
        other.step(None, Turn.said("What does my brother Karl have?"), thread="t")
        evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        step = other.step(None, Turn.said("What does my brother Karl have?"), thread="t")
        assert SECRET not in step.text()
        assert left_of(other, SECRET) == []


def test_the_same_erasure_twice_and_another_after_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, RULE, MESSAGE, "The vault code is 4711-Zanzibar.", "Always answer in German.")
        evidence = evidence_of(memory)
        evidence.erase(Target(thread="t", refs=("u2",)))
        evidence.erase(Target(thread="t", refs=("u3",)))
        check_gone(memory, SECRET, "Zanzibar")
        assert len(memory.journal.tombstones("t")) == 2
        evidence.erase(Target(thread="t", refs=("u1",)))
        rules = [rule.words.text for rule in memory.last_state("t").constraints]
        assert rules == ["Always answer in German."]
        assert memory.journal.verify([memory.policy]).is_clean


def test_a_state_from_outside_after_the_words_cannot_be_made_anew(tmp_path: Path) -> None:
    with opened(tmp_path / "a", state_key=b"k" * 32) as memory:
        talk(memory, RULE, MESSAGE)
        state = talk(memory, "Go on.").state
    with opened(tmp_path / "b", state_key=b"k" * 32) as memory:
        talk(memory, MESSAGE)
        memory.step(state, Turn.said("And now?"), thread="t")
        plan = evidence_of(memory).plan_erasure(Target(words=(SECRET,)))
        with pytest.raises(StateError, match="outside"):
            plan.apply()
        assert evidence_of(memory).erase(Target(thread="t")).proved
        assert left_of(memory, SECRET) == []


_SAID = st.lists(
    st.sampled_from(
        [
            f"Never tell anybody that {SECRET} is my vault.",
            f"{SECRET} costs 300 euros.",
            "Never call me before noon.",
            "The budget is 300 euros.",
            f"From now on, ask {SECRET} first.",
            f"No, forget that {SECRET} thing.",
            "Always answer in German.",
            "You may call me before noon on Sundays.",
            "What is the budget?",
            "FORK",
            "FLUSH",
            "RETIRE",
        ]
    ),
    min_size=1,
    max_size=9,
)


def _played(memory: Any, said: Sequence[str]) -> bool:
    state, states = None, []
    for each in said:
        if each == "FORK":
            state = states[0] if states else None
        elif each == "FLUSH":
            memory.flush("t")
        elif each == "RETIRE":
            held = memory.last_state("t")
            if held is not None and held.constraints:
                memory.retire([held.constraints[0].id], "enough", thread="t")
        else:
            state = memory.step(state, Turn.said(each), thread="t").state
            states.append(state)
    return any(SECRET in each for each in said)


@given(said=_SAID, over=st.sampled_from([0, 30]))
def test_after_an_erasure_the_words_are_in_no_byte(said: list[str], over: int) -> None:
    policy = Policy(cadence=Cadence(compress_over=over, tail_bound=1_000))
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), policy=policy) as memory:
        if not _played(memory, said):
            return
        assert left_of(memory, SECRET)
        receipt = evidence_of(memory).erase(Target(words=(SECRET,)))
        assert receipt.proved
        assert receipt.traces == ()
        check_gone(memory, SECRET)
        memory.step(None, Turn.said("Go on."), thread="t")
        assert memory.journal.verify([memory.policy]).is_clean
