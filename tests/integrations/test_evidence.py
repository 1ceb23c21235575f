"""What the gate admits for a question stands behind it (law 1), in the node and in the middleware."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_integrations import (
    CONFIG,
    graph_of,
    looping,
    memory_of,
    patient,
    read_logs,
    say,
    spoken,
    whole,
)
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from acc.errors import StateError
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.integrations.langchain import MemoryMiddleware
from acc.state.proposal import Proposal
from acc.testing.chat_model import ScriptedChatModel
from acc.turn.turn import Turn

TICKET = "The vendor's ticket is VN-88213, opened by Ann."
QUESTION = "Which ticket did the vendor open?"


def _forgetting() -> Any:
    """A memory whose compressor keeps nothing."""
    return memory_of(model=lambda _: Proposal())


def _talk(graph: Any, question: str = QUESTION) -> Any:
    for text in (TICKET, *(f"Talk {n}." for n in range(9)), question):
        out = say(graph, text)
    return out


@pytest.mark.parametrize("kind", ["node", "middleware"])
def test_the_question_is_read_with_what_was_recalled_for_it(kind: str) -> None:
    memory, model = _forgetting(), ScriptedChatModel(script=looping(2))
    if kind == "node":
        graph: Any = graph_of(memory, model)
    else:
        graph = create_agent(
            model, [read_logs], middleware=[MemoryMiddleware(memory)], checkpointer=InMemorySaver()
        )
    out = _talk(graph)
    asked = [prompt for prompt in model.prompts if QUESTION in whole(prompt)]
    assert len(asked) == 3, "before each call, and before the answer"
    for prompt in asked:
        (question,) = [text for kind, text in spoken(prompt) if QUESTION in text]
        assert question.startswith(QUESTION)
        assert f"\n[earlier, user, turn 1] {TICKET}" in question
    assert "VN-88213" not in str(out["messages"]), "what is recalled stands in no message"
    before = len(model.prompts)
    say(graph, "Thank you.")
    assert question in whole(model.prompts[before]), (
        "it stays with its question: a prefix of prompts stays the same"
    )
    assert "VN-88213" not in whole(model.prompts[-1]), "it leaves with the question"


def test_what_was_erased_since_is_not_read() -> None:
    memory, model = _forgetting(), ScriptedChatModel(script=lambda _: "Fine.")
    graph = graph_of(memory, model)
    _talk(graph)
    values = graph.get_state(CONFIG).values
    assert "VN-88213" not in str(values), "nor in the checkpoint"
    assert TICKET in whole(model.prompts[-1])
    (key,) = memory.threads()
    Evidence(memory).erase(Target(thread=key, refs=("u1",)))
    say(graph, "Thank you.")
    assert QUESTION in whole(model.prompts[-1])
    assert "VN-88213" not in whole(model.prompts[-1])
    assert memory.journal.verify([memory.policy]).is_clean


def test_a_live_thread_goes_on_after_an_erasure() -> None:
    """The checkpoint holds state and messages with the erased words; the model reads neither."""
    memory, model = patient(), ScriptedChatModel(script=lambda _: "Fine.")
    graph = graph_of(memory, model)
    for text in (TICKET, "Never page Ann."):
        say(graph, text)
    (key,) = memory.threads()
    Evidence(memory).erase(Target(thread=key, words=("VN-88213",)))
    out = say(graph, "And now?")
    assert "VN-88213" not in whole(model.prompts[-1])
    assert "Never page Ann." in whole(model.prompts[-1])
    assert "VN-88213" not in str(out["messages"])
    assert "VN-88213" not in str(graph.get_state(CONFIG).values)
    assert memory.journal.verify([memory.policy]).is_clean


def test_a_step_from_an_erased_state_goes_on_from_what_is_left() -> None:
    memory = patient()
    one: Any = memory.step(None, Turn.said(TICKET), thread="t")
    two: Any = memory.step(one.state, Turn.said("Never page Ann."), thread="t")
    Evidence(memory).erase(Target(thread="t", words=("VN-88213",)))
    step = memory.step(two.state, Turn.said("Well?"), thread="t")
    assert "VN-88213" not in step.text()
    assert "Never page Ann." in step.text()
    assert "erasure" in step.warnings[0]
    with pytest.raises(StateError, match="the state was erased"):
        memory.step(two.state, Turn.said("Something else."), thread="t")
