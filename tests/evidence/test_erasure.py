"""Erasure: what goes, what stays, what is left in the bytes, and what a checkpoint may bring back."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from helpers_evidence import Scripted, check_gone, evidence_of, fact, left_of, opened, pin, talk

from acc.artifacts.chroma import ChromaStore
from acc.errors import ConflictError, InputError, StateError, StoreError
from acc.evidence.target import Target
from acc.journal import ThreadKey
from acc.state.proposal import Proposal, ProposedLater, ProposedRecord
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

SECRET = "Huntington"
MESSAGE = f"By the way my brother Karl has had {SECRET} since last spring but keep that to yourself please."
RULE = "Never call him before noon."
FIRST = f"{RULE} The garden gate is green."


def test_a_message_goes_and_the_rest_is_committed_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, FIRST, MESSAGE, "What colour is the gate?", "Always answer in German.")
        receipt = evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        assert receipt.proved
        assert receipt.messages == 1
        assert receipt.requests == 0
        state = memory.last_state("t")
        assert [rule.words.text for rule in state.constraints] == [RULE, "Always answer in German."]
        check_gone(memory, SECRET)
        assert memory.step(None, Turn.said("Go on."), thread="t").state.turn == 5
        check_gone(memory)
        (stone,) = memory.journal.tombstones("t")
        assert stone.ref == "u2"


NAME = "Noël Quandt"
_TYPED = {
    "accents apart": unicodedata.normalize("NFD", NAME),
    "invisible characters": "No\u200bël Qua\u00adndt",
    "wide letters": "Ｎｏëｌ Ｑuandt",
    "escaped by JSON": json.dumps(NAME),
    "over two lines, in capitals": "NOËL\n  QUANDT",
}


@pytest.mark.parametrize("how", [*_TYPED, "the speaker's name"])
def test_words_go_however_they_are_typed(tmp_path: Path, how: str) -> None:
    text, name = (f"Call {_TYPED[how]} first.", "") if how in _TYPED else ("Call me first.", NAME)
    said = Observation(channel=Channel.USER, text=text, name=name)
    with opened(tmp_path) as memory:
        talk(memory, RULE)
        memory.step(None, Turn(observations=(said,)), thread="t")
        talk(memory, "What is open?")
        receipt = evidence_of(memory).erase(Target(words=(NAME,)))
        assert (receipt.messages, receipt.proved) == (1, True)
        kept = [each.message.observation for each in memory.journal.messages(ThreadKey("t"))]
        assert [each.text for each in kept] == [RULE, "What is open?"]
        check_gone(memory, "Call")


_P0 = Proposal(rules=(pin(RULE, "u1"),))
_OVERCITED = {
    "nothing": [_P0, Proposal()],
    "cites it alone": [_P0, Proposal(records=(fact("Karl: Huntington", "u2"),))],
    "cites another, too": [_P0, Proposal(records=(fact("Karl: Huntington", "u2", "u1"),))],
    "cites another only": [_P0, Proposal(records=(fact("Karl: Huntington", "u1"),))],
    "about": [_P0, Proposal(later=(ProposedLater("c1", "my brother Karl has had Huntington", "u2"),))],
    "update": [
        Proposal(records=(fact("brother: unknown", "u1"),)),
        Proposal(records=(fact("brother: Karl with Huntington", "u2", id="r1"),)),
    ],
    "gap": [
        _P0,
        Proposal(
            records=(ProposedRecord("uncertainty_signal", {"text": "How far is Karl's Huntington?"}, ("u2", "u1")),)
        ),
    ],
    "derived later": [
        _P0,
        Proposal(records=(fact("Karl: Huntington", "u2"),)),
        Proposal(records=(fact("family: Huntington", "u3", "r2"),)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", _OVERCITED)
def test_no_over_cited_or_reworded_word_survives(name: str, tmp_path: Path) -> None:
    with opened(tmp_path, model=Scripted(_OVERCITED[name])) as memory:
        talk(memory, FIRST, MESSAGE, "And what about the garden gate?")
        receipt = evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        assert receipt.proved
        assert SECRET not in memory.step(None, Turn.said("Go on."), thread="t").text()
        check_gone(memory, SECRET)


def test_a_checkpoint_of_before_never_brings_the_words_back(tmp_path: Path) -> None:
    with opened(tmp_path, state_key=b"k" * 16) as memory:
        memory.step(None, Turn.said(FIRST), thread="t")
        held = memory.step(None, Turn.said(MESSAGE), thread="t").state
        later = memory.step(None, Turn.said("Go on."), thread="t").state
        evidence = evidence_of(memory)
        evidence.erase(Target(thread="t", refs=("u2",)))
        assert memory.journal.was_erased("t", held.hash)
        with pytest.raises(StateError, match="erased"):
            memory.step(held, Turn.said("And now?"), thread="t")
        # The last state's successor without the words took no message: the step goes on from it.
        step = memory.step(later, Turn.said("And now?"), thread="t")
        assert SECRET not in step.text()
        assert left_of(memory, SECRET) == []


def test_what_was_committed_meanwhile_stops_a_plan(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, FIRST, MESSAGE)
        plan = evidence_of(memory).plan_erasure(Target(thread="t", refs=("u2",)))
        assert [(gone.ref, gone.is_echo) for gone in plan.messages] == [("u2", False)]
        talk(memory, "One more.")
        with pytest.raises(ConflictError):
            plan.apply()
        assert left_of(memory, SECRET)


def test_a_thread_and_a_user_go_whole(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, FIRST, MESSAGE)
        held = memory.last_state("t")
        receipt = evidence_of(memory).erase(Target(thread="t"))
        assert receipt.proved
        assert receipt.deleted == 1
        assert left_of(memory, SECRET) == []
        assert list(memory.threads()) == []
        with pytest.raises(StateError, match="erased"):
            memory.step(held, Turn.said("Go on."), thread="t")
        talk(memory, "A new beginning.")
        with pytest.raises(StateError, match="erased"):
            memory.step(held, Turn.said("Go on."), thread="t")


def test_all_branches_are_made_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.step(None, Turn.said(FIRST), thread="t")
        secret = memory.step(None, Turn.said(MESSAGE), thread="t").state
        memory.step(secret, Turn.said("Always answer in German."), thread="t")
        fork = memory.step(secret, Turn.said("Always answer in French."), thread="t")
        receipt = evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        assert receipt.proved
        rules = [r.words.text for r in memory.last_state("t", branch=fork.state.branch).constraints]
        assert rules == [RULE, "Always answer in French."]
        check_gone(memory, SECRET)


def test_what_the_operator_retired_stays_retired(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, FIRST, MESSAGE, "Always answer in German.")
        state = memory.last_state("t")
        memory.retire([state.constraints[-1].id], "no", thread="t")
        evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        assert [rule.words.text for rule in memory.last_state("t").constraints] == [RULE]
        check_gone(memory)


def test_what_an_agent_repeated_goes_too_and_what_the_user_said_again_is_told(
    tmp_path: Path,
) -> None:
    said = [
        {"role": "user", "content": MESSAGE},
        {"role": "assistant", "content": f"You said: {MESSAGE} I keep it to myself."},
        {"role": "user", "content": "Thanks."},
    ]
    with opened(tmp_path) as memory:
        for turn in Turn.all_from_messages(said):
            memory.step(None, turn, thread="t")
        plan = evidence_of(memory).plan_erasure(Target(thread="t", refs=("u1",)))
        assert [gone.is_echo for gone in plan.messages] == [False, True]
        assert plan.apply().proved
        assert left_of(memory, SECRET) == []


def test_a_hold_stops_it(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, FIRST, MESSAGE)
        memory.journal.hold("t", "u2", reason="the court asks")
        target = Target(thread="t", refs=("u2",))
        with pytest.raises(InputError, match="the court asks"):
            evidence_of(memory).erase(target)
        evidence_of(memory).release("t", "u2")
        assert evidence_of(memory).erase(target).proved


def test_nothing_is_named_or_found(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Target()
    with opened(tmp_path) as memory:
        talk(memory, FIRST)
        with pytest.raises(InputError, match="nothing of it"):
            evidence_of(memory).erase(Target(thread="t", refs=("u9",)))


def test_an_index_that_failed_loses_the_words_when_it_is_well_again(tmp_path: Path) -> None:
    secret = "The door code is xylophone."
    store = ChromaStore.embedded(
        tmp_path / "index"
    )  # beside the memory: no search of files reaches it
    with opened(tmp_path / "memory", store=store) as memory:
        talk(memory, "Good morning.", secret, "Good night.")
        memory.settle()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "delete", _down)
            assert not evidence_of(memory).erase(Target(words=("xylophone",))).proved
        assert store.count() == 3
        receipt = evidence_of(memory).erase(Target(words=("xylophone",)))
        assert receipt.proved, receipt
        assert store.count() == 2


def test_an_erasure_that_is_refused_takes_nothing_from_the_index(tmp_path: Path) -> None:
    store = ChromaStore.embedded(tmp_path / "index")
    with opened(tmp_path / "memory", store=store) as memory:
        talk(memory, "Good morning.", "The door code is xylophone.")
        plan = evidence_of(memory).plan_erasure(Target(words=("xylophone",)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory.journal, "commit_anew", _refused)
            with pytest.raises(ConflictError):
                plan.apply()
        assert store.count() == 2


def _down(*_: object, **__: object) -> None:
    raise StoreError("down", where="test", hint="wait")


def _refused(*_: object, **__: object) -> None:
    raise ConflictError("somebody committed", where="test", hint="again")


def test_a_copy_in_the_folder_is_named(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        talk(memory, FIRST, MESSAGE)
        copy = tmp_path / "copy.jsonl"
        copy.write_text("\n".join(memory.journal.export("t")))
        receipt = evidence_of(memory).erase(Target(thread="t", refs=("u2",)))
        assert not receipt.proved
        assert [trace.where for trace in receipt.traces] == [str(copy)]
        assert SECRET not in repr(receipt)
