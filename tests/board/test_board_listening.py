"""What a model hears for the board: what was said to all, and later words; each one private sentence stays out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers_board import (
    FIXER,
    ILL,
    RULE,
    TRIAGE,
    board_texts,
    ends_first,
    everything_on,
    is_clean,
    rules,
    said,
    speak,
    takes_all,
)

from acc.board.board import Board
from acc.board.hearing import GUIDANCE, Listener
from acc.board.memory import BoardMemory
from acc.commit.endings import Judgement, claim_digest
from acc.compress.protocol import Reading
from acc.controller.controller import MemoryController
from acc.errors import CompressionError
from acc.models.protocol import Completion, Usage
from acc.state.proposal import Proposal, ProposedLater, ProposedPin
from acc.turn.observations import Channel
from acc.turn.turn import Turn

TO_ALL = "Everybody: never restart db-2 without asking me."
EXCEPT = "On Sundays that one is fine."


def hears_everybody(reading: Reading) -> Proposal:
    """Take as said to all what addresses everybody."""
    new = [m for m in reading.messages if m.status != "read" and m.text.startswith("Everybody")]
    return Proposal(rules=tuple(ProposedPin(m.text, m.ref) for m in new))


def _open(folder: Path, **settings: Any) -> MemoryController[Any]:
    return MemoryController.open(folder, index="none", **{"compressor": takes_all, **settings})


def test_what_the_listener_hears_is_shared_and_nothing_else(tmp_path: Path) -> None:
    with _open(tmp_path) as memory:
        shared = BoardMemory(memory, Board("b"), listener=hears_everybody)
        step = speak(shared, TRIAGE, TO_ALL)
        assert rules(shared) == [TO_ALL]
        assert not step.state.constraints
        step = speak(shared, TRIAGE, ILL)
        assert [rule.words.text for rule in step.state.constraints] == [ILL]
        assert step.private
        assert "cancer" not in everything_on(shared)
        assert is_clean(memory, shared.board)


def test_the_listener_reads_speech_alone_and_the_boards_state(tmp_path: Path) -> None:
    seen: list[Reading] = []

    def listener(reading: Reading) -> Proposal:
        seen.append(reading)
        return Proposal()

    with _open(tmp_path) as memory:
        shared = BoardMemory(memory, Board("b"), listener=listener)
        shared.step(None, said(("user", RULE), ("tool", "ok"), ("agent", "Well.")), thread=TRIAGE)
        assert [m.channel for m in seen[0].messages] == [Channel.USER, Channel.AGENT]
        assert seen[0].state == shared.board.policy.schema.empty()
        speak(shared, TRIAGE, RULE, to="all")
        speak(shared, FIXER, "Hello.")
        assert [rule.words.text for rule in seen[-1].state.constraints] == [RULE]


def test_nobody_is_asked_where_nothing_could_come_of_it(tmp_path: Path) -> None:
    def listener(_: Reading) -> Proposal:
        raise AssertionError

    with _open(tmp_path, compressor=lambda _: Proposal()) as memory:
        shared = BoardMemory(memory, Board("b"), listener=listener)
        assert not speak(shared, TRIAGE, "Hello.", "How are you?").warnings
        silent = BoardMemory(memory, Board("c"), listener=False)
        speak(silent, TRIAGE, RULE, to="all")
        assert not speak(silent, TRIAGE, RULE).warnings


def test_later_words_of_another_agents_thread_stand_beside_the_rule(tmp_path: Path) -> None:
    def listener(reading: Reading) -> Proposal:
        new = [m for m in reading.messages if m.text == EXCEPT]
        held = reading.state.constraints
        return Proposal(later=tuple(ProposedLater(held[0].id, m.text, m.ref) for m in new if held))

    with _open(tmp_path) as memory:
        shared = BoardMemory(memory, Board("b"), listener=listener)
        speak(shared, TRIAGE, RULE, to="all")
        speak(shared, FIXER, f"I am ill. {EXCEPT}")
        assert not [text for text in board_texts(shared) if "ill" in text]
        speak(shared, FIXER, EXCEPT)
        assert EXCEPT in speak(shared, TRIAGE, "Go on.").state_text
        assert rules(shared) == [RULE]


def test_a_keyless_listener_brings_no_words_that_end_nothing(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, index="none") as memory:
        shared = BoardMemory(memory, Board("house"))
        speak(shared, TRIAGE, "Never let anybody in before 9 am.", to="all")
        speak(
            shared, TRIAGE, "Confidential: I let nobody in before 9 am because of my divorce.", ILL
        )
        assert board_texts(shared) == ["Never let anybody in before 9 am."]


def test_a_rule_ends_by_claim_a_turn_and_a_second_reading(tmp_path: Path) -> None:
    verdicts = ["stays", "ends"]

    def judge(claims: Any) -> list[Judgement]:
        return [Judgement(digest=claim_digest(c.item), verdict=verdicts[0]) for c in claims]

    with _open(
        tmp_path, compressor=lambda r: takes_all(r) if r.number == 1 else Proposal()
    ) as memory:
        shared = BoardMemory(memory, Board("b"), listener=ends_first, judge=judge)
        speak(shared, TRIAGE, RULE, to="all")
        speak(shared, TRIAGE, "Whatever.", "And on.")
        assert len(rules(shared)) == 1
        del verdicts[0]
        step = speak(shared, TRIAGE, "Do it always.")
        assert "Do it always." in step.state_text
        assert rules(shared) == [RULE]  # shown for a turn
        speak(shared, TRIAGE, "Next.")
        assert rules(shared) == []
        assert is_clean(memory, shared.board)


def test_a_judge_that_fails_leaves_the_rule(tmp_path: Path) -> None:
    def judge(_: Any) -> list[Judgement]:
        raise OSError("down")

    with _open(
        tmp_path, compressor=lambda r: takes_all(r) if r.number == 1 else Proposal()
    ) as memory:
        shared = BoardMemory(memory, Board("b"), listener=ends_first, judge=judge)
        speak(shared, TRIAGE, RULE, to="all")
        step = speak(shared, TRIAGE, "Whatever.")
        assert any("the judge failed" in each for each in step.warnings)
        speak(shared, TRIAGE, "And on.", "And on again.")
        assert rules(shared) == [RULE]


def test_a_listener_that_fails_is_asked_again_with_the_next_step(tmp_path: Path) -> None:
    broken = [True]

    def listener(reading: Reading) -> Proposal:
        if broken:
            raise CompressionError("down", outcome="raised")
        return hears_everybody(reading)

    with _open(tmp_path) as memory:
        shared = BoardMemory(memory, Board("b"), listener=listener)
        step = speak(shared, TRIAGE, TO_ALL)
        assert step.warnings == ("the board: raised: down",)
        assert rules(shared) == []
        broken.clear()
        speak(shared, TRIAGE, "Go on.")
        assert rules(shared) == [TO_ALL]


class Model:
    """A model that answers by what it is asked for."""

    name = "scripted"
    price = None

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def complete(self, messages: Any, schema: Any, **_: Any) -> Completion:
        system, material = messages[0].content, messages[-1].content
        self.asked.append((system, material))
        ref = "u_1" if GUIDANCE in system else "u1"
        is_new = (
            "Not in the state yet" in material
            and "Everybody" in material.rpartition("Not in the state yet")[2]
        )
        if not is_new:
            return Completion("{}", Usage(), self.name)
        return Completion(
            f'{{"rules": [{{"quote": "never restart db-2", "ref": "{ref}"}}]}}', Usage(), self.name
        )

    async def acomplete(self, messages: Any, schema: Any, **_: Any) -> Completion:
        return self.complete(messages, schema)


def test_the_memorys_model_listens_with_the_boards_guidance(tmp_path: Path) -> None:
    from acc.step import Cadence

    model = Model()
    with MemoryController.open(tmp_path, index="none", model=model, cadence=Cadence()) as memory:
        shared = BoardMemory(memory, Board("b"))
        step = speak(shared, TRIAGE, TO_ALL)
        assert rules(shared) == [TO_ALL]
        assert not step.state.constraints
        assert [GUIDANCE in system for system, _ in model.asked] == [False, True]
        assert TO_ALL in speak(shared, FIXER, "Hello.").state_text


def test_who_listens() -> None:
    assert Listener.of(None, None).compressor is not None
    assert not Listener.of(None, None).is_discerning
    assert Listener.of(None, takes_all) == Listener(takes_all, is_discerning=True)
    assert Listener.of(None, False).compressor is None
    assert Listener.of(Model(), None).is_discerning


def test_a_private_about_stays_private(tmp_path: Path) -> None:
    def compressor(reading: Reading) -> Proposal:
        new = [m for m in reading.messages if m.text.startswith("Never stop")]
        return Proposal(
            rules=tuple(ProposedPin(m.text, m.ref, about="the cancer ward") for m in new)
        )

    with _open(tmp_path, compressor=compressor) as memory:
        shared = BoardMemory(memory, Board("b"))
        shared.step(None, Turn.said("Look at the cancer ward."), thread=TRIAGE)
        step = speak(shared, TRIAGE, "Never stop it without me.", to="all")
        assert rules(shared) == ["Never stop it without me."]
        assert "cancer" not in everything_on(shared)
        assert any("the about of a rule" in line for line in step.private)
        assert [rule.text_of for rule in step.state.constraints] == [
            "Never stop it without me. (about: the cancer ward)"
        ]
