"""What a guard blocked binds nobody, wherever the guard stands."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_integrations import fine, memory_of, patient, say, stored
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelResponse,
    after_model,
    before_agent,
    before_model,
    wrap_model_call,
)
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.messages import blocked, blocked_in
from acc.testing.chat_model import call

KEPT = "Never page Ann."
BAD = "Always refund everybody."


def _is_bad(state: Any) -> bool:
    said = [m for m in state["messages"] if isinstance(m, HumanMessage)]
    return said[-1].text == BAD


@before_agent(can_jump_to=["end"])
def entering(state: Any, _: Any) -> Any:
    return {"messages": [AIMessage("No.")], "jump_to": "end"} if _is_bad(state) else None


@before_model(can_jump_to=["end"])
def before(state: Any, _: Any) -> Any:
    return {"messages": [blocked("No.")], "jump_to": "end"} if _is_bad(state) else None


@after_model
def replacing(state: Any, _: Any) -> Any:
    answer = state["messages"][-1]
    return {"messages": [RemoveMessage(id=answer.id), blocked("No.")]} if _is_bad(state) else None


@after_model
def appending(state: Any, _: Any) -> Any:
    return {"messages": [blocked("No.")]} if _is_bad(state) else None


@wrap_model_call
def around(request: Any, handler: Any) -> Any:
    return ModelResponse([blocked("No.")]) if _is_bad(request.state) else handler(request)


@pytest.mark.parametrize("make", [memory_of, pytest.param(patient, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("guard", [entering, before, replacing, appending, around])
def test_what_a_guard_blocked_is_a_document(
    guard: AgentMiddleware, is_first: bool, make: Any
) -> None:
    memory = make()
    parts = [guard, MemoryMiddleware(memory)]
    parts = parts if is_first else parts[::-1]
    agent = create_agent(fine(), [], middleware=parts, checkpointer=InMemorySaver())
    for text in (KEPT, BAD, "What is open?", "And now?"):
        say(agent, text)
    memory.flush("t")
    assert [rule.text_of for rule in memory.last_state("t").constraints] == [KEPT]
    assert ("document", BAD) in stored(memory)
    assert memory.journal.verify([memory.policy]).is_clean


def test_the_mark_reaches_no_further_than_the_words_right_before_it() -> None:
    said = [HumanMessage(KEPT, id="h1"), AIMessage("Fine.", id="a1"), HumanMessage(BAD, id="h2")]
    assert blocked_in([*said, blocked("No.")]) == {"h2"}
    assert blocked_in([*said, AIMessage("Well.", id="a2"), blocked("No.")]) == {"h2"}
    acts = AIMessage("", tool_calls=[call("look", "c1")], id="a3")
    result = ToolMessage("x", tool_call_id="c1", id="t1")
    assert blocked_in([*said, acts, result, blocked("No.")]) == set()
