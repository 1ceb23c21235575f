"""What a listener hears for the board: what is private, and what ends a rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers_board import (
    FIXER,
    ILL,
    LIFT,
    RULE,
    TRIAGE,
    Sharing,
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
from acc.board.listening import INSTRUCTION, Heard, Marked
from acc.board.memory import BoardMemory
from acc.controller.controller import MemoryController
from acc.models.protocol import Completion, Usage
from acc.state.proposal import Proposal, ProposedLater, ProposedPin
from acc.state.reading import Judgement, Reading, claim_digest
from acc.turn.observations import Channel
from acc.turn.turn import Turn

TO_ALL = "Everybody: never restart db-2 without asking me."
EXCEPT = "On Sundays that one is fine."


def hears_everybody(reading: Reading) -> Heard:
    """Take as said to all what addresses everybody."""
    new = [m for m in reading.messages if m.status != "read" and m.text.startswith("Everybody")]
    return Heard(to_all=tuple(Marked(m.text, m.ref, "everybody") for m in new))


def hears_illness(reading: Reading) -> Heard:
    """Take as private the sentence that speaks of cancer."""
    found = (m for m in reading.messages if "cancer" in m.text)
    return Heard(private=tuple(Marked("cancer", m.ref) for m in found))


def _open(folder: Path, **settings: Any) -> MemoryController[Any]:
    return MemoryController.open(folder, store="none", **{"model": takes_all, **settings})


def with_a_rule(sharing: Sharing, **given: Any) -> Any:
    """A board with one rule; later words are proposed by its listener alone."""
    shared = sharing(
        Board("b"), model=lambda r: takes_all(r) if r.number == 1 else Proposal(), **given
    )
    speak(shared, TRIAGE, RULE, to="all")
    return shared


def test_what_the_user_says_to_all_is_shared_with_the_words_that_say_so(sharing: Sharing) -> None:
    shared = sharing(Board("b"), listener=hears_everybody, model=takes_all)
    step = speak(shared, TRIAGE, TO_ALL)
    assert rules(shared) == [TO_ALL]
    assert step.shared == (f'u1 "{TO_ALL}" is shared: the user says "everybody"',)
    step = speak(shared, TRIAGE, ILL)
    assert [rule.words.text for rule in step.state.constraints] == [ILL]
    assert step.private == (f'u2 "{ILL}" stays private: nobody said it to all',)
    assert "cancer" not in everything_on(shared)


@pytest.mark.parametrize(
    ("quote", "to"),
    [
        (ILL, ""),
        (ILL, "Everybody"),
        ("Never restart anything.", "anybody"),
        ("Tell me.", "anybody"),
    ],
)
def test_a_listener_shares_nothing_without_words_of_the_user(
    sharing: Sharing, quote: str, to: str
) -> None:
    """Words of another message, or of nobody, are no reason."""

    def listener(reading: Reading) -> Heard:
        return Heard(to_all=tuple(Marked(quote, m.ref, to) for m in reading.messages))

    shared = sharing(Board("b"), listener=listener, model=takes_all)
    turn = said(
        ("user", ILL), ("agent", "Everybody: never restart anything."), ("user", "Tell me.")
    )
    shared.step(None, turn, thread=TRIAGE)
    assert not rules(shared)


def test_what_is_private_stays_so_whatever_else_says_to_share_it(sharing: Sharing) -> None:
    shared = sharing(Board("b"), listener=hears_illness, model=takes_all)
    step = shared.step(None, said(("user", RULE), ("user", ILL)), thread=TRIAGE, to="all")
    assert rules(shared) == [RULE]
    assert "cancer" not in everything_on(shared)
    assert [rule.words.text for rule in step.state.constraints] == [ILL]
    assert step.private == (f'u1.1 "{ILL}" stays private: the listener calls it private',)


@pytest.mark.parametrize("quote", ["these words stand nowhere", ""])
def test_a_private_mark_that_is_not_found_makes_its_message_private(
    sharing: Sharing, quote: str
) -> None:
    def listener(reading: Reading) -> Heard:
        return Heard(private=(Marked(quote, reading.messages[0].ref),))

    def by_sentence(_: Reading) -> Proposal:
        return Proposal(rules=tuple(ProposedPin(each, "u1") for each in (RULE, ILL, LIFT)))

    shared = sharing(Board("b"), listener=listener, model=by_sentence)
    turn = said(("user", f"{RULE} {ILL}"), ("user", LIFT))
    shared.step(None, turn, thread=TRIAGE, to="all")
    assert rules(shared) == [LIFT]


def test_the_listener_reads_speech_alone_and_the_boards_state(sharing: Sharing) -> None:
    seen: list[Reading] = []

    def listener(reading: Reading) -> Proposal:
        seen.append(reading)
        return Proposal()

    shared = sharing(Board("b"), listener=listener, model=takes_all)
    shared.step(None, said(("user", RULE), ("tool", "ok"), ("agent", "Well.")), thread=TRIAGE)
    assert [m.channel for m in seen[0].messages] == [Channel.USER, Channel.AGENT]
    assert seen[0].state == shared.board.policy.schema.empty()
    speak(shared, TRIAGE, RULE, to="all")
    speak(shared, FIXER, "Hello.")
    assert [rule.words.text for rule in seen[-1].state.constraints] == [RULE]


def test_nobody_is_asked_where_nothing_could_come_of_it(tmp_path: Path) -> None:
    def listener(_: Reading) -> Proposal:
        raise AssertionError

    with _open(tmp_path, model=lambda _: Proposal()) as memory:
        shared = BoardMemory(memory, Board("b"), listener=listener)
        assert not speak(shared, TRIAGE, "Hello.", "How are you?").warnings
        silent = BoardMemory(memory, Board("c"), listener=False)
        speak(silent, TRIAGE, RULE, to="all")
        assert not speak(silent, TRIAGE, RULE).warnings


@pytest.mark.parametrize("to", ["", "all"])
def test_an_exception_is_for_those_to_whom_it_was_said(sharing: Sharing, to: Any) -> None:
    def listener(reading: Reading) -> Proposal:
        new = [m for m in reading.messages if m.text == EXCEPT]
        held = reading.state.constraints
        return Proposal(later=tuple(ProposedLater(held[0].id, m.text, m.ref) for m in new if held))

    shared = with_a_rule(sharing, listener=listener)
    speak(shared, FIXER, "Hello.", "I am ill.")
    step = speak(shared, FIXER, EXCEPT, to=to)
    assert rules(shared) == [RULE]
    assert (EXCEPT in speak(shared, TRIAGE, "Go on.").state_text) == (to == "all")
    assert bool(step.private) == (to == "")
    assert not [text for text in board_texts(shared) if "ill" in text]


@pytest.mark.parametrize("verdict", ["ends", "stays"])
def test_words_that_end_a_rule_go_to_all_if_two_readings_agree(
    sharing: Sharing, verdict: Any
) -> None:
    def judge(claims: Any) -> list[Judgement]:
        return [Judgement(digest=claim_digest(c.item), verdict=verdict) for c in claims]

    shared = with_a_rule(sharing, listener=ends_first, judge=judge)
    speak(shared, TRIAGE, ILL)
    assert ("cancer" in everything_on(shared)) == (verdict == "ends")
    speak(shared, TRIAGE, "Next.", "Next.")
    assert rules(shared) == ([] if verdict == "ends" else [RULE])
    assert is_clean(shared.memory, shared.board)


def test_a_keyless_listener_brings_no_words_that_end_nothing(sharing: Sharing) -> None:
    shared = sharing(Board("house"))
    speak(shared, TRIAGE, "Never let anybody in before 9 am.", to="all")
    speak(shared, TRIAGE, "Confidential: I let nobody in before 9 am because of my divorce.", ILL)
    assert board_texts(shared) == ["Never let anybody in before 9 am."]


def test_a_judge_that_fails_leaves_the_rule(sharing: Sharing) -> None:
    def judge(_: Any) -> list[Judgement]:
        raise OSError("down")

    shared = with_a_rule(sharing, listener=ends_first, judge=judge)
    step = speak(shared, TRIAGE, "Whatever.")
    assert any("the judge failed" in each for each in step.warnings)
    speak(shared, TRIAGE, "And on.", "And on again.")
    assert rules(shared) == [RULE]


@pytest.mark.parametrize("answer", [OSError("down"), "none"])
def test_a_listener_that_fails_leaves_all_private_until_it_works(
    sharing: Sharing, answer: Any
) -> None:
    broken = [True]

    def listener(reading: Reading) -> Proposal:
        if broken and isinstance(answer, Exception):
            raise answer
        return answer if broken else hears_illness(reading)

    shared = sharing(Board("b"), listener=listener, model=takes_all)
    step = speak(shared, TRIAGE, RULE, ILL, to="all")
    assert step.warnings
    assert "the listener failed, and is asked again" in step.private[0]
    assert not rules(shared)
    broken.clear()
    speak(shared, TRIAGE, "Go on.")
    assert rules(shared) == [RULE]
    assert "cancer" not in everything_on(shared)


class Model:
    """A model that answers by what it is asked for."""

    name = "scripted"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def complete(self, messages: Any, schema: Any, **_: Any) -> Completion:
        system, material = messages[0].content, messages[-1].content
        self.asked.append((system, material))
        new = material.rpartition("Not in the state yet")[2]
        if "cancer" not in new:
            return Completion("{}", Usage(), self.name)
        rules = [{"quote": "Never restart db-2", "ref": "u1"}, {"quote": ILL, "ref": "u1"}]
        if system != INSTRUCTION:
            return Completion(json.dumps({"rules": rules}), Usage(), self.name)
        assert {"later", "private", "to_all"} == schema["properties"].keys()
        heard = {"private": [{"quote": "ill with cancer", "ref": "u_1"}]}
        return Completion(json.dumps(heard), Usage(), self.name)

    async def acomplete(self, messages: Any, schema: Any, **_: Any) -> Completion:
        return self.complete(messages, schema)


def test_the_memorys_model_listens_with_a_prompt_of_the_boards(sharing: Sharing) -> None:
    from acc.state.policy import Cadence, Policy

    model = Model()
    shared = sharing(Board("b"), model=model, policy=Policy(cadence=Cadence()))
    step = speak(shared, TRIAGE, f"{RULE} {ILL}", to="all")
    assert rules(shared) == [RULE]
    assert [rule.words.text for rule in step.state.constraints] == [ILL]
    assert [system == INSTRUCTION for system, _ in model.asked] == [False, True]
    assert RULE in speak(shared, FIXER, "Hello.").state_text


def test_a_private_about_stays_private(sharing: Sharing) -> None:
    def compressor(reading: Reading) -> Proposal:
        new = [m for m in reading.messages if m.text.startswith("Never stop")]
        return Proposal(
            rules=tuple(ProposedPin(m.text, m.ref, about="the cancer ward") for m in new)
        )

    shared = sharing(Board("b"), model=compressor)
    shared.step(None, Turn.said("Look at the cancer ward."), thread=TRIAGE)
    step = speak(shared, TRIAGE, "Never stop it without me.", to="all")
    assert rules(shared) == ["Never stop it without me."]
    assert "cancer" not in everything_on(shared)
    assert any("the about of a rule" in line for line in step.private)
    assert [rule.text_of for rule in step.state.constraints] == [
        "Never stop it without me. (about: the cancer ward)"
    ]
