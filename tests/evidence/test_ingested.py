"""What a document says reaches the state: the passage that answers, cited, at its own trust."""

from __future__ import annotations

from pathlib import Path

import pytest

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.evidence.documents import Documents
from acc.pipeline.turn_pipeline import Step
from acc.recall.candidates import Recall, WideRecall
from acc.stores.directory import namespace
from acc.stores.protocol import Thread
from acc.turn.observations import Trust

VENDORS = ("Harrow", "Brook", "Cedar", "Dunn", "Elm", "Frost", "Gale", "Hobbs", "Irwin", "Kerr")
FILLER = (
    "The procurement team reviews vendor records once a quarter and archives what is older. "
    "Requests are filed in the portal, where the status can be followed by everybody. "
)
POLICY = "# Payment policy\n\n" + "".join(
    f"## {name} Ltd\n\n{FILLER * 3}Payments to {name} Ltd above {n},500 EUR go to cost centre "
    f"CC-47{n}0. {FILLER * 4}\n\n"
    for n, name in enumerate(VENDORS)
)
QUESTION = "Which cost centre do payments to Kerr Ltd above 9,500 EUR go to?"
ANSWER = "Payments to Kerr Ltd above 9,500 EUR go to cost centre CC-4790."


@pytest.fixture(params=[Recall(), WideRecall()], ids=["default", "wide"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryController:
    found = MemoryController(InMemoryStore(), settings=Settings(audit=None, recall=request.param))
    (tmp_path / "policy.md").write_text(POLICY, encoding="utf-8")
    Documents.of(found, namespace()).ingest(tmp_path / "policy.md", name="policy.md")
    return found


def told(step: Step) -> list[tuple[str, Trust]]:
    earlier = (i for i in step.state.episodic_trace if i.text.startswith("earlier"))
    return [(item.text.partition("): ")[2], item.trust) for item in earlier]


def answers(step: Step) -> bool:
    (ref,) = (e.ref for e in step.evidence if ANSWER in e.text)
    assert (ANSWER, Trust.DOCUMENT) in told(step)
    assert f'earlier ({ref}): {ANSWER}",document' in step.state.render()
    assert ref in [i.artifact for i in step.state.retrieved_artifacts]
    return True


def test_the_passage_that_answers_is_in_the_state_not_the_head(memory: MemoryController) -> None:
    step = memory.step(None, Turn.said(QUESTION), thread="a")
    assert answers(step)
    (reference,) = step.state.retrieved_artifacts
    assert (reference.label, reference.channel.value) == ("policy.md", "document")
    opened = memory.open_evidence(reference.artifact, step.state, thread="a")
    assert ANSWER in opened
    assert "Harrow" not in opened
    whole = memory.open_evidence(reference.artifact.rpartition(".")[0], step.state, thread="a")
    assert whole == POLICY


def test_the_same_question_elsewhere_and_before_takes_no_place(memory: MemoryController) -> None:
    for number in range(12):
        thread = Thread(thread=f"t{number}", user="ana")
        memory.step(None, Turn.said(QUESTION), thread=thread)
    thread, state = Thread(thread="new", user="ana"), None
    for _ in range(3):
        step = memory.step(state, Turn.said(QUESTION), thread=thread)
        state = memory.step(step.state, Turn.said("Thanks."), thread=thread).state
        assert answers(step)
    assert [text for text, _ in told(step)] == [ANSWER]
    assert [e.text for e in step.evidence if QUESTION in e.text] == []


def test_asked_again_at_once_it_answers_again(memory: MemoryController) -> None:
    state = None
    for words in (QUESTION, QUESTION, f"Sorry: {QUESTION}", QUESTION):
        step = memory.step(state, Turn.said(words), thread="a")
        state = step.state
        assert answers(step)


def test_without_a_question_mark_it_answers_too(memory: MemoryController) -> None:
    asked = "remind me which cost centre payments to Kerr Ltd above 9,500 EUR go to"
    assert answers(memory.step(None, Turn.said(asked), thread="a"))


def test_what_has_nothing_to_do_with_it_recalls_no_document(memory: MemoryController) -> None:
    for said in ("Restart the checkout pods, please.", "Thanks!", "", "🙂"):
        assert memory.step(None, Turn.said(said or "ok"), thread=f"t{said}").evidence == ()
